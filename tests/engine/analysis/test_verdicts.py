"""Verdicts through the whole analysis: each void reason, their order, the two fields, and what
would settle an open question.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.model import Adjusted, Bound, Contrast, Difference, Margin
from benchspec.engine.analysis.reasons import (
    AtLimit,
    BothAtLimit,
    Cause,
    FactDiffers,
    FactsDiffer,
    FactUnknown,
    FewRuns,
    FewSessions,
    FewValidSessions,
    Mismatch,
    NoValidTrial,
    NoVerdict,
    Shown,
    SmokeMode,
    TrialError,
    TrialsNotValid,
    Void,
)
from benchspec.engine.analysis.verdicts import Answer, decide, place
from benchspec.engine.model.results import (
    Measurement,
    Metric,
    RunData,
    Statistic,
    Trial,
    TrialStatus,
)
from benchspec.engine.model.spec import (
    Comparison,
    Json,
    Layer,
    Limit,
    Method,
    Mode,
    Order,
    Precision,
)
from tests.engine.analysis import synthetic
from tests.engine.analysis.synthetic import LATENCY, MEAN_RATE, METRICS, RATE

RNG = np.random.Generator(np.random.PCG64(1))
NOISE = RNG.normal(0, 0.01, (2, 10, 3))
A, SAME, MORE = np.exp(NOISE[0]), np.exp(NOISE[1]), 1.1 * np.exp(NOISE[1])


def _only(run: RunData) -> Contrast:
    (contrast,) = analyse(run, METRICS).contrasts
    return contrast


def _void(run: RunData) -> NoVerdict | None:
    verdict = _only(run).verdict
    assert verdict is not None
    assert verdict.difference is None or verdict.void is None
    return verdict.reason


def _cap(value: float) -> tuple[Limit, ...]:
    limit = Limit(
        metric="storage.iops",
        sustained=value,
        burst=value,
        unit="1/s",
        layer=Layer.GOODPUT,
        applies_to=None,
        source="s",
        as_of="2024-01-01",
    )
    return (limit,)


def test_a_difference_outside_the_margin() -> None:
    found = _only(synthetic.comparison(A, MORE))
    assert found.verdict is not None
    assert (found.verdict.void, found.verdict.difference, found.verdict.margin) == (
        None,
        Difference.HIGHER,
        Margin.OUTSIDE,
    )
    assert found.paired
    assert found.pairs == 10
    assert found.sessions_needed is None
    assert found.interval is not None
    assert found.margin_interval is not None
    assert (found.interval.confidence, found.margin_interval.confidence) == (0.95, 0.9)


def test_equality_inside_the_margin_needs_no_more_sessions() -> None:
    found = _only(synthetic.comparison(A, SAME))
    assert found.verdict is not None
    assert (found.verdict.difference, found.verdict.margin, found.sessions_needed) == (
        Difference.NONE_ESTABLISHED,
        Margin.INSIDE,
        None,
    )


def test_an_open_question_says_how_many_sessions_would_settle_it() -> None:
    found = _only(synthetic.comparison(np.exp(10 * NOISE[0]), np.exp(10 * NOISE[1])))
    assert found.verdict is not None
    assert (found.verdict.difference, found.verdict.margin) == (
        Difference.NONE_ESTABLISHED,
        Margin.UNDECIDED,
    )
    assert found.sessions_needed is not None
    assert 50 < found.sessions_needed < 1_000


def test_an_equality_that_only_lacks_precision_asks_for_what_the_margin_takes() -> None:
    pattern = 0.0179 * np.array([1, -1, 1, -1, 1, -1, 1, -1, 1, -1]) + 0.009
    found = _only(synthetic.comparison(np.ones((10, 1)), np.exp(pattern)[:, None]))
    assert found.verdict is not None
    assert (found.verdict.difference, found.verdict.margin) == (
        Difference.NONE_ESTABLISHED,
        Margin.UNDECIDED,
    )
    assert found.sessions_needed == 11


@pytest.mark.parametrize("sessions", [1, 2, 4])
def test_too_few_pairs(sessions: int) -> None:
    found = _only(synthetic.comparison(A[:sessions], MORE[:sessions]))
    assert found.verdict is not None
    assert found.verdict.void is Void.TOO_FEW
    assert found.verdict.reason == FewSessions(found=sessions, least=5, paired=True)
    assert found.ratio is not None
    assert (found.interval is None) is (sessions == 1)
    assert (found.sessions_needed or 0) >= (0 if sessions == 1 else 5)


def test_data_without_replication_get_a_ratio_and_nothing_else() -> None:
    found = _only(synthetic.comparison(np.array([[500.0]]), np.array([[588.0]])))
    assert found.ratio == pytest.approx(1.176)
    assert (found.interval, found.margin_interval, found.p, found.df, found.sessions_needed) == (
        None,
        None,
        None,
        None,
        None,
    )
    assert found.method == "ratio of single values, no replication"
    assert _only(synthetic.comparison(np.array([[0.0]]), np.array([[588.0]]))).ratio is None


def test_smoke_mode_never_carries_a_verdict() -> None:
    found = _void(synthetic.comparison(A, MORE, method=Method(mode=Mode.SMOKE)))
    assert found == SmokeMode()
    assert found.void is Void.TOO_FEW


def test_sessions_that_do_not_pair_are_compared_as_independent() -> None:
    sequential = _only(synthetic.comparison(A, MORE, method=Method(order=Order.SEQUENTIAL)))
    assert not sequential.paired
    assert "Welch" in sequential.method
    disjoint = synthetic.comparison(A, MORE)
    shifted = tuple(
        replace(t, session=t.session + 100) if t.experiment_id == "b/cell" else t
        for t in disjoint.trials
    )
    found = _only(replace(disjoint, trials=shifted))
    assert not found.paired
    assert found.ratio == pytest.approx(sequential.ratio)
    few = synthetic.comparison(A, MORE[:3], method=Method(order=Order.SEQUENTIAL))
    assert _void(few) == FewSessions(found=3, least=5, paired=False)


def test_only_common_sessions_are_paired() -> None:
    run = synthetic.comparison(A, MORE)
    found = _only(
        replace(
            run,
            trials=tuple(t for t in run.trials if (t.experiment_id, t.session) != ("b/cell", 4)),
        )
    )
    kept = [i for i in range(10) if i != 3]
    expected = np.exp((np.log(MORE[kept]).mean(axis=1) - np.log(A[kept]).mean(axis=1)).mean())
    assert found.pairs == 9
    assert found.ratio == pytest.approx(expected)


def _with_invalid_sessions(count: int, measured: bool) -> RunData:
    """The target's first ``count`` sessions hold invalid trials only, which were measured or
    not.
    """
    run = synthetic.comparison(A, MORE)
    trials = [
        _spoil(t, measured) if t.experiment_id == "b/cell" and t.session <= count else t
        for t in run.trials
    ]
    return replace(run, trials=tuple(trials))


def _spoil(trial: Trial, measured: bool) -> Trial:
    if measured:
        return replace(trial, status=TrialStatus.INVALID)
    return replace(trial, status=TrialStatus.FAILED, measurements=(), error="boom")


def test_a_side_with_no_valid_trial_is_invalid() -> None:
    causes: tuple[tuple[bool, Cause], ...] = (
        (True, TrialStatus.INVALID),
        (False, TrialError(message="boom")),
    )
    for measured, cause in causes:
        found = _only(_with_invalid_sessions(10, measured))
        assert found.verdict is not None
        why = TrialsNotValid(cause=cause, count=30, trials=30)
        assert found.verdict.reason == NoValidTrial(target="b", why=why)
        assert found.verdict.void is Void.INVALID
        assert (found.ratio, found.interval, found.p, found.pairs) == (None, None, None, 0)


def test_a_side_with_under_half_of_its_sessions_valid_is_invalid() -> None:
    few = _void(_with_invalid_sessions(6, measured=True))
    assert few == FewValidSessions(target="b", valid=4, attempted=10)
    assert few.void is Void.INVALID
    found = _only(_with_invalid_sessions(5, measured=True))
    assert found.verdict is not None
    assert found.verdict.difference is Difference.HIGHER
    assert found.checks["ratio_with_invalid"] == pytest.approx(1.1, rel=0.02)


MUST = Comparison(baseline="a", must_match=("net.mtu",))


def _differs(ours: tuple[str, ...], theirs: tuple[str, ...], declared: bool = False) -> Mismatch:
    return FactDiffers(
        fact="net.mtu",
        target=Shown(target="b", values=ours, declared=declared),
        baseline=Shown(target="a", values=theirs, declared=declared),
    )


@pytest.mark.parametrize(
    ("a", "b", "mismatch"),
    [
        ({"net.mtu": 1500}, {"net.mtu": 8896}, _differs(("8896",), ("1500",))),
        ({"net.mtu": 1500}, {"net.mtu": None}, FactUnknown(fact="net.mtu", targets=("b",))),
        ({}, {}, FactUnknown(fact="net.mtu", targets=("b", "a"))),
        ({"net.mtu": 1500}, {"net.mtu": 1500.0}, None),
        ({"net.mtu": {"x": [1, 2]}}, {"net.mtu": {"x": [1, 2]}}, None),
    ],
)
def test_facts_that_must_match(
    a: dict[str, Json], b: dict[str, Json], mismatch: Mismatch | None
) -> None:
    run = synthetic.comparison(A, MORE, compare=MUST)
    with_facts = synthetic.run(run.spec, run.experiments, run.trials, {"a": a, "b": b})
    found = _void(with_facts)
    assert found == (None if mismatch is None else FactsDiffer(mismatches=(mismatch,)))
    assert found is None or found.void is Void.NOT_COMPARABLE


def test_claims_decide_only_where_nothing_was_observed() -> None:
    run = synthetic.comparison(A, MORE, compare=MUST)
    targets = tuple(
        synthetic.target(name, claims={"net.mtu": mtu}) for name, mtu in (("a", 1500), ("b", 1450))
    )
    declared = replace(run, spec=replace(run.spec, targets=targets))
    assert _void(declared) == FactsDiffer(mismatches=(_differs(("1450",), ("1500",), True),))


def test_a_fact_that_changed_during_the_run_is_no_match() -> None:
    run = synthetic.comparison(A, MORE, compare=MUST)
    facts = synthetic.run(
        run.spec, run.experiments, run.trials, {"a": {"net.mtu": 1500}, "b": {"net.mtu": 1500}}
    ).facts
    after = replace(facts[1], when="after", facts=(replace(facts[1].facts[0], value=1400),))
    assert _void(replace(run, facts=(*facts, after))) == FactsDiffer(
        mismatches=(_differs(("1400", "1500"), ("1500",)),)
    )


def test_comparability_comes_before_everything_else() -> None:
    invalid = _with_invalid_sessions(10, measured=True)
    assert isinstance(
        _void(replace(invalid, spec=replace(invalid.spec, compare=MUST))), FactsDiffer
    )
    limits = {"a": _cap(1.0), "b": _cap(1.1)}
    both = synthetic.comparison(A[:3], MORE[:3], limits=limits)
    assert isinstance(_void(both), BothAtLimit)  # before too few


def test_two_sides_at_a_limit_say_nothing_about_the_software() -> None:
    found = _only(synthetic.comparison(A, MORE, limits={"a": _cap(1.0), "b": _cap(1.1)}))
    assert found.verdict is not None
    assert found.verdict.reason == BothAtLimit(
        baseline=AtLimit(target="a", metric="storage.iops", rate=1.0, unit="1/s"),
        target=AtLimit(target="b", metric="storage.iops", rate=1.1, unit="1/s"),
    )
    assert found.verdict.void is Void.LIMIT_BOUND
    assert found.p_holm is None
    assert found.bound is None


@pytest.mark.parametrize(("bound", "kind"), [("a", Bound.AT_MOST), ("b", Bound.AT_LEAST)])
def test_one_side_at_a_limit_makes_the_ratio_a_bound(bound: str, kind: Bound) -> None:
    found = _only(synthetic.comparison(A, MORE, limits={bound: _cap(1.0 if bound == "a" else 1.1)}))
    assert found.bound is kind
    assert found.verdict is not None
    assert found.verdict.void is None


@pytest.mark.parametrize(
    ("low", "high", "place_"),
    [
        (0.99, 1.01, Margin.INSIDE),
        (0.97, 1.01, Margin.UNDECIDED),
        (1.03, 1.05, Margin.OUTSIDE),
        (0.9, 0.97, Margin.OUTSIDE),
        (0.9, 1.2, Margin.UNDECIDED),
        (float("nan"), float("nan"), Margin.UNDECIDED),
    ],
)
def test_margin(low: float, high: float, place_: Margin) -> None:
    assert place(low, high, 0.02) is place_


def test_the_adjustment_decides_and_is_named() -> None:
    verdict = decide(Answer(p=0.02, p_adjusted=0.08, sign=1.0), Margin.UNDECIDED, 0.05)
    assert verdict.difference is Difference.NONE_ESTABLISHED
    assert verdict.adjusted == Adjusted(p=0.02, p_adjusted=0.08)
    plain = decide(Answer(p=0.01, p_adjusted=0.01, sign=-1.0), Margin.OUTSIDE, 0.05)
    assert (plain.difference, plain.adjusted) == (Difference.LOWER, None)


def test_one_run_a_side_is_described() -> None:
    run = replace(synthetic.comparison(A, MORE), runs_a_side=1)
    found = _only(run)
    assert found.verdict is not None
    assert found.verdict.reason == FewRuns(found=1, least=5)
    assert found.p_holm is None
    assert _void(replace(run, runs_a_side=5)) is None


def test_where_only_one_mean_finds_a_difference_the_verdict_depends_on_it() -> None:
    """Ten sessions of 1 against nine of 1.3 and one of 0.2: the logs weigh the small one more."""
    b = np.array([1.3, 1.31, 1.29, 1.3, 1.32, 1.28, 1.3, 1.31, 1.29, 0.55])[:, None]
    for metric, other in ((RATE, Statistic.ARITHMETIC_MEAN), (MEAN_RATE, Statistic.GEOMETRIC_MEAN)):
        verdict = _only(synthetic.comparison(np.exp(NOISE[0]), b, metric)).verdict
        assert verdict is not None
        assert verdict.difference is Difference.DEPENDS_ON_MEAN
        assert not verdict.settled
        assert verdict.other_mean is not None
        assert verdict.other_mean.statistic is other


def test_descriptive_series_carry_no_verdict_and_do_not_enlarge_the_family() -> None:
    run = synthetic.comparison(A, MORE)
    extra = [
        Measurement(metric="latency", value=1 / t.measurements[0].value, unit="s")
        for t in run.trials
    ]
    trials = tuple(
        replace(t, measurements=(*t.measurements, more))
        for t, more in zip(run.trials, extra, strict=True)
    )
    analysis = analyse(replace(run, trials=trials), METRICS)
    assert analysis.family == 1
    described = next(c for c in analysis.contrasts if not c.primary)
    assert (described.series, described.verdict, described.p_holm, described.sessions_needed) == (
        "latency",
        None,
        None,
        None,
    )
    assert described.interval is not None


def test_a_second_stage_keeps_the_first_stages_degrees_of_freedom() -> None:
    method = Method(sessions=6, precision=Precision(half_width=0.01, max_sessions=10))
    assert _only(synthetic.comparison(A, MORE, method=method)).df == 5


def test_zeros_on_one_side_compare_arithmetic_means() -> None:
    a, b = np.array([[0.0], [1], [2], [1], [2], [1]]), np.array([[3.0], [4], [5], [4], [3], [5]])
    found = _only(synthetic.comparison(a, b))
    assert "Fieller" in found.method
    assert found.ratio == pytest.approx(b.mean() / a.mean())
    assert "hodges_lehmann_difference" in found.checks
    nothing = _only(synthetic.comparison(np.zeros((6, 1)), b))
    assert (nothing.ratio, nothing.interval) == (None, None)
    assert nothing.verdict is not None
    assert nothing.verdict.difference is Difference.HIGHER


def test_outliers_are_kept_and_the_ratio_without_them_is_told() -> None:
    spiked = MORE.copy()
    spiked[5] *= 2
    found = _only(synthetic.comparison(A, spiked))
    assert found.ratio == pytest.approx(
        np.exp((np.log(spiked).mean(axis=1) - np.log(A).mean(axis=1)).mean())
    )
    assert found.checks["ratio_without_outliers"] == pytest.approx(1.1, rel=0.02)


@pytest.mark.parametrize("method", [Method(), Method(order=Order.SEQUENTIAL)])
@pytest.mark.parametrize("metric", [RATE, MEAN_RATE])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_swapping_the_targets_inverts_ratio_and_verdict(
    method: Method, metric: Metric, data: st.DataObject
) -> None:
    scale = data.draw(st.floats(0.9, 1.1))
    rng = np.random.Generator(np.random.PCG64(data.draw(st.integers(0, 10_000))))
    a, b = np.exp(rng.normal(0, 0.03, (8, 2))), scale * np.exp(rng.normal(0, 0.03, (8, 2)))
    one, other = (_only(synthetic.comparison(x, y, metric, method)) for x, y in ((a, b), (b, a)))
    mirror = {
        Difference.HIGHER: Difference.LOWER,
        Difference.LOWER: Difference.HIGHER,
        Difference.NONE_ESTABLISHED: Difference.NONE_ESTABLISHED,
        Difference.DEPENDS_ON_MEAN: Difference.DEPENDS_ON_MEAN,
    }
    assert one.verdict is not None
    assert other.verdict is not None
    assert one.verdict.difference is not None
    assert other.verdict.difference is mirror[one.verdict.difference]
    assert other.verdict.margin is one.verdict.margin
    assert other.sessions_needed == one.sessions_needed
    assert one.ratio is not None
    assert other.ratio == pytest.approx(1 / one.ratio)
    assert one.interval is not None
    assert other.interval is not None
    assert (other.interval.low, other.interval.high) == pytest.approx(
        (1 / one.interval.high, 1 / one.interval.low)
    )


@pytest.mark.parametrize("statistic", [RATE.statistic, MEAN_RATE.statistic])
@pytest.mark.parametrize("b", [SAME, MORE, np.exp(10 * NOISE[1])])
def test_milliseconds_and_seconds_give_the_same_verdict(
    b: NDArray[np.float64], statistic: str
) -> None:
    metric = replace(
        LATENCY,
        statistic=MEAN_RATE.statistic if statistic == MEAN_RATE.statistic else RATE.statistic,
    )
    in_ms = replace(metric, unit="ms")
    (one,) = analyse(synthetic.comparison(A, b, metric), {"tool": (metric,)}).contrasts
    (other,) = analyse(synthetic.comparison(1e3 * A, 1e3 * b, in_ms), {"tool": (in_ms,)}).contrasts
    assert (one.verdict, one.sessions_needed) == (other.verdict, other.sessions_needed)
    assert one.ratio == pytest.approx(other.ratio)
