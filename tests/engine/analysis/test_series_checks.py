"""Flags: what they catch and how seldom they cry wolf."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchspec.engine.analysis import series_checks as sanity

RNG = np.random.Generator(np.random.PCG64(1))
NOISE = RNG.normal(100, 1, (2_000, 30))


def test_an_outlier_is_found_and_its_neighbours_are_not() -> None:
    found = sanity.outliers(np.array([[10.0, 10.1, 9.9, 10.2, 9.8, 14.0]]))
    assert found.tolist() == [[False, False, False, False, False, True]]


def test_outliers_without_mad_fall_back_to_the_interquartile_range() -> None:
    assert sanity.outliers(np.array([[1.0, 1, 1, 1, 1, 2, 2, 2, 50]]))[0].tolist() == [
        False
    ] * 8 + [True]
    assert not sanity.outliers(
        np.array([[1.0, 1, 1, 1, 1, 1, 1, 1, 50]])
    ).any()  # no spread to judge by
    assert not sanity.outliers(np.array([[1.0, 1.0, 1.0, 90.0]])).any()  # too few


def test_autocorrelation_and_what_is_left_of_the_sessions() -> None:
    slow = np.sin(np.linspace(0, 6, 30))[None, :]
    r = sanity.autocorrelation(slow)
    assert r[0] > 0.8
    assert sanity.effective_sessions(30, r)[0] < 4
    assert sanity.autocorrelation(np.ones((1, 10))).tolist() == [0.0]
    assert sanity.autocorrelation(NOISE).mean() == pytest.approx(-1 / 30, abs=0.02)


def test_mann_kendall_agrees_with_kendalls_s_and_finds_a_drift() -> None:
    rows = np.round(NOISE[:5], 0)
    s, p = sanity.mann_kendall(rows)
    for row, s_row, p_row in zip(rows, s, p, strict=True):
        tau = stats.kendalltau(range(30), row, method="asymptotic", variant="b")
        assert np.sign(tau.statistic) == np.sign(s_row)
        assert p_row == pytest.approx(tau.pvalue, abs=0.03)  # ours is continuity-corrected
    assert sanity.mann_kendall(NOISE + np.linspace(0, 5, 30))[1].max() < 0.01
    assert (sanity.mann_kendall(NOISE)[1] < sanity.DRIFT_P).mean() < 0.02
    assert sanity.mann_kendall(np.ones((1, 10)))[1].tolist() == [1.0]


def test_two_modes_are_found_and_one_is_not() -> None:
    shift = np.where(np.arange(30) % 3 == 0, 6.0, 0.0)
    assert sanity.two_modes(NOISE + shift).mean() > 0.8
    assert sanity.two_modes(NOISE).mean() < 0.01
    assert not sanity.two_modes(NOISE[:, :19] + shift[:19]).any()  # too few values to tell
