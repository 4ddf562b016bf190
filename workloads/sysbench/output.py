"""What sysbench 0.4 to 1.1 prints, read into plain figures in base units. Source of the format:
sysbench.c and the tests' ``*_report_cumulative``.

Times of operations are in ms with two decimals: what takes less than 5 us reads ``0.00``, which is
a limit of the print and no measurement, so it is left out. MiB are 2^20 B, and so are the ``MB``
that versions before 1.0 print. Counts per second of operations that a mode does not do read
``0.00`` and are left out, too. The report of every version ends with the fairness of threads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...engine.model.errors import ParseError
from ...engine.model.text.json_output import quote
from ...engine.model.text.strict_numbers import decimal

MIB = 2.0**20

_RATES: Mapping[str, tuple[str, float]] = {
    r"events per second:": ("events", 1.0),
    r"reads/s:": ("iops.read", 1.0),
    r"writes/s:": ("iops.write", 1.0),
    r"fsyncs/s:": ("fsyncs", 1.0),
    r"read, MiB/s:": ("throughput.read", MIB),
    r"written, MiB/s:": ("throughput.write", MIB),
    r"events/s (eps):": ("events", 1.0),
}
"""Lines that are a label and a rate: the metric, and its factor to base units."""

_MEMORY = re.compile(
    r"^(?:Total operations|Operations performed): (\d+) \(\s*([\d.]+) (?:per second|ops/sec)\)$",
    re.MULTILINE,
)
_TRANSFER = re.compile(r"^[\d.]+ Mi?B transferred \(([\d.]+) Mi?B/sec\)$", re.MULTILINE)
_FILES = re.compile(r"^ +(read|write|fsync): +IOPS=(\S+)(?: (\S+) MiB/s .*)?$", re.MULTILINE)
_TOTAL = re.compile(r"^ +(?:total time|time elapsed): +(\S+)$", re.MULTILINE)
_EVENTS = re.compile(r"^ +total number of events: +(\S+)$", re.MULTILINE)
_SQL = re.compile(
    r"^ +(transactions|queries|read/write requests|ignored errors): +(\d{1,18}) +"
    r"\((\S+) per sec\.\)$",
    re.MULTILINE | re.ASCII,
)
_LATENCY = re.compile(
    r"^ +(min|avg|max|(?:approx\. +)?(\d+)(?:st|nd|rd|th)? percentile): +(\S+)$", re.MULTILINE
)
_END = re.compile(r"^ +execution time \(avg/stddev\): +\d", re.MULTILINE)
_TESTS: Mapping[str, str] = {
    "memory": r"^Running memory speed test|^(?:Total operations|Operations performed):",
    "fileio": r"^Extra file open flags:|^File operations:|^ +IOPS=",
    "threads": r"^Doing thread subsystem performance test|^Threads started!\n\n+Thread yields",
    "mutex": r"^Doing mutex performance test|^Running mutex",
    "sql": r"^(?:SQL|OLTP test) statistics:",
    "cpu": r"^Prime numbers limit:|^CPU speed:|^Maximum prime number",
}
"""What tells the test in its output."""

_NAMES = {
    "min": "min",
    "avg": "mean",
    "max": "max",
    "50": "p50",
    "75": "p75",
    "90": "p90",
    "95": "p95",
    "99": "p99",
}


def test_of(text: str) -> str | None:
    """Which test printed ``text``: a name that sysbench has for it, or ``sql`` for its Lua scripts;
    None: it does not say.
    """
    return next(
        (name for name, sign in _TESTS.items() if re.search(sign, text, re.MULTILINE)), None
    )


def unfinished(text: str) -> str | None:
    """What is missing: the last line of every report, whose figures are not read."""
    return None if _END.search(text) else "the fairness of its threads does not stand at its end"


def figures(text: str) -> dict[str, float | None]:
    """Metric values of one run in base units; None or absent is "not measured".

    Raises:
        ParseError: sysbench said that something is fatal, the run did not end, or there are
            several.
    """
    if fatal := [line for line in text.splitlines() if line.startswith("FATAL:")]:
        raise ParseError(f"sysbench failed: {quote(' | '.join(fatal).encode())}")
    totals = _TOTAL.findall(text)
    if len(totals) != 1:
        found = f"{len(totals)} results" if totals else f"no result in {quote(text.encode())}"
        raise ParseError(f"found {found}, expected the statistics of one sysbench run")
    seconds, events = _seconds(totals[0]), _count(text)
    rates: dict[str, float | None] = {}
    for label, (name, factor) in _RATES.items():
        rates[name] = rates.get(name) or _scaled(text, label, factor)
    return {
        **rates,
        **_files(text),
        **_sql(text, events),
        **_memory(text),
        **_latencies(text),
        "events": rates["events"] if rates["events"] is not None else _ratio(events, seconds),
        "completion": seconds,
        "duration": seconds,
        "samples": events,
    }


def _seconds(word: str) -> float:
    value = decimal(word.removesuffix("s")) if word.endswith("s") else None
    if value is None:
        raise ParseError(f"found a total time of {quote(word.encode())}, expected a number of s")
    return value


def _count(text: str) -> float | None:
    found = _EVENTS.search(text)
    return decimal(found[1]) if found else None


def _ratio(events: float | None, seconds: float) -> float | None:
    return events / seconds if events and seconds > 0 else None


def _scaled(text: str, label: str, factor: float) -> float | None:
    found = re.search(rf"^ +{re.escape(label)} +(\S+)$", text, re.MULTILINE)
    value = decimal(found[1]) if found else None
    return value * factor if value is not None and value > 0 else None


def _files(text: str) -> dict[str, float | None]:
    """The rates of sysbench 1.1, which stand on one line for each direction."""
    found: dict[str, float | None] = {}
    for kind, rate, moved in _FILES.findall(text):
        operations, data = decimal(rate), decimal(moved)
        found[f"iops.{kind}" if kind != "fsync" else "fsyncs"] = operations or None
        if kind != "fsync":
            found[f"throughput.{kind}"] = data * MIB if data else None
    return found


def _sql(text: str, events: float | None) -> dict[str, float | None]:
    """Rates of transactions and statements, and the share of transactions that met an error, which
    sysbench began anew.
    """
    said = {name: (int(count), decimal(rate)) for name, count, rate in _SQL.findall(text)}
    if not said:
        return {}
    queries = said.get("queries") or said.get("read/write requests")
    done, errors = said.get("transactions"), said.get("ignored errors")
    tried = (done[0] if done else events or 0) + (errors[0] if errors else 0)
    return {
        "transactions": (done[1] or None) if done else None,
        "queries": (queries[1] or None) if queries else None,
        "error.ratio": errors[0] / tried if errors and tried else None,
    }


def _memory(text: str) -> dict[str, float | None]:
    operations, transfer = _MEMORY.search(text), _TRANSFER.search(text)
    rate = decimal(operations[2]) if operations else None
    moved = decimal(transfer[1]) if transfer else None
    return {"operations": rate or None, "throughput": moved * MIB if moved else None}


def _latencies(text: str) -> dict[str, float | None]:
    _, new, after = text.partition("Latency (ms):")
    old = text.partition("response time:")[2]
    section = (after if new else old).partition("hreads fairness:")[0]
    found: dict[str, float | None] = {}
    for label, percentile, word in _LATENCY.findall(section):
        name, value = _NAMES.get(percentile or label), decimal(word.removesuffix("ms"))
        if name is not None:
            found[f"latency.{name}"] = value / 1e3 if value is not None and value > 0 else None
    greatest = found.get("latency.max")
    if (
        greatest is not None
    ):  # a percentile is the upper edge of a bucket, which can lie above the greatest value
        found |= {name: min(value, greatest) for name, value in found.items() if value is not None}
    return found
