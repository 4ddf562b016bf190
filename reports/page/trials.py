"""Trials tallied once: which sequence numbers stand behind a number, which were left out and
why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ...engine.model.results import RawFile, RunData, Trial, TrialKind, TrialStatus
from ...engine.model.spec import Experiment
from ...engine.planning.validity_gates import describe
from ...engine.store.directory import OWN_RAW
from ..wording.numbers import write_sequences
from ..wording.values import cut
from .model import ExcludedTrial, RawRow, Reference


@dataclass(slots=True)
class Tally:
    """The trials of one experiment by what became of them (sequence numbers), failures by their
    class, and one raw file as an example: the largest that a program of the trial wrote.
    """

    valid: list[int] = field(default_factory=list)
    others: dict[str, list[int]] = field(default_factory=dict)
    warmups: list[int] = field(default_factory=list)
    example: str = ""

    def add(self, trial: Trial) -> None:
        """Count one trial."""
        if trial.kind is TrialKind.WARMUP:
            self.warmups.append(trial.sequence)
        elif trial.status is TrialStatus.VALID:
            self.valid.append(trial.sequence)
        else:
            self.others.setdefault(_what_became(trial), []).append(trial.sequence)
        if not self.example and trial.raw:
            self.example = max(trial.raw, key=_as_example).path


def _what_became(trial: Trial) -> str:
    status = trial.status.value
    known = trial.status is TrialStatus.FAILED and trial.failure is not None
    return f"{status} ({trial.failure})" if known else status


def _as_example(file: RawFile) -> tuple[bool, int]:
    """What programs wrote comes before what is told about the trial."""
    return PurePosixPath(file.path).name not in OWN_RAW, file.size


def tally_trials(run: RunData) -> Mapping[str, Tally]:
    """One tally per experiment of the run; one pass over all trials."""
    tallies = {experiment.id: Tally() for experiment in run.experiments}
    for trial in run.trials:
        tallies.setdefault(trial.experiment_id, Tally()).add(trial)
    return tallies


def anchor_of(experiment_id: str) -> str:
    """The anchor of an experiment's row in the raw-data section."""
    return "trials-" + "".join(
        c if c.isascii() and c.isalnum() else "-" for c in experiment_id[:12]
    )


def refer(experiment_id: str, tallies: Mapping[str, Tally]) -> Reference:
    """The trials behind an experiment's numbers."""
    valid = tallies[experiment_id].valid if experiment_id in tallies else []
    return Reference(
        anchor=anchor_of(experiment_id), trials=write_sequences(valid) or "none", count=len(valid)
    )


def list_raw(
    run: RunData, tallies: Mapping[str, Tally], titles: Mapping[str, str]
) -> tuple[RawRow, ...]:
    """The raw-data section: one row per experiment, in the order of the spec."""
    return tuple(
        _raw_row(experiment, tallies.get(experiment.id, Tally()), titles)
        for experiment in run.experiments
    )


def list_excluded(run: RunData, titles: Mapping[str, str]) -> tuple[ExcludedTrial, ...]:
    """Every measured trial that is not valid, by sequence number, with its reason."""
    experiments = {experiment.id: experiment for experiment in run.experiments}
    return tuple(
        _excluded(trial, experiments.get(trial.experiment_id), titles)
        for trial in run.trials
        if trial.kind is TrialKind.MEASURED and trial.status is not TrialStatus.VALID
    )


def _raw_row(experiment: Experiment, tally: Tally, titles: Mapping[str, str]) -> RawRow:
    others = "; ".join(
        f"{status}: {write_sequences(numbers)}" for status, numbers in sorted(tally.others.items())
    )
    return RawRow(
        anchor=anchor_of(experiment.id),
        experiment=experiment.short_id,
        target=titles.get(experiment.target, experiment.target),
        cell=experiment.cell,
        valid=write_sequences(tally.valid) or "none",
        others=others or "none",
        warmups=write_sequences(tally.warmups) or "none",
        example=tally.example,
    )


def _excluded(
    trial: Trial, experiment: Experiment | None, titles: Mapping[str, str]
) -> ExcludedTrial:
    return ExcludedTrial(
        sequence=trial.sequence,
        target=titles.get(experiment.target, experiment.target) if experiment else "unknown",
        cell=experiment.cell if experiment else trial.experiment_id[:12],
        session=trial.session,
        status=trial.status.value,
        reason=_reason(trial),
    )


def _reason(trial: Trial) -> str:
    failed = [describe(gate) for gate in trial.gates if not gate.passed]
    if trial.error:
        kind = ", ".join(filter(None, (trial.failure, trial.error_kind)))
        failed.insert(0, f"{kind}: {trial.error}" if kind else trial.error)
    return cut("; ".join(failed) or "no reason recorded", 400)
