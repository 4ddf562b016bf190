"""What may be said of a comparison, and the verdict in a few words: in full for tables, short for
figures.

"higher" and "lower" come from an established difference, "better" and "worse" from it and the
metric's direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...engine.analysis.model import Bound, Contrast, Difference, Margin
from ...engine.model.results import Direction
from .numbers import Percent, write_declared


class Tone(StrEnum):
    """What a sentence may be coloured as. ``neutral`` is anything that is no established difference
    outside the margin.
    """

    BETTER = "better"
    WORSE = "worse"
    NEUTRAL = "neutral"
    VOID = "void"


def established(contrast: Contrast) -> Difference | None:
    """The direction that may be named: the verdict says so and the interval of the ratio lies on
    that side of 1, or that of the difference on that side of 0 where there is no ratio.

    The interval is asked again so that a slip upstream can never put "higher" beside an interval
    that holds 0 %.
    """
    verdict = contrast.verdict
    if verdict is None or verdict.void is not None:
        return None
    if verdict.no_ratio is not None and contrast.shift is not None:
        low, high, nothing = contrast.shift.low, contrast.shift.high, 0
    elif contrast.interval is not None and contrast.ratio is not None:
        low, high, nothing = contrast.interval.low, contrast.interval.high, 1
    else:
        return None
    if verdict.difference is Difference.HIGHER and low > nothing:
        return Difference.HIGHER
    if verdict.difference is Difference.LOWER and high < nothing:
        return Difference.LOWER
    return None


def settled(contrast: Contrast) -> bool:
    """Whether its words say something: a direction, or that both sides lie inside the margin. What
    ``compare --require-verdict`` goes by.
    """
    verdict = contrast.verdict
    if verdict is None or not verdict.settled:
        return False
    return established(contrast) is not None or verdict.margin is Margin.INSIDE


def tone_of(contrast: Contrast) -> Tone:
    """Better or worse only for an established difference that is not inside the margin and that no
    limit makes, of a metric with a direction; never of two targets with the same settings.
    """
    if contrast.verdict is None:
        return Tone.NEUTRAL
    if contrast.verdict.void is not None:
        return Tone.VOID
    difference = established(contrast)
    if (
        difference is None
        or contrast.verdict.margin is Margin.INSIDE
        or contrast.same_settings
        or contrast.metric.direction is Direction.NEITHER
        or hidden_by_limit(contrast, difference)
    ):
        return Tone.NEUTRAL
    return Tone.BETTER if difference.value == contrast.metric.direction.value else Tone.WORSE


def hidden_by_limit(contrast: Contrast, difference: Difference) -> bool:
    """Whether a documented limit keeps the other side from what it would have reached, so that the
    difference might be none without it.
    """
    return (contrast.bound, difference) in (
        (Bound.AT_MOST, Difference.HIGHER),
        (Bound.AT_LEAST, Difference.LOWER),
    )


def shown_percent(contrast: Contrast) -> Percent | None:
    """The percent that may be shown: none where the verdict is void, and none without an
    interval.
    """
    void = contrast.verdict is not None and contrast.verdict.void is not None
    if void or contrast.ratio is None or contrast.interval is None:
        return None
    return Percent.of(contrast.ratio, contrast.interval.low, contrast.interval.high)


@dataclass(frozen=True, slots=True)
class _Form:
    """The phrases in which the long and the short form differ."""

    none_established: str
    margin: str
    undecided: str


def verdict_words(contrast: Contrast) -> str:
    """The verdict in a few words for tables: ``higher (better), outside the 2 % margin``."""
    margin = f"the {write_declared(contrast.equivalence)} margin"
    return _words(contrast, _Form("no difference established", margin, f"{margin} undecided"))


def short_words(contrast: Contrast) -> str:
    """The verdict for a narrow column, the margin without its size: ``higher (better), outside the
    margin``.
    """
    return _words(contrast, _Form("none established", "the margin", "margin undecided"))


def _words(contrast: Contrast, form: _Form) -> str:
    if contrast.verdict is None:
        return "descriptive, no verdict"
    if contrast.verdict.void is not None:
        return f"void: {contrast.verdict.void}"
    difference, tone = established(contrast), tone_of(contrast)
    words = form.none_established if difference is None else difference.value
    if contrast.verdict.difference is Difference.DEPENDS_ON_MEAN:
        words = Difference.DEPENDS_ON_MEAN.value
    if tone in (Tone.BETTER, Tone.WORSE):
        words += f" ({tone.value})"
    match contrast.verdict.margin:
        case Margin.INSIDE:
            return f"{words}, inside {form.margin}"
        case Margin.OUTSIDE if difference is not None:
            return f"{words}, outside {form.margin}"
        case None:
            return f"{words}, no ratio"
        case _:
            return f"{words}, {form.undecided}"
