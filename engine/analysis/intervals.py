"""Intervals of means, medians and percentiles. Arrays hold one cell per row and one session per
column (``..., n``).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, gammaln, stdtr, stdtrit

Floats: TypeAlias = NDArray[np.float64]

T_LINEAR = "t interval of the mean of {n} sessions"
T_LOGS = "t interval on the logs of {n} sessions, back-transformed (geometric mean)"
ORDER = "order statistics {low} and {high} of {n} sessions"


def t_quantile(df: float | Floats, confidence: float) -> Floats:
    """The two-sided ``confidence`` quantile of Student's t. ``scipy.special`` alone: importing
    ``scipy.stats`` costs about a second.

    ``stdtrit`` differs between library versions from the eleventh digit on; one step of Newton's
    method makes pages the same with all of them.
    """
    nu, p = np.asarray(df, dtype=np.float64), 0.5 + confidence / 2
    t = stdtrit(nu, p)
    density = np.exp(
        gammaln((nu + 1) / 2) - gammaln(nu / 2) - (nu + 1) / 2 * np.log1p(t * t / nu)
    ) / np.sqrt(nu * np.pi)
    return np.asarray(t - (stdtr(nu, t) - p) / density, dtype=np.float64)


def spread_of(values: Floats, pilot: int | None = None) -> tuple[Floats, int]:
    """The standard deviation (``...``) and its degrees of freedom.

    With ``pilot`` the first ``pilot`` columns alone tell the spread: after a second stage whose
    size was computed from the first, Stein's interval keeps the first stage's standard deviation
    and degrees of freedom (C. Stein, Ann. Math. Stat. 16, 1945).
    """
    stage = values if pilot is None else values[..., :pilot]
    return np.asarray(stage.std(axis=-1, ddof=1), dtype=np.float64), stage.shape[-1] - 1


def quantile_ranks(n: int, p: float, confidence: float = 0.95) -> tuple[int, int] | None:
    """The 1-based ranks whose order statistics enclose the ``p`` quantile, distribution-free; None
    when ``n`` values cannot.

    l = binom.ppf(alpha/2, n, p), u = binom.ppf(1 - alpha/2, n, p) + 1. A median needs 6 values, a
    P99 368, a P99.9 3688 (at 95 %).
    """
    cumulated = bdtr(np.arange(n + 1), n, p)
    tail = (1 - confidence) / 2
    low, high = int(np.searchsorted(cumulated, tail)), int(np.searchsorted(cumulated, 1 - tail)) + 1
    return (low, high) if low >= 1 and high <= n else None
