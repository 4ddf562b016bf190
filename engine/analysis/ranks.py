"""Rank and permutation checks beside the t tests. They carry no verdict; where they disagree the
page says "test-dependent".

Rows are contrasts, columns sessions. Large batches are worked off in chunks, since the pairwise
comparisons need rows x n x n cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from .intervals import Floats

EXACT_SIGNED_RANK = 50
EXACT_MANN_WHITNEY = 20
EXACT_SIGN_FLIP = 12
RANDOM_FLIPS = 9_999
_CHUNK_CELLS = 4_000_000


def signed_rank_p(x: Floats) -> Floats:
    """Wilcoxon's signed-rank test of ``x`` (m, n) being symmetric around 0, two-sided.

    Exact up to 50 differences without ties or zeros, else normal with the ranks' own variance and
    continuity correction; zeros are left out.
    """
    return _by_chunk(_signed_rank_chunk, x, x.shape[1] ** 2)


def mann_whitney(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """U (how many pairs have b > a, ties half) and its two-sided p for rows of ``a`` (m, k) and
    ``b`` (m, l).

    Exact up to 20 per side without ties, else normal with tie and continuity correction.
    """
    both = np.concatenate([a, b], axis=1)
    k = a.shape[1]
    u = _by_chunk(lambda rows: _u_statistic(rows[:, :k], rows[:, k:]), both, k * b.shape[1])
    ties = _by_chunk(_tie_sum, both, both.shape[1] ** 2)
    return u, _mann_whitney_p(u, ties, k, b.shape[1])


def cliffs_delta(u: Floats, k: int, n: int) -> Floats:
    """Cliff's delta of b over a from Mann-Whitney's U: -1 (all b below all a) to 1."""
    return 2 * u / (k * n) - 1


def sign_flip_p(x: Floats, seed: int = 20230320) -> Floats:
    """Permutation test of the mean of ``x`` (m, n) by flipping signs, two-sided; all flips up to n
    = 12, else 9,999 with a fixed seed.
    """
    n = x.shape[1]
    if n <= EXACT_SIGN_FLIP:
        signs = np.asarray(
            1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1), dtype=np.float64
        )
        extra = 0
    else:
        signs = np.random.Generator(np.random.PCG64(seed)).choice(
            [-1.0, 1.0], size=(RANDOM_FLIPS, n)
        )
        extra = 1
    return _by_chunk(lambda rows: _flip_share(rows, signs, extra), x, len(signs))


def hodges_lehmann(x: Floats) -> Floats:
    """Median of the Walsh averages of each row: the shift that belongs to the signed-rank test."""
    i, j = np.triu_indices(x.shape[1])
    return _by_chunk(
        lambda rows: np.asarray(np.median((rows[:, i] + rows[:, j]) / 2, axis=1)), x, len(i)
    )


def hodges_lehmann_shift(a: Floats, b: Floats) -> Floats:
    """Median of all differences b - a of each row: the shift that belongs to the Mann-Whitney
    test.
    """
    k, m = a.shape[1], b.shape[1]
    both = np.concatenate([a, b], axis=1)
    return _by_chunk(
        lambda rows: np.asarray(
            np.median((rows[:, None, k:] - rows[:, :k, None]).reshape(len(rows), k * m), axis=1)
        ),
        both,
        k * m,
    )


def _by_chunk(function: Callable[[Floats], Floats], rows: Floats, cells_per_row: int) -> Floats:
    return (
        np.concatenate([function(chunk) for chunk in _chunks(rows, cells_per_row)])
        if len(rows)
        else np.empty(0)
    )


def _chunks(rows: Floats, cells_per_row: int) -> Iterator[Floats]:
    step = max(1, _CHUNK_CELLS // max(1, cells_per_row))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def _signed_rank_chunk(x: Floats) -> Floats:
    size, used = np.abs(x), x != 0
    smaller = (size[:, None, :] < size[:, :, None]) & used[:, None, :]
    equal = (size[:, None, :] == size[:, :, None]) & used[:, None, :]
    ranks = np.where(used, smaller.sum(axis=2) + (equal.sum(axis=2) + 1) / 2, 0.0)
    positive = np.where(x > 0, ranks, 0.0).sum(axis=1)
    tied = (equal.sum(axis=2) != 1).any(axis=1) | ~used.all(axis=1)
    p = _normal_p(positive, ranks.sum(axis=1) / 2, np.sqrt((ranks**2).sum(axis=1) / 4))
    if x.shape[1] <= EXACT_SIGNED_RANK:
        lower = np.minimum(positive, ranks.sum(axis=1) - positive)
        exact = np.minimum(1.0, 2 * _signed_rank_cdf(x.shape[1])[np.floor(lower).astype(int)])
        p = np.where(tied, p, exact)
    return p


def _normal_p(statistic: Floats, mean: Floats | float, sd: Floats) -> Floats:
    """Two-sided normal p with continuity correction; 1 where there is no spread."""
    distance = np.maximum(np.abs(statistic - mean) - 0.5, 0.0)
    z = np.divide(distance, sd, out=np.zeros_like(distance), where=sd > 0)
    return np.asarray(2 * ndtr(-z), dtype=np.float64)


@lru_cache(maxsize=64)
def _signed_rank_cdf(n: int) -> Floats:
    """P(T+ <= t) for t = 0 .. n(n+1)/2: the number of subsets of 1..n with each sum."""
    counts = np.ones(1)
    for rank in range(1, n + 1):
        counts = np.concatenate([counts, np.zeros(rank)]) + np.concatenate([np.zeros(rank), counts])
    return np.asarray(np.cumsum(counts) / 2.0**n, dtype=np.float64)


def _u_statistic(a: Floats, b: Floats) -> Floats:
    greater = (b[:, None, :] > a[:, :, None]).sum(axis=(1, 2))
    equal = (b[:, None, :] == a[:, :, None]).sum(axis=(1, 2))
    return np.asarray(greater + equal / 2, dtype=np.float64)


def _tie_sum(rows: Floats) -> Floats:
    """Sum of t^3 - t over the groups of t equal values in each row."""
    alike = (rows[:, None, :] == rows[:, :, None]).sum(axis=2)
    return np.asarray((alike**2 - 1).sum(axis=1), dtype=np.float64)


def _mann_whitney_p(u: Floats, ties: Floats, k: int, n: int) -> Floats:
    total = k + n
    variance = k * n / 12 * (total + 1 - ties / (total * (total - 1)))
    p = _normal_p(u, k * n / 2, np.sqrt(np.maximum(variance, 0.0)))
    if max(k, n) <= EXACT_MANN_WHITNEY:
        lower = np.floor(np.minimum(u, k * n - u)).astype(int)
        p = np.where(ties > 0, p, np.minimum(1.0, 2 * _mann_whitney_cdf(k, n)[lower]))
    return p


@lru_cache(maxsize=256)
def _mann_whitney_cdf(k: int, n: int) -> Floats:
    """P(U <= u) for u = 0 .. k n, by the recurrence of Mann and Whitney (Ann. Math. Stat. 18, 1947)
    as a product of polynomials.
    """
    counts = np.zeros(k * n + 1)
    counts[0] = 1.0
    for i in range(1, k + 1):
        for step in range(len(counts) - 1, n + i - 1, -1):  # times 1 - q^(n+i)
            counts[step] -= counts[step - n - i]
        for step in range(i, len(counts)):  # over 1 - q^i
            counts[step] += counts[step - i]
    return np.asarray(np.cumsum(counts) / counts.sum(), dtype=np.float64)


def _flip_share(rows: Floats, signs: Floats, extra: int) -> Floats:
    observed = np.abs(rows.sum(axis=1))
    flipped = np.abs(rows @ signs.T)
    as_large = (flipped >= observed[:, None] * (1 - 1e-12)).sum(axis=1)
    return np.asarray((as_large + extra) / (len(signs) + extra), dtype=np.float64)
