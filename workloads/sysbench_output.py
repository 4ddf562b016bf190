"""What sysbench 1.0 prints, read into plain figures in base units. Source of the format: sysbench.c and the tests' ``*_report_cumulative``.

Times of operations are in ms with two decimals: what takes less than 5 us reads ``0.00``, which is a limit of the print and no measurement, so it
is left out. MiB are 2^20 B. Counts per second of operations that a mode does not do read ``0.00`` and are left out, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..engine.errors import ParseError
from .documents import quote
from .numerals import decimal

MIB = 2.0**20

_RATES: Mapping[str, tuple[str, float]] = {
    r"events per second:": ("events", 1.0),
    r"reads/s:": ("iops.read", 1.0),
    r"writes/s:": ("iops.write", 1.0),
    r"fsyncs/s:": ("fsyncs", 1.0),
    r"read, MiB/s:": ("throughput.read", MIB),
    r"written, MiB/s:": ("throughput.write", MIB),
}
"""Lines that are a label and a rate: the metric, and its factor to base units."""

_MEMORY = re.compile(r"^Total operations: (\d+) \(\s*([\d.]+) per second\)$", re.MULTILINE)
_TRANSFER = re.compile(r"^[\d.]+ MiB transferred \(([\d.]+) MiB/sec\)$", re.MULTILINE)
_TOTAL = re.compile(r"^ +total time: +(\S+)$", re.MULTILINE)
_EVENTS = re.compile(r"^ +total number of events: +(\S+)$", re.MULTILINE)
_LATENCY = re.compile(r"^ +(min|avg|max|(\d+)(?:st|nd|rd|th) percentile): +(\S+)$", re.MULTILINE)
_NAMES = {"min": "min", "avg": "mean", "max": "max", "50": "p50", "75": "p75", "90": "p90", "95": "p95", "99": "p99"}


def figures(text: str) -> dict[str, float | None]:
    """Metric values of one run in base units; None or absent is "not measured".

    Raises:
        ParseError: sysbench said that something is fatal, the run did not end, or there are several.
    """
    if fatal := [line for line in text.splitlines() if line.startswith("FATAL:")]:
        raise ParseError(f"sysbench failed: {quote(' | '.join(fatal).encode())}")
    totals = _TOTAL.findall(text)
    if len(totals) != 1:
        found = f"{len(totals)} results" if totals else f"no result in {quote(text.encode())}"
        raise ParseError(f"found {found}, expected the statistics of one sysbench run")
    seconds, events = _seconds(totals[0]), _count(text)
    rates = {name: _scaled(text, label, factor) for label, (name, factor) in _RATES.items()}
    return {
        **rates,
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


def _memory(text: str) -> dict[str, float | None]:
    operations, transfer = _MEMORY.search(text), _TRANSFER.search(text)
    rate = decimal(operations[2]) if operations else None
    moved = decimal(transfer[1]) if transfer else None
    return {"operations": rate or None, "throughput": moved * MIB if moved else None}


def _latencies(text: str) -> dict[str, float | None]:
    section = text.partition("Latency (ms):")[2].partition("Threads fairness:")[0]
    found: dict[str, float | None] = {}
    for label, percentile, word in _LATENCY.findall(section):
        name, value = _NAMES.get(percentile or label), decimal(word)
        if name is not None:
            found[f"latency.{name}"] = value / 1e3 if value is not None and value > 0 else None
    greatest = found.get("latency.max")
    if greatest is not None:  # a percentile is the upper edge of a bucket, which can lie above the greatest value
        found |= {name: min(value, greatest) for name, value in found.items() if value is not None}
    return found
