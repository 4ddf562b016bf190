"""What a planned number of sessions can show, before anything is measured: the power of the margin
and the smallest detectable difference.

The design is paired by session: with x_i = ln b_i - ln a_i over n sessions, sd(x) = sqrt(2) c for
targets whose session values have the coefficient of variation c, and the test has n - 1 degrees of
freedom. Sources: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657 for two one-sided tests; the
noncentral t distribution for the power of a t-test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

COV_CLASSES = (0.01, 0.02, 0.03, 0.08)
USUAL_COV = 0.02
POWER = 0.80
MARGIN_LEVEL = 0.05
_NODES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """For targets of one coefficient of variation: how likely equal targets are found inside the
    margin, and the smallest relative difference that is established with 80 % power (None with
    fewer than two sessions).
    """

    cov: float
    margin_power: float
    detectable: float | None


def reach(sessions: int, margin: float, confidence: float) -> tuple[Reach, ...]:
    """The reach of ``sessions`` paired sessions for the usual noise classes; ``margin`` and
    ``confidence`` as ratios.
    """
    return tuple(
        Reach(
            cov=cov,
            margin_power=margin_power(sessions, margin, cov),
            detectable=detectable(sessions, cov, confidence),
        )
        for cov in COV_CLASSES
    )


def _standard_error(sessions: int, cov: float) -> float:
    """Of the mean of n paired log-ratios; cov to log sd as for a log-normal, sd^2 = ln(1 +
    cov^2).
    """
    return math.sqrt(2.0 * math.log1p(cov * cov) / sessions)


def margin_power(sessions: int, margin: float, cov: float) -> float:
    """The probability that two equal targets are declared inside ``margin``.

    Given the observed standard error s, both one-sided tests reject with 2 Phi((m - t s)/se) - 1
    where that is positive; this is averaged over the distribution of s, se sqrt(chi2/df), at the
    midpoints of equal probabilities.
    """
    if sessions < 2:
        return 0.0
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtrit

    df, se = sessions - 1, _standard_error(sessions, cov)
    upper = (np.arange(_NODES) + 0.5) / _NODES
    observed = se * np.sqrt(chdtri(df, upper) / df)
    room = (math.log1p(margin) - float(stdtrit(df, 1.0 - MARGIN_LEVEL)) * observed) / se
    return float(np.mean(np.maximum(2.0 * ndtr(room) - 1.0, 0.0)))


def detectable(sessions: int, cov: float, confidence: float) -> float | None:
    """The smallest relative difference that the paired t-test establishes with 80 % power; None
    with fewer than two sessions.

    The noncentrality at which the noncentral t distribution lies above the critical value with that
    probability, times the standard error.
    """
    if sessions < 2:
        return None
    from scipy.special import nctdtrinc, stdtrit

    df = sessions - 1
    critical = float(stdtrit(df, 0.5 + confidence / 2.0))
    return math.expm1(float(nctdtrinc(df, 1.0 - POWER, critical)) * _standard_error(sessions, cov))
