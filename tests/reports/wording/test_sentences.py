from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.analysis.model import (
    Bound,
    Contrast,
    Difference,
    Interval,
    Margin,
    OtherMean,
    Shift,
    Verdict,
)
from benchspec.engine.analysis.reasons import (
    AtLimit,
    BothAtLimit,
    FactsDiffer,
    FactUnknown,
    FewSessions,
    FewValidSessions,
    MeanIsZero,
    MeanNearZero,
    NotRun,
    NoValidTrial,
    NoVerdict,
    SmokeMode,
)
from benchspec.engine.model.results import Direction, Metric, Statistic
from benchspec.reports.wording.sentences import (
    Names,
    noun,
    write_sentence,
    write_test,
)
from benchspec.reports.wording.verdict_words import (
    Tone,
    established,
    settled,
    short_words,
    tone_of,
    verdict_words,
)

NAMES = Names(baseline="one-cpu", target="two-cpus")
THROUGHPUT = Metric(name="throughput", title="Throughput", unit="bit/s", direction=Direction.HIGHER)
CLAIMING = re.compile(r"\b(higher|lower|better|worse|faster|slower)\b")
CAUSAL = re.compile(
    r"\b(because|due to|caus\w*|thanks to|explain\w*|reason|attribut\w*|leads? to|results?"
    r" (in|from)|owing)\b",
    re.IGNORECASE,
)


def at_limit(target: str, rate: float = 1e10) -> AtLimit:
    return AtLimit(target=target, metric="network.throughput", rate=rate, unit="bit/s")


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
    assert (
        write_sentence(contrast(), NAMES, 1)
        == "network: On two-cpus the throughput (geometric mean) is 93.1 % higher than"
        " on one-cpu (95 % interval 90.2 %"
        " to 96.1 %, 10 sessions, adjusted p < 0.001); that lies outside the 2 % margin and is"
        " better."
    )


def test_an_established_difference_inside_the_margin_is_not_graded() -> None:
    inside = contrast(
        1.0105, 1.0081, 1.0129, Verdict(difference=Difference.HIGHER, margin=Margin.INSIDE)
    )
    sentence = write_sentence(inside, NAMES, 1)
    assert sentence.endswith("that is established, and lies inside the 2 % margin.")
    assert "better" not in sentence
    assert tone_of(inside) is Tone.NEUTRAL
    assert verdict_words(inside) == "higher, inside the 2 % margin"


def test_a_difference_of_two_targets_with_the_same_settings_is_never_better_or_worse() -> None:
    for ratio, low, high, difference in (
        (1.931, 1.902, 1.961, Difference.HIGHER),
        (0.52, 0.50, 0.54, Difference.LOWER),
    ):
        noise = contrast(
            ratio,
            low,
            high,
            Verdict(difference=difference, margin=Margin.OUTSIDE),
            same_settings=True,
        )
        assert tone_of(noise) is Tone.NEUTRAL
        assert verdict_words(noise) == f"{difference.value}, outside the 2 % margin"
        sentence = write_sentence(noise, NAMES, 1)
        assert "better" not in sentence
        assert "worse" not in sentence
        assert sentence.endswith(
            "that lies outside the 2 % margin. Both are the same settings, so this is the noise of"
            " the method."
        )


def test_an_established_difference_across_the_margin() -> None:
    across = contrast(
        0.97, 0.95, 0.99, Verdict(difference=Difference.LOWER, margin=Margin.UNDECIDED)
    )
    assert (
        write_sentence(across, NAMES, 1)
        == "network: On two-cpus the throughput (geometric mean) is 3.0 % lower than on"
        " one-cpu (95 % interval 1.0 % to"
        " 5.0 %, 10 sessions, adjusted p < 0.001); that is worse, and whether it lies outside the 2"
        " % margin is undecided."
    )


def test_no_difference_names_the_sessions_that_would_settle_one() -> None:
    verdict = Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.UNDECIDED)
    open_ = contrast(1.012, 0.99, 1.034, verdict, p_holm=0.31, sessions_needed=45)
    assert (
        write_sentence(open_, NAMES, 1)
        == "network: No difference was established between two-cpus and one-cpu in"
        " throughput (geometric mean): +1.2 %"
        " (95 % interval \u22121.0 % to +3.4 %, 10 sessions, adjusted p = 0.31); about 45 sessions"
        " would settle a difference of 2 %."
    )
    far = replace(
        open_, ratio=1.05, interval=Interval(low=0.97, high=1.13, confidence=0.95, method="t")
    )
    assert "would settle a difference of 5.0 %." in write_sentence(far, NAMES, 1)


def test_equal_within_the_margin() -> None:
    equal = contrast(
        1.001,
        0.995,
        1.007,
        Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.INSIDE),
        p_holm=None,
        pairs=1,
    )
    sentence = write_sentence(equal, NAMES, 1)
    assert sentence.endswith("the two lie inside the 2 % margin.")
    assert "1 session, p < 0.001" in sentence


def test_an_interval_off_zero_that_the_adjustment_did_not_establish_says_so() -> None:
    adjusted = contrast(
        1.03,
        1.001,
        1.06,
        Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.UNDECIDED),
        p_holm=0.12,
    )
    sentence = write_sentence(adjusted, NAMES, 7)
    assert sentence.startswith("network: No difference was established")
    assert "the interval is that of one comparison, the verdict is adjusted for 7" in sentence


@pytest.mark.parametrize(
    ("reason", "kind", "expected"),
    [
        (
            BothAtLimit(baseline=at_limit("one-cpu"), target=at_limit("two-cpus")),
            "limit-bound",
            (
                "network: In throughput (geometric mean) both sides run at the documented limit of"
                " 10 Gbit/s, so the comparison says nothing about the software."
            ),
        ),
        (
            BothAtLimit(baseline=at_limit("one-cpu"), target=at_limit("two-cpus", 2.5e10)),
            "limit-bound",
            (
                "network: In throughput (geometric mean) Two runs at its documented limit of 25"
                " Gbit/s and One at its own of 10 Gbit/s, so the comparison is one of the limits"
                " and says nothing about the software."
            ),
        ),
        (
            FewSessions(found=1, least=5, paired=True),
            "too few",
            (
                "network: No verdict on Two against One in throughput (geometric mean):"
                " too few (found 1 pair of"
                " sessions, expected at least 5)."
            ),
        ),
        (
            NoValidTrial(target="one-cpu", why=NotRun()),
            "invalid",
            (
                "network: No verdict on Two against One in throughput (geometric mean):"
                " invalid (One has no valid trial:"
                " not run)."
            ),
        ),
        (
            FewValidSessions(target="two-cpus", valid=1, attempted=10),
            "invalid",
            (
                "network: No verdict on Two against One in throughput (geometric mean):"
                " invalid (only 1 of 10 sessions"
                " of Two are valid)."
            ),
        ),
        (
            FactsDiffer(mismatches=(FactUnknown(fact="net.mtu", targets=("two-cpus",)),)),
            "not comparable",
            (
                "network: No verdict on Two against One in throughput (geometric mean):"
                " not comparable (net.mtu must"
                " match and is unknown on two-cpus)."
            ),
        ),
    ],
)
def test_void_verdicts_carry_no_number(reason: NoVerdict, kind: str, expected: str) -> None:
    """Targets are called by their titles, where the reason names the sides."""
    empty = contrast(verdict=Verdict(reason=reason))
    assert write_sentence(empty, Names(baseline="One", target="Two"), 1) == expected
    assert verdict_words(empty) == short_words(empty) == f"void: {kind}"
    assert tone_of(empty) is Tone.VOID
    assert write_test(empty) == "paired t"


def test_an_interval_without_width_is_said_to_tell_nothing() -> None:
    constant = contrast(
        1.0, 1.0, 1.0, Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.INSIDE)
    )
    assert write_sentence(constant, NAMES, 1).endswith(
        "The ratio is the same in every session, so the interval has no width and cannot"
        " tell how sure"
        " this is."
    )
    assert "no width" not in write_sentence(contrast(), NAMES, 1)


def test_too_few_says_how_many_would_do() -> None:
    few = contrast(
        verdict=Verdict(reason=FewSessions(found=3, least=5, paired=True)), sessions_needed=12
    )
    assert write_sentence(few, NAMES, 1).endswith(
        "too few (found 3 pairs of sessions, expected at least 5). About 12 sessions would be"
        " enough."
    )


def loss(ratio: Shift, verdict: Verdict, **changes: object) -> Contrast:
    metric = Metric(name="loss.ratio", title="Loss", unit="ratio", direction=Direction.LOWER)
    return replace(
        contrast(verdict=verdict, ratio=None, interval=None, shift=ratio, metric=metric),
        statistic=Statistic.ARITHMETIC_MEAN,
        **changes,  # type: ignore[arg-type]
    )


def test_without_a_ratio_the_difference_speaks_and_nothing_is_too_few() -> None:
    verdict = Verdict(difference=Difference.HIGHER, no_ratio=MeanIsZero(target="one-cpu"))
    lost = loss(Shift(value=0.01, low=0.009, high=0.011, confidence=0.95), verdict)
    assert write_sentence(lost, NAMES, 1) == (
        "network: On two-cpus the loss (arithmetic mean) is 1.00 points higher than on one-cpu (95"
        " % interval 0.90 to 1.10 points, 10 sessions, adjusted p < 0.001), which is worse; there"
        " is no ratio, since every session of one-cpu gave 0."
    )
    assert verdict_words(lost) == "higher (worse), no ratio"
    assert settled(lost)


def test_without_a_ratio_and_without_a_difference_the_interval_is_still_told() -> None:
    verdict = Verdict(
        difference=Difference.NONE_ESTABLISHED, no_ratio=MeanNearZero(target="one-cpu")
    )
    near = loss(Shift(value=0.001, low=-0.002, high=0.004, confidence=0.95), verdict, p_holm=0.4)
    assert write_sentence(near, NAMES, 1) == (
        "network: No difference was established between two-cpus and one-cpu in loss (arithmetic"
        " mean): the difference is +0.10 points (95 % interval \u22120.20 to +0.40 points, 10"
        " sessions, adjusted p = 0.40); there is no ratio, since the mean of one-cpu cannot be"
        " told from 0."
    )
    assert not settled(near)


def test_where_the_means_disagree_the_verdict_depends_on_the_mean() -> None:
    verdict = Verdict(
        difference=Difference.DEPENDS_ON_MEAN,
        margin=Margin.OUTSIDE,
        other_mean=OtherMean(statistic=Statistic.ARITHMETIC_MEAN, p_adjusted=0.4),
    )
    each = contrast(1.386, 1.115, 1.722, verdict, p_holm=0.024)
    assert write_sentence(each, NAMES, 8) == (
        "network: Whether two-cpus and one-cpu differ in throughput (geometric mean) depends on the"
        " mean: +39 % (95 % interval +12 % to +72 %, 10 sessions, adjusted p = 0.024); by the"
        " arithmetic mean the answer is another one (p = 0.40)."
    )
    assert verdict_words(each) == "depends on the mean, the 2 % margin undecided"
    assert tone_of(each) is Tone.NEUTRAL
    assert not settled(each)


def test_more_than_twice_as_much_is_a_factor() -> None:
    far = contrast(1_006_636.16, 900_000.0, 1_100_000.0)
    assert write_sentence(far, NAMES, 1).startswith(
        "network: On two-cpus the throughput (geometric mean) is 1\u202f006\u202f636 times that on"
        " one-cpu, so higher (95 % interval 900\u202f000 to 1\u202f100\u202f000 times, 10"
        " sessions"
    )
    nearly = contrast(1.99, 1.9, 2.1)
    assert "is 99 % higher than on one-cpu" in write_sentence(nearly, NAMES, 1)


@pytest.mark.parametrize(
    ("ratio", "bound", "said"),
    [
        (0.5945, Bound.AT_MOST, "without it it would be at least 40.5 % lower."),
        (1.052, Bound.AT_MOST, "without it it would be at most 5.2 % higher."),
        (0.9, Bound.AT_LEAST, "without it it would be at most 10.0 % lower."),
        (1.4, Bound.AT_LEAST, "without it it would be at least 40.0 % higher."),
    ],
)
def test_a_bound_says_on_which_side_the_truth_lies(ratio: float, bound: Bound, said: str) -> None:
    difference = Difference.HIGHER if ratio > 1 else Difference.LOWER
    verdict = Verdict(difference=difference, margin=Margin.OUTSIDE)
    each = contrast(ratio, ratio - 0.01, ratio + 0.01, verdict, bound=bound)
    assert write_sentence(each, NAMES, 1).endswith(said)
    hidden = "at most" in said
    assert tone_of(each) is (Tone.NEUTRAL if hidden else Tone.BETTER if ratio > 1 else Tone.WORSE)


def test_a_bound_of_what_is_not_established_names_no_direction() -> None:
    open_ = Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.UNDECIDED)
    each = contrast(1.01, 0.98, 1.04, open_, bound=Bound.AT_LEAST)
    assert write_sentence(each, NAMES, 1).endswith(
        "without it the difference would lie above what was measured."
    )


def test_sessions_without_a_partner_are_told_with_the_means_of_the_others() -> None:
    each = contrast(centres=(1e9, 1.9e9), left_out=((2, 5), ()), pairs=8)
    assert write_sentence(each, NAMES, 1).endswith(
        "Compared are the 8 sessions that both sides have; the means are 1.900 Gbit/s on"
        " two-cpus and 1.000 Gbit/s on one-cpu."
    )
    assert "Compared are" not in write_sentence(replace(each, paired=False), NAMES, 1)


def test_a_descriptive_series_gets_no_verdict() -> None:
    plain = replace(contrast(), primary=False, verdict=None)
    assert verdict_words(plain) == "descriptive, no verdict"
    assert not CLAIMING.search(write_sentence(plain, NAMES, 1))
    assert tone_of(plain) is Tone.NEUTRAL


def test_bounds_and_test_dependence_are_said() -> None:
    sentence = write_sentence(contrast(bound=Bound.AT_LEAST, test_dependent=True), NAMES, 1)
    assert "so this is a bound: without it it would be at least 93.1 % higher." in sentence
    assert sentence.endswith("The verdict depends on the test: a rank test decides otherwise.")


def test_the_test_is_named_with_its_p_values() -> None:
    assert write_test(contrast()) == "paired t, p < 0.001, p_Holm < 0.001, 9 df"
    assert write_test(contrast(p=None, p_holm=None, df=None)) == "paired t"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Throughput", "throughput"),
        ("IOPS", "IOPS"),
        ("Read IOPS", "read IOPS"),
        ("", "t"),
        ("CPU of the client", "CPU of the client"),
    ],
)
def test_a_title_inside_a_sentence(title: str, shown: str) -> None:
    metric = Metric(name="t", title=title, unit="s", direction=Direction.LOWER)
    assert noun(metric, Statistic.GEOMETRIC_MEAN) == f"{shown} (geometric mean)"
    assert noun(metric, Statistic.ARITHMETIC_MEAN) == f"{shown} (arithmetic mean)"


@pytest.mark.parametrize(
    ("name", "title", "shown"),
    [
        ("latency.mean", "Mean latency", "mean latency per trial (geometric mean)"),
        ("latency.read.min", "Least latency", "least latency per trial (geometric mean)"),
        (
            "latency.p999",
            "Latency, 99.9th percentile",
            "latency, 99.9th percentile per trial (geometric mean)",
        ),
    ],
)
def test_a_mean_of_what_each_trial_computed_says_so(name: str, title: str, shown: str) -> None:
    metric = Metric(name=name, title=title, unit="s", direction=Direction.LOWER)
    assert noun(metric, Statistic.GEOMETRIC_MEAN) == shown


REASONS: tuple[NoVerdict, ...] = (
    NoValidTrial(target="two-cpus", why=NotRun()),
    FewValidSessions(target="one-cpu", valid=1, attempted=10),
    FactsDiffer(mismatches=(FactUnknown(fact="net.mtu", targets=("one-cpu",)),)),
    BothAtLimit(baseline=at_limit("one-cpu"), target=at_limit("two-cpus")),
    SmokeMode(),
    FewSessions(found=3, least=5, paired=True),
)
SIDES = (
    st.floats(min_value=0.2, max_value=0.999),
    st.floats(min_value=0.2, max_value=5.0),
    st.floats(min_value=1.001, max_value=5.0),
)


@st.composite
def contrasts(draw: st.DrawFn) -> Contrast:
    """Any combination of interval and verdict, whether it makes sense or not."""
    side = draw(st.sampled_from(SIDES))
    low, ratio, high = sorted(draw(st.tuples(side, side, side)))
    verdict = Verdict(
        difference=draw(st.sampled_from(Difference)), margin=draw(st.sampled_from(Margin))
    )
    void = Verdict(reason=draw(st.sampled_from(REASONS)))
    return contrast(
        ratio,
        low,
        high,
        draw(st.sampled_from([verdict, verdict, void])),
        draw(st.sampled_from(Direction)),
        p_holm=draw(st.none() | st.floats(min_value=0, max_value=1)),
        sessions_needed=draw(st.none() | st.integers(min_value=2, max_value=5000)),
        bound=draw(st.sampled_from([None, *Bound])),
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
        interval=Interval(
            low=1 / each.interval.high, high=1 / each.interval.low, confidence=0.95, method="t"
        ),
        verdict=(
            replace(verdict, difference=turned.get(verdict.difference, verdict.difference))
            if verdict.difference
            else verdict
        ),
    )
    turned_bound = {Bound.AT_LEAST: Bound.AT_MOST, Bound.AT_MOST: Bound.AT_LEAST, None: None}
    swapped = replace(swapped, bound=turned_bound[each.bound])
    words = {"higher": "lower", "lower": "higher", "better": "worse", "worse": "better"}
    assert CLAIMING.sub(lambda m: words[m[0]], verdict_words(each)) == verdict_words(swapped)


@given(contrasts())
def test_a_percent_never_stands_without_its_verdict(each: Contrast) -> None:
    sentence = write_sentence(each, NAMES, 3)
    void = each.verdict is not None and each.verdict.void is not None
    assert bool(re.search(r"\d (%|times)", sentence)) != void
    if not void:
        assert re.search(
            "(than|that) on one-cpu|No difference was established|depends on the mean", sentence
        )
