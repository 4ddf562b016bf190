"""The whole analysis of a run, from its trials alone: offline and deterministic (same run, same
conclusions).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model.results import Metric, RunData, Statistic
from ..model.spec import Comparison, Experiment, Order
from ..planning.baselines import held_against, host_pairs, target_pairs
from ..planning.same_settings import same_settings
from .cells import CellTable, Numbers, build_cells, number_crunch
from .contrasts import Alignment, Estimate, align, estimate, ratio_without_outliers
from .evidence import Evidence, mismatch
from .findings import findings_of
from .model import Analysis, Cell, Contrast, Interval, Shift, Verdict
from .node_of_role import seats_of
from .plausibility import check_physics
from .ratio_intervals import holm
from .reasons import FactsDiffer, OutOfRange
from .saturation import find_saturations
from .series import Observed, collect
from .verdicts import (
    Answer,
    Side,
    bound_of,
    decide,
    place,
    settling_sessions,
    void_verdict,
    why_no_ratio,
)

NO_INTERVAL = "nothing to compare"


@np.errstate(over="ignore", invalid="ignore")  # figures beyond any float have no verdict
def analyse(run: RunData, metrics: Mapping[str, Sequence[Metric]]) -> Analysis:
    """Summarise every series of every experiment and compare each target with the baseline of its
    environment.

    ``metrics`` maps a tool's name (or an experiment's id, where the metrics depend on its
    parameters) to the declared metrics.

    Raises:
        UnitError: a measurement or a documented limit is in another unit than its metric.
    """
    method, compare = run.spec.method, run.spec.compare
    first_stage = method.sessions if method.precision is not None else None
    observed, evidence = (
        collect(run, metrics),
        Evidence(run.facts, run.experiments, seats_of(run.experiments, run.trials)),
    )
    numbers = number_crunch(observed, method.confidence, first_stage)
    table = build_cells(run, observed, numbers, metrics, evidence)
    contrasts = _Comparer(run, compare, observed, numbers, table, evidence, first_stage).contrasts()
    analysis = Analysis(
        cells=table.cells,
        contrasts=contrasts,
        saturations=find_saturations(run, table, numbers, first_stage),
        family=sum(1 for contrast in contrasts if contrast.p_holm is not None),
        confidence=method.confidence,
        equivalence=None if compare is None else compare.equivalence,
        baseline=None if compare is None else compare.baseline,
    )
    return replace(analysis, findings=(*check_physics(run, observed), *findings_of(run, analysis)))


def same_settings_of(run: RunData) -> dict[str, str]:
    """The targets of ``run`` that are its baseline under another name, and that baseline. None of
    results that were imported, and none of two runs held side by side: what was really set is not
    in the spec there.
    """
    if "imported" in run.manifest or run.runs_a_side is not None:
        return {}
    return same_settings(run.spec)


@dataclass(frozen=True, slots=True)
class _Pair:
    """One series of an experiment beside the same series of its ``base``; ``alignment`` is None
    where a side has no values.
    """

    base: Experiment
    experiment: Experiment
    series: str
    baseline: Side
    target: Side
    metric: Metric
    primary: bool
    alignment: Alignment | None


class _Comparer:
    """Compares the experiments of one run with those of their environment's baseline, and virtual
    paths with the host path measured beside them.
    """

    def __init__(
        self,
        run: RunData,
        compare: Comparison | None,
        observed: Observed,
        numbers: Numbers,
        table: CellTable,
        evidence: Evidence,
        first_stage: int | None,
    ) -> None:
        self._run, self._numbers, self._table = run, numbers, table
        self._observed = observed
        self._alpha = 1 - run.spec.method.confidence
        self._blocks = run.spec.method.order is not Order.SEQUENTIAL
        self._first_stage = first_stage
        self._attempted = {
            id_: len({trial.session for trial in trials})
            for id_, trials in observed.measured.items()
        }
        self._series: dict[str, list[Cell]] = {}
        for cell in table.cells:
            self._series.setdefault(cell.experiment_id, []).append(cell)
        self._equivalence = (
            Comparison(baseline="").equivalence if compare is None else compare.equivalence
        )
        self._same = same_settings_of(run)
        self._mismatch = {} if compare is None else _mismatches(run, compare, evidence)

    def contrasts(self) -> tuple[Contrast, ...]:
        """All contrasts, primary ones with Holm-adjusted verdicts."""
        pairs = list(self._pairs())
        estimates = iter(
            estimate(
                self._numbers.described,
                [p.alignment for p in pairs if p.alignment],
                self._run.spec.method.confidence,
            )
        )
        found = [(pair, next(estimates) if pair.alignment else None) for pair in pairs]
        voids = [self._void(pair) if pair.primary else None for pair in pairs]
        family = {
            i: e
            for i, (pair, e) in enumerate(found)
            if pair.primary and voids[i] is None and e is not None and not math.isnan(e.p)
        }
        tested = _test_family(family)
        return tuple(
            self._contrast(pair, e, voids[i], tested.get(i), len(family))
            for i, (pair, e) in enumerate(found)
        )

    def _pairs(self) -> Iterator[_Pair]:
        for base, experiment in target_pairs(self._run.spec, self._run.experiments):
            yield from (
                self._pair(base, experiment, cell, primary)
                for cell, primary in self._shared(base, experiment)
            )
        for base, experiment in host_pairs(self._run.spec, self._run.experiments):
            yield from (
                self._pair(base, experiment, cell, primary)
                for cell, primary in self._shared(base, experiment)
                if primary
            )

    def _pair(self, base: Experiment, experiment: Experiment, cell: Cell, primary: bool) -> _Pair:
        ours, theirs = (
            self._side(base, cell.series, experiment),
            self._side(experiment, cell.series, base),
        )
        return _Pair(
            base,
            experiment,
            cell.series,
            ours,
            theirs,
            cell.metric,
            primary,
            self._alignment(base, experiment, cell.series),
        )

    def _shared(self, base: Experiment, experiment: Experiment) -> Iterator[tuple[Cell, bool]]:
        """The target's cells whose series either side calls primary, or of which both have values;
        and whether it is primary.
        """
        theirs = {cell.series: cell for cell in self._series.get(base.id, ())}
        for cell in self._series.get(experiment.id, ()):
            other = theirs.get(cell.series)
            primary = cell.primary or (other is not None and other.primary)
            if primary or (
                other is not None and cell.summary is not None and other.summary is not None
            ):
                yield cell, primary

    def _side(self, experiment: Experiment, series: str, other: Experiment) -> Side:
        return Side(
            experiment.target,
            self._table.by_series.get((experiment.id, series)),
            self._attempted.get(experiment.id, 0),
            path=experiment.path if other.target == experiment.target else None,
            failed=self._observed.failed_share(experiment.id),
        )

    def _alignment(self, base: Experiment, experiment: Experiment, series: str) -> Alignment | None:
        a, b = (self._table.numbers.get((each.id, series)) for each in (base, experiment))
        if (
            a is None
            or b is None
            or a not in self._numbers.summaries
            or b not in self._numbers.summaries
        ):
            return None
        return align(self._numbers.described, a, b, self._blocks, self._first_stage)

    def _void(self, pair: _Pair) -> Verdict | None:
        pairs, paired = (
            (pair.alignment.pairs, pair.alignment.paired) if pair.alignment else (0, True)
        )
        reason = (
            None
            if pair.base.target == pair.experiment.target
            else self._mismatch[pair.experiment.target]
        )
        return void_verdict(
            pair.baseline,
            pair.target,
            pairs,
            paired,
            self._run.spec.method.mode,
            reason,
            self._run.runs_a_side,
        )

    def _contrast(
        self,
        pair: _Pair,
        found: Estimate | None,
        void: Verdict | None,
        tested: _Tests | None,
        family: int,
    ) -> Contrast:
        centres = pair.alignment.centres(self._numbers.described) if pair.alignment else None
        geometric = pair.alignment is not None and pair.alignment.geometric
        verdict = void if pair.primary else None
        if found is not None and tested is not None and centres is not None:
            verdict = self._decide(pair, found, tested, centres, geometric)
        elif pair.primary and verdict is None:
            verdict = Verdict(reason=OutOfRange(series=pair.series))
        contrast = Contrast(
            cell=pair.experiment.cell,
            series=pair.series,
            metric=pair.metric,
            primary=pair.primary,
            baseline=pair.base.target,
            target=pair.experiment.target,
            pairs=pair.alignment.pairs if pair.alignment else 0,
            paired=pair.alignment.paired if pair.alignment else self._blocks,
            method=found.method if found else NO_INTERVAL,
            ratio=_known(found.ratio) if found else None,
            interval=_interval(found, found.low, found.high, 1 - self._alpha) if found else None,
            margin_interval=_interval(
                found, found.margin_low, found.margin_high, 1 - 2 * self._alpha
            )
            if found
            else None,
            p=_known(found.p) if found else None,
            p_holm=tested.declared.p_adjusted if tested else None,
            df=_known(found.df) if found else None,
            equivalence=self._equivalence,
            verdict=verdict,
            bound=bound_of(pair.baseline, pair.target, pair.metric.direction),
            test_dependent=found.test_dependent if found else False,
            checks=dict(found.checks) | dict(self._with_and_without(pair.alignment))
            if found and pair.alignment
            else {},
            baseline_cell=pair.base.cell,
            paths=_paths(pair),
            statistic=_statistic(pair),
            shift=_shift(found, 1 - self._alpha) if found and not geometric else None,
            centres=centres,
            left_out=pair.alignment.left_out(self._numbers.described)
            if pair.alignment
            else ((), ()),
            same_settings=pair.experiment.target != pair.base.target
            and pair.experiment.target in self._same,
        )
        return (
            contrast
            if found is None
            else replace(
                contrast,
                sessions_needed=settling_sessions(contrast, found.spread, self._alpha, family),
            )
        )

    def _decide(
        self,
        pair: _Pair,
        found: Estimate,
        tested: _Tests,
        centres: tuple[float, float],
        geometric: bool,
    ) -> Verdict:
        other = None
        if tested.other is not None:
            statistic = Statistic.ARITHMETIC_MEAN if geometric else Statistic.GEOMETRIC_MEAN
            other = (statistic, tested.other)
        if not (math.isfinite(found.low) and math.isfinite(found.high)):
            if not (math.isfinite(found.shift_low) and math.isfinite(found.shift_high)):
                return Verdict(reason=OutOfRange(series=pair.series))
            why = why_no_ratio(pair.baseline, pair.target, centres)
            return decide(tested.declared, None, self._alpha, other, why)
        margin = place(found.margin_low, found.margin_high, self._equivalence)
        return decide(tested.declared, margin, self._alpha, other)

    def _with_and_without(self, alignment: Alignment) -> Iterator[tuple[str, float]]:
        """The ratio without outliers, and with the invalid trials, where there are such."""
        numbers, a, b = self._numbers, alignment.baseline, alignment.target
        unusual = frozenset(numbers.summaries[a].outliers) | frozenset(
            numbers.summaries[b].outliers
        )
        without = ratio_without_outliers(numbers.described, alignment, unusual) if unusual else None
        if without is not None:
            yield "ratio_without_outliers", without
        if a in numbers.with_invalid or b in numbers.with_invalid:
            centre_a, centre_b = (
                numbers.with_invalid.get(i, numbers.summaries[i].centre) for i in (a, b)
            )
            if centre_a > 0:
                yield "ratio_with_invalid", centre_b / centre_a


@dataclass(frozen=True, slots=True)
class _Tests:
    """The tests of one comparison: by the mean that was declared, and by the other one where it
    exists.
    """

    declared: Answer
    other: Answer | None


def _test_family(family: Mapping[int, Estimate]) -> dict[int, _Tests]:
    """Every comparison of ``family`` with p adjusted for all of them, by each of the two means."""
    estimates = list(family.values())
    own = np.array([e.p for e in estimates])
    exists = np.array([not math.isnan(e.other_p) for e in estimates], dtype=np.bool_)
    adjusted = holm(own)
    others = holm(np.where(exists, [e.other_p for e in estimates], own))
    return {
        i: _Tests(
            Answer(p=e.p, p_adjusted=float(adjusted[k]), sign=e.sign),
            Answer(p=e.other_p, p_adjusted=float(others[k]), sign=e.other_sign)
            if exists[k]
            else None,
        )
        for k, (i, e) in enumerate(family.items())
    }


def _statistic(pair: _Pair) -> Statistic:
    """The mean that was compared; without values, the one that would be."""
    if pair.alignment is None:
        return pair.metric.statistic
    return Statistic.GEOMETRIC_MEAN if pair.alignment.geometric else Statistic.ARITHMETIC_MEAN


def _shift(found: Estimate, confidence: float) -> Shift | None:
    """The difference of the means, where no ratio with an interval exists."""
    if math.isfinite(found.low) and math.isfinite(found.high):
        return None
    if not (math.isfinite(found.shift_low) and math.isfinite(found.shift_high)):
        return None
    return Shift(
        value=found.shift,
        low=found.shift_low,
        high=found.shift_high,
        confidence=round(confidence, 10),
    )


def _mismatches(
    run: RunData, compare: Comparison, evidence: Evidence
) -> dict[str, FactsDiffer | None]:
    spec = run.spec
    return {
        name: mismatch(evidence, spec.target(base), spec.target(name), compare.must_match)
        for name, base in held_against(spec).items()
    }


def _paths(pair: _Pair) -> tuple[str, str] | None:
    if (
        pair.base.target != pair.experiment.target
        or pair.base.path is None
        or pair.experiment.path is None
    ):
        return None
    return pair.base.path.value, pair.experiment.path.value


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval(found: Estimate, low: float, high: float, confidence: float) -> Interval | None:
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return Interval(low=low, high=high, confidence=round(confidence, 10), method=found.method)
