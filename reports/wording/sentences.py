"""Sentences about comparisons, in words that the verdict alone decides.

Every sentence names the base. "higher" and "lower" come from an established difference, "better"
and "worse" from it and the metric's direction; nothing here speaks of causes. A percent is 100 (b/a
- 1) with a the baseline, and is never written without its verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...engine.analysis.model import Bound, Contrast, Difference, Margin, Shift
from ...engine.analysis.reasons import BothAtLimit, FewRuns, NoRatio, Void
from ...engine.model.results import Metric, Statistic
from ...engine.model.units import Dimension
from .numbers import Percent, Scale, scale_column, write_declared, write_number, write_p
from .reasons import write_no_ratio, write_no_verdict, write_remark
from .verdict_words import Tone, established, shown_percent, tone_of

_OF_A_TRIAL = re.compile(r"p\d+|min|max|mean|median|stddev")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the two sides are called on the page."""

    baseline: str
    target: str


def name_sides(contrast: Contrast, titles: Mapping[str, str]) -> Names:
    """Both sides by their targets' titles; by their paths as well where they are two paths of one
    target.
    """
    baseline, target = (titles.get(name, name) for name in (contrast.baseline, contrast.target))
    if contrast.paths is None:
        return Names(baseline=baseline, target=target)
    return Names(
        baseline=f"{baseline} ({contrast.paths[0]})", target=f"{target} ({contrast.paths[1]})"
    )


def noun(metric: Metric, statistic: Statistic) -> str:
    """The metric inside a sentence, with the mean that was taken: ``throughput (geometric mean)``;
    of what is a statistic of each trial already: ``latency, 99th percentile per trial (...)``.
    """
    return f"{plain_noun(metric)}{per_trial(metric)} ({statistic})"


def per_trial(metric: Metric) -> str:
    """`` per trial`` for a percentile or another statistic of one trial: a mean of such figures is
    none of all requests.
    """
    return " per trial" if _OF_A_TRIAL.fullmatch(metric.name.rpartition(".")[2]) else ""


def plain_noun(metric: Metric) -> str:
    """The metric's title as it stands inside a sentence; capitals that are more than a sentence's
    start stay (``IOPS``).
    """
    title = metric.title or metric.name
    starts_plain = (
        len(title) > 1 and title[0].isupper() and not any(c.isupper() for c in title.split()[0][1:])
    )
    return title[0].lower() + title[1:] if starts_plain else title


def write_sentence(contrast: Contrast, names: Names, family: int) -> str:
    """The sentence of one primary comparison, which begins with where it was measured; ``family``
    is how many verdicts were adjusted together.
    """
    return f"{contrast.cell}: {_say(contrast, names, family)}"


def _say(contrast: Contrast, names: Names, family: int) -> str:
    verdict, percent = contrast.verdict, shown_percent(contrast)
    if verdict is None:
        return f"{_subject(contrast, names)} is described without a verdict."
    if verdict.void is not None:
        return _void_sentence(contrast, names)
    if contrast.shift is not None and verdict.no_ratio is not None:
        return _by_difference(contrast, names, contrast.shift, verdict.no_ratio)
    if percent is None:
        return f"{_subject(contrast, names)} is described without a verdict."
    difference = established(contrast)
    body = (
        _difference(contrast, names, difference, percent)
        if difference
        else _no_difference(contrast, names, family, percent)
    )
    return (
        body
        + _same_settings(contrast, difference)
        + _bound(contrast, difference, percent)
        + _test_dependence(contrast)
        + _no_width(contrast)
        + _left_out(contrast, names)
    )


def write_test(contrast: Contrast) -> str:
    """The test behind a comparison for tables: method, p values, degrees of freedom."""
    parts = [contrast.method]
    if shown_percent(contrast) is None and (contrast.verdict is None or contrast.verdict.void):
        return contrast.method
    if contrast.p is not None:
        parts.append(f"p {write_p(contrast.p, _alpha(contrast))}")
    if contrast.p_holm is not None:
        parts.append(f"p_Holm {write_p(contrast.p_holm, _alpha(contrast))}")
    if contrast.df is not None:
        parts.append(f"{contrast.df:.4g} df")
    return ", ".join(part for part in parts if part)


def _subject(contrast: Contrast, names: Names) -> str:
    return f"{names.target} against {names.baseline} in {_noun(contrast)}"


def _noun(contrast: Contrast) -> str:
    return noun(contrast.metric, contrast.statistic)


def _difference(contrast: Contrast, names: Names, difference: Difference, percent: Percent) -> str:
    evidence = _evidence(contrast, percent.size_interval())
    if percent.is_factor:
        return (
            f"On {names.target} the {_noun(contrast)} is {percent.size()} that on"
            f" {names.baseline}, so {difference.value} ({evidence}); {_margin_clause(contrast)}."
        )
    return (
        f"On {names.target} the {_noun(contrast)} is {percent.size()} {difference.value} than"
        f" on {names.baseline} ({evidence}); {_margin_clause(contrast)}."
    )


def _by_difference(contrast: Contrast, names: Names, shift: Shift, why: NoRatio) -> str:
    """The sentence where no ratio exists: the difference of the means, in the metric's unit."""
    titles = {contrast.baseline: names.baseline, contrast.target: names.target}
    because = write_no_ratio(why, titles)
    difference, tone = established(contrast), tone_of(contrast)
    size, bounds = write_shift(contrast.metric, shift, signed=difference is None)
    evidence = _evidence(contrast, bounds)
    if difference is None:
        return (
            f"{_nothing(contrast, names)}: the difference is {size} ({evidence});"
            f" {because}.{_left_out(contrast, names)}"
        )
    graded = f", which is {tone.value}" if tone in (Tone.BETTER, Tone.WORSE) else ""
    return (
        f"On {names.target} the {_noun(contrast)} is {size} {difference.value} than on"
        f" {names.baseline} ({evidence}){graded}; {because}."
        f"{_same_settings(contrast, difference)}{_left_out(contrast, names)}"
    )


def write_shift(metric: Metric, shift: Shift, *, signed: bool) -> tuple[str, str]:
    """A difference and its interval in the unit in which they read well; of shares it is in
    percentage points. Without ``signed`` both are sizes.
    """
    figures = [shift.value, shift.low, shift.high]
    if not signed:
        value, (low, high) = abs(shift.value), sorted((abs(shift.low), abs(shift.high)))
        figures = [value, low, high]
    share = metric.unit == Dimension.RATIO
    scale = Scale(factor=0.01, unit="points") if share else scale_column(figures, metric.unit)
    decimals = max(0, scale.decimals(*figures))
    size, low_text, high_text = (
        write_number(scale.of(figure), decimals, sign=signed) for figure in figures
    )
    unit = f" {scale.unit}" if scale.unit else ""
    return f"{size}{unit}", f"{low_text} to {high_text}{unit}"


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
            return (
                f"that is {tone.value}, and " if graded else ""
            ) + f"whether it lies outside {margin} is undecided"


def _no_difference(contrast: Contrast, names: Names, family: int, percent: Percent) -> str:
    verdict = contrast.verdict
    disagrees = verdict is not None and verdict.other_mean is not None
    text = (
        f"{_nothing(contrast, names)}: {percent.signed()}"
        f" ({_evidence(contrast, percent.signed_interval())})"
    )
    if verdict is not None and verdict.other_mean is not None:
        text += (
            f"; by the {verdict.other_mean.statistic} the answer is another one (p"
            f" {write_p(verdict.other_mean.p_adjusted, _alpha(contrast))})"
        )
    elif contrast.interval is not None and not contrast.interval.low <= 1 <= contrast.interval.high:
        text += f"; the interval is that of one comparison, the verdict is adjusted for {family}"
    margin = verdict.margin if verdict else None
    if margin is Margin.INSIDE:
        return f"{text}; the two lie inside the {write_declared(contrast.equivalence)} margin."
    return f"{text}{'' if disagrees else _needed(contrast, percent)}."


def _nothing(contrast: Contrast, names: Names) -> str:
    """That no direction may be named, because nothing was found or because the means disagree."""
    if contrast.verdict is not None and contrast.verdict.other_mean is not None:
        return (
            f"Whether {names.target} and {names.baseline} differ in {_noun(contrast)} depends on"
            " the mean"
        )
    return (
        f"No difference was established between {names.target} and {names.baseline} in"
        f" {_noun(contrast)}"
    )


def _needed(contrast: Contrast, percent: Percent) -> str:
    if contrast.sessions_needed is None:
        return ""
    seen = max(abs(percent.value) / 100, contrast.equivalence)
    of = (
        f"of {percent.size()}"
        if seen > contrast.equivalence
        else f"of {write_declared(contrast.equivalence)}"
    )
    return f"; about {contrast.sessions_needed} sessions would settle a difference {of}"


def _evidence(contrast: Contrast, interval: str) -> str:
    shown = contrast.interval or contrast.shift
    confidence = write_declared(shown.confidence) if shown else ""
    alpha = _alpha(contrast)
    p = "" if contrast.p_holm is None else f", adjusted p {write_p(contrast.p_holm, alpha)}"
    if not p and contrast.p is not None:
        p = f", p {write_p(contrast.p, alpha)}"
    return (
        f"{confidence} interval {interval}, {contrast.pairs}"
        f" {'session' if contrast.pairs == 1 else 'sessions'}{p}"
    )


def _alpha(contrast: Contrast) -> float:
    """The level that the verdict was given at."""
    shown = contrast.interval or contrast.shift
    return 0.05 if shown is None else round(1 - shown.confidence, 10)


def _bound(contrast: Contrast, difference: Difference | None, percent: Percent) -> str:
    """What one side's documented limit makes of the difference: without it the target would have
    been higher (``at least``), or the baseline (``at most``).
    """
    if contrast.bound is None:
        return ""
    text = " One side is at its documented limit, so this is a bound: without it"
    grows = contrast.bound is Bound.AT_LEAST
    if difference is None:
        return f"{text} the difference would lie {'above' if grows else 'below'} what was measured."
    grows = grows is (difference is Difference.HIGHER)
    than = f"{'at least' if grows else 'at most'} {percent.size()}"
    return f"{text} it would be {than}{'' if percent.is_factor else f' {difference.value}'}."


def _left_out(contrast: Contrast, names: Names) -> str:
    """That sessions of one side have no partner, and what the means are without them."""
    baseline, target = contrast.left_out
    if not contrast.paired or contrast.centres is None or not (baseline or target):
        return ""
    shared = f"the {contrast.pairs} sessions that both sides have"
    return f" Compared are {shared}{_means(contrast, names)}."


def _same_settings(contrast: Contrast, difference: Difference | None) -> str:
    """That a difference of two targets with the same settings is none of theirs."""
    if difference is None or not contrast.same_settings:
        return ""
    return " Both are the same settings, so this is the noise of the method."


def _test_dependence(contrast: Contrast) -> str:
    return (
        " The verdict depends on the test: a rank test decides otherwise."
        if contrast.test_dependent
        else ""
    )


def _no_width(contrast: Contrast) -> str:
    """A constant of the system and a tool that rounds look the same: the interval is a point either
    way.
    """
    if contrast.interval is None or contrast.interval.low != contrast.interval.high:
        return ""
    return (
        " The ratio is the same in every session, so the interval has no width and cannot tell how"
        " sure this is."
    )


def _void_sentence(contrast: Contrast, names: Names) -> str:
    verdict = contrast.verdict
    reason = verdict.reason if verdict else None
    if isinstance(reason, BothAtLimit):
        titles = {contrast.baseline: names.baseline, contrast.target: names.target}
        return f"In {_noun(contrast)} {write_no_verdict(reason, titles)}."
    if isinstance(reason, FewRuns):
        why = f"{_because(contrast, names)}{_means(contrast, names)}"
        return f"No verdict on {_subject(contrast, names)}{why}."
    needed = (
        f" About {contrast.sessions_needed} sessions would be enough."
        if reason is not None and reason.void is Void.TOO_FEW and contrast.sessions_needed
        else ""
    )
    void = reason.void.value if reason else ""
    return f"No verdict on {_subject(contrast, names)}: {void}{_because(contrast, names)}.{needed}"


def _means(contrast: Contrast, names: Names) -> str:
    """The two means: what a comparison without a verdict describes."""
    if contrast.centres is None:
        return ""
    scale = scale_column(contrast.centres, contrast.metric.unit)
    a, b = (scale.quantity(centre) for centre in contrast.centres)
    return f"; the means are {b} on {names.target} and {a} on {names.baseline}"


def _because(contrast: Contrast, names: Names) -> str:
    titles = {contrast.baseline: names.baseline, contrast.target: names.target}
    remark = None if contrast.verdict is None else write_remark(contrast.verdict, titles)
    return "" if remark is None else f" ({remark})"
