"""The runs of a spec as lines over time: one for each target, cell and series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from ..model.results import Statistic
from .acks import Ack
from .changes import Mark, judge
from .entry import RunRow, SeriesRow

OTHER_MEANING = "the experiment means something else since this run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run's result in a line, and what is said of it."""

    run: RunRow
    row: SeriesRow
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The results of one series of one target, in the order of time."""

    target: str
    cell: str
    series: str
    unit: str
    better: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """All lines of a spec, and the acknowledgements that count no more (``expired``) or name a run
    that is not there (``unused``).
    """

    lines: tuple[Line, ...]
    expired: tuple[Ack, ...] = ()
    unused: tuple[Ack, ...] = ()


def make_lines(
    runs: Sequence[RunRow], rows: Iterable[SeriesRow], acks: Sequence[Ack], today: date
) -> Lines:
    """Lines of ``rows``, which belong to ``runs``, both in the order of time.

    A line begins a new level where an experiment means something else (another id: its results are
    not comparable with those before), and where an acknowledgement says so.
    """
    by_id = {run.run_id: run for run in runs}
    valid = [ack for ack in acks if today <= ack.until]
    found: dict[tuple[str, str, str], list[SeriesRow]] = {}
    for row in rows:
        if row.run_id in by_id:
            found.setdefault((row.target, row.cell, row.series), []).append(row)
    return Lines(
        lines=tuple(_line(own, by_id, valid) for _, own in sorted(found.items())),
        expired=tuple(ack for ack in acks if ack.until < today),
        unused=tuple(ack for ack in valid if ack.run not in by_id),
    )


def _line(rows: Sequence[SeriesRow], runs: dict[str, RunRow], acks: Sequence[Ack]) -> Line:
    last = rows[-1]
    restarts: dict[int, str] = {}
    for place, row in enumerate(rows):
        if place and row.experiment_id != rows[place - 1].experiment_id:
            restarts[place] = OTHER_MEANING
        for ack in acks:
            if ack.run == row.run_id and ack.covers(row.target, row.cell, row.series):
                restarts[place] = ack.reason
    marks = judge(
        [row.centre for row in rows],
        geometric=last.statistic == Statistic.GEOMETRIC_MEAN.value,
        restarts=restarts,
    )
    return Line(
        target=last.target,
        cell=last.cell,
        series=last.series,
        unit=last.unit,
        better=last.better,
        points=tuple(
            Point(run=runs[row.run_id], row=row, mark=mark)
            for row, mark in zip(rows, marks, strict=True)
        ),
    )
