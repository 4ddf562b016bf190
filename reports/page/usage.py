"""What nodes and containers were busy with while it was measured: means over valid trials of what
the monitors saw, and what they did not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from ...engine.model.results import RunData, Trial, TrialKind, TrialStatus
from ...engine.model.spec import Experiment
from ..wording.numbers import scale_column, write_share
from .model import ContainerRow, LoadRow

_STATES = ("busy", "user", "system", "softirq", "iowait", "steal")
_UNSEEN = "containers.unseen"
_SELDOM = (
    "some trial was too short for a kubelet, which renews its figures every 10 to 20 s, or was not"
    " watched to its end, or one was started anew, or pods came or went"
)
_CONTAINER = "container."
_ROLE, _OWN = "role", "its own"
"""What runners call the container of a role's own programs, and what pages do: no container's name
has a space, so it can be no sidecar's.
"""


def list_loads(run: RunData, titles: Mapping[str, str]) -> tuple[LoadRow, ...]:
    """One row per experiment and role whose node was watched, in the order of the spec."""
    rows = []
    for experiment, role, trials in _watched(run):
        shares = {state: _mean(trials, role, f"host.cpu.{state}") for state in _STATES}
        memory = _mean(trials, role, "memory.used")
        if any(value is not None for value in shares.values()):
            texts = {
                state: "" if value is None else write_share(value)
                for state, value in shares.items()
            }
            rows.append(
                LoadRow(
                    target=titles[experiment.target],
                    cell=experiment.cell,
                    role=role,
                    memory=_quantity(memory, "B"),
                    **texts,
                )
            )
    return tuple(rows)


def list_containers(run: RunData, titles: Mapping[str, str]) -> tuple[ContainerRow, ...]:
    """One row per experiment and container that was looked at: of each role's pod, first that of
    its own programs, then of those that steps made.

    Containers of one name in several pods of a workload are one row.
    """
    rows = []
    for experiment, role, trials in _watched(run):
        site = next((place.site for place in experiment.roles if place.role == role), "")
        names = dict.fromkeys(
            _named(name)
            for trial in trials
            for name in trial.usage.get(role, {})
            if name.startswith(_CONTAINER)
        )
        for name in sorted(names, key=lambda name: (name != _ROLE, "/" in name, name)):
            made_by, _, container = name.rpartition("/")
            rows.append(
                ContainerRow(
                    target=titles[experiment.target],
                    cell=experiment.cell,
                    role="" if made_by else role,
                    site=site,
                    pod=made_by or role,
                    container=_OWN if name == _ROLE else container,
                    cpu=_quantity(_mean(trials, role, f"container.{name}.cpu"), "s"),
                    per_sample=_quantity(_per_sample(trials, role, f"container.{name}.cpu"), "s"),
                    memory=_quantity(_mean(trials, role, f"container.{name}.memory"), "B"),
                )
            )
    return tuple(rows)


def list_unseen(run: RunData, rows: Sequence[ContainerRow]) -> tuple[str, ...]:
    """A sentence per site about what is not known of its containers: which, and why."""
    reasons: dict[str, dict[str, None]] = {}
    unknown: dict[str, dict[str, None]] = {}
    for facts in run.facts:
        if value := facts.value(_UNSEEN):
            reasons.setdefault(facts.site, {})[str(value)] = None
    for row in rows:
        if not row.cpu:
            unknown.setdefault(row.site, {})[f"{row.container} of {row.pod}"] = None
    return tuple(
        _unseen(site, list(unknown.get(site, ())), list(reasons.get(site, (_SELDOM,))))
        for site in sorted(unknown.keys() | reasons.keys())
    )


def _unseen(site: str, containers: Sequence[str], reasons: Sequence[str]) -> str:
    what = (
        f"these containers used: {', '.join(containers)}" if containers else "some containers used"
    )
    return f"On site {site} it is not known what {what}. Why: {'; '.join(reasons)}."


def _named(figure: str) -> str:
    """The container that a figure is about."""
    return figure.removeprefix(_CONTAINER).rpartition(".")[0]


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
    """CPU time for each request or operation that the tool counted; None where it counts none, or
    several kinds.
    """
    total, count = 0.0, 0.0
    for trial in trials:
        counted = [
            measurement.value
            for measurement in trial.measurements
            if measurement.metric == "samples"
        ]
        if len(counted) != 1 or name not in trial.usage.get(role, {}):
            return None
        total, count = total + trial.usage[role][name], count + counted[0]
    return total / count if count else None


def _quantity(value: float | None, unit: str) -> str:
    return "" if value is None else scale_column([value], unit).quantity(value)
