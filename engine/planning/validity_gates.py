"""Validity gates: whether a trial's own figures allow it into the statistics. Gates compare
measurements with bounds in base units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.results import GateResult, Measurement

STEAL = "max_steal"
PLACEMENT = "placement"
"""The gate that engine/planning/placement.py gives: how many machines the roles were on, held
against how many they should be on.
"""

_LEAST_TICKS = 2.0
"""A bound that fewer stolen ticks break is below what a clock that ticks can tell."""
DEFAULTS: Mapping[str, float] = {STEAL: 0.02}

MEASURED: Mapping[str, str] = {
    "min_duration": "duration",
    "max_error_ratio": "error.ratio",
    "min_achieved_ratio": "achieved.ratio",
    "max_loss_ratio": "loss.ratio",
    "max_retransmit_ratio": "retransmit.ratio",
    "min_samples": "samples",
}
"""Gate name to the measurement it bounds; ``max_steal`` is taken from the monitors."""


def evaluate(
    gates: Mapping[str, float],
    required: frozenset[str],
    measurements: Sequence[Measurement],
    usage: Mapping[str, Mapping[str, float]],
    *,
    ticks: float | None = None,
) -> tuple[GateResult, ...]:
    """Apply ``gates`` to one trial. ``ticks``: of how many clock ticks its CPUs' times are (None:
    unknown); where a single stolen one would break the bound, the gate cannot be judged, and
    passes with a word.

    A gate named in ``required`` (the spec asks for it) fails when its figure was not measured; any
    other is then left out, and so is one that nothing can fail (at most 100 %: the way to switch a
    gate off).
    """
    results = []
    for name, bound in sorted({**DEFAULTS, **gates}.items()):
        observed = _observe(name, measurements, usage)
        if name == STEAL and observed is not None and _too_few(ticks, observed, bound):
            results.append(
                GateResult(name=name, bound=bound, observed=None, passed=True, ticks=ticks)
            )
        elif observed is not None:
            results.append(
                GateResult(
                    name=name, bound=bound, observed=observed, passed=_passes(name, observed, bound)
                )
            )
        elif name in required and not _always_passes(name, bound):
            results.append(GateResult(name=name, bound=bound, observed=None, passed=False))
    return tuple(results)


def _too_few(ticks: float | None, observed: float, bound: float) -> bool:
    """Whether a share breaks the bound by a tick or two where one alone would; what keeps it, or
    breaks it by far, is judged however short the trial.
    """
    if ticks is None or observed <= bound:
        return False
    return bound * ticks < _LEAST_TICKS and round(observed * ticks) <= _LEAST_TICKS


def _observe(
    name: str, measurements: Sequence[Measurement], usage: Mapping[str, Mapping[str, float]]
) -> float | None:
    """The worst figure of the trial that the gate ``name`` bounds; None when there is none."""
    if name == STEAL:
        values = [figures["cpu.steal"] for figures in usage.values() if "cpu.steal" in figures]
    else:
        values = [m.value for m in measurements if m.metric == MEASURED[name]]
    if not values:
        return None
    return min(values) if name.startswith("min_") else max(values)


def _passes(name: str, observed: float, bound: float) -> bool:
    return observed >= bound if name.startswith("min_") else observed <= bound


def _always_passes(name: str, bound: float) -> bool:
    """Whether ``bound`` allows every ratio there is."""
    return name.startswith("max_") and bound >= 1


def describe(result: GateResult) -> str:
    """One gate result in words, for messages and pages."""
    if result.name == PLACEMENT:
        return _describe_placement(result)
    if result.ticks is not None:
        return (
            f"{result.name}: cannot be judged: the trial lasted {result.ticks:.0f} clock ticks,"
            f" too few to tell {100 * result.bound:.3g} % of them from one"
        )
    observed = "not measured" if result.observed is None else f"{result.observed:.6g}"
    relation = "at least" if result.name.startswith("min_") else "at most"
    return f"{result.name}: observed {observed}, expected {relation} {result.bound:.6g}"


def _describe_placement(result: GateResult) -> str:
    if result.observed is None:
        return f"{result.name}: not seen after the trial"
    if result.observed == result.bound:
        return f"{result.name}: {'as asked' if result.passed else 'a role moved to another node'}"
    machines = "one machine" if result.observed == 1 else f"{result.observed:g} machines"
    return f"{result.name}: the roles were on {machines}, expected {result.bound:g}"
