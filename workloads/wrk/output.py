"""What wrk prints, read into plain figures in base units. Format: wrk.c and units.c of wrk 4.0 to
4.2.

Times carry us, ms, s, m or h (a run of a minute ends ``in 1.00m``), counts of bytes K, M, G, T or P
of 1024. ``0.00us`` is less than the print can show, and no measurement. The last line of a report
is ``Transfer/sec``; a script's own ``done`` may print more after it.
"""

from __future__ import annotations

import re

from ...engine.model.errors import ParseError
from ...engine.model.text.json_output import quote
from ...engine.model.text.strict_numbers import decimal

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {unit: 1024.0**power for power, unit in enumerate(("", "K", "M", "G", "T", "P"))}

_LATENCY = re.compile(r"^    Latency +(\S+) +(\S+) +(\S+) +\S+$", re.MULTILINE)
_PERCENTILE = re.compile(r"^ +(50|75|90|99)(?:\.000)?% +(\S+) *$", re.MULTILINE)
_DONE = re.compile(r"^  (\d{1,18}) requests in \S+, \S+B read$", re.MULTILINE | re.ASCII)
_SOCKET = re.compile(
    r"^  Socket errors: connect (\d{1,9}), read (\d{1,9}), write (\d{1,9}), timeout (\d{1,9})$",
    re.MULTILINE | re.ASCII,
)
_STATUS = re.compile(r"^  Non-2xx or 3xx responses: (\d{1,18})$", re.MULTILINE | re.ASCII)
_RATE = re.compile(r"^Requests/sec: +(\S+)$", re.MULTILINE)
_TRANSFER = re.compile(r"^Transfer/sec: +(\S+?)([KMGTP]?)B$", re.MULTILINE)
_TIME = re.compile(r"(\S+?)(us|ms|s|m|h)")


def figures(text: str) -> dict[str, float | None]:
    """Metric values of one run in base units; None is "not measured".

    Raises:
        ParseError: no report, several, one that was cut, or one without an answer.
    """
    done, rates, moved = _DONE.findall(text), _RATE.findall(text), _TRANSFER.findall(text)
    if (len(done), len(rates), len(moved)) != (1, 1, 1):
        raise ParseError(
            f"found {len(moved)} whole results, expected one of wrk: {quote(text.encode())}"
        )
    answers, rate = int(done[0]), decimal(rates[0])
    if not answers or not rate or rate < 0:
        raise ParseError(f"found no answer in {quote(text.encode())}, expected at least one")
    received = decimal(moved[0][0])
    return {
        "throughput": rate,
        **_latencies(text),
        "received": received * _BYTES[moved[0][1]] if received and received > 0 else None,
        "error.ratio": _error_ratio(text, answers),
        "samples": float(answers),
        "duration": answers / rate,
    }


def _latencies(text: str) -> dict[str, float | None]:
    found = {f"latency.p{percent}": _seconds(word) for percent, word in _PERCENTILE.findall(text)}
    line = _LATENCY.search(text)
    if line is not None:
        for name, word in zip(("mean", "stddev", "max"), line.groups(), strict=True):
            found[f"latency.{name}"] = _seconds(word)
    return found


def _seconds(word: str) -> float | None:
    found = _TIME.fullmatch(word)
    value = decimal(found[1]) if found else None
    if found is None or value is None or value < 0:
        raise ParseError(f"found a time of {quote(word.encode())}, expected a number with its unit")
    return value * _SECONDS[found[2]] or None


def _error_ratio(text: str, answers: int) -> float:
    """The share of requests that got no answer below 400: refused and broken connections come
    beside the answers, bad and late ones are among them.
    """
    socket, status = _SOCKET.search(text), _STATUS.search(text)
    connect, read, write, late = map(int, socket.groups()) if socket else (0, 0, 0, 0)
    lost, bad = connect + read + write, int(status[1]) if status else 0
    return min(1.0, (lost + late + bad) / (answers + lost))
