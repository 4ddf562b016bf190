"""diskspd's text report, 2.0 to 2.2.

A report has one part per timespan: test time, CPU table, the tables ``Total IO``, ``Read IO`` and
``Write IO`` (a row per thread and target, then ``total:``), and with ``-L`` one percentile table
per target and a last one for all. The CPU table begins with ``CPU``, ``Core | CPU``, ``Group |
CPU`` or more columns; its ``avg.`` row always ends with usage, user, kernel and idle. Latency
columns come only with ``-L``, and input parameters only in older versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from ...engine.model.errors import ParseError
from ...engine.model.text.strict_numbers import decimal
from . import figures as spans
from .figures import DIRECTIONS, PERCENTILES, Figures

_TIMESPAN = re.compile(r"^\s*Results for timespan \d+:", re.MULTILINE)
_TEST_TIME = re.compile(r"^\s*actual test time:\s*(\S+?)s\s*$", re.MULTILINE)
_AVERAGE = re.compile(r"^\s*avg\.\|(.*)$", re.MULTILINE)
_ANNOUNCED = re.compile(r"^\s*timespan:\s+\d+\s*$", re.MULTILINE)
_LATENCY_COLUMN = "AvgLat"
_OF_ALL = ("", "total:", "Total latency distribution:")
_LAST_TOTAL = re.compile(r"total:[^|]*\|[^|]*\|[^|]*\|\s*\d+\.\d\d", re.ASCII)
_LAST_CELL = re.compile(r"\|[^|]*\|[^|]*\|\s*(?:\d+\.\d{3}|N/A)\s*$", re.ASCII)
_DATA_RATES = ("MiB/s", "MB/s")
_STATISTICS = {"AvgLat": "mean", "LatStdDev": "stddev"}
_TOLERANCE = 0.01
"""The data rate is printed with two decimals beside exact bytes: they must agree to that and 1
%.
"""


def is_report(text: str) -> bool:
    """Whether ``text`` has a result of the text format."""
    return _TIMESPAN.search(text) is not None


def timespans(text: str) -> list[Figures]:
    """The figures of every timespan, in order.

    Raises:
        ParseError: a timespan lacks its test time or a table, did nothing, or has a unit that is
            not known.
    """
    return [_timespan(part) for part in _TIMESPAN.split(text)[1:]]


def unfinished(text: str) -> str | None:
    """What is missing at the end: with latencies the last row of the percentiles of all targets,
    else the total of what was written; and timespans that the input part announces.
    """
    results = _TIMESPAN.split(text)
    announced = len(_ANNOUNCED.findall(results[0]))
    if len(results) - 1 < announced:
        return f"it has {len(results) - 1} of {announced} timespans"
    if _LATENCY_COLUMN not in results[-1]:
        row = results[-1].rstrip("\n").splitlines()[-1].strip() if results[-1].strip() else ""
        whole = text.endswith("\n") or _LAST_TOTAL.fullmatch(row) is not None
        return None if whole else f"its last line is {row!r}"
    before, heading, table = results[-1].rpartition("%-ile")
    above = before.rstrip(" ").splitlines()
    of_all = bool(above) and above[-1].strip() in _OF_ALL  # else of one target
    rows = [line for line in table.splitlines() if line.strip().startswith("max |")]
    if not heading or not of_all or not rows:
        return "the percentiles of all targets do not stand at its end"
    whole = _LAST_CELL.search(rows[-1]) is not None
    return None if whole else f"its last row is {rows[-1].strip()!r}"


def _timespan(part: str) -> Figures:
    found = _TEST_TIME.search(part)
    test_time = decimal(found[1]) if found else None
    if test_time is None:
        raise ParseError(
            "found no 'actual test time' in diskspd's report; it is cut or a test failed"
        )
    totals = {direction: _total_row(part, direction) for direction in DIRECTIONS}
    ios = _figure(totals["total"], "I/Os")
    spans.check_done(ios, test_time)
    done = [direction for direction, row in totals.items() if _figure(row, "I/Os") > 0]
    return spans.merged(
        [
            {"duration": test_time, "samples": ios},
            *(_operations(direction, totals[direction]) for direction in done),
            *(_latencies(direction, totals[direction]) for direction in done),
            _percentiles(part, done),
            _cpu(part),
        ]
    )


def _total_row(part: str, direction: str) -> Mapping[str, str]:
    """The ``total:`` row of a table, by column. Its first cell holds the bytes: the thread column
    has shrunk to ``total:``.
    """
    _, title, table = part.partition(f"{direction.title()} IO")
    lines = table.splitlines()
    header = next((line for line in lines if line.strip().startswith("thread")), "")
    row = next((line for line in lines if line.strip().startswith("total:")), "")
    if not title or not header or not row:
        raise ParseError(
            f"found no complete '{direction.title()} IO' table in diskspd's report; it is cut"
        )
    columns = [name.strip() for name in header.split("|")][1:]
    cells = [cell.strip() for cell in row.partition("total:")[2].split("|")]
    return dict(zip(columns, cells, strict=False))  # the column of file names has no total


def _figure(row: Mapping[str, str], column: str) -> float:
    value = decimal(row.get(column, ""))
    if value is None or value < 0:
        raise ParseError(
            f"found {row.get(column)!r} for {column} in a total of diskspd's report, expected a"
            " number"
        )
    return value


def _operations(direction: str, row: Mapping[str, str]) -> Figures:
    """The printed I/O rate has more digits than the test time, so the data rate is bytes per I/O
    times that; the printed one checks it.
    """
    unit = next((name for name in _DATA_RATES if name in row), None)
    if unit is None:
        raise ParseError(
            f"found columns {', '.join(row)} in diskspd's report, expected"
            f" {' or '.join(_DATA_RATES)}"
        )
    iops, ios = _figure(row, "I/O per s"), _figure(row, "I/Os")
    rate = _figure(row, "bytes") / ios * iops
    printed = _figure(row, unit) * 2.0**20
    if abs(rate - printed) > _TOLERANCE * (2.0**20 + printed) + rate * _rounding(iops):
        raise ParseError(
            f"found {row[unit]} {unit} beside {row['bytes']} bytes in {row['I/Os']} I/Os at"
            f" {row['I/O per s']} per s: they do not agree"
        )
    return spans.operations(direction, iops, rate)


def _rounding(iops: float) -> float:
    """Relative error of a rate printed with two decimals."""
    return 0.005 / iops if iops > 0 else 1.0


def _latencies(direction: str, row: Mapping[str, str]) -> Figures:
    return spans.merged(
        spans.latency(direction, statistic, decimal(row.get(column, "")))
        for column, statistic in _STATISTICS.items()
    )


def _percentiles(part: str, directions: Sequence[str]) -> Figures:
    """The last percentile table, which is the one for all targets together. Raises ParseError
    unless it is in ms.
    """
    lines = part.splitlines()
    headers = [number for number, line in enumerate(lines) if line.strip().startswith("%-ile")]
    if not headers:
        return {}
    columns = [name.strip() for name in lines[headers[-1]].split("|")]
    if any("(ms)" not in name for name in columns[1:]):
        raise ParseError(
            f"found latency columns {', '.join(columns[1:])} in diskspd's report, expected ms"
        )
    rows = [
        [cell.strip() for cell in line.split("|")]
        for line in takewhile(lambda line: "|" in line, lines[headers[-1] + 2 :])
    ]
    return spans.merged(
        spans.latency(direction, PERCENTILES[row[0]], decimal(cell))
        for row in rows
        if row[0] in PERCENTILES
        for column, cell in zip(columns[1:], row[1:], strict=False)
        if (direction := column.partition(" ")[0].lower()) in directions
    )


def _cpu(part: str) -> Figures:
    found = _AVERAGE.search(part)
    cells = (
        [decimal(cell.strip().removesuffix("%")) for cell in found[1].split("|")] if found else []
    )
    return spans.cpu(*cells[:3]) if len(cells) == 4 else {}
