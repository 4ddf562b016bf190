"""What statistics of a latency are called, once for all tools: ``latency.p99`` is "Latency, 99th
percentile", in s, lower is better.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.model.results import Direction, Metric

TITLES: Mapping[str, str] = {
    "min": "Least latency",
    "mean": "Mean latency",
    "stddev": "Standard deviation of latency",
    "p25": "Latency, 25th percentile",
    "p50": "Median latency",
    "p75": "Latency, 75th percentile",
    "p90": "Latency, 90th percentile",
    "p95": "Latency, 95th percentile",
    "p99": "Latency, 99th percentile",
    "p999": "Latency, 99.9th percentile",
    "p9999": "Latency, 99.99th percentile",
    "p99999": "Latency, 99.999th percentile",
    "max": "Greatest latency",
}
"""Statistic to title."""


def latency_metrics(*statistics: str, suffix: str = "", title: str = "") -> tuple[Metric, ...]:
    """The metrics ``latency{suffix}.STATISTIC`` in the order given; ``title`` is added to theirs
    (``", reads"``).
    """
    return tuple(
        Metric(
            name=f"latency{suffix}.{statistic}",
            title=TITLES[statistic] + title,
            unit="s",
            direction=Direction.LOWER,
        )
        for statistic in statistics
    )
