"""What fio can tell, by direction: operations, data, latency; and the CPU time it cost. Declared
once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...engine.model.results import Direction, Metric, Statistic

DIRECTIONS: Sequence[str] = ("read", "write", "trim", "mixed")
"""fio's own keys; ``mixed`` is reads and writes taken together (``unified_rw_reporting``)."""

PERCENTILES: Mapping[str, str] = {
    "p50": "50.000000",
    "p90": "90.000000",
    "p95": "95.000000",
    "p99": "99.000000",
    "p999": "99.900000",
}
"""Metric suffix to fio's key."""

_LATENCY_TITLES: Mapping[str, str] = {
    "mean": "mean",
    "p50": "median",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "min": "least",
    "max": "greatest",
}


def _of_direction(direction: str) -> tuple[Metric, ...]:
    title = direction.capitalize()
    return (
        _metric(
            f"iops.{direction}",
            f"{title} operations per second",
            "1/s",
            Direction.HIGHER,
            _limits("storage.iops", direction),
        ),
        _metric(
            f"throughput.{direction}",
            f"{title} throughput",
            "B/s",
            Direction.HIGHER,
            _limits("storage.throughput", direction),
        ),
        *(
            _metric(
                f"latency.{direction}.{statistic}",
                f"{title} latency, {words}",
                "s",
                Direction.LOWER,
            )
            for statistic, words in _LATENCY_TITLES.items()
        ),
    )


def _metric(
    name: str, title: str, unit: str, direction: Direction, limits: tuple[str, ...] = ()
) -> Metric:
    return Metric(name=name, title=title, unit=unit, direction=direction, limits=limits)


def _limits(kind: str, direction: str) -> tuple[str, ...]:
    return (f"{kind}.{direction}", kind) if direction in ("read", "write") else (kind,)


def _share(name: str, title: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        unit="ratio",
        direction=Direction.LOWER,
        statistic=Statistic.ARITHMETIC_MEAN,
    )


METRICS: Sequence[Metric] = (
    *(metric for direction in DIRECTIONS for metric in _of_direction(direction)),
    _share("cpu.user", "CPU time in fio, share of one CPU per process"),
    _share("cpu.system", "CPU time in the kernel, share of one CPU per process"),
)

GATE_INPUTS: Sequence[Metric] = (
    _share("error.ratio", "Share of operations that failed"),
    _metric("duration", "Measured time", "s", Direction.NEITHER),
    _metric("samples", "Operations measured", "1", Direction.NEITHER),
)
"""Figures for the validity gates, which no page shows as results."""
