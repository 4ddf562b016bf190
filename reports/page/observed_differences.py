"""Observed differences beside an established one: facts and monitor figures that differ between two
targets. Candidates, not causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from statistics import fmean

from ...engine.analysis.model import Analysis
from ...engine.model.results import RunData, TrialKind, TrialStatus
from ..wording.numbers import write_share
from ..wording.values import unit_of, write_value
from ..wording.verdict_words import established
from .model import ObservedDifference
from .selection import is_shown

RANKED = (
    "*mtu*",
    "*encryption*",
    "cni.*",
    "mesh.*",
    "*proxy_mode*",
    "cvm.*",
    "cpu.*",
    "*governor*",
    "memory.*",
    "net.*",
    "storage.*",
    "*",
)


def list_differences(run: RunData, analysis: Analysis) -> tuple[ObservedDifference, ...]:
    """For every pair of targets with an established primary difference: the facts that differ, most
    telling first, then monitor figures.
    """
    pairs = dict.fromkeys(
        (c.baseline, c.target)
        for c in analysis.contrasts
        if c.primary and c.paths is None and established(c)
    )
    titles = {t.name: t.title for t in run.spec.targets}
    rows = []
    for baseline, target in pairs:
        for name, on_target, on_baseline in (
            *_facts(run, baseline, target),
            *_monitors(run, baseline, target),
        ):
            rows.append(
                ObservedDifference(
                    target=titles.get(target, target),
                    baseline=titles.get(baseline, baseline),
                    name=name,
                    on_target=on_target,
                    on_baseline=on_baseline,
                )
            )
    return tuple(rows)


def _facts(run: RunData, baseline: str, target: str) -> Iterator[tuple[str, str, str]]:
    on_target, on_baseline = _observed(run, target), _observed(run, baseline)
    shared = sorted(on_target.keys() & on_baseline.keys(), key=lambda name: (_rank(name), name))
    for name in shared:
        if on_target[name] != on_baseline[name] and "unknown" not in (
            on_target[name],
            on_baseline[name],
        ):
            yield name, on_target[name], on_baseline[name]


def _observed(run: RunData, target: str) -> Mapping[str, str]:
    values: dict[str, str] = {}
    for fact_set in run.facts:
        for fact in fact_set.facts if fact_set.target == target else ():
            if is_shown(fact.name):
                values.setdefault(
                    fact.name, write_value(fact.value, fact.unit or unit_of(fact.name))
                )
    return values


def _rank(name: str) -> int:
    return next(index for index, pattern in enumerate(RANKED) if fnmatchcase(name, pattern))


def _monitors(run: RunData, baseline: str, target: str) -> Iterator[tuple[str, str, str]]:
    """CPU shares whose means over valid trials lie more than 5 points apart."""
    usage = _usage(run)
    for role, name in sorted(usage.get(target, {}).keys() & usage.get(baseline, {}).keys()):
        a, b = fmean(usage[baseline][role, name]), fmean(usage[target][role, name])
        if name.startswith("cpu.") and abs(a - b) > 0.05:
            yield f"{name} ({role}), mean of valid trials", write_share(b), write_share(a)


def _usage(run: RunData) -> Mapping[str, Mapping[tuple[str, str], list[float]]]:
    targets = {experiment.id: experiment.target for experiment in run.experiments}
    usage: dict[str, dict[tuple[str, str], list[float]]] = {}
    for trial in run.trials:
        if trial.kind is TrialKind.MEASURED and trial.status is TrialStatus.VALID:
            of_target = usage.setdefault(targets.get(trial.experiment_id, ""), {})
            for role, figures in trial.usage.items():
                for name, value in figures.items():
                    of_target.setdefault((role, name), []).append(value)
    return usage
