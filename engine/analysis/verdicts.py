"""What may be said about a primary series of two targets. Void reasons come first; where there is
none, difference and margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..model.results import Direction, Statistic
from ..model.spec import Mode, TrafficPath
from .limits import EXCEEDS_ABOVE, binding, is_bound
from .model import Adjusted, Bound, Cell, Contrast, Difference, Margin, OtherMean, Verdict
from .power import sessions_for_equivalence, sessions_needed
from .reasons import (
    AtLimit,
    BothAtLimit,
    FactsDiffer,
    FailuresDiffer,
    FewRuns,
    FewSessions,
    FewValidSessions,
    MeanIsZero,
    MeanNearZero,
    MeanNotPositive,
    NoRatio,
    NotDeclared,
    NoValidTrial,
    NoVerdict,
    SmokeMode,
    Void,
)

LEAST_PAIRS = 5
LEAST_RUNS = 5
POWER = 0.8
FAILURE_BUDGET = 0.2
"""Shares of failed trials that differ by more than this between two sides leave no verdict."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: its cell (None: the series was never seen there) and how many
    sessions were attempted. ``path`` is its own where both sides are paths of one target.
    ``failed``: the share of its trials that failed for good.
    """

    target: str
    cell: Cell | None
    attempted: int
    path: TrafficPath | None = None
    failed: float = 0.0

    @property
    def valid(self) -> int:
        """Sessions with at least one valid trial of the series."""
        return (
            len(self.cell.summary.sessions)
            if self.cell is not None and self.cell.summary is not None
            else 0
        )


def void_verdict(
    baseline: Side,
    target: Side,
    pairs: int,
    paired: bool,
    mode: Mode,
    mismatch: FactsDiffer | None,
    runs: int | None = None,
) -> Verdict | None:
    """The first reason for giving no verdict, or None. Comparability comes first, since it voids
    the premise. ``runs``: in how many runs each side was measured, where the sides are of different
    runs.
    """
    reason = (
        mismatch
        or _invalid(baseline)
        or _invalid(target)
        or _not_declared(baseline, target)
        or _failures_differ(baseline, target)
        or _both_bound(baseline, target)
        or _too_few(pairs, paired, mode)
        or (FewRuns(found=runs, least=LEAST_RUNS) if runs and runs < LEAST_RUNS else None)
    )
    return None if reason is None else Verdict(reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a test says of a difference: its p alone, adjusted for its family, and the sign."""

    p: float
    p_adjusted: float
    sign: float

    def direction(self, alpha: float) -> Difference:
        """The direction that is established at ``alpha``."""
        if not self.p_adjusted < alpha:
            return Difference.NONE_ESTABLISHED
        return Difference.HIGHER if self.sign > 0 else Difference.LOWER


def decide(
    tested: Answer,
    margin: Margin | None,
    alpha: float,
    other: tuple[Statistic, Answer] | None = None,
    no_ratio: NoRatio | None = None,
) -> Verdict:
    """The verdict of a comparison that nothing voids. ``other`` is what the mean that was not
    declared says: where only one of the two finds a difference, it depends on the mean.

    An unadjusted p below ``alpha`` that the family's adjustment lifts above it is kept in
    ``adjusted``. Where there is no ratio there is no ``margin`` either.
    """
    difference = tested.direction(alpha)
    disagrees = other is not None and other[1].direction(alpha) is not difference
    lifted = tested.p < alpha <= tested.p_adjusted and not disagrees
    return Verdict(
        difference=Difference.DEPENDS_ON_MEAN if disagrees else difference,
        margin=margin,
        adjusted=Adjusted(p=tested.p, p_adjusted=tested.p_adjusted) if lifted else None,
        other_mean=OtherMean(statistic=other[0], p_adjusted=other[1].p_adjusted)
        if other is not None and disagrees
        else None,
        no_ratio=no_ratio,
    )


def why_no_ratio(baseline: Side, target: Side, centres: tuple[float, float]) -> NoRatio:
    """Which of the two means, ``centres`` over the compared sessions, stands in the way of a
    ratio.
    """
    for side, centre in zip((baseline, target), centres, strict=True):
        summary = side.cell.summary if side.cell is not None else None
        if summary is not None and summary.minimum == summary.maximum == 0:
            return MeanIsZero(target=side.target)
        if centre <= 0:
            return MeanNotPositive(target=side.target)
    noisier = max((baseline, target), key=_cov)
    return MeanNearZero(target=noisier.target)


def _cov(side: Side) -> float:
    summary = side.cell.summary if side.cell is not None else None
    return math.inf if summary is None or summary.cov is None else summary.cov


def place(low: float, high: float, equivalence: float) -> Margin:
    """Where an interval of the ratio lies relative to [1/(1 + equivalence), 1 + equivalence]."""
    upper = 1 + equivalence
    if 1 / upper < low and high < upper:
        return Margin.INSIDE
    return Margin.OUTSIDE if low > upper or high < 1 / upper else Margin.UNDECIDED


def bound_of(baseline: Side, target: Side, direction: Direction) -> Bound | None:
    """At least where the target is limit-bound, at most where the baseline is: without the limit it
    would have been higher.

    Limits cap rates, so this holds for metrics that are better when higher.
    """
    bound_a, bound_b = (
        side.cell is not None and is_bound(side.cell.limits) for side in (baseline, target)
    )
    if bound_a == bound_b or direction is Direction.LOWER:
        return None
    return Bound.AT_LEAST if bound_b else Bound.AT_MOST


def settling_sessions(contrast: Contrast, spread: float, alpha: float, family: int) -> int | None:
    """Sessions that would settle what this contrast left open, with 80 % power; None where nothing
    is open or the spread is unknown.

    Sought is a difference of the size seen or of the margin, whichever is larger; where so many
    sessions were already made, and found none, the question left is the margin: sessions that place
    equal targets inside it. The level is that of the smallest p of the family.
    """
    verdict = contrast.verdict
    if verdict is None or contrast.ratio is None or math.isnan(spread) or not _is_open(verdict):
        return None
    if verdict.no_ratio is not None:
        return None
    confidence = 1 - alpha / max(1, family)
    sought = max(abs(math.log(contrast.ratio)), math.log1p(contrast.equivalence))
    if sought == 0:
        return None
    needed = sessions_needed(spread, sought, POWER, confidence)
    if needed <= contrast.pairs:
        needed = sessions_for_equivalence(spread, contrast.equivalence, POWER, 1 - alpha)
    return max(needed, contrast.pairs + 1, LEAST_PAIRS)


def _is_open(verdict: Verdict) -> bool:
    if verdict.void is not None:
        return verdict.void is Void.TOO_FEW
    return not verdict.settled


def _invalid(side: Side) -> NoVerdict | None:
    if side.valid == 0:
        why = side.cell.not_measured if side.cell is not None else None
        return NoValidTrial(target=side.target, path=side.path, why=why)
    if 2 * side.valid < side.attempted:
        return FewValidSessions(
            target=side.target, path=side.path, valid=side.valid, attempted=side.attempted
        )
    return None


def _not_declared(baseline: Side, target: Side) -> NoVerdict | None:
    for side in (baseline, target):
        if side.cell is not None and not side.cell.metric.declared:
            return NotDeclared(series=side.cell.series)
    return None


def _failures_differ(baseline: Side, target: Side) -> NoVerdict | None:
    if abs(target.failed - baseline.failed) <= FAILURE_BUDGET:
        return None
    return FailuresDiffer(
        target=target.target,
        share=target.failed,
        baseline=baseline.target,
        baseline_share=baseline.failed,
        budget=FAILURE_BUDGET,
    )


def _both_bound(baseline: Side, target: Side) -> NoVerdict | None:
    ours, theirs = _at_limit(baseline), _at_limit(target)
    return None if ours is None or theirs is None else BothAtLimit(baseline=ours, target=theirs)


def _at_limit(side: Side) -> AtLimit | None:
    """The limit that explains a side's result, and which of its two rates does."""
    check = None if side.cell is None else binding(side.cell.limits)
    if check is None:
        return None
    value, limit = check.share_of_documented * check.limit.sustained, check.limit
    burst = limit.burst > limit.sustained and value > EXCEEDS_ABOVE * check.attainable_sustained
    return AtLimit(
        target=side.target,
        metric=limit.metric,
        rate=limit.burst if burst else limit.sustained,
        unit=limit.unit,
        applies_to=limit.applies_to,
    )


def _too_few(pairs: int, paired: bool, mode: Mode) -> NoVerdict | None:
    if mode is Mode.SMOKE:
        return SmokeMode()
    if pairs < LEAST_PAIRS:
        return FewSessions(found=pairs, least=LEAST_PAIRS, paired=paired)
    return None
