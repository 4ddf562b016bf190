"""Ratios of two targets: closed forms, symmetry, scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from benchspec.engine.analysis.ratio_intervals import (
    Ratios,
    holm,
    paired_log_ratio,
    paired_mean_ratio,
    welch_log_ratio,
    welch_mean_ratio,
)

METHODS: list[Callable[[NDArray[np.float64], NDArray[np.float64]], Ratios]] = [
    paired_log_ratio,
    welch_log_ratio,
    paired_mean_ratio,
    welch_mean_ratio,
]
A = np.array([10.0, 10.3, 9.9, 10.1, 10.2, 9.7])
B = np.array([10.6, 10.7, 10.4, 10.2, 10.9, 10.3])
SAMPLES = st.lists(st.tuples(st.floats(0.5, 2.0), st.floats(0.5, 2.0)), min_size=3, max_size=12)


def test_paired_log_is_the_one_sample_t_test() -> None:
    found = paired_log_ratio(A, B)
    x = np.log(B) - np.log(A)
    test = stats.ttest_1samp(x, 0)
    interval = test.confidence_interval(0.95)
    assert (found.ratio, found.p, found.df) == pytest.approx((np.exp(x.mean()), test.pvalue, 5))
    assert np.log([found.low, found.high]) == pytest.approx([interval.low, interval.high])
    narrow = test.confidence_interval(0.90)
    assert np.log([found.margin_low, found.margin_high]) == pytest.approx([narrow.low, narrow.high])
    assert found.spread == pytest.approx(x.std(ddof=1))


def test_welch_log_is_welchs_t_test() -> None:
    found = welch_log_ratio(A, B[:4])
    test = stats.ttest_ind(np.log(B[:4]), np.log(A), equal_var=False)
    interval = test.confidence_interval(0.95)
    assert (found.p, found.df) == pytest.approx((test.pvalue, test.df))
    assert np.log([found.low, found.high]) == pytest.approx([interval.low, interval.high])


def test_fieller_agrees_with_the_formula_for_independent_means() -> None:
    found = welch_mean_ratio(A, B)
    test = stats.ttest_ind(B, A, equal_var=False)
    t = stats.t.ppf(0.975, test.df)
    h2 = [t**2 * x.var(ddof=1) / len(x) for x in (A, B)]
    ma, mb = A.mean(), B.mean()
    root = np.sqrt((ma * mb) ** 2 - (ma**2 - h2[0]) * (mb**2 - h2[1]))
    assert (found.low, found.high) == pytest.approx(
        ((ma * mb - root) / (ma**2 - h2[0]), (ma * mb + root) / (ma**2 - h2[0]))
    )
    assert found.p == pytest.approx(test.pvalue)


def test_paired_fieller_has_the_p_of_the_paired_t_test() -> None:
    assert paired_mean_ratio(A, B).p == pytest.approx(stats.ttest_rel(B, A).pvalue)


def test_a_mean_that_cannot_be_told_from_zero_has_no_ratio_interval() -> None:
    a = np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    for found in (paired_mean_ratio(a, B), paired_mean_ratio(B, a)):
        assert np.isnan(found.low)
        assert np.isnan(found.high)
        assert found.p < 0.05
    assert np.isnan(paired_mean_ratio(np.zeros(6), B).ratio)


def test_without_spread_a_difference_is_certain_and_equality_too() -> None:
    for method in METHODS:
        equal, different = (
            method(np.full(5, 2.0), np.full(5, 2.0)),
            method(np.full(5, 2.0), np.full(5, 3.0)),
        )
        assert (float(equal.p), float(different.p)) == (1.0, 0.0)
        assert float(different.ratio) == pytest.approx(1.5)


def test_a_second_stage_keeps_the_spread_of_the_first() -> None:
    for method in (paired_log_ratio, paired_mean_ratio):
        assert float(method(A, B, 0.95, 3).df) == 2
        assert float(method(A, B, 0.95, 3).ratio) == float(method(A, B).ratio)
    x = np.log(B) - np.log(A)
    half = stats.t.ppf(0.975, 2) * x[:3].std(ddof=1) / np.sqrt(6)
    assert float(np.log(paired_log_ratio(A, B, 0.95, 3).high)) == pytest.approx(x.mean() + half)


@given(SAMPLES)
def test_swapping_the_sides_inverts_everything(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    for method in METHODS:
        one, other = method(a, b), method(b, a)
        assert float(one.ratio * other.ratio) == pytest.approx(1)
        assert float(one.p) == pytest.approx(float(other.p))
        assert float(one.sign) == -float(other.sign)
        assert np.isnan(one.low) == np.isnan(other.high)
        if not np.isnan(one.low) and np.isfinite(one.high) and np.isfinite(other.high):
            assert float(one.low * other.high) == pytest.approx(1)
            assert float(one.margin_low * other.margin_high) == pytest.approx(1)


@given(SAMPLES, st.sampled_from([1e-9, 1e-3, 1e3, 1e10]))
def test_a_change_of_unit_changes_nothing(pairs: list[tuple[float, float]], factor: float) -> None:
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    if np.ptp(a) < 1e-6 or np.ptp(b) < 1e-6 or np.ptp(np.log(b / a)) < 1e-6 or np.ptp(b - a) < 1e-6:
        return  # no spread but rounding
    for method in METHODS:
        one, other = method(a, b), method(factor * a, factor * b)
        assert float(one.ratio) == pytest.approx(float(other.ratio))
        assert float(one.p) == pytest.approx(float(other.p), rel=1e-4, abs=1e-12)


@given(SAMPLES)
def test_the_interval_excludes_one_exactly_when_p_is_small(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    for method in METHODS:
        found = method(a, b)
        if not np.isnan(found.low) and abs(found.p - 0.05) > 1e-6 and np.ptp(b - a) > 1e-9:
            assert bool(found.low > 1 or found.high < 1) is bool(found.p < 0.05)


def test_a_bound_beyond_all_numbers_is_infinite_and_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    found = paired_log_ratio(np.array([1e-100, 1e100]), np.array([1e100, 1e-100]))
    assert np.isinf(found.high)
    assert not recwarn.list


def test_holm_steps_down() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([])).tolist() == []
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
