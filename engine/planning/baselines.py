"""Which experiments are held against which: a target against the baseline of its environment, and
on one target a virtual path against the host path that ``baseline: host`` measures beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.spec import HOST_PATHS, Experiment, Spec
from .matrix import baseline_point


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The targets that may be compared with each other, in the spec's order: those of one
    environment, or (``name`` is None) those that name none.

    ``baseline`` is None where the spec names none of them: nothing is compared there.
    """

    name: str | None
    baseline: str | None
    targets: tuple[str, ...]

    @property
    def where(self) -> str:
        """The end of a sentence about it."""
        return (
            "among the targets without an environment"
            if self.name is None
            else f"in the environment {self.name}"
        )


def environments(spec: Spec) -> tuple[Environment, ...]:
    """Every environment of ``spec``, in the order of their first targets."""
    baselines = spec.compare.baselines if spec.compare else ()
    grouped: dict[str | None, list[str]] = {}
    for target in spec.targets:
        grouped.setdefault(target.environment, []).append(target.name)
    return tuple(
        Environment(
            name=name,
            baseline=next((target for target in targets if target in baselines), None),
            targets=tuple(targets),
        )
        for name, targets in grouped.items()
    )


def held_against(spec: Spec) -> dict[str, str]:
    """Every target that is compared, and the baseline of its environment."""
    return {
        name: each.baseline
        for each in environments(spec)
        if each.baseline
        for name in each.targets
        if name != each.baseline
    }


def target_pairs(
    spec: Spec, experiments: Sequence[Experiment]
) -> Iterator[tuple[Experiment, Experiment]]:
    """(baseline, experiment) for every experiment of a compared target whose cell its baseline has,
    too.
    """
    against = held_against(spec)
    baselines = frozenset(against.values())
    there = {(e.target, e.cell): e for e in experiments if e.target in baselines}
    for experiment in experiments:
        if experiment.target in against:
            base = there.get((against[experiment.target], experiment.cell))
            if base is not None:
                yield base, experiment


def host_pairs(
    spec: Spec, experiments: Sequence[Experiment]
) -> Iterator[tuple[Experiment, Experiment]]:
    """(baseline, experiment) for every experiment on a virtual path of a workload with a
    ``baseline``.
    """
    paths = {
        workload.name: workload.baseline
        for workload in spec.workloads
        if workload.baseline is not None
    }
    there = {(e.target, e.workload, e.point): e for e in experiments if e.workload in paths}
    for experiment in there.values():
        if experiment.path is not None and experiment.path not in HOST_PATHS:
            base = there.get(
                (
                    experiment.target,
                    experiment.workload,
                    baseline_point(experiment.point, paths[experiment.workload]),
                )
            )
            if base is not None:
                yield base, experiment
