"""Summaries of cells, through the whole analysis: session values, spread, flags, and what is said
when something cannot be computed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.model import Summary
from benchspec.engine.model.results import Measurement, Metric, TrialStatus
from benchspec.engine.model.spec import Method, Precision
from tests.engine.analysis import synthetic
from tests.engine.analysis.synthetic import MEAN_RATE, RATE, RETRANSMITS

VALUES = np.array([[1.0, 2.0, 4.0], [2.0, 2.0, 2.0], [1.5, 2.5, 3.0], [2.2, 1.8, 2.6]])


def _summary(
    values: NDArray[np.float64], metric: Metric = RATE, method: Method | None = None
) -> Summary:
    experiment = synthetic.experiment("a", primary=metric.name)
    run = synthetic.run(
        synthetic.spec([synthetic.target("a")], method),
        [experiment],
        list(synthetic.trials_of(experiment.id, values, metric)),
    )
    summary = analyse(run, synthetic.METRICS).cells[0].summary
    assert summary is not None
    return summary


def _words(summary: Summary) -> set[str]:
    return {flag.partition(":")[0] for flag in summary.flags}


def test_geometric_session_values_and_their_interval() -> None:
    found = _summary(VALUES)
    sessions = stats.gmean(VALUES, axis=1)
    assert found.values == pytest.approx(sessions)
    assert found.sessions == (1, 2, 3, 4)
    assert found.trials == 12
    assert found.centre == pytest.approx(stats.gmean(sessions))
    expected = np.exp(
        stats.t.interval(0.95, 3, np.log(sessions).mean(), stats.sem(np.log(sessions)))
    )
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(expected))
    assert "geometric" in found.interval.method


def test_arithmetic_session_values_and_their_interval() -> None:
    found = _summary(VALUES, MEAN_RATE)
    sessions = VALUES.mean(axis=1)
    assert found.values == pytest.approx(sessions)
    assert found.centre == pytest.approx(sessions.mean())
    assert found.mean == pytest.approx(sessions.mean())
    assert found.median == pytest.approx(np.median(sessions))
    assert found.sd == pytest.approx(sessions.std(ddof=1))
    assert found.cov == pytest.approx(sessions.std(ddof=1) / sessions.mean())
    assert (found.minimum, found.maximum) == pytest.approx((sessions.min(), sessions.max()))
    assert (found.q1, found.q3) == pytest.approx(tuple(np.percentile(sessions, [25, 75])))
    expected = stats.t.interval(0.95, 3, sessions.mean(), stats.sem(sessions))
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(expected)


def test_variance_is_split_between_and_within_sessions() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    found = _summary(np.exp(rng.normal(0, 0.02, (4_000, 1)) + rng.normal(0, 0.01, (4_000, 5))))
    assert found.variance_within == pytest.approx(0.01**2, rel=0.1)
    assert found.variance_between == pytest.approx(0.02**2, rel=0.1)


def test_equal_sessions_have_no_variance_between_them() -> None:
    found = _summary(np.array([[1.0, 3.0], [3.0, 1.0]]), MEAN_RATE)
    assert found.variance_between == 0
    assert found.variance_within == 2


def test_single_trials_cannot_tell_within() -> None:
    found = _summary(np.array([[1.0], [2.0], [3.0]]), MEAN_RATE)
    assert found.variance_within is None
    assert found.variance_between == 1


@pytest.mark.parametrize(("sessions", "exists"), [(5, False), (6, True)])
def test_the_median_has_an_interval_from_six_sessions_on(sessions: int, exists: bool) -> None:
    values = np.arange(1.0, sessions + 1)[:, None]
    interval = _summary(values).median_interval
    assert (interval is not None) is exists
    if interval is not None:
        assert (interval.low, interval.high) == (1.0, 6.0)
        assert interval.method == "order statistics 1 and 6 of 6 sessions"


def test_one_value_has_no_spread_and_no_interval() -> None:
    found = _summary(np.array([[7.0]]))
    assert found.centre == pytest.approx(7)
    assert [found.sd, found.cov, found.interval, found.median_interval] == [None] * 4
    assert found.flags == ()


def test_one_session_says_that_its_interval_does_not_cover_reallocation() -> None:
    found = _summary(np.array([[9.0, 10.0, 11.0]]), MEAN_RATE)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        stats.t.interval(0.95, 2, 10, stats.sem([9, 10, 11]))
    )
    assert found.interval.method == "t interval of 3 trials of one session"
    assert _words(found) == {"one allocation"}
    assert found.variance_within == 1


def test_a_geometric_metric_with_zeros_falls_back_to_the_arithmetic_mean() -> None:
    found = _summary(np.array([[0.0, 2.0], [4.0, 6.0], [0.0, 0.0]]), RETRANSMITS)
    assert found.values == (1.0, 5.0, 0.0)
    assert found.centre == 2.0
    assert "arithmetic mean" in _words(found)


def test_what_cannot_be_below_zero_has_no_interval_below_it() -> None:
    counts = np.array([[0.0], [0.0], [1.0], [0.0], [0.0]])
    assert (found := _summary(counts, RETRANSMITS).interval) is not None
    assert found.low == 0.0
    assert found.high == pytest.approx(stats.t.interval(0.95, 4, 0.2, stats.sem(counts[:, 0]))[1])
    assert (
        free := _summary(counts, MEAN_RATE).interval
    ) is not None  # a metric that means the arithmetic mean may be a difference
    assert free.low < 0
    assert (signed := _summary(counts - 1, RETRANSMITS).interval) is not None
    assert signed.low < 0


def test_nothing_but_zeros_is_a_result() -> None:
    found = _summary(np.zeros((10, 1)), RETRANSMITS)
    assert (found.centre, found.sd, found.cov) == (0.0, 0.0, None)
    assert _words(found) == {"arithmetic mean", "no spread"}


def test_flags_name_what_is_unusual() -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    quiet = rng.normal(100, 1, (12, 1))
    spiked = quiet.copy()
    spiked[6] = 150
    found = _summary(spiked)
    assert found.outliers == (7,)
    assert {"noisy", "outliers"} <= _words(found)
    assert found.centre_without_outliers == pytest.approx(stats.gmean(np.delete(spiked, 6)))
    assert _summary(quiet).centre_without_outliers is None
    assert {"drift", "autocorrelated"} <= _words(_summary(quiet + np.linspace(0, 30, 12)[:, None]))
    assert "falling" in " ".join(_summary(quiet - np.linspace(0, 30, 12)[:, None]).flags)
    assert "two modes" in _words(_summary(rng.normal(100, 1, (10, 3)) + np.array([0, 0, 20])))


def test_a_second_stage_keeps_the_first_stages_spread() -> None:
    values = np.array([[10.0], [11.0], [9.0], [10.5], [9.5], [30.0]])
    plain = _summary(values, MEAN_RATE)
    staged = _summary(
        values, MEAN_RATE, Method(sessions=5, precision=Precision(half_width=0.01, max_sessions=6))
    )
    assert plain.interval is not None
    assert staged.interval is not None
    assert staged.centre == plain.centre
    half = stats.t.ppf(0.975, 4) * values[:5].std(ddof=1) / np.sqrt(6)
    assert staged.interval.high - staged.centre == pytest.approx(half)


def test_invalid_trials_are_left_out_and_told() -> None:
    experiment = synthetic.experiment("a")
    good = list(synthetic.trials_of(experiment.id, np.full((6, 2), 10.0)))
    bad = [
        synthetic.trial(
            experiment.id,
            1,
            9,
            [Measurement(metric="rate", value=1000.0, unit="1/s")],
            TrialStatus.INVALID,
        )
    ]
    run = synthetic.run(synthetic.spec([synthetic.target("a")]), [experiment], good + bad)
    analysis = analyse(run, synthetic.METRICS)
    (cell,) = analysis.cells
    assert cell.summary is not None
    assert cell.counts == {"valid": 12, "invalid": 1}
    assert cell.summary.trials == 12
    assert cell.summary.centre == pytest.approx(10)
    first = np.exp((2 * np.log(10) + np.log(1000)) / 3)
    assert cell.summary.centre_with_invalid == pytest.approx(
        np.exp((np.log(first) + 5 * np.log(10)) / 6)
    )
    assert [f.code for f in analysis.findings] == ["F512"]
    assert "1 of 13 trials are invalid" in analysis.findings[0].message


def test_values_that_are_not_numbers_are_left_out() -> None:
    found = _summary(np.array([[1.0, np.nan], [2.0, 2.0], [np.inf, 4.0]]), MEAN_RATE)
    assert found.values == (1.0, 2.0, 4.0)


def test_replaced_metrics_change_the_statistic_only() -> None:
    assert (
        _summary(VALUES).sessions
        == _summary(VALUES, replace(RATE, statistic=MEAN_RATE.statistic)).sessions
    )
