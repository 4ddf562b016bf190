"""What diskspd reports in either format, as metric values: operations, data, latency and CPU shares
of one timespan in base units.

diskspd counts in MiB (older versions print ``MB/s`` and mean MiB/s) and ms. Of a direction in which
nothing was done it prints zeros and ``N/A``; such figures were not measured and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...engine.model.errors import ParseError

Figures = dict[str, "float | None"]

DIRECTIONS: Mapping[str, str] = {"total": "", "read": ".read", "write": ".write"}
"""How the metrics of a direction end."""

PERCENTILES: Mapping[str, str] = {
    "min": "min",
    "25th": "p25",
    "50th": "p50",
    "75th": "p75",
    "90th": "p90",
    "95th": "p95",
    "99th": "p99",
    "3-nines": "p999",
    "4-nines": "p9999",
    "5-nines": "p99999",
    "max": "max",
}
"""The percentiles that are kept, by the names of the text report."""


def operations(direction: str, iops: float, bytes_per_s: float) -> Figures:
    """Rates of one direction (a key of :data:`DIRECTIONS`), in 1/s and B/s."""
    suffix = DIRECTIONS[direction]
    return {f"iops{suffix}": iops, f"throughput{suffix}": bytes_per_s}


def latency(direction: str, statistic: str, milliseconds: float | None) -> Figures:
    """One latency statistic of a direction, in s."""
    seconds = None if milliseconds is None or milliseconds < 0 else milliseconds / 1e3
    return {f"latency{DIRECTIONS[direction]}.{statistic}": seconds}


def cpu(usage: float | None, user: float | None, kernel: float | None) -> Figures:
    """Mean CPU shares of the host from percent."""
    shares = {"cpu.usage": usage, "cpu.user": user, "cpu.system": kernel}
    return {
        name: None if percent is None or percent < 0 else percent / 100
        for name, percent in shares.items()
    }


def merged(parts: Iterable[Figures]) -> Figures:
    """All figures in one mapping."""
    return {name: value for part in parts for name, value in part.items()}


def check_done(ios: float, test_time_s: float) -> None:
    """Raises ParseError for a timespan in which nothing was done or no time passed."""
    if ios <= 0 or test_time_s <= 0:
        raise ParseError(
            f"found {ios:g} I/Os in {test_time_s:g} s in diskspd's result, expected some"
        )
