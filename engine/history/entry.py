"""What the index has of a run. Everything is read from the run directory, so that an index that is
lost is made again.
"""

from __future__ import annotations

import math
from calendar import timegm
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import strptime

from ..analysis.model import Analysis, Cell, Contrast
from ..model.results import RunData, TrialKind, TrialStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run: where its directory is, and what it came to. ``measured_at`` is when its first trial
    began, or when the directory was made (s since 1970); ``trials`` counts measured ones, ``valid``
    those of them that count; ``settled`` of ``verdicts`` primary comparisons say something.
    """

    run_id: str
    path: str
    name: str
    title: str
    benchspec: str
    spec_sha256: str
    measured_at: float
    complete: bool
    imported: bool
    trials: int
    valid: int
    verdicts: int
    settled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """A series of an experiment of a run: the centre of its sessions with its interval, in base
    units.
    """

    run_id: str
    experiment_id: str
    target: str
    cell: str
    series: str
    unit: str
    better: str
    statistic: str
    is_primary: bool
    sessions: int
    centre: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """A comparison of a run, by its place among them; ratios are target by baseline."""

    run_id: str
    place: int
    cell: str
    series: str
    baseline: str
    target: str
    is_primary: bool
    ratio: float | None
    low: float | None
    high: float | None
    void: str | None
    difference: str | None
    margin: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """All rows of one run."""

    run: RunRow
    series: tuple[SeriesRow, ...]
    comparisons: tuple[ComparisonRow, ...]


def make_entry(path: Path, run: RunData, analysis: Analysis) -> Entry:
    """The rows of ``run``, which lies in ``path``."""
    primary = [c for c in analysis.contrasts if c.primary and c.verdict is not None]
    measured = [trial for trial in run.trials if trial.kind is TrialKind.MEASURED]
    row = RunRow(
        run_id=run.run_id,
        path=str(path.resolve()),
        name=run.spec.name,
        title=run.spec.title,
        benchspec=str(run.manifest.get("benchspec", "")),
        spec_sha256=str(run.manifest.get("spec_sha256", "")),
        measured_at=_measured_at(run),
        complete=run.complete,
        imported="imported" in run.manifest,
        trials=len(measured),
        valid=sum(trial.status is TrialStatus.VALID for trial in measured),
        verdicts=len(primary),
        settled=sum(c.verdict is not None and c.verdict.settled for c in primary),
    )
    return Entry(
        run=row,
        series=tuple(_series(run.run_id, analysis)),
        comparisons=tuple(
            _comparison(run.run_id, place, contrast)
            for place, contrast in enumerate(analysis.contrasts)
        ),
    )


def _measured_at(run: RunData) -> float:
    began = [trial.started_at for trial in run.trials if trial.started_at]
    if began:
        return min(began)
    try:
        return float(timegm(strptime(str(run.manifest["created_at"]), "%Y-%m-%dT%H:%M:%SZ")))
    except (KeyError, ValueError):
        return 0.0


def _series(run_id: str, analysis: Analysis) -> Iterator[SeriesRow]:
    for cell in analysis.cells:
        if cell.summary is not None and math.isfinite(cell.summary.centre):
            yield _one_series(run_id, cell, cell.summary.centre)


def _one_series(run_id: str, cell: Cell, centre: float) -> SeriesRow:
    summary = cell.summary
    interval = None if summary is None else summary.interval
    return SeriesRow(
        run_id=run_id,
        experiment_id=cell.experiment_id,
        target=cell.target,
        cell=cell.cell,
        series=cell.series,
        unit=cell.metric.unit,
        better=cell.metric.direction.value,
        statistic=cell.metric.statistic.value,
        is_primary=cell.primary,
        sessions=0 if summary is None else len(summary.values),
        centre=centre,
        low=None if interval is None else _finite(interval.low),
        high=None if interval is None else _finite(interval.high),
    )


def _comparison(run_id: str, place: int, contrast: Contrast) -> ComparisonRow:
    verdict, interval = contrast.verdict, contrast.interval
    void = None if verdict is None else verdict.void
    difference = None if verdict is None else verdict.difference
    margin = None if verdict is None else verdict.margin
    return ComparisonRow(
        run_id=run_id,
        place=place,
        cell=contrast.cell,
        series=contrast.series,
        baseline=contrast.baseline,
        target=contrast.target,
        is_primary=contrast.primary,
        ratio=_finite(contrast.ratio),
        low=None if interval is None else _finite(interval.low),
        high=None if interval is None else _finite(interval.high),
        void=None if void is None else void.value,
        difference=None if difference is None else difference.value,
        margin=None if margin is None else margin.value,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
