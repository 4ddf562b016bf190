"""What nodes and containers were busy with while it was measured: means over valid trials of what the monitors saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from ..engine.results import RunData, Trial, TrialKind, TrialStatus
from ..engine.spec import Experiment
from .model import ContainerRow, LoadRow
from .numbers import scale_column, write_share

_STATES = ("busy", "user", "system", "softirq", "iowait", "steal")
_ROLE, _OWN = "role", "its own"
"""What runners call the container of a role's own programs, and what pages do: no container's name has a space, so it can be no sidecar's."""


def list_loads(run: RunData, titles: Mapping[str, str]) -> tuple[LoadRow, ...]:
    """One row per experiment and role whose node was watched, in the order of the spec."""
    rows = []
    for experiment, role, trials in _watched(run):
        shares = {state: _mean(trials, role, f"host.cpu.{state}") for state in _STATES}
        memory = _mean(trials, role, "memory.used")
        if any(value is not None for value in shares.values()):
            texts = {state: "" if value is None else write_share(value) for state, value in shares.items()}
            rows.append(LoadRow(target=titles[experiment.target], cell=experiment.cell, role=role, memory=_quantity(memory, "B"), **texts))
    return tuple(rows)


def list_containers(run: RunData, titles: Mapping[str, str]) -> tuple[ContainerRow, ...]:
    """One row per experiment, role and container that was looked at, the one of the role's own programs first."""
    rows = []
    for experiment, role, trials in _watched(run):
        names = dict.fromkeys(name.split(".")[1] for trial in trials for name in trial.usage.get(role, {}) if name.startswith("container."))
        for name in sorted(names, key=lambda name: (name != _ROLE, name)):
            rows.append(
                ContainerRow(
                    target=titles[experiment.target],
                    cell=experiment.cell,
                    role=role,
                    container=_OWN if name == _ROLE else name,
                    cpu=_quantity(_mean(trials, role, f"container.{name}.cpu"), "s"),
                    per_sample=_quantity(_per_sample(trials, role, f"container.{name}.cpu"), "s"),
                    memory=_quantity(_mean(trials, role, f"container.{name}.memory"), "B"),
                )
            )
    return tuple(rows)


def _watched(run: RunData) -> Iterator[tuple[Experiment, str, Sequence[Trial]]]:
    """Every experiment and role that a monitor saw, with all its valid trials."""
    by_experiment: dict[str, list[Trial]] = {}
    for trial in run.trials:
        if trial.kind is TrialKind.MEASURED and trial.status is TrialStatus.VALID:
            by_experiment.setdefault(trial.experiment_id, []).append(trial)
    for experiment in run.experiments:
        trials = by_experiment.get(experiment.id, [])
        for role in dict.fromkeys(role for trial in trials for role in sorted(trial.usage)):
            yield experiment, role, trials


def _mean(trials: Sequence[Trial], role: str, name: str) -> float | None:
    """None unless every trial has the figure: a mean of some of them would stand for others."""
    values = [trial.usage[role][name] for trial in trials if name in trial.usage.get(role, {})]
    return fmean(values) if values and len(values) == len(trials) else None


def _per_sample(trials: Sequence[Trial], role: str, name: str) -> float | None:
    """CPU time for each request or operation that the tool counted; None where it counts none, or several kinds."""
    total, count = 0.0, 0.0
    for trial in trials:
        counted = [measurement.value for measurement in trial.measurements if measurement.metric == "samples"]
        if len(counted) != 1 or name not in trial.usage.get(role, {}):
            return None
        total, count = total + trial.usage[role][name], count + counted[0]
    return total / count if count else None


def _quantity(value: float | None, unit: str) -> str:
    return "" if value is None else scale_column([value], unit).quantity(value)
