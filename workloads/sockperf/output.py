"""What sockperf 3.x prints, read into plain figures in base units. Source of the format: client.cpp
(``client_statistics``).

Latencies are in us, coloured for terminals, and halves of round trips unless ``--full-rtt`` asked
for whole ones, which the words tell. ``MBps`` are 2^20 B/s. In ping-pong and under-load the
statistics are of the "valid duration", without the beginning and the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...engine.model.errors import ParseError
from ...engine.model.text.json_output import quote
from ...engine.model.text.strict_numbers import decimal

_COLOUR = re.compile(r"\x1b\[[\d;]*m", re.ASCII)
_MEAN = re.compile(
    r"^sockperf: ====> avg-(latency|lat|rtt)=(\S+) \(std-dev=([^)\s,]+)", re.MULTILINE
)
_TOTAL_RUN = re.compile(
    r"^sockperf: \[Total Run\] RunTime=(\S+) sec;.*? SentMessages=(\d+); ReceivedMessages=(\d+)",
    re.MULTILINE,
)
_VALID = re.compile(
    r"^sockperf: \[Valid Duration\] RunTime=(\S+) sec; SentMessages=(\d+); ReceivedMessages=(\d+)",
    re.MULTILINE,
)
_DROPPED = re.compile(r"^sockperf: # dropped messages = (\d+);", re.MULTILINE)
_OBSERVATIONS = re.compile(r"^sockperf: Total (\d+) observations", re.MULTILINE)
_PERCENTILE = re.compile(
    r"^sockperf: ---> (?:percentile ([\d.]+)|<(MIN|MAX)> observation) = +(\S+)$", re.MULTILINE
)
_SENT = re.compile(r"^sockperf: Total of (\d+) messages sent in (\S+) sec", re.MULTILINE)
_RATE = re.compile(r"^sockperf: Summary: Message Rate is (\S+) \[msg/sec\]", re.MULTILINE)
_BANDWIDTH = re.compile(r"^sockperf: Summary: BandWidth is (\S+) (\w+) ", re.MULTILINE)
_ERROR = re.compile(
    r"^sockperf: (ERROR: .*|No messages were received.*|.*Invalid address.*)$", re.MULTILINE
)

_NAMES: Mapping[str, str] = {
    "25": "p25",
    "50": "p50",
    "75": "p75",
    "90": "p90",
    "99": "p99",
    "99.9": "p999",
    "99.99": "p9999",
    "99.999": "p99999",
}


_END = re.compile(r"^sockperf: ---> <MIN> observation = +-?\d+\.\d{3}$", re.MULTILINE | re.ASCII)


def unfinished(text: str) -> str | None:
    """What is missing: latencies end with the least one, throughput with its data rate."""
    plain = _COLOUR.sub("", text)
    if _MEAN.search(plain):
        return None if _END.search(plain) else "the least observation does not stand at its end"
    return None if _BANDWIDTH.search(plain) else "the bandwidth does not stand at its end"


def figures(text: str, stderr: bytes = b"") -> dict[str, float | None]:
    """Metric values of one client in base units, and ``sent.rate`` (1/s); None is "not measured".

    Raises:
        ParseError: an error, no summary, or a unit that is not known.
    """
    plain = _COLOUR.sub("", text)
    if error := _ERROR.search(plain):
        raise ParseError(f"sockperf failed: {quote(error[1].encode())}")
    if len(_MEAN.findall(plain)) + len(_RATE.findall(plain)) != 1:
        said = plain.encode() if plain.strip() else stderr
        raise ParseError(f"found no single sockperf summary: {quote(said)}")
    return _latencies(plain) if _MEAN.search(plain) else _throughput(plain)


def _throughput(plain: str) -> dict[str, float | None]:
    rate, sent, bandwidth = _RATE.search(plain), _SENT.search(plain), _BANDWIDTH.search(plain)
    if rate is None or (value := decimal(rate[1])) is None or value <= 0:
        raise ParseError("sockperf sent nothing")
    if bandwidth is not None and bandwidth[2] != "MBps":
        raise ParseError(
            f"found a bandwidth in {bandwidth[2]}, expected MBps",
            remedy="run sockperf without --giga-size and --increase_output_precision",
        )
    rate_bytes = decimal(bandwidth[1]) if bandwidth else None
    return {
        "messages.sent": value,
        "sent.rate": value,
        "throughput.sent": rate_bytes * 8 * 2.0**20 if rate_bytes else None,
        "duration": decimal(sent[2]) if sent else None,
    }


def _latencies(plain: str) -> dict[str, float | None]:
    kind, mean, deviation = _MEAN.findall(plain)[0]
    halves = 2.0 if kind == "rtt" else 1.0
    observations, valid, total = (
        _OBSERVATIONS.search(plain),
        _VALID.search(plain),
        _TOTAL_RUN.search(plain),
    )
    count = float(observations[1][:15]) if observations else None
    if decimal(mean) is None or not count:
        raise ParseError("sockperf observed no round trip")
    seconds = decimal(valid[1]) if valid else None
    rounded = {f"latency.{name}": value for name, value in _percentiles(plain, count).items()}
    known = {**rounded, "latency.mean": decimal(mean), "latency.stddev": decimal(deviation)}
    return {
        **{
            name: value / halves / 1e6 if value is not None and value >= 0 else None
            for name, value in known.items()
        },
        "samples": count,
        "duration": seconds if seconds and seconds > 0 else None,
        "loss.ratio": _lost(plain, valid),
        "sent.rate": _sent_rate(total),
    }


def _percentiles(plain: str, count: float) -> dict[str, float | None]:
    """Those that the observations can tell: sockperf prints the greatest of 5 as their 99.999th
    percentile.
    """
    found: dict[str, float | None] = {}
    for percentile, extreme, word in _PERCENTILE.findall(plain):
        share = decimal(percentile) if percentile else None
        name = extreme.lower() if extreme else _NAMES.get(percentile.rstrip("0").rstrip("."))
        if name is not None and (share is None or count * (1 - share / 100) >= 1):
            found[name] = decimal(word)
    return found


def _lost(plain: str, valid: re.Match[str] | None) -> float | None:
    dropped = _DROPPED.search(plain)
    sent = decimal(valid[2]) if valid else None
    lost = decimal(dropped[1]) if dropped else None
    return min(1.0, lost / sent) if lost is not None and sent else None


def _sent_rate(total: re.Match[str] | None) -> float | None:
    seconds, sent = (decimal(total[1]), decimal(total[2])) if total else (None, None)
    return sent / seconds if seconds and seconds > 0 and sent is not None else None
