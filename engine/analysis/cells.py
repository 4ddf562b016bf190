"""Cells: every series of every experiment with its summary and limits, or the reason why there is
none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model.results import Metric, RunData, Trial, TrialStatus
from ..model.spec import Experiment
from .evidence import Evidence
from .limits import check_limits, limits_of, link_of
from .model import Cell, LimitCheck, Summary
from .reasons import (
    Cause,
    FailedGates,
    NotReported,
    NotRun,
    NoValue,
    Skipped,
    TrialError,
    TrialsNotValid,
)
from .series import Columns, Observed, SessionTable, fold, metric_of
from .summaries import Described, centres, describe, modes_of, prepare


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numeric side of a run: session values of every series (valid trials), summaries by series
    number, and centres that would result if invalid trials counted (only for series that have
    such).
    """

    table: SessionTable
    described: Described
    summaries: Mapping[int, Summary]
    with_invalid: Mapping[int, float]


def number_crunch(observed: Observed, confidence: float, first_stage: int | None) -> Numbers:
    """Fold, describe and flag all series of a run."""
    columns, metrics = observed.columns, [key.metric for key in observed.keys]
    valid = columns.only(columns.valid)
    described = prepare(fold(valid, len(metrics)), metrics)
    summaries = describe(described, confidence, first_stage, modes_of(valid, len(metrics)))
    with_invalid = _centres_with_invalid(columns, metrics)
    for number, centre in with_invalid.items():
        if number in summaries:
            summaries[number] = replace(summaries[number], centre_with_invalid=centre)
    return Numbers(described.table, described, summaries, with_invalid)


def _centres_with_invalid(columns: Columns, metrics: Sequence[Metric]) -> dict[int, float]:
    affected = np.unique(columns.series[~columns.valid])
    if not len(affected):
        return {}
    values = centres(prepare(fold(columns, len(metrics)), metrics))
    return {int(number): float(values[number]) for number in affected}


@dataclass(frozen=True, slots=True)
class CellTable:
    """All cells in order, and where each (experiment id, series) is: its cell, and its series
    number if it has measurements.
    """

    cells: tuple[Cell, ...]
    by_series: Mapping[tuple[str, str], Cell]
    numbers: Mapping[tuple[str, str], int]


def build_cells(
    run: RunData,
    observed: Observed,
    numbers: Numbers,
    metrics: Mapping[str, Sequence[Metric]],
    evidence: Evidence,
) -> CellTable:
    """A cell for every series of every experiment, its primary series included when nothing was
    measured.
    """
    series_of: dict[str, list[str]] = {experiment.id: [] for experiment in run.experiments}
    where: dict[tuple[str, str], int] = {}
    for number, key in enumerate(observed.keys):
        series_of[key.experiment_id].append(key.series)
        where[key.experiment_id, key.series] = number
    primaries = _primaries(run, series_of)
    cells = []
    for experiment in run.experiments:
        maker = _CellMaker(run, experiment, observed, evidence)
        primary, series = primaries[experiment.id], series_of[experiment.id]
        for name in series if primary is None or primary in series else [primary, *series]:
            known = where.get((experiment.id, name))
            metric = (
                metric_of(experiment, name, metrics)
                if known is None
                else observed.keys[known].metric
            )
            cells.append(
                maker.cell(
                    name,
                    metric,
                    None if known is None else numbers.summaries.get(known),
                    name == primary,
                )
            )
    return CellTable(
        tuple(cells), {(cell.experiment_id, cell.series): cell for cell in cells}, where
    )


def _primaries(run: RunData, series_of: Mapping[str, Sequence[str]]) -> dict[str, str | None]:
    """The primary series of each experiment: as named, or the only series of that metric name, here
    or at another target of the cell.

    None where the spec names none, or several series bear the name.
    """
    seen: dict[str, set[str]] = {}
    for experiment in run.experiments:
        seen.setdefault(experiment.cell, set()).update(series_of[experiment.id])
    return {
        e.id: resolve_primary(e.primary, series_of[e.id], seen[e.cell]) for e in run.experiments
    }


def resolve_primary(wished: str, own: Sequence[str], elsewhere: set[str]) -> str | None:
    """The series that ``wished`` (a series or a metric name) means among the experiment's ``own``,
    else among those seen ``elsewhere``.
    """
    if not wished or wished in own:
        return wished or None
    for candidates in (own, sorted(elsewhere)):
        named = [
            series
            for series in candidates
            if series == wished or series.partition("{")[0] == wished
        ]
        if len(named) == 1:
            return named[0]
        if named:
            return None
    return wished


class _CellMaker:
    """Makes the cells of one experiment, which share its counts, link and reason."""

    def __init__(
        self, run: RunData, experiment: Experiment, observed: Observed, evidence: Evidence
    ) -> None:
        self._experiment = experiment
        self._counts = observed.counts(experiment.id)
        self._trials = observed.measured.get(experiment.id, ())
        skipped = run.skipped.get(experiment.id)
        self._skipped = Skipped(why=skipped) if skipped else None
        target = run.spec.target(experiment.target)
        self._limits = limits_of(target, experiment)
        self._link = link_of(experiment, target, evidence)

    def cell(self, series: str, metric: Metric, summary: Summary | None, primary: bool) -> Cell:
        return Cell(
            experiment_id=self._experiment.id,
            target=self._experiment.target,
            cell=self._experiment.cell,
            series=series,
            metric=metric,
            primary=primary,
            counts=self._counts,
            summary=summary,
            not_measured=None
            if summary is not None
            else self._skipped or why_not_measured(self._trials),
            limits=self._checks(metric, summary),
        )

    def _checks(self, metric: Metric, summary: Summary | None) -> tuple[LimitCheck, ...]:
        return (
            ()
            if summary is None
            else check_limits(summary.centre, metric, self._limits, self._link, summary)
        )


def why_not_measured(trials: Sequence[Trial]) -> NoValue:
    """The most frequent reason why ``trials`` (measured ones of one experiment) gave no valid
    value.
    """
    if not trials:
        return NotRun()
    if any(trial.status is TrialStatus.VALID for trial in trials):
        return NotReported()
    cause, count = Counter(map(_cause, trials)).most_common(1)[0]
    return TrialsNotValid(cause=cause, count=count, trials=len(trials))


def _cause(trial: Trial) -> Cause:
    if trial.error:
        return TrialError(message=trial.error)
    failed = sorted(gate.name for gate in trial.gates if not gate.passed)
    return FailedGates(gates=tuple(failed)) if failed else trial.status
