"""How many sessions a question needs, and what a number of sessions can answer. All differences and
spreads are relative (0.02 is 2 %).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import chdtri, nctdtr, ndtr, ndtri

from .intervals import Floats, t_quantile

MOST_SESSIONS = 1_000_000
_QUADRATURE = (np.arange(2_000) + 0.5) / 2_000


def paired_power(
    spread: float, difference: float, sessions: int, confidence: float = 0.95
) -> float:
    """Power of the paired t test for a true log ratio ``difference`` when one session's log ratio
    has standard deviation ``spread``.

    Exact, by the noncentral t. For per-side coefficients of variation c the spread is sqrt(2) c.
    """
    if sessions < 2:
        return 0.0
    if spread <= 0:
        return 1.0 if difference else 1 - confidence
    df, shift = sessions - 1.0, abs(difference) / spread * math.sqrt(sessions)
    if shift > 30:  # certain; the noncentral t loses its digits there
        return 1.0
    t = float(t_quantile(df, confidence))
    wrong_side = (
        nctdtr(df, shift, -t) if shift < 5 else 0.0
    )  # below 3e-7 from there on, where the function may answer NaN
    return float(1 - nctdtr(df, shift, t) + wrong_side)


def sessions_needed(
    spread: float, difference: float, power: float = 0.8, confidence: float = 0.95
) -> int:
    """The fewest paired sessions (at least 2) whose t test finds a log ratio ``difference`` with
    ``power``. Capped at 1,000,000.

    Raises:
        ValueError: ``difference`` is 0, which no number of sessions finds.
    """
    if difference == 0:
        raise ValueError("found a difference of 0, expected one that can be found")
    z = float(ndtri(0.5 + confidence / 2) + ndtri(power))
    return _fewest(
        lambda n: paired_power(spread, difference, n, confidence) >= power,
        _ceil((spread / difference * z) ** 2),
    )


def equivalence_power(
    spread: float,
    margin: float,
    sessions: int,
    true_difference: float = 0.0,
    confidence: float = 0.95,
) -> float:
    """Probability that the 1 - 2 alpha interval of the log ratio lies inside +-ln(1 + margin) (two
    one-sided tests).

    The normal probability that the mean lies inside, averaged over 2,000 quantiles of the
    chi-square distribution of the variance.
    """
    if sessions < 2:
        return 0.0
    limit = math.log1p(margin)
    if spread <= 0:
        return 1.0 if abs(true_difference) < limit else 0.0
    df, se = sessions - 1.0, spread / math.sqrt(sessions)
    estimated: Floats = se * np.sqrt(np.asarray(chdtri(df, _QUADRATURE)) / df)
    room = limit - t_quantile(df, 2 * confidence - 1) * estimated
    inside = ndtr((room - true_difference) / se) - ndtr((-room - true_difference) / se)
    return float(np.where(room > 0, inside, 0.0).mean())


def sessions_for_equivalence(
    spread: float, margin: float, power: float = 0.8, confidence: float = 0.95
) -> int:
    """The fewest paired sessions that place two equal targets inside the ``margin`` with ``power``.
    Capped at 1,000,000.
    """
    z = float(ndtri(confidence) + ndtri(0.5 + power / 2))
    return _fewest(
        lambda n: equivalence_power(spread, margin, n, 0.0, confidence) >= power,
        _ceil((spread / math.log1p(margin) * z) ** 2),
    )


def stein_sessions(
    pilot: Floats, half_width: float, confidence: float = 0.95, *, geometric: bool = False
) -> int:
    """Sessions in all that give a relative ``half_width`` of the mean, from a first stage ``pilot``
    (one dimension, at least 2 values).

    N = max(n0, ceil((t_{n0-1} s0 / d)^2)) with d = half_width * mean, or ln(1 + half_width) on logs
    (C. Stein 1945). The interval of the finished run keeps s0 and n0 - 1 degrees of freedom (see
    :func:`benchspec.engine.analysis.intervals.spread_of`).
    """
    x = np.log(pilot) if geometric else pilot
    width = math.log1p(half_width) if geometric else half_width * abs(float(x.mean()))
    sd = float(x.std(ddof=1))
    if sd == 0:
        return len(x)
    if width == 0:
        return MOST_SESSIONS
    return max(len(x), _ceil((float(t_quantile(len(x) - 1.0, confidence)) * sd / width) ** 2))


def _ceil(runs: float) -> int:
    return max(2, min(MOST_SESSIONS, math.ceil(runs)))


def _fewest(enough: Callable[[int], bool], start: int) -> int:
    """The smallest n from 2 on with ``enough(n)``; ``start`` is the normal-theory n, a lower bound
    that is nearly right.
    """
    n = start
    while n < MOST_SESSIONS and not enough(n):
        n += max(1, n // 1000)
    return n
