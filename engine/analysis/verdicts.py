"""What may be said about a primary series of two targets. Void reasons come first; where there is none, difference and margin."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..results import Direction
from ..spec import Mode
from .limits import is_bound
from .model import Cell, Contrast, Difference, Margin, Verdict, Void
from .power import sessions_for_equivalence, sessions_needed

LEAST_PAIRS = 5
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: its cell (None: the series was never seen there) and how many sessions were attempted."""

    target: str
    cell: Cell | None
    attempted: int

    @property
    def valid(self) -> int:
        """Sessions with at least one valid trial of the series."""
        return len(self.cell.summary.sessions) if self.cell is not None and self.cell.summary is not None else 0


def void_verdict(baseline: Side, target: Side, pairs: int, paired: bool, mode: Mode, mismatch: str | None) -> Verdict | None:
    """The first reason for giving no verdict, or None. Comparability comes first, since it voids the premise."""
    checks = (
        (Void.NOT_COMPARABLE, mismatch),
        (Void.INVALID, _invalid(baseline) or _invalid(target)),
        (Void.LIMIT_BOUND, _both_bound(baseline, target)),
        (Void.TOO_FEW, _too_few(pairs, paired, mode)),
    )
    return next((Verdict(void=void, reason=reason) for void, reason in checks if reason), None)


def decide(p_adjusted: float, p: float, sign: float, margin: tuple[float, float], alpha: float, equivalence: float) -> Verdict:
    """Difference from the adjusted p, margin from the 1 - 2 alpha interval (NaN bounds: there is none).

    An unadjusted p below ``alpha`` that the family's adjustment lifts above it is said in ``reason``.
    """
    difference = Difference.NONE_ESTABLISHED
    if p_adjusted < alpha:
        difference = Difference.HIGHER if sign > 0 else Difference.LOWER
    reason = None
    if p < alpha <= p_adjusted:
        reason = f"p = {p:.2g} alone; {p_adjusted:.2g} after adjustment for all primary verdicts of the page"
    return Verdict(difference=difference, margin=place(*margin, equivalence), reason=reason)


def place(low: float, high: float, equivalence: float) -> Margin:
    """Where an interval of the ratio lies relative to [1/(1 + equivalence), 1 + equivalence]."""
    upper = 1 + equivalence
    if 1 / upper < low and high < upper:
        return Margin.INSIDE
    return Margin.OUTSIDE if low > upper or high < 1 / upper else Margin.UNDECIDED


def bound_word(baseline: Side, target: Side, direction: Direction) -> str | None:
    """Say "at least" where the target is limit-bound, "at most" where the baseline is: without the limit it would have been higher.

    Limits cap rates, so this holds for metrics that are better when higher.
    """
    bound_a, bound_b = (side.cell is not None and is_bound(side.cell.limits) for side in (baseline, target))
    if bound_a == bound_b or direction is Direction.LOWER:
        return None
    return "at least" if bound_b else "at most"


def settling_sessions(contrast: Contrast, spread: float, alpha: float, family: int) -> int | None:
    """Sessions that would settle what this contrast left open, with 80 % power; None where nothing is open or the spread is unknown.

    Sought is a difference of the size seen or of the margin, whichever is larger; where so many sessions were already made, and found none, the
    question left is the margin: sessions that place equal targets inside it. The level is that of the smallest p of the family.
    """
    verdict = contrast.verdict
    if verdict is None or contrast.ratio is None or math.isnan(spread) or not _is_open(verdict):
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
    return verdict.difference is Difference.NONE_ESTABLISHED and verdict.margin is not Margin.INSIDE


def _invalid(side: Side) -> str | None:
    if side.valid == 0:
        reason = side.cell.not_measured if side.cell is not None else None
        return f"{side.target} has no valid trial" + (f": {reason}" if reason else "")
    if 2 * side.valid < side.attempted:
        return f"only {side.valid} of {side.attempted} sessions of {side.target} are valid"
    return None


def _both_bound(baseline: Side, target: Side) -> str | None:
    if all(side.cell is not None and is_bound(side.cell.limits) for side in (baseline, target)):
        return "both sides run at a documented limit, so the comparison says nothing about the software"
    return None


def _too_few(pairs: int, paired: bool, mode: Mode) -> str | None:
    if mode is Mode.SMOKE:
        return "smoke mode runs everything once and carries no verdict"
    if pairs < LEAST_PAIRS:
        plural = "" if pairs == 1 else "s"
        what = f"pair{plural} of sessions" if paired else f"session{plural} on one side"
        return f"found {pairs} {what}, expected at least {LEAST_PAIRS}"
    return None
