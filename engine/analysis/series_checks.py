"""What may be wrong with a series: outliers, autocorrelation, drift, two modes. Flags only; nothing
is ever dropped.

Rows are cells; columns are sessions (or trials) in the order in which they ran.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .intervals import Floats

OUTLIER_Z = 3.5
AUTOCORRELATED = 0.2
DRIFT_P = 0.01
LEAST_FOR_TREND = 10
MOST_FOR_TREND = 2_000
LEAST_FOR_MODES = 20
MODE_SHARE = 0.15
MODE_GAP = 3.0
_CHUNK_CELLS = 4_000_000


def outliers(values: Floats) -> NDArray[np.bool_]:
    """Where the modified z score exceeds 3.5 (Iglewicz and Hoaglin 1993: 0.6745 (x - median) /
    MAD).

    With a MAD of 0 the interquartile range stands in (IQR / 1.349 estimates the standard
    deviation); without either there is no spread to judge by and nothing is flagged. Fewer than 5
    values are not judged.
    """
    if values.shape[1] < 5:
        return np.zeros(values.shape, dtype=np.bool_)
    centre = np.median(values, axis=1, keepdims=True)
    distance = np.abs(values - centre)
    mad = np.median(distance, axis=1, keepdims=True) / 0.6745
    q1, q3 = np.percentile(values, [25, 75], axis=1, keepdims=True)
    scale = np.where(mad > 0, mad, (q3 - q1) / 1.349)
    return np.asarray((scale > 0) & (distance > OUTLIER_Z * scale), dtype=np.bool_)


def autocorrelation(values: Floats) -> Floats:
    """Lag-1 autocorrelation of each row; 0 without spread."""
    x = values - values.mean(axis=1, keepdims=True)
    total = (x**2).sum(axis=1)
    neighbours: Floats = (x[:, 1:] * x[:, :-1]).sum(axis=1)
    return np.asarray(
        np.divide(neighbours, total, out=np.zeros(len(x)), where=total > 0), dtype=np.float64
    )


def effective_sessions(n: int, r: Floats) -> Floats:
    """n (1 - r) / (1 + r): how many independent sessions ``n`` correlated ones are worth."""
    return np.asarray(n * (1 - r) / (1 + r), dtype=np.float64)


def mann_kendall(values: Floats) -> tuple[Floats, Floats]:
    """Mann-Kendall trend test of each row: S (positive rises) and its two-sided p (normal, tie and
    continuity corrected).
    """
    n = values.shape[1]
    step = max(1, _CHUNK_CELLS // (n * n))
    parts = [_kendall_sums(values[start : start + step]) for start in range(0, len(values), step)]
    s, ties = (np.concatenate(column) for column in zip(*parts, strict=True))
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    z = np.divide(
        np.maximum(np.abs(s) - 1, 0.0), np.sqrt(variance), out=np.zeros_like(s), where=variance > 0
    )
    return s, np.asarray(2 * ndtr(-z), dtype=np.float64)


def _kendall_sums(values: Floats) -> tuple[Floats, Floats]:
    """S, and the sum of t(t-1)(2t+5) over groups of t equal values."""
    later = np.triu(np.ones((values.shape[1], values.shape[1])), k=1)
    s = (np.sign(values[:, None, :] - values[:, :, None]) * later).sum(axis=(1, 2))
    alike = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    return s, ((alike - 1) * (2 * alike + 5)).sum(axis=1).astype(np.float64)


def two_modes(values: Floats) -> NDArray[np.bool_]:
    """Whether each row (20 values or more) falls into two groups.

    The widest gap that leaves 15 % of the values on both sides must be over 3 median gaps. Alone
    that is true of most normal samples, so it must also be over 1.5 standard deviations within the
    groups, which holds for fewer than 1 % of them (simulated).
    """
    n = values.shape[1]
    if n < LEAST_FOR_MODES:
        return np.zeros(len(values), dtype=np.bool_)
    ordered = np.sort(values, axis=1)
    gaps = np.diff(ordered, axis=1)
    edge = int(np.ceil(MODE_SHARE * n))
    central = gaps[:, edge - 1 : n - edge]
    split = central.argmax(axis=1)
    widest = np.take_along_axis(central, split[:, None], axis=1)[:, 0]
    within = _spread_within(ordered, split + edge)
    return np.asarray(
        (widest > MODE_GAP * np.median(gaps, axis=1)) & (widest > (1 + 20 / n) * within),
        dtype=np.bool_,
    )


def _spread_within(ordered: Floats, size: NDArray[np.intp]) -> Floats:
    """Pooled standard deviation within the lowest ``size`` values and within the others, per
    row.
    """
    n = ordered.shape[1]
    low = np.arange(n)[None, :] < size[:, None]
    squares = np.zeros(len(ordered))
    for group in (low, ~low):
        count = group.sum(axis=1, keepdims=True)
        mean = np.where(group, ordered, 0.0).sum(axis=1, keepdims=True) / count
        squares += np.where(group, (ordered - mean) ** 2, 0.0).sum(axis=1)
    return np.asarray(np.sqrt(squares / (n - 2)), dtype=np.float64)
