"""A run as plain rows, for pandas, polars or a spreadsheet: its trials, session values, comparisons
and findings. Offline, and the same rows each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..engine.analysis.model import Analysis, Cell, Contrast, Interval
from ..engine.model.results import Finding, Measurement, RunData, Trial
from ..engine.model.spec import Experiment
from ..engine.store.read_run import read_run
from ..reports.wording.numbers import steady
from ..reports.wording.verdict_words import verdict_words
from .bundles import opened
from .columns import COMPARISONS, FINDINGS, SESSIONS, TRIALS, Column, axis_column
from .reporting import analyse_run
from .settings import File

Value = str | int | float | bool | None
Row = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that all have the same columns. What was not measured or does not apply is None."""

    columns: tuple[Column, ...]
    """The columns in order, each with its type, unit and meaning."""
    cells: tuple[tuple[Value, ...], ...]
    """The values of each row, in the order of the columns."""

    def __len__(self) -> int:
        return len(self.cells)

    def rows(self) -> list[Row]:
        """A flat dict for each row: ``pandas.DataFrame(table.rows())``."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.cells]

    def series(self) -> dict[str, list[Value]]:
        """The values of each column, also of a table without rows:
        ``polars.DataFrame(table.series())``.
        """
        return {
            column.name: [row[at] for row in self.cells] for at, column in enumerate(self.columns)
        }


@dataclass(frozen=True)
class RunTables:
    """What is known of a run. ``run`` and ``analysis`` are what the tables are made of."""

    run: RunData
    analysis: Analysis

    @cached_property
    def trials(self) -> Table:
        """A row for each measurement of each trial; one row without a value for a trial that
        measured nothing.
        """
        axes = dict.fromkeys(axis for e in self.run.experiments for axis, _ in e.point)
        columns = (*TRIALS, *map(axis_column, axes))
        experiments = {experiment.id: experiment for experiment in self.run.experiments}
        rows = (row for t in self.run.trials for row in _of_trial(t, experiments, list(axes)))
        return _table(columns, rows)

    @cached_property
    def sessions(self) -> Table:
        """A row for each session value of each series: what intervals and verdicts are made of."""
        return _table(SESSIONS, (row for cell in self.analysis.cells for row in _of_cell(cell)))

    @cached_property
    def comparisons(self) -> Table:
        """A row for each comparison of a target with its baseline."""
        return _table(COMPARISONS, map(_of_contrast, self.analysis.contrasts))

    @cached_property
    def findings(self) -> Table:
        """A row for each finding: of the run itself, then of the analysis."""
        found = (*self.run.findings, *self.analysis.findings)
        return _table(FINDINGS, map(_of_finding, found))


def load(run: File) -> RunTables:
    """Read ``run``, a run directory or a bundle, back, check every sum, and analyse it.

    Raises:
        UsageError: no run directory.
        IntegrityError: a stored byte is not what was written.
    """
    with opened(run) as path:
        data = read_run(path)
    return RunTables(data, analyse_run(data))


def _table(columns: tuple[Column, ...], rows: Iterator[Row]) -> Table:
    names = [column.name for column in columns]
    return Table(columns, tuple(tuple(row[name] for name in names) for row in rows))


def _of_trial(
    trial: Trial, experiments: Mapping[str, Experiment], axes: list[str]
) -> Iterator[Row]:
    experiment = experiments[trial.experiment_id]
    point = dict(experiment.point)
    head: Row = {
        "trial": trial.sequence,
        "experiment": experiment.id,
        "target": experiment.target,
        "workload": experiment.workload,
        "cell": experiment.cell,
        "session": trial.session,
        "kind": trial.kind.value,
        "status": trial.status.value,
        "started_at": trial.started_at or None,  # 0: whose results were imported did not say
        "duration": trial.duration_s or None,
        "error": trial.error,
        **{f"axis.{axis}": point.get(axis) for axis in axes},
    }
    if not trial.measurements:
        yield head | dict.fromkeys(("metric", "labels", "value", "unit", "primary"))
    for measurement in trial.measurements:
        yield head | _of_measurement(measurement, experiment)


def _of_measurement(measurement: Measurement, experiment: Experiment) -> Row:
    labels = (f"{key}={value}" for key, value in sorted(measurement.labels.items()))
    return {
        "metric": measurement.metric,
        "labels": ",".join(labels),
        "value": _finite(float(measurement.value)),
        "unit": measurement.unit,
        "primary": measurement.series == experiment.primary,
    }


def _of_cell(cell: Cell) -> Iterator[Row]:
    summary = cell.summary
    if summary is None:
        return
    for session, value in zip(summary.sessions, summary.values, strict=True):
        yield {
            "experiment": cell.experiment_id,
            "target": cell.target,
            "cell": cell.cell,
            "series": cell.series,
            "session": session,
            "value": _steady(value),
            "unit": cell.metric.unit,
            "better": cell.metric.direction.value,
            "primary": cell.primary,
            "outlier": session in summary.outliers,
        }


def _of_contrast(contrast: Contrast) -> Row:
    verdict = contrast.verdict
    low, high = _ends(contrast.interval)
    margin_low, margin_high = _ends(contrast.margin_interval)
    return {
        "cell": contrast.cell,
        "series": contrast.series,
        "baseline": contrast.baseline,
        "baseline_cell": contrast.baseline_cell or contrast.cell,
        "target": contrast.target,
        "primary": contrast.primary,
        "better": contrast.metric.direction.value,
        "ratio": _steady(contrast.ratio),
        "low": low,
        "high": high,
        "confidence": contrast.interval.confidence if contrast.interval else None,
        "bound": contrast.bound,
        "p": _steady(contrast.p),
        "p_holm": _steady(contrast.p_holm),
        "df": _steady(contrast.df),
        "pairs": contrast.pairs,
        "paired": contrast.paired,
        "method": contrast.method,
        "equivalence": contrast.equivalence,
        "margin_low": margin_low,
        "margin_high": margin_high,
        "void": verdict.void.value if verdict and verdict.void else None,
        "difference": verdict.difference.value if verdict and verdict.difference else None,
        "margin": verdict.margin.value if verdict and verdict.margin else None,
        "verdict": verdict_words(contrast) if verdict else None,
        "sessions_needed": contrast.sessions_needed,
    }


def _of_finding(finding: Finding) -> Row:
    return {
        "code": finding.code,
        "level": finding.level.value,
        "message": finding.message,
        "target": finding.target,
        "experiment": finding.experiment_id,
        "trial": finding.sequence,
    }


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (_steady(interval.low), _steady(interval.high))


def _steady(value: float | None) -> float | None:
    """What was computed, to the ten digits that do not depend on the machine."""
    return None if value is None or not math.isfinite(value) else steady(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
