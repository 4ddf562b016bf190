from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.analysis.model import Contrast, Difference, Interval, Margin, Verdict, Void
from benchspec.engine.results import Direction, Metric
from benchspec.reports.sentences import Names, Tone, established, noun, short_words, tone_of, verdict_words, write_sentence, write_test

NAMES = Names(baseline="one-cpu", target="two-cpus")
THROUGHPUT = Metric(name="throughput", title="Throughput", unit="bit/s", direction=Direction.HIGHER)
CLAIMING = re.compile(r"\b(higher|lower|better|worse|faster|slower)\b")
CAUSAL = re.compile(r"\b(because|due to|caus\w*|thanks to|explain\w*|reason|attribut\w*|leads? to|results? (in|from)|owing)\b", re.IGNORECASE)


def contrast(
    ratio: float | None = 1.931,
    low: float = 1.902,
    high: float = 1.961,
    verdict: Verdict | None = None,
    direction: Direction = Direction.HIGHER,
    **changes: object,
) -> Contrast:
    interval = Interval(low=low, high=high, confidence=0.95, method="t")
    made = Contrast(
        cell="network",
        series="throughput",
        metric=replace(THROUGHPUT, direction=direction),
        primary=True,
        baseline="one-cpu",
        target="two-cpus",
        pairs=10,
        method="paired t",
        ratio=ratio,
        interval=interval,
        margin_interval=interval,
        p=0.0001,
        p_holm=0.0002,
        df=9.0,
        equivalence=0.02,
        verdict=verdict or Verdict(difference=Difference.HIGHER, margin=Margin.OUTSIDE),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_an_established_difference_outside_the_margin() -> None:
    assert write_sentence(contrast(), NAMES, 1) == (
        "On two-cpus the mean throughput is 93.1 % higher than on one-cpu (95 % interval 90.2 % to 96.1 %, 10 sessions, p_Holm < 0.001); "
        "that lies outside the 2 % margin and is better."
    )


def test_an_established_difference_inside_the_margin_is_not_graded() -> None:
    inside = contrast(1.0105, 1.0081, 1.0129, Verdict(difference=Difference.HIGHER, margin=Margin.INSIDE))
    sentence = write_sentence(inside, NAMES, 1)
    assert sentence.endswith("that is established, and lies inside the 2 % margin.")
    assert "better" not in sentence
    assert tone_of(inside) is Tone.NEUTRAL
    assert verdict_words(inside) == "higher, inside the 2 % margin"


def test_an_established_difference_across_the_margin() -> None:
    across = contrast(0.97, 0.95, 0.99, Verdict(difference=Difference.LOWER, margin=Margin.UNDECIDED))
    assert write_sentence(across, NAMES, 1) == (
        "On two-cpus the mean throughput is 3.0 % lower than on one-cpu (95 % interval 1.0 % to 5.0 %, 10 sessions, p_Holm < 0.001); "
        "that is worse, and whether it lies outside the 2 % margin is undecided."
    )


def test_no_difference_names_the_sessions_that_would_settle_one() -> None:
    verdict = Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.UNDECIDED)
    open_ = contrast(1.012, 0.99, 1.034, verdict, p_holm=0.31, sessions_needed=45)
    assert write_sentence(open_, NAMES, 1) == (
        "No difference was established between two-cpus and one-cpu in mean throughput: +1.2 % "
        "(95 % interval \u22121.0 % to +3.4 %, 10 sessions, p_Holm = 0.31); about 45 sessions would settle a difference of 2 %."
    )
    far = replace(open_, ratio=1.05, interval=Interval(low=0.97, high=1.13, confidence=0.95, method="t"))
    assert "would settle a difference of 5.0 %." in write_sentence(far, NAMES, 1)


def test_equal_within_the_margin() -> None:
    equal = contrast(1.001, 0.995, 1.007, Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.INSIDE), p_holm=None, pairs=1)
    sentence = write_sentence(equal, NAMES, 1)
    assert sentence.endswith("the two lie inside the 2 % margin.")
    assert "1 session, p < 0.001" in sentence


def test_an_interval_off_zero_that_the_adjustment_did_not_establish_says_so() -> None:
    adjusted = contrast(1.03, 1.001, 1.06, Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.UNDECIDED), p_holm=0.12)
    sentence = write_sentence(adjusted, NAMES, 7)
    assert sentence.startswith("No difference was established")
    assert "the interval is that of one comparison, the verdict is adjusted for 7" in sentence


@pytest.mark.parametrize(
    ("void", "reason", "expected"),
    [
        (Void.LIMIT_BOUND, "both", "In mean throughput two-cpus and one-cpu are both at the documented limit: this says nothing about the software."),
        (Void.TOO_FEW, "3 of 5", "No verdict on two-cpus against one-cpu in mean throughput: too few (3 of 5)."),
        (Void.INVALID, "no valid trial", "No verdict on two-cpus against one-cpu in mean throughput: invalid (no valid trial)."),
        (Void.NOT_COMPARABLE, "MTU 1500 and 1400", "No verdict on two-cpus against one-cpu in mean throughput: not comparable (MTU 1500 and 1400)."),
        (Void.INVALID, None, "No verdict on two-cpus against one-cpu in mean throughput: invalid."),
    ],
)
def test_void_verdicts_carry_no_number(void: Void, reason: str | None, expected: str) -> None:
    empty = contrast(verdict=Verdict(void=void, reason=reason))
    assert write_sentence(empty, NAMES, 1) == expected
    assert verdict_words(empty) == short_words(empty) == f"void: {void.value}"
    assert tone_of(empty) is Tone.VOID
    assert write_test(empty) == "paired t"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("one-cpu has no valid trial: not run", "invalid (One has no valid trial: not run)."),
        ("only 1 of 10 sessions of two-cpus are valid", "invalid (only 1 of 10 sessions of Two are valid)."),
        ("one-cpuset has no valid trial", "invalid (one-cpuset has no valid trial)."),
    ],
)
def test_a_reason_calls_targets_by_their_titles(reason: str, shown: str) -> None:
    void = contrast(verdict=Verdict(void=Void.INVALID, reason=reason))
    assert write_sentence(void, Names(baseline="One", target="Two"), 1).endswith(shown)


def test_an_interval_without_width_is_said_to_tell_nothing() -> None:
    constant = contrast(1.0, 1.0, 1.0, Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.INSIDE))
    assert write_sentence(constant, NAMES, 1).endswith(
        "The sessions do not differ at all, so the interval has no width and cannot tell how sure this is."
    )
    assert "no width" not in write_sentence(contrast(), NAMES, 1)


def test_too_few_says_how_many_would_do() -> None:
    few = contrast(verdict=Verdict(void=Void.TOO_FEW, reason="3 pairs"), sessions_needed=12)
    assert write_sentence(few, NAMES, 1).endswith("too few (3 pairs). About 12 sessions would be enough.")


def test_a_ratio_without_an_interval_is_too_few() -> None:
    lonely = contrast(interval=None)
    assert "too few" in write_sentence(lonely, NAMES, 1)
    assert verdict_words(replace(lonely, ratio=None)) == "void: too few"


def test_a_descriptive_series_gets_no_verdict() -> None:
    plain = replace(contrast(), primary=False, verdict=None)
    assert verdict_words(plain) == "descriptive, no verdict"
    assert not CLAIMING.search(write_sentence(plain, NAMES, 1))
    assert tone_of(plain) is Tone.NEUTRAL


def test_bounds_and_test_dependence_are_said() -> None:
    sentence = write_sentence(contrast(bound="at least", test_dependent=True), NAMES, 1)
    assert "so the ratio is a bound: at least +93.1 %." in sentence
    assert sentence.endswith("The verdict depends on the test: a rank test decides otherwise.")


def test_the_test_is_named_with_its_p_values() -> None:
    assert write_test(contrast()) == "paired t, p < 0.001, p_Holm < 0.001, 9 df"
    assert write_test(contrast(p=None, p_holm=None, df=None)) == "paired t"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Throughput", "mean throughput"),
        ("IOPS", "mean IOPS"),
        ("Read IOPS", "mean read IOPS"),
        ("", "mean t"),
        ("CPU of the client", "mean CPU of the client"),
    ],
)
def test_a_title_inside_a_sentence(title: str, shown: str) -> None:
    assert noun(Metric(name="t", title=title, unit="s", direction=Direction.LOWER)) == shown


SIDES = (st.floats(min_value=0.2, max_value=0.999), st.floats(min_value=0.2, max_value=5.0), st.floats(min_value=1.001, max_value=5.0))


@st.composite
def contrasts(draw: st.DrawFn) -> Contrast:
    """Any combination of interval and verdict, whether it makes sense or not."""
    side = draw(st.sampled_from(SIDES))
    low, ratio, high = sorted(draw(st.tuples(side, side, side)))
    verdict = Verdict(difference=draw(st.sampled_from(Difference)), margin=draw(st.sampled_from(Margin)))
    void = Verdict(void=draw(st.sampled_from(Void)), reason="it is so")
    return contrast(
        ratio,
        low,
        high,
        draw(st.sampled_from([verdict, verdict, void])),
        draw(st.sampled_from(Direction)),
        p_holm=draw(st.none() | st.floats(min_value=0, max_value=1)),
        sessions_needed=draw(st.none() | st.integers(min_value=2, max_value=5000)),
        bound=draw(st.sampled_from([None, "at least", "at most"])),
        test_dependent=draw(st.booleans()),
    )


@given(contrasts())
def test_nothing_is_claimed_while_the_interval_holds_zero(each: Contrast) -> None:
    assert each.interval is not None
    text = f"{write_sentence(each, NAMES, 3)} {verdict_words(each)} {short_words(each)}"
    if each.interval.low <= 1 <= each.interval.high:
        assert not CLAIMING.search(text)
    assert not CAUSAL.search(text)


@given(contrasts())
def test_the_word_follows_the_side_and_the_grade_the_direction(each: Contrast) -> None:
    words = verdict_words(each)
    difference = established(each)
    assert (words.split(" ")[0].rstrip(",") in ("higher", "lower")) == (difference is not None)
    if "(better)" in words:
        assert difference is not None
        assert difference.value == each.metric.direction.value
    if "(worse)" in words:
        assert difference is not None
        assert difference.value != each.metric.direction.value
        assert each.metric.direction is not Direction.NEITHER


@given(contrasts())
def test_swapping_the_baseline_turns_the_words_round(each: Contrast) -> None:
    assert each.interval is not None
    assert each.ratio is not None
    turned = {Difference.HIGHER: Difference.LOWER, Difference.LOWER: Difference.HIGHER}
    verdict = each.verdict
    assert verdict is not None
    swapped = replace(
        each,
        ratio=1 / each.ratio,
        interval=Interval(low=1 / each.interval.high, high=1 / each.interval.low, confidence=0.95, method="t"),
        verdict=replace(verdict, difference=turned.get(verdict.difference, verdict.difference)) if verdict.difference else verdict,
    )
    words = {"higher": "lower", "lower": "higher", "better": "worse", "worse": "better"}
    assert CLAIMING.sub(lambda m: words[m[0]], verdict_words(each)) == verdict_words(swapped)


@given(contrasts())
def test_a_percent_never_stands_without_its_verdict(each: Contrast) -> None:
    sentence = write_sentence(each, NAMES, 3)
    void = each.verdict is not None and each.verdict.void is not None
    assert bool(re.search(r"\d %", sentence)) != void
    if not void:
        assert "than on one-cpu" in sentence or sentence.startswith("No difference was established")
