"""Where a sweep levels off: the first point of an axis beyond which no further point adds the
declared gain.

Every point is measured in every session, so nothing about the data decides what is measured, and
ratios of two points are paired by session. Two questions are asked of each point, each at half of
the error that the confidence leaves, so that both answers together hold with that confidence.

*Saturated*: the ratio of **every** later point to it lies below ``1 + gain``. Every one has to
pass, so no adjustment is needed; the points are asked from the last backwards until one fails, a
fixed sequence, which needs none either. *Rising*: **some** later point lies above ``1 + gain``,
Bonferroni-adjusted for how many there are; the points are asked from the first onwards until one
fails. Source of both arguments: intersection-union tests (Berger, Technometrics 24, 1982) and
fixed-sequence testing (Maurer, Hothorn, Lehmacher 1995).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.results import Direction, RunData
from ..model.spec import Experiment, Mode, Order, Sweep, WorkloadSpec
from .cells import CellTable, Numbers
from .contrasts import Alignment, align, estimate
from .limits import is_bound
from .model import Cell, Level, LimitCheck, Saturation, SweepPoint
from .reasons import FewSharedSessions, NoLevel, NoPoint, NoRate, OnePoint, SmokeMode
from .verdicts import LEAST_PAIRS


def find_saturations(
    run: RunData, table: CellTable, numbers: Numbers, first_stage: int | None
) -> tuple[Saturation, ...]:
    """One conclusion for every sweep of the spec, target, and point of the other axes."""
    primaries = {cell.experiment_id: cell for cell in table.cells if cell.primary}
    judge = _Judge(run, table, numbers, first_stage)
    found = []
    for workload in run.spec.workloads:
        if workload.sweep is not None:
            found += [
                _saturation(judge, workload, workload.sweep, group, primaries)
                for group in _groups(run, workload, workload.sweep.axis)
            ]
    return tuple(each for each in found if each is not None)


def _groups(run: RunData, workload: WorkloadSpec, axis: str) -> Iterator[list[Experiment]]:
    """The experiments of one target that differ in the swept axis alone, in its order."""
    groups: dict[tuple[object, ...], list[Experiment]] = {}
    for experiment in run.experiments:
        if experiment.workload == workload.name and any(
            name == axis for name, _ in experiment.point
        ):
            groups.setdefault((experiment.target, *_others(experiment, axis)), []).append(
                experiment
            )
    return iter(groups.values())


def _others(experiment: Experiment, axis: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, label) for name, label in experiment.point if name != axis)


def _saturation(
    judge: _Judge,
    workload: WorkloadSpec,
    sweep: Sweep,
    group: Sequence[Experiment],
    primaries: dict[str, Cell],
) -> Saturation | None:
    cells = [primaries.get(experiment.id) for experiment in group]
    known = next((cell for cell in cells if cell is not None), None)
    if known is None:
        return None
    points, pairs = judge.points(
        [cell.series if cell else known.series for cell in cells], group, cells, sweep
    )
    reason = _why_not(judge.mode, known, points, pairs)
    low, high = (None, None) if reason else _bounds(points)
    return Saturation(
        target=group[0].target,
        workload=workload.name,
        others=_others(group[0], sweep.axis),
        axis=sweep.axis,
        gain=sweep.gain,
        series=known.series,
        metric=known.metric,
        sessions=pairs,
        points=points,
        at_least=None if low is None else points[low].label,
        at_most=None if high is None else points[high].label,
        limit=None if high is None else _limit(cells[high]),
        reason=reason,
    )


def _why_not(mode: Mode, cell: Cell, points: Sequence[SweepPoint], pairs: int) -> NoLevel | None:
    if cell.metric.direction is not Direction.HIGHER:
        return NoRate(series=cell.series)
    if mode is Mode.SMOKE:
        return SmokeMode()
    if all(point.centre is None for point in points):
        return NoPoint()
    if len(points) < 2:
        return OnePoint()
    if pairs < LEAST_PAIRS:
        return FewSharedSessions(found=pairs, least=LEAST_PAIRS)
    return None


def _bounds(points: Sequence[SweepPoint]) -> tuple[int | None, int | None]:
    """The first point that is not rising, asked from the first on, and the first of the unbroken
    row of saturated ones, asked from the last back.

    Nothing comes after the last point, so it can be neither; where all before it are rising it is
    the least there can be.
    """
    low = next(
        (index for index, point in enumerate(points) if point.level is not Level.RISING), None
    )
    high = None
    for index in range(len(points) - 2, -1, -1):
        if points[index].level is not Level.SATURATED:
            break
        high = index
    return low, high


def _limit(cell: Cell | None) -> LimitCheck | None:
    return (
        None if cell is None else next((check for check in cell.limits if is_bound([check])), None)
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    """Compares the points of a sweep with those after them."""

    run: RunData
    table: CellTable
    numbers: Numbers
    first_stage: int | None

    @property
    def mode(self) -> Mode:
        return self.run.spec.method.mode

    def points(
        self,
        series: Sequence[str],
        group: Sequence[Experiment],
        cells: Sequence[Cell | None],
        sweep: Sweep,
    ) -> tuple[tuple[SweepPoint, ...], int]:
        """The points, and the fewest sessions that two of them were compared on (where all had too
        few: the most).
        """
        where = [
            self.table.numbers.get((experiment.id, name))
            for experiment, name in zip(group, series, strict=True)
        ]
        found, pairs = [], []
        for index, (experiment, cell) in enumerate(zip(group, cells, strict=True)):
            later = [self._alignment(where[index], other) for other in where[index + 1 :]]
            pairs += [alignment.pairs for alignment in later if alignment]
            comparable = [
                alignment for alignment in later if alignment and alignment.pairs >= LEAST_PAIRS
            ]
            most, least = self._gains(comparable)
            if len(comparable) < len(later):
                most = None  # a point that was not measured could lie anywhere
            found.append(
                SweepPoint(
                    label=dict(experiment.point)[sweep.axis],
                    cell=experiment.cell,
                    level=_level(most, least, sweep.gain),
                    centre=cell.summary.centre if cell and cell.summary else None,
                    most=most,
                    least=least,
                )
            )
        enough = [number for number in pairs if number >= LEAST_PAIRS]
        return tuple(found), min(enough) if enough else max(pairs, default=0)

    def _alignment(self, base: int | None, later: int | None) -> Alignment | None:
        if (
            base is None
            or later is None
            or base not in self.numbers.summaries
            or later not in self.numbers.summaries
        ):
            return None
        blocks = self.run.spec.method.order is not Order.SEQUENTIAL
        return align(self.numbers.described, base, later, blocks, self.first_stage)

    def _gains(self, later: Sequence[Alignment]) -> tuple[float | None, float | None]:
        """The greatest upper bound of the gains of later points, and the greatest of their adjusted
        lower bounds.
        """
        if not later:
            return None, None
        confidence = self.run.spec.method.confidence
        plain = estimate(self.numbers.described, later, confidence)
        adjusted = estimate(self.numbers.described, later, 1 - (1 - confidence) / len(later))
        return _greatest([each.high for each in plain]), _greatest([each.low for each in adjusted])


def _greatest(ratios: Sequence[float]) -> float | None:
    """The greatest of ``ratios`` as a gain; None where one does not exist."""
    return max(ratios) - 1 if all(map(math.isfinite, ratios)) else None


def _level(most: float | None, least: float | None, gain: float) -> Level:
    if most is not None and most < gain:
        return Level.SATURATED
    return Level.RISING if least is not None and least > gain else Level.UNDECIDED
