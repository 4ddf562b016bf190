"""What ``redis-benchmark --csv`` prints, read into plain figures in base units. Format: Redis 6.2
and 7: redis-benchmark.c (``showLatencyReport``).

The first line names the columns, each test adds one line once it has ended; times are in ms with
three decimals. What took less than 0.5 us reads ``0.000``, which is a limit of the print and no
measurement, so it is left out.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from ...engine.model.errors import ParseError
from ...engine.model.text.json_output import quote
from ...engine.model.text.strict_numbers import decimal

TESTS: Mapping[str, str] = {
    **{
        name.upper(): name
        for name in (
            *("ping_inline", "ping_mbulk", "set", "get", "incr", "lpush", "rpush", "lpop", "rpop"),
            *("sadd", "hset", "spop", "zadd", "zpopmin"),
        )
    },
    **{f"LRANGE_{n} (first {n} elements)": f"lrange_{n}" for n in (100, 300, 500, 600)},
    "MSET (10 keys)": "mset",
}
"""What the report calls a test, and what ``-t`` does."""

_PREPARATION = "LPUSH (needed to benchmark LRANGE)"
"""Fills the list that lrange reads; nobody asked to measure it."""

_COLUMNS: Mapping[str, tuple[str, float]] = {
    "rps": ("throughput", 1.0),
    "avg_latency_ms": ("latency.mean", 1e-3),
    "min_latency_ms": ("latency.min", 1e-3),
    "p50_latency_ms": ("latency.p50", 1e-3),
    "p95_latency_ms": ("latency.p95", 1e-3),
    "p99_latency_ms": ("latency.p99", 1e-3),
    "max_latency_ms": ("latency.max", 1e-3),
}
"""Column to metric, and its factor to base units."""


def figures(text: str) -> dict[str, dict[str, float | None]]:
    """Metric values in base units of each test, by the name that ``-t`` knows it by.

    Raises:
        ParseError: no report, one that was cut, a column or a test that is not known, a figure that
            is no number, or a test that comes twice.
    """
    if not text.endswith(("\n", '"')):  # cells are in quotes, so a cut row has too few
        raise ParseError(f"found a report that was cut: {quote(text.encode()[-200:])}")
    header, *rows = _table(text)
    if header != ["test", *_COLUMNS]:
        said = quote(text.partition("\n")[0].encode())
        raise ParseError(
            f"found {said}, expected the columns of redis-benchmark --csv",
            remedy="redis-benchmark prints them since Redis 6.2",
        )
    found: dict[str, dict[str, float | None]] = {}
    for title, *words in rows:
        if title == _PREPARATION:
            continue
        name = TESTS.get(title)
        if name is None or name in found:
            raise ParseError(f"found {quote(title.encode())}, expected every known test once")
        found[name] = _row(title, words)
    return found


def _table(text: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(text.splitlines(), strict=True))
    except csv.Error as error:
        raise ParseError(f"found {quote(text.encode())}, expected CSV: {error}") from error
    return [row or [""] for row in rows] or [[""]]


def _row(title: str, words: list[str]) -> dict[str, float | None]:
    values = [decimal(word) for word in words]
    numbers = [value for value in values if value is not None and value >= 0]
    if len(numbers) != len(values) or len(values) != len(_COLUMNS) or not numbers[0]:
        raise ParseError(
            f"found {quote(','.join(words).encode())} for {quote(title.encode())}, expected"
            f" {len(_COLUMNS)} figures"
        )
    scaled = zip(_COLUMNS.values(), numbers, strict=True)
    return {name: value * factor if value else None for (name, factor), value in scaled}
