"""Intervals against their closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchspec.engine.analysis.intervals import mean_interval, quantile_interval, quantile_ranks

VALUES = np.array([9.8, 10.4, 10.1, 9.9, 10.6, 10.0])


def test_mean_interval_is_students() -> None:
    centre, low, high = mean_interval(VALUES)
    expected = stats.t.interval(0.95, 5, VALUES.mean(), stats.sem(VALUES))
    assert (float(centre), float(low), float(high)) == pytest.approx((VALUES.mean(), *expected))


def test_geometric_interval_is_students_on_logs() -> None:
    centre, low, high = mean_interval(VALUES, 0.9, geometric=True)
    expected = stats.t.interval(0.9, 5, np.log(VALUES).mean(), stats.sem(np.log(VALUES)))
    assert (float(centre), float(low), float(high)) == pytest.approx((stats.gmean(VALUES), *np.exp(expected)))


def test_a_second_stage_keeps_the_spread_and_freedom_of_the_first() -> None:
    _, low, high = mean_interval(VALUES, pilot=3)
    assert float(high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 2) * VALUES[:3].std(ddof=1) / np.sqrt(6))


@pytest.mark.parametrize(
    ("n", "p", "exists"), [(5, 0.5, False), (6, 0.5, True), (367, 0.99, False), (368, 0.99, True), (3687, 0.999, False), (3688, 0.999, True)]
)
def test_quantiles_need_enough_values(n: int, p: float, exists: bool) -> None:
    assert (quantile_ranks(n, p) is not None) is exists


@given(st.integers(1, 400), st.sampled_from([0.1, 0.5, 0.9, 0.99]))
def test_quantile_ranks_are_the_binomials(n: int, p: float) -> None:
    low, high = int(stats.binom.ppf(0.025, n, p)), int(stats.binom.ppf(0.975, n, p)) + 1
    assert quantile_ranks(n, p) == ((low, high) if low >= 1 and high <= n else None)


def test_quantile_interval_picks_order_statistics() -> None:
    values = np.array([5.0, 1.0, 4.0, 2.0, 3.0, 10.0, 9.0, 8.0, 7.0, 6.0])
    assert quantile_interval(values, 0.5) == (2.0, 9.0)
    assert quantile_interval(values[:5], 0.5) is None
