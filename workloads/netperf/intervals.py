"""netperf's interim results (``-D``): how far the rate of single intervals was from that of the
whole test.

Format: ``NETPERF_INTERIM_RESULT[i]=``, ``NETPERF_UNITS[i]=``, ``NETPERF_INTERVAL[i]=`` (s) and
``NETPERF_ENDING[i]=`` before the final keys, where the build has demo mode. netperf measures by
units of work, so intervals are about as long as was asked, and the last one is what remained. The
client counts, so what a stream sends is counted as it goes into the socket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...engine.model.text.strict_numbers import decimal
from .output import RATE_UNITS, TRANSACTIONS

METRICS: tuple[str, ...] = (
    "throughput.interval.min",
    "throughput.interval.max",
    "transactions.interval.min",
    "transactions.interval.max",
)
"""The names of :func:`interval_extremes`, which stay per process: the intervals of several
processes do not coincide.
"""

_LINE = re.compile(
    r"^NETPERF_(INTERIM_RESULT|UNITS|INTERVAL)\[(\d{1,9})\]=(.*)$", re.ASCII | re.MULTILINE
)
_REMAINDER = 0.25
"""An interval shorter than this share of the longest one is a remainder, whose rate says little."""


def interval_extremes(text: str) -> dict[str, float | None]:
    """Least and greatest rate of an interval in base units; nothing without intervals, or in a unit
    that is no rate.
    """
    lines: dict[str, dict[str, str]] = {}
    for key, number, value in _LINE.findall(text):
        lines.setdefault(number, {})[key] = value.strip()
    intervals = list(_rates(lines))
    longest = max((length for _, _, length in intervals), default=0.0)
    rates = [(name, rate) for name, rate, length in intervals if length >= _REMAINDER * longest]
    if not rates or len({name for name, _ in rates}) != 1:
        return {}
    values, name = [rate for _, rate in rates], rates[0][0]
    return {f"{name}.interval.min": min(values), f"{name}.interval.max": max(values)}


def _rates(lines: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, float, float]]:
    for line in lines.values():
        rate, length, unit = (
            decimal(line.get("INTERIM_RESULT", "")),
            decimal(line.get("INTERVAL", "")),
            line.get("UNITS", ""),
        )
        if rate is None or length is None or rate < 0 or length <= 0:
            continue
        if unit == TRANSACTIONS:
            yield "transactions", rate, length
        elif unit in RATE_UNITS:
            yield "throughput", rate * RATE_UNITS[unit], length
