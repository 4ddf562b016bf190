"""Intervals against their closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchspec.engine.analysis.intervals import quantile_ranks


@pytest.mark.parametrize(
    ("n", "p", "exists"),
    [
        (5, 0.5, False),
        (6, 0.5, True),
        (367, 0.99, False),
        (368, 0.99, True),
        (3687, 0.999, False),
        (3688, 0.999, True),
    ],
)
def test_quantiles_need_enough_values(n: int, p: float, exists: bool) -> None:
    assert (quantile_ranks(n, p) is not None) is exists


@given(st.integers(1, 400), st.sampled_from([0.1, 0.5, 0.9, 0.99]))
def test_quantile_ranks_are_the_binomials(n: int, p: float) -> None:
    low, high = int(stats.binom.ppf(0.025, n, p)), int(stats.binom.ppf(0.975, n, p)) + 1
    assert quantile_ranks(n, p) == ((low, high) if low >= 1 and high <= n else None)
