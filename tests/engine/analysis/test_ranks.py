"""Rank and permutation checks against SciPy's own, which the engine does not import because of its
start-up cost.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchspec.engine.analysis import ranks


def _rows(
    n: int, decimals: int | None = None, shift: float = 0.3, seed: int = 1
) -> NDArray[np.float64]:
    values = np.random.Generator(np.random.PCG64(seed)).normal(shift, 1, (25, n))
    return values if decimals is None else np.round(values, decimals)


def _scipy_signed_rank(x: NDArray[np.float64], exact: bool) -> float:
    """SciPy chooses the normal approximation by itself for more than 50 values, and for ties among
    more than 13.
    """
    return float(
        (stats.wilcoxon(x, method="exact") if exact else stats.wilcoxon(x, correction=True)).pvalue
    )


def _scipy_mann_whitney(
    a: NDArray[np.float64], b: NDArray[np.float64], exact: bool
) -> tuple[float, float]:
    found = stats.mannwhitneyu(b, a, method="exact" if exact else "asymptotic")
    return float(found.statistic), float(found.pvalue)


def _largest_sum(x: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    return np.asarray(np.abs(x.sum(axis=axis)))


@pytest.mark.parametrize("n", [5, 10, 30, 60])
def test_signed_rank_agrees_with_scipy(n: int) -> None:
    x = _rows(n)
    assert ranks.signed_rank_p(x) == pytest.approx(
        [_scipy_signed_rank(row, n <= ranks.EXACT_SIGNED_RANK) for row in x]
    )


def test_signed_rank_with_ties_and_zeros_is_normal_with_the_ranks_own_variance() -> None:
    x = _rows(20, decimals=0)
    assert ranks.signed_rank_p(x) == pytest.approx(
        [_scipy_signed_rank(row, exact=False) for row in x]
    )


def test_signed_rank_of_nothing_but_zeros_shows_nothing() -> None:
    assert ranks.signed_rank_p(np.zeros((2, 8))).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("k", "m"), [(5, 5), (10, 12), (20, 20), (30, 25)])
def test_mann_whitney_agrees_with_scipy(k: int, m: int) -> None:
    a, b = _rows(k, shift=0), _rows(m, seed=2)
    u, p = ranks.mann_whitney(a, b)
    expected = [
        _scipy_mann_whitney(x, y, exact=max(k, m) <= ranks.EXACT_MANN_WHITNEY)
        for x, y in zip(a, b, strict=True)
    ]
    assert u.tolist() == [statistic for statistic, _ in expected]
    assert p == pytest.approx([p_value for _, p_value in expected])


def test_mann_whitney_with_ties_agrees_with_scipy() -> None:
    a, b = _rows(10, decimals=0), _rows(12, decimals=0, seed=2)
    _, p = ranks.mann_whitney(a, b)
    assert p == pytest.approx(
        [_scipy_mann_whitney(x, y, exact=False)[1] for x, y in zip(a, b, strict=True)]
    )


def test_cliffs_delta_is_one_when_all_of_b_lie_above_a() -> None:
    a, b = np.array([[1.0, 2.0, 3.0]]), np.array([[4.0, 5.0]])
    u, _ = ranks.mann_whitney(a, b)
    assert ranks.cliffs_delta(u, 3, 2).tolist() == [1.0]


@pytest.mark.parametrize("n", [6, 10])
def test_sign_flips_are_exact_for_few_sessions(n: int) -> None:
    x = _rows(n)
    expected = [
        stats.permutation_test(
            [row],
            _largest_sum,
            permutation_type="samples",
            n_resamples=2**n,
            alternative="greater",
            vectorized=True,
        ).pvalue
        for row in x[:5]
    ]
    assert ranks.sign_flip_p(x[:5]) == pytest.approx(expected)


def test_sign_flips_of_many_sessions_come_near_the_t_test_and_repeat_exactly() -> None:
    x = _rows(40)
    first = ranks.sign_flip_p(x)
    assert first == pytest.approx(stats.ttest_1samp(x, 0, axis=1).pvalue, abs=0.02)
    assert first.tolist() == ranks.sign_flip_p(x).tolist()


def test_hodges_lehmann_shifts() -> None:
    assert ranks.hodges_lehmann(np.array([[1.0, 2.0, 9.0]])).tolist() == [3.5]
    assert ranks.hodges_lehmann_shift(
        np.array([[1.0, 2.0]]), np.array([[4.0, 5.0, 6.0]])
    ).tolist() == [3.5]


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _rows(10), _rows(10, seed=2)
    whole = ranks.mann_whitney(a, b)[1].tolist(), ranks.signed_rank_p(a).tolist()
    monkeypatch.setattr(ranks, "_CHUNK_CELLS", 1)
    assert (ranks.mann_whitney(a, b)[1].tolist(), ranks.signed_rank_p(a).tolist()) == whole


def test_no_rows_give_no_values() -> None:
    assert ranks.signed_rank_p(np.empty((0, 5))).tolist() == []


def test_the_analysis_does_not_import_scipy_stats() -> None:
    code = "import sys, benchspec.engine.analysis.analyse; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
