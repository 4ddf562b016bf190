"""Several netperf processes that ran side by side, taken together as one measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ...engine.model.contract.values import Completed
from ...engine.model.errors import ParseError

Figures: TypeAlias = "Mapping[str, float | None]"

PERCENTILES: tuple[str, ...] = ("latency.p50", "latency.p90", "latency.p99")
"""Metrics that stay per process: percentiles of several processes cannot be combined."""

_RATES = ("throughput", "throughput.sent", "transactions")
_SUMMED = ("retransmits", "retransmits.remote")
_SMALLEST = ("duration", "latency.min")
_LARGEST = ("latency.max",)


def combine(processes: Sequence[Figures]) -> dict[str, float | None]:
    """One set of figures from processes that ran at the same time; what one of them lacks, the
    whole lacks.

    The rate of all is what all moved over the time of the one that took longest: each ends when its
    own buffers have drained, so that the sum of their own rates would exceed what went through a
    full link. Retransmissions are summed. CPU shares are of the whole host, so every process saw
    the same ones: their mean, taken once. ``duration`` is the shortest, the most that all of them
    can have shared. Percentiles and netperf's own confidence figures are left out.
    """
    values = {
        name: _complete(processes, name)
        for name in dict.fromkeys(name for process in processes for name in process)
    }
    known = {name: column for name, column in values.items() if column}
    return {
        **{
            name: _joint_rate(known[name], known.get("duration") or [])
            for name in _RATES
            if name in known
        },
        **{name: math.fsum(known[name]) for name in _SUMMED if name in known},
        **{name: min(known[name]) for name in _SMALLEST if name in known},
        **{name: max(known[name]) for name in _LARGEST if name in known},
        **{
            name: math.fsum(column) / len(column)
            for name, column in known.items()
            if name.startswith("cpu.")
        },
        **_pooled_latency(known),
    }


def _complete(processes: Sequence[Figures], name: str) -> list[float]:
    column = [value for process in processes if (value := process.get(name)) is not None]
    return column if len(column) == len(processes) else []


def _joint_rate(rates: Sequence[float], durations: Sequence[float]) -> float:
    """The rate of all together; the sum of their rates where it is not known how long they took."""
    longest = max(durations, default=0.0)
    if longest <= 0:
        return math.fsum(rates)
    return (
        math.fsum(rate * duration for rate, duration in zip(rates, durations, strict=True))
        / longest
    )


def _pooled_latency(known: Mapping[str, Sequence[float]]) -> dict[str, float | None]:
    """Mean and standard deviation over all operations: ``m = sum(w m_i)``, ``s^2 = sum(w (s_i^2 +
    m_i^2)) - m^2``.

    The weights are shares of the operations: of transactions, or of throughput where every
    operation moves as much.
    """
    rates = known.get("transactions") or known.get("throughput") or []
    means, deviations, total = (
        known.get("latency.mean"),
        known.get("latency.stddev"),
        math.fsum(rates),
    )
    if not means or total <= 0:
        return {}
    weights = [rate / total for rate in rates]
    mean = math.fsum(w * m for w, m in zip(weights, means, strict=True))
    if not deviations:
        return {"latency.mean": mean}
    square = math.fsum(
        w * (s * s + m * m) for w, s, m in zip(weights, deviations, means, strict=True)
    )
    return {"latency.mean": mean, "latency.stddev": math.sqrt(max(0.0, square - mean * mean))}


def check_overlap(completed: Sequence[Completed]) -> None:
    """Refuse to sum processes that did not run at the same time; those without recorded times pass.

    Raises:
        ParseError: one had ended before another began.
    """
    timed = [c for c in completed if c.duration_s > 0]
    if len(timed) < 2:
        return
    last_start, first_end = (
        max(c.started_at for c in timed),
        min(c.started_at + c.duration_s for c in timed),
    )
    if first_end <= last_start:
        raise ParseError(
            f"found a stream that had ended {last_start - first_end:.3f} s before another began:"
            " their throughputs cannot be summed",
            remedy="start the streams in parallel",
        )
