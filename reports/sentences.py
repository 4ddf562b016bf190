"""Sentences about comparisons, in words that the verdict alone decides.

Every sentence names the base. "higher" and "lower" come from an established difference, "better" and "worse" from it and the metric's
direction; nothing here speaks of causes. A percent is 100 (b/a - 1) with a the baseline, and is never written without its verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ..engine.analysis.model import Contrast, Difference, Margin, Void
from ..engine.results import Direction, Metric
from .numbers import Percent, write_declared, write_p


class Tone(StrEnum):
    """What a sentence may be coloured as. ``neutral`` is anything that is no established difference outside the margin."""

    BETTER = "better"
    WORSE = "worse"
    NEUTRAL = "neutral"
    VOID = "void"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the two sides are called on the page."""

    baseline: str
    target: str


def name_sides(contrast: Contrast, titles: Mapping[str, str]) -> Names:
    """Both sides by their targets' titles; by their paths as well where they are two paths of one target."""
    baseline, target = (titles.get(name, name) for name in (contrast.baseline, contrast.target))
    if contrast.paths is None:
        return Names(baseline=baseline, target=target)
    return Names(baseline=f"{baseline} ({contrast.paths[0]})", target=f"{target} ({contrast.paths[1]})")


def established(contrast: Contrast) -> Difference | None:
    """The direction that may be named: the verdict says so and the interval of the ratio lies on that side of 1.

    The interval is asked again so that a slip upstream can never put "higher" beside an interval that holds 0 %.
    """
    verdict, interval = contrast.verdict, contrast.interval
    if verdict is None or verdict.void is not None or interval is None or contrast.ratio is None:
        return None
    if verdict.difference is Difference.HIGHER and interval.low > 1:
        return Difference.HIGHER
    if verdict.difference is Difference.LOWER and interval.high < 1:
        return Difference.LOWER
    return None


def tone_of(contrast: Contrast) -> Tone:
    """Better or worse only for an established difference that is not inside the margin, of a metric with a direction."""
    if contrast.verdict is None:
        return Tone.NEUTRAL
    if contrast.verdict.void is not None:
        return Tone.VOID
    difference = established(contrast)
    if difference is None or contrast.verdict.margin is Margin.INSIDE or contrast.metric.direction is Direction.NEITHER:
        return Tone.NEUTRAL
    return Tone.BETTER if difference.value == contrast.metric.direction.value else Tone.WORSE


def noun(metric: Metric) -> str:
    """The metric inside a sentence: ``mean throughput``; capitals that are more than a sentence's start stay (``mean IOPS``)."""
    title = metric.title or metric.name
    starts_plain = len(title) > 1 and title[0].isupper() and not any(c.isupper() for c in title.split()[0][1:])
    return f"mean {title[0].lower() + title[1:] if starts_plain else title}"


def write_sentence(contrast: Contrast, names: Names, family: int) -> str:
    """The sentence of one primary comparison; ``family`` is how many verdicts were adjusted together."""
    verdict = contrast.verdict
    if verdict is None:
        return f"{_subject(contrast, names)} is described without a verdict."
    percent = shown_percent(contrast)
    if percent is None:
        return _void_sentence(contrast, names)
    difference = established(contrast)
    body = _difference(contrast, names, difference, percent) if difference else _no_difference(contrast, names, family, percent)
    return body + _bound(contrast, percent) + _test_dependence(contrast) + _no_width(contrast)


def verdict_words(contrast: Contrast) -> str:
    """The verdict in a few words for tables: ``higher (better), outside the 2 % margin``."""
    verdict = contrast.verdict
    if verdict is None:
        return "descriptive, no verdict"
    if shown_percent(contrast) is None:
        return f"void: {verdict.void or Void.TOO_FEW}"
    difference, tone = established(contrast), tone_of(contrast)
    words = "no difference established" if difference is None else difference.value
    if tone in (Tone.BETTER, Tone.WORSE):
        words += f" ({tone.value})"
    margin = f"the {write_declared(contrast.equivalence)} margin"
    match verdict.margin:
        case Margin.INSIDE:
            return f"{words}, inside {margin}"
        case Margin.OUTSIDE if difference is not None:
            return f"{words}, outside {margin}"
        case _:
            return f"{words}, {margin} undecided"


def short_words(contrast: Contrast) -> str:
    """:func:`verdict_words` for a narrow column: the margin without its size."""
    words = verdict_words(contrast).replace("no difference established", "none established")
    return words.replace(f"the {write_declared(contrast.equivalence)} margin undecided", "margin undecided").replace(
        f"the {write_declared(contrast.equivalence)} margin", "the margin"
    )


def shown_percent(contrast: Contrast) -> Percent | None:
    """The percent that may be shown: none where the verdict is void, and none without an interval."""
    void = contrast.verdict is not None and contrast.verdict.void is not None
    if void or contrast.ratio is None or contrast.interval is None:
        return None
    return Percent.of(contrast.ratio, contrast.interval.low, contrast.interval.high)


def write_test(contrast: Contrast) -> str:
    """The test behind a comparison for tables: method, p values, degrees of freedom."""
    parts = [contrast.method]
    if shown_percent(contrast) is None:
        return contrast.method
    if contrast.p is not None:
        parts.append(f"p {write_p(contrast.p)}")
    if contrast.p_holm is not None:
        parts.append(f"p_Holm {write_p(contrast.p_holm)}")
    if contrast.df is not None:
        parts.append(f"{contrast.df:.4g} df")
    return ", ".join(part for part in parts if part)


def _subject(contrast: Contrast, names: Names) -> str:
    return f"{names.target} against {names.baseline} in {noun(contrast.metric)}"


def _difference(contrast: Contrast, names: Names, difference: Difference, percent: Percent) -> str:
    return (
        f"On {names.target} the {noun(contrast.metric)} is {percent.size()} {difference.value} than on {names.baseline} "
        f"({_evidence(contrast, percent.size_interval())}); {_margin_clause(contrast)}."
    )


def _margin_clause(contrast: Contrast) -> str:
    margin = f"the {write_declared(contrast.equivalence)} margin"
    tone = tone_of(contrast)
    graded = tone in (Tone.BETTER, Tone.WORSE)
    match contrast.verdict.margin if contrast.verdict else None:
        case Margin.INSIDE:
            return f"that is established, and lies inside {margin}"
        case Margin.OUTSIDE:
            return f"that lies outside {margin}" + (f" and is {tone.value}" if graded else "")
        case _:
            return (f"that is {tone.value}, and " if graded else "") + f"whether it lies outside {margin} is undecided"


def _no_difference(contrast: Contrast, names: Names, family: int, percent: Percent) -> str:
    text = (
        f"No difference was established between {names.target} and {names.baseline} in {noun(contrast.metric)}: {percent.signed()} "
        f"({_evidence(contrast, percent.signed_interval())})"
    )
    if contrast.interval is not None and not contrast.interval.low <= 1 <= contrast.interval.high:
        text += f"; the interval is that of one comparison, the verdict is adjusted for {family}"
    margin = contrast.verdict.margin if contrast.verdict else None
    if margin is Margin.INSIDE:
        return f"{text}; the two lie inside the {write_declared(contrast.equivalence)} margin."
    return f"{text}{_needed(contrast, percent)}."


def _needed(contrast: Contrast, percent: Percent) -> str:
    if contrast.sessions_needed is None:
        return ""
    seen = max(abs(percent.value) / 100, contrast.equivalence)
    of = f"of {percent.size()}" if seen > contrast.equivalence else f"of {write_declared(contrast.equivalence)}"
    return f"; about {contrast.sessions_needed} sessions would settle a difference {of}"


def _evidence(contrast: Contrast, interval: str) -> str:
    confidence = write_declared(contrast.interval.confidence) if contrast.interval else ""
    p = "" if contrast.p_holm is None else f", p_Holm {write_p(contrast.p_holm)}"
    if not p and contrast.p is not None:
        p = f", p {write_p(contrast.p)}"
    return f"{confidence} interval {interval}, {contrast.pairs} {'session' if contrast.pairs == 1 else 'sessions'}{p}"


def _bound(contrast: Contrast, percent: Percent) -> str:
    if contrast.bound is None:
        return ""
    return f" One side is at its documented limit, so the ratio is a bound: {contrast.bound} {percent.signed()}."


def _test_dependence(contrast: Contrast) -> str:
    return " The verdict depends on the test: a rank test decides otherwise." if contrast.test_dependent else ""


def _no_width(contrast: Contrast) -> str:
    """A constant of the system and a tool that rounds look the same: the interval is a point either way."""
    if contrast.interval is None or contrast.interval.low != contrast.interval.high:
        return ""
    return " The sessions do not differ at all, so the interval has no width and cannot tell how sure this is."


def _titled(reason: str, contrast: Contrast, names: Names) -> str:
    """``reason`` with the target it begins or ends with called by its title."""
    for name, title in ((contrast.baseline, names.baseline), (contrast.target, names.target)):
        if reason.startswith(f"{name} has no valid trial"):
            return title + reason.removeprefix(name)
        if reason.endswith(f" of {name} are valid"):
            return f"{reason.removesuffix(f'{name} are valid')}{title} are valid"
    return reason


def _void_sentence(contrast: Contrast, names: Names) -> str:
    verdict = contrast.verdict
    void = verdict.void if verdict and verdict.void else Void.TOO_FEW
    if void is Void.LIMIT_BOUND:
        return (
            f"In {noun(contrast.metric)} {names.target} and {names.baseline} are both at the documented limit: this says nothing about the software."
        )
    reason = f" ({_titled(verdict.reason, contrast, names)})" if verdict and verdict.reason else ""
    needed = f" About {contrast.sessions_needed} sessions would be enough." if void is Void.TOO_FEW and contrast.sessions_needed else ""
    return f"No verdict on {_subject(contrast, names)}: {void.value}{reason}.{needed}"
