"""Ratios b/a of two targets with intervals and p. Arrays hold one contrast per row and one session
per column (``..., n``).

Paired log-ratios are the default: the sessions of a block share what disturbs them. Welch on logs
is for sessions that do not pair, Fieller's interval (E. C. Fieller, J. R. Stat. Soc. B 16, 1954)
for metrics whose statistic is the arithmetic mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from .intervals import Floats, spread_of, t_quantile

PAIRED_LOG = "paired t on log ratios of session means"
WELCH_LOG = "Welch t on logs of session means"
PAIRED_FIELLER = "paired t on session means, Fieller interval of the ratio"
WELCH_FIELLER = "Welch t on session means, Fieller interval of the ratio"
ROUND_OFF = 1e-12
"""What is smaller than this share of the figures themselves is the last bit of a number in binary,
and no difference.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratios:
    """A batch of ratios b/a. ``low``/``high`` at the confidence asked for,
    ``margin_low``/``margin_high`` at 1 - 2 alpha (the TOST interval).

    NaN bounds: no interval exists. ``sign`` is the sign of b - a on the method's own scale.
    ``spread`` is the relative standard deviation of one session's ratio, so that the standard error
    is ``spread / sqrt(sessions)``. ``shift`` is b - a on the method's own scale, with its interval
    from ``shift_low`` to ``shift_high``.
    """

    method: str
    ratio: Floats
    low: Floats
    high: Floats
    margin_low: Floats
    margin_high: Floats
    p: Floats
    df: Floats
    sign: Floats
    spread: Floats
    shift: Floats
    shift_low: Floats
    shift_high: Floats


def paired_log_ratio(
    a: Floats, b: Floats, confidence: float = 0.95, pilot: int | None = None
) -> Ratios:
    """One-sample t on ``ln b - ln a``; columns are sessions of the same block, all values positive,
    n >= 2. df = pairs - 1.
    """
    x = np.log(b) - np.log(a)
    sd, df = spread_of(x, pilot)
    n = x.shape[-1]
    contrast = _Contrast(
        difference=_above_round_off(x.mean(axis=-1)),
        se=_above_round_off(sd) / np.sqrt(n),
        df=np.full(sd.shape, float(df)),
        sessions=n,
    )
    return _log_ratios(PAIRED_LOG, contrast, confidence)


def welch_log_ratio(a: Floats, b: Floats, confidence: float = 0.95) -> Ratios:
    """Welch's t on logs, for sessions that do not pair; all values positive, at least two per
    side.
    """
    log_a, log_b = np.log(a), np.log(b)
    var_a, var_b, df = _welch(log_a, log_b)
    difference = log_b.mean(axis=-1) - log_a.mean(axis=-1)
    contrast = _Contrast(
        difference=_above_round_off(difference),
        se=_above_round_off(np.sqrt(var_a + var_b)),
        df=df,
        sessions=min(a.shape[-1], b.shape[-1]),
    )
    return _log_ratios(WELCH_LOG, contrast, confidence)


def paired_mean_ratio(
    a: Floats, b: Floats, confidence: float = 0.95, pilot: int | None = None
) -> Ratios:
    """Ratio of arithmetic means of paired sessions: Fieller's interval with the covariance; p from
    the paired t on ``b - a``.

    The interval excludes 1 exactly when p < 1 - confidence. It does not exist when either mean
    cannot be told from 0.
    """
    n = a.shape[-1]
    first_a, first_b = (a, b) if pilot is None else (a[..., :pilot], b[..., :pilot])
    deviations = (first_a - first_a.mean(axis=-1, keepdims=True)) * (
        first_b - first_b.mean(axis=-1, keepdims=True)
    )
    sd_a, df = spread_of(a, pilot)
    sd_b, _ = spread_of(b, pilot)
    moments = _Moments(
        mean_a=a.mean(axis=-1),
        mean_b=b.mean(axis=-1),
        var_a=sd_a**2 / n,
        var_b=sd_b**2 / n,
        cov=deviations.sum(axis=-1) / df / n,
    )
    sd, _ = spread_of(b - a, pilot)
    size = _size(moments)
    contrast = _Contrast(
        difference=_above_round_off(moments.mean_b - moments.mean_a, size),
        se=_above_round_off(sd, size) / np.sqrt(n),
        df=np.full(sd.shape, float(df)),
        sessions=n,
    )
    return _mean_ratios(PAIRED_FIELLER, contrast, confidence, moments)


def welch_mean_ratio(a: Floats, b: Floats, confidence: float = 0.95) -> Ratios:
    """Ratio of arithmetic means of independent sessions: Fieller's interval; p and degrees of
    freedom from Welch's t on ``b - a``.
    """
    var_a, var_b, df = _welch(a, b)
    moments = _Moments(
        mean_a=a.mean(axis=-1),
        mean_b=b.mean(axis=-1),
        var_a=var_a,
        var_b=var_b,
        cov=np.zeros_like(var_a),
    )
    size = _size(moments)
    contrast = _Contrast(
        difference=_above_round_off(moments.mean_b - moments.mean_a, size),
        se=_above_round_off(np.sqrt(var_a + var_b), size),
        df=df,
        sessions=min(a.shape[-1], b.shape[-1]),
    )
    return _mean_ratios(WELCH_FIELLER, contrast, confidence, moments)


def holm(p: Floats) -> Floats:
    """Holm's step-down adjustment of a family of p values (S. Holm, Scand. J. Stat. 6, 1979)."""
    order = np.argsort(p, kind="stable")
    family = len(p)
    adjusted = np.empty(family)
    adjusted[order] = np.maximum.accumulate(
        np.minimum(1.0, (family - np.arange(family)) * p[order])
    )
    return adjusted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contrast:
    """A difference b - a on the method's own scale, its standard error and degrees of freedom, and
    how many sessions a side it comes from.
    """

    difference: Floats
    se: Floats
    df: Floats
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """Means of both sides, variances of those means, and their covariance."""

    mean_a: Floats
    mean_b: Floats
    var_a: Floats
    var_b: Floats
    cov: Floats


def _size(moments: _Moments) -> Floats:
    """How large the figures are."""
    return np.maximum(np.abs(moments.mean_a), np.abs(moments.mean_b))


def _above_round_off(x: Floats, size: Floats | float = 1.0) -> Floats:
    """``x``, and 0 where it is only the round-off of figures of this ``size``."""
    return np.where(np.abs(x) <= ROUND_OFF * size, 0.0, x)


def _welch(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Variances of both means and the Welch-Satterthwaite degrees of freedom."""
    var_a, var_b = a.var(axis=-1, ddof=1) / a.shape[-1], b.var(axis=-1, ddof=1) / b.shape[-1]
    weights = var_a**2 / (a.shape[-1] - 1) + var_b**2 / (b.shape[-1] - 1)
    fallback = np.full(np.shape(weights), float(a.shape[-1] + b.shape[-1] - 2))
    df = np.divide((var_a + var_b) ** 2, weights, out=fallback, where=weights > 0)
    return np.asarray(var_a), np.asarray(var_b), df


def _p_value(contrast: _Contrast) -> Floats:
    """Two-sided p of ``difference / se``. Without any spread a difference is certain (p 0) and none
    is none (p 1).
    """
    certain = np.where(contrast.difference == 0, 0.0, np.inf)
    t = np.divide(
        np.abs(contrast.difference),
        contrast.se,
        out=np.asarray(certain, dtype=np.float64),
        where=contrast.se > 0,
    )
    return np.asarray(2 * stdtr(contrast.df, -t), dtype=np.float64)


def _log_ratios(method: str, contrast: _Contrast, confidence: float) -> Ratios:
    d, se = contrast.difference, contrast.se

    def bounds(t: Floats) -> tuple[Floats, Floats]:
        return _exp(d - t * se), _exp(d + t * se)

    return _ratios(method, contrast, confidence, ratio=_exp(d), relative_se=se, bounds=bounds)


def _exp(x: Floats) -> Floats:
    with np.errstate(over="ignore"):  # infinite: no bound
        return np.asarray(np.exp(x), dtype=np.float64)


def _mean_ratios(method: str, contrast: _Contrast, confidence: float, moments: _Moments) -> Ratios:
    positive = (moments.mean_a > 0) & (moments.mean_b > 0)
    ratio = _divide(moments.mean_b, moments.mean_a, positive)
    variance = moments.var_b - 2 * ratio * moments.cov + ratio**2 * moments.var_a
    relative_se = _divide(np.sqrt(np.maximum(variance, 0.0)), moments.mean_b, positive)
    return _ratios(
        method,
        contrast,
        confidence,
        ratio=ratio,
        relative_se=relative_se,
        bounds=lambda t: _fieller(moments, t, positive),
    )


def _ratios(
    method: str,
    contrast: _Contrast,
    confidence: float,
    *,
    ratio: Floats,
    relative_se: Floats,
    bounds: Callable[[Floats], tuple[Floats, Floats]],
) -> Ratios:
    """Both intervals, by ``bounds`` that tells one from its quantile of t."""
    t = t_quantile(contrast.df, confidence)
    low, high = bounds(t)
    margin_low, margin_high = bounds(t_quantile(contrast.df, 2 * confidence - 1))
    return Ratios(
        method=method,
        ratio=ratio,
        low=low,
        high=high,
        margin_low=margin_low,
        margin_high=margin_high,
        p=_p_value(contrast),
        df=contrast.df,
        sign=np.sign(contrast.difference),
        spread=relative_se * np.sqrt(contrast.sessions),
        shift=contrast.difference,
        shift_low=contrast.difference - t * contrast.se,
        shift_high=contrast.difference + t * contrast.se,
    )


def _fieller(m: _Moments, t: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The roots r of (mean_b - r mean_a)^2 = t^2 (var_b - 2 r cov + r^2 var_a), where both means
    clear 0; else NaN.

    Written so that swapping a and b gives the reciprocal roots.
    """
    in_a, in_b, cross = (
        m.mean_a**2 - t**2 * m.var_a,
        m.mean_b**2 - t**2 * m.var_b,
        m.mean_a * m.mean_b - t**2 * m.cov,
    )
    exists = positive & (in_a > 0) & (in_b > 0)
    far = cross + np.sqrt(np.maximum(cross**2 - in_a * in_b, 0.0))
    return _divide(in_b, far, exists), _divide(far, in_a, exists)


def _divide(numerator: Floats, denominator: Floats, where: NDArray[np.bool_]) -> Floats:
    return np.asarray(
        np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=where),
        dtype=np.float64,
    )
