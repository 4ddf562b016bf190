"""What an output says of where it comes from: the tool's version, when it was made, how the tool
was told to measure, on which nodes, and in which units it printed. What it does not say is not said
here.
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..model.errors import ParseError
from ..model.spec import Json
from ..model.text.json_output import as_mapping, as_sequence, child, documents
from ..model.text.plain_text import normalised
from ..model.text.strict_numbers import decimal, json_number

YEAR_10000 = 253402300800


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """``version`` in the tool's own words (None: not said), ``made_at`` in Unix s (0: not said).
    ``settings`` are parameters of the workload by its own names, ``nodes`` the names of machines by
    role, ``units`` those of the output by the beginning of a metric's name ("": all others).
    """

    version: str | None = None
    made_at: float = 0.0
    settings: Mapping[str, Json] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def unit_of(self, metric: str) -> str | None:
        """The unit in which the output has ``metric``; None: as in the measurement."""
        prefixes = [prefix for prefix in self.units if metric.startswith(prefix)]
        return self.units[max(prefixes, key=len)] if prefixes else None


def origin_of(tool: str, data: bytes) -> Origin:
    """What ``data``, which the tool's parser can read, says. Nothing for a tool that is not known
    here.
    """
    reader = _READERS.get(tool)
    return reader(normalised(data)) if reader is not None else Origin()


def datable(unix_s: float) -> float:
    """A moment that a calendar of four-digit years has, else 0: not said."""
    return float(unix_s) if 0 < unix_s < YEAR_10000 else 0.0


def moment(text: Json) -> float:
    """Unix s of a time as RFC 3339 writes it, or 0."""
    if not isinstance(text, str):
        return 0.0
    short = re.sub(r"(\.\d{6})\d+", r"\1", text.strip()).replace("Z", "+00:00")
    try:
        found = datetime.fromisoformat(short)
    except ValueError:
        return 0.0
    return datable(found.timestamp()) if found.tzinfo is not None else 0.0


def _said(value: Json) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _whole(value: Json) -> int | None:
    number = json_number(value)
    return int(number) if number is not None and number.is_integer() else None


def _given(values: Mapping[str, Json | None]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value not in (None, False)}


def _document(tool: str, data: bytes) -> Mapping[str, Json]:
    try:
        return as_mapping(documents(data, tool)[-1])
    except ParseError:
        return {}


def _iperf3(data: bytes) -> Origin:
    from ...workloads.iperf3 import stream

    try:
        whole = stream.document(data) if stream.is_stream(data) else _document("iperf3", data)
    except ParseError:
        whole = {}
    start = child(whole, "start")
    asked = child(start, "test_start")
    rate = json_number(asked.get("target_bitrate", start.get("target_bitrate")))
    streams = _whole(asked.get("num_streams"))
    duration, omit = _whole(asked.get("duration")), _whole(asked.get("omit"))
    block = _whole(asked.get("blksize"))
    protocol = str(asked.get("protocol", "")).lower()
    settings = _given(
        {
            "protocol": protocol if protocol in ("tcp", "udp") else None,
            "streams": streams if streams and streams > 0 else None,
            "duration": f"{duration} s" if duration and duration > 0 else None,
            "omit": f"{omit} s" if omit and omit > 0 else None,
            "reverse": bool(_whole(asked.get("reverse"))),
            "bidir": bool(_whole(asked.get("bidir"))),
            "bitrate": f"{rate:.0f} bit/s" if rate and rate > 0 else None,
            "length": f"{block} B" if block and protocol == "udp" else None,
        }
    )
    return Origin(
        version=_said(start.get("version")),
        made_at=datable(json_number(child(start, "timestamp").get("timesecs")) or 0.0),
        settings=settings,
        units={
            "": "bit/s",
            "jitter": "ms",
            "loss": "%",
            "cpu": "%",
            "retransmits": "1",
            "dur": "s",
        },
    )


def _fio(data: bytes) -> Origin:
    whole = _document("fio", data)
    jobs = [as_mapping(job) for job in as_sequence(whole.get("jobs"))]
    blocks = [
        as_mapping(job.get(way)) for job in jobs for way in ("read", "write", "trim", "mixed")
    ]
    new = any("clat_ns" in block or "lat_ns" in block for block in blocks)
    exact = any("bw_bytes" in block for block in blocks)
    return Origin(
        version=_said(whole.get("fio version")),
        made_at=datable(json_number(whole.get("timestamp")) or 0.0),
        settings=_given({"job_text": fio_jobs(whole)}),
        units={
            "iops": "1/s",
            "latency": "ns" if new else "us",
            "throughput": "B/s" if exact else "KiB/s",
            "cpu": "%",
            "duration": "ms",
        },
    )


def fio_jobs(whole: Mapping[str, Json]) -> str | None:
    """The job file that fio's own document repeats (3.x); None: it does not."""
    lines: list[str] = []
    shared = as_mapping(whole.get("global options"))
    if shared:
        lines += ["[global]", *_options(shared)]
    for name, options in _job_options(whole).items():
        lines += [f"[{name}]", *_options(options)]
    return "\n".join(lines) + "\n" if len(lines) > len(shared) + bool(shared) else None


def _job_options(whole: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
    found: dict[str, Mapping[str, Json]] = {}
    for job in (as_mapping(job) for job in as_sequence(whole.get("jobs"))):
        name, options = job.get("jobname"), as_mapping(job.get("job options"))
        if isinstance(name, str) and "job options" in job and "]" not in name:
            found.setdefault(name, options)
    return found


def _options(options: Mapping[str, Json]) -> list[str]:
    return [
        f"{key}={value}" if value not in ("", None) else key
        for key, value in options.items()
        if key != "name" and "\n" not in f"{key}{value}"
    ]


def _fortio(data: bytes) -> Origin:
    whole = _document("fortio", data)
    asked, length = whole.get("RequestedQPS"), _said(whole.get("RequestedDuration"))
    rate = decimal(asked) if isinstance(asked, str) else json_number(asked)
    connections = _whole(whole.get("NumThreads"))
    seconds = _go_seconds(length)
    return Origin(
        version=_said(whole.get("Version")),
        made_at=moment(whole.get("StartTime")),
        settings=_given(
            {
                "qps": f"{rate:.9g} 1/s" if rate and rate > 0 else None,
                "connections": connections if connections and connections > 0 else None,
                "duration": f"{seconds:.9g} s" if seconds else None,
            }
        ),
        units={"": "s", "throughput": "1/s", "samples": "1", "error": "ratio", "dur": "ns"},
    )


def _go_seconds(length: str | None) -> float | None:
    from ...workloads.shared.go_duration import read_duration

    return read_duration(length) if length else None


def _vault(data: bytes) -> Origin:
    from ...workloads.vault_benchmark import output

    try:
        found = output.documents(data)
    except ParseError:
        return Origin()
    return Origin(
        made_at=max((moment(_earliest(one)) for one in found), default=0.0),
        units={"latency": "ns", "duration": "ns", "throughput": "1/s", "rate": "1/s"},
    )


def _earliest(document: Mapping[str, Json]) -> Json:
    return child(document, "metrics", "total").get("earliest")


def _k6(data: bytes) -> Origin:
    return Origin(units={"latency": "ms", "duration": "ms", "received": "B/s", "sent": "B/s"})


def _vegeta(data: bytes) -> Origin:
    whole = _document("vegeta", data)
    return Origin(made_at=moment(whole.get("earliest")), units={"latency": "ns", "duration": "ns"})


def _knb(data: bytes) -> Origin:
    from .knb import forms

    try:
        about = child(forms.read(data), "metadata")
    except ParseError:
        return Origin()
    version = _said(about.get("version"))
    nodes = {role: _said(about.get(f"{role}-node")) for role in ("client", "server")}
    return Origin(
        version=f"knb {version}" if version else None,
        made_at=utc(about.get("date")),
        nodes={role: name for role, name in nodes.items() if name},
        units={"throughput": "Mbit/s", "cpu": "%", "memory": "MiB"},
    )


def utc(date: Json) -> float:
    """Unix s of ``2026-11-02 08:30:00``, as knb writes UTC, or 0."""
    try:
        words = str(date or "").removesuffix(" UTC")
        return datable(calendar.timegm(time.strptime(words, "%Y-%m-%d %H:%M:%S")))
    except (ValueError, OverflowError):
        return 0.0


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return _said(found[1]) if found else None


def _text(
    version: str | None, units: Mapping[str, str], **settings: str
) -> Callable[[bytes], Origin]:
    """A reader of plain text: the version by a pattern, and whole numbers among the settings."""

    def read(data: bytes) -> Origin:
        text = data.decode("utf-8", "replace")
        counts = {name: _first(pattern, text) for name, pattern in settings.items()}
        return Origin(
            version=_first(version, text) if version else None,
            settings={
                name: int(word)
                for name, word in counts.items()
                if word is not None and word.isdecimal() and 0 < int(word) < 10**9
            },
            units=units,
        )

    return read


def _netperf(data: bytes) -> Origin:
    text = data.decode("utf-8", "replace")
    unit = _first(r"^THROUGHPUT_UNITS=(.+)$", text) or _first(
        r",(\d+\^\d+bits/s|[KMG]Bytes/s|Trans/s),", text
    )
    units = {"latency": "us", "cpu": "%", "duration": "s"}
    return Origin(units={**units, "throughput": unit, "transactions": unit} if unit else units)


def _stress_ng(data: bytes) -> Origin:
    text = data.decode("utf-8", "replace")
    version = _first(r"^ *stress-ng-version: *(\S+)", text)
    seconds = decimal(_first(r"^ *epoch-secs: *(\d+)$", text) or "")
    return Origin(
        version=f"stress-ng {version}" if version else None,
        made_at=datable(seconds or 0.0),
        nodes=_given_names({"client": _first(r"^ *nodename: *(\S+)$", text)}),
        units={"memory": "KiB", "cpu": "%", "bogo": "1/s", "duration": "s"},
    )


def _given_names(names: Mapping[str, str | None]) -> dict[str, str]:
    return {role: name for role, name in names.items() if name}


def _kubestr(data: bytes) -> Origin:
    tests = _tests(data)
    inner = child(tests[0], "Raw", "result") if tests else {}
    return Origin(
        version=_said(inner.get("fio version")),
        units={"iops": "1/s", "throughput": "KiB/s", "latency": "ns"},
    )


def _tests(data: bytes) -> list[Mapping[str, Json]]:
    try:
        return [as_mapping(one) for one in as_sequence(documents(data, "kubestr")[-1])]
    except ParseError:
        return []


_READERS: Mapping[str, Callable[[bytes], Origin]] = {
    "iperf3": _iperf3,
    "fio": _fio,
    "fortio": _fortio,
    "vault-benchmark": _vault,
    "k6": _k6,
    "vegeta": _vegeta,
    "knb": _knb,
    "kubestr": _kubestr,
    "netperf": _netperf,
    "stress-ng": _stress_ng,
    "sysbench": _text(
        r"^(?:CPU \d+ )?(sysbench \S+)",
        {"latency": "ms", "throughput": "MiB/s", "duration": "s"},
        threads=r"^Number of threads: (\d+)$",
    ),
    "openssl-speed": _text(r"^(?:version: |OpenSSL )(\S+)", {"duration": "s"}),
    "sockperf": _text(
        r"version #(\S+)", {"latency": "us", "throughput": "MiB/s", "messages": "1/s"}
    ),
    "diskspd": _text(
        r"(?:^|[\\/.])diskspd[.-](\d[\w.]*\w)(?=[\\/])|<Version>([^<]+)",
        {"latency": "ms", "throughput": "MiB/s", "cpu": "%"},
    ),
    "wrk": _text(
        None,
        {"latency": "us, ms or s"},
        connections=r"(\d+) connections$",
        threads=r"(\d+) threads",
    ),
    "pgbench": _text(
        r"^pgbench \((.+)\)$",
        {"latency": "ms", "lag": "ms", "connection": "ms"},
        clients=r"^number of clients: (\d+)$",
        jobs=r"^number of threads: (\d+)$",
    ),
    "redis-benchmark": _text(None, {"latency": "ms"}),
}
