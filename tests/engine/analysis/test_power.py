"""Numbers of sessions: closed forms, published figures, monotony."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchspec.engine.analysis.power import (
    MOST_SESSIONS,
    equivalence_power,
    paired_power,
    sessions_for_equivalence,
    sessions_needed,
    stein_sessions,
)


def test_paired_power_is_the_noncentral_t() -> None:
    t = stats.t.ppf(0.975, 9)
    shift = 0.03 / 0.028 * np.sqrt(10)
    assert paired_power(0.028, 0.03, 10) == pytest.approx(
        stats.nct.sf(t, 9, shift) + stats.nct.cdf(-t, 9, shift)
    )


def test_power_at_the_edges() -> None:
    assert paired_power(0.01, 0.1, 1) == 0
    assert paired_power(0.0, 0.1, 5) == 1
    assert paired_power(0.0, 0.0, 5) == pytest.approx(0.05)
    assert paired_power(1e-6, 0.1, 5) == 1
    assert equivalence_power(0.01, 0.02, 1) == 0
    assert equivalence_power(0.0, 0.02, 5) == 1
    assert equivalence_power(0.0, 0.02, 5, true_difference=0.1) == 0


@pytest.mark.parametrize(("cov", "power"), [(0.08, 0.0), (0.03, 0.04), (0.02, 0.33), (0.01, 0.98)])
def test_equivalence_at_ten_sessions_is_as_rare_as_published(cov: float, power: float) -> None:
    assert equivalence_power(np.sqrt(2) * cov, 0.02, 10) == pytest.approx(power, abs=0.015)


@given(st.floats(0.002, 0.3), st.floats(0.005, 0.3))
def test_sessions_needed_are_the_fewest(spread: float, difference: float) -> None:
    n = sessions_needed(spread, difference)
    assert paired_power(spread, difference, n) >= 0.8
    if 2 < n < 1_000:
        assert paired_power(spread, difference, n - 1) < 0.8


def test_sessions_for_equivalence_are_the_fewest() -> None:
    n = sessions_for_equivalence(0.0141, 0.02)
    assert equivalence_power(0.0141, 0.02, n) >= 0.8 > equivalence_power(0.0141, 0.02, n - 1)


def test_numbers_are_capped() -> None:
    assert sessions_needed(10.0, 1e-6) == MOST_SESSIONS
    with pytest.raises(ValueError, match="difference of 0"):
        sessions_needed(0.01, 0.0)


def test_stein_needs_no_more_than_the_pilot_when_it_is_quiet() -> None:
    assert stein_sessions(np.full(8, 3.0), 0.01) == 8
    assert (
        stein_sessions(np.array([-1.0, 1.0, -1.0, 1.0]), 0.01) == MOST_SESSIONS
    )  # a relative width of a mean of 0 cannot be reached


def test_stein_in_closed_form() -> None:
    pilot = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02, 0.98])
    expected = np.ceil((stats.t.ppf(0.975, 7) * pilot.std(ddof=1) / (0.01 * pilot.mean())) ** 2)
    assert stein_sessions(pilot, 0.01) == expected
    logs = np.log(pilot)
    assert stein_sessions(pilot, 0.01, geometric=True) == np.ceil(
        (stats.t.ppf(0.975, 7) * logs.std(ddof=1) / np.log(1.01)) ** 2
    )
