"""Summaries of series on their session values, computed for all series of equal length at once.

The words before the colon of a flag are fixed: ``noisy``, ``outliers``, ``autocorrelated``,
``drift``, ``two modes``, ``no spread``, ``one allocation``, ``arithmetic mean``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.results import Metric, Statistic
from ..model.units import Dimension
from . import series_checks as sanity
from .intervals import ORDER, T_LINEAR, T_LOGS, Floats, quantile_ranks, spread_of, t_quantile
from .model import Interval, Summary
from .ratio_intervals import ROUND_OFF
from .series import Columns, Integers, SessionTable

NOISY_COV = 0.10
FEW_VALUES_T = "t interval {scale}of {n} trials of one session"


@dataclass(frozen=True, slots=True)
class Described:
    """What is summarised: the table of session values, the metric of each series, and which series
    are worked on logs.
    """

    table: SessionTable
    metrics: Sequence[Metric]
    geometric: NDArray[np.bool_]
    values: Floats


def prepare(table: SessionTable, metrics: Sequence[Metric]) -> Described:
    """Choose logs or not for every series: a geometric metric with a value of 0 or less falls back
    to arithmetic means.
    """
    wished = np.array(
        [metric.statistic is Statistic.GEOMETRIC_MEAN for metric in metrics], dtype=np.bool_
    )
    lengths = np.diff(table.starts)
    unloggable = (
        np.bincount(
            np.repeat(np.arange(len(metrics)), lengths),
            weights=np.isnan(table.log_mean),
            minlength=len(metrics),
        )
        > 0
    )
    geometric = wished & ~unloggable
    on_logs = np.repeat(geometric, lengths)
    values = np.where(on_logs, np.exp(np.where(on_logs, table.log_mean, 0.0)), table.mean)
    return Described(table, metrics, geometric, values)


def describe(
    described: Described, confidence: float, first_stage: int | None, modes: NDArray[np.bool_]
) -> dict[int, Summary]:
    """Summaries by series number; series without a session value have none.

    ``first_stage`` is the number of the last session of the first stage when a second stage was
    computed from it; ``modes`` says which series have two modes among their trials.
    """
    summaries: dict[int, Summary] = {}
    for numbers, rows in _equal_lengths(described.table):
        pilots = np.full(len(numbers), rows.shape[1])
        if first_stage is not None:
            pilots = (described.table.session[rows] <= first_stage).sum(axis=1)
        for pilot in np.unique(pilots):
            chosen = pilots == pilot
            batch = _Batch(
                described,
                numbers[chosen],
                rows[chosen],
                confidence,
                int(pilot) if 2 <= pilot < rows.shape[1] else None,
            )
            summaries.update(zip(batch.numbers.tolist(), batch.summaries(modes), strict=True))
    return summaries


def centres(described: Described) -> Floats:
    """The declared statistic of every series' session values; NaN for a series without any."""
    owner = np.repeat(np.arange(len(described.metrics)), np.diff(described.table.starts))
    x = np.where(
        described.geometric[owner],
        np.log(np.where(described.values > 0, described.values, 1.0)),
        described.values,
    )
    count = np.bincount(owner, minlength=len(described.metrics))
    total = np.bincount(owner, weights=x, minlength=len(described.metrics))
    mean = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    return np.where(described.geometric, np.exp(np.where(described.geometric, mean, 0.0)), mean)


def modes_of(columns: Columns, series: int) -> NDArray[np.bool_]:
    """Which of ``series`` series have two modes among the values of their trials."""
    found = np.zeros(series, dtype=np.bool_)
    order = np.argsort(columns.series, kind="stable")
    starts = np.searchsorted(columns.series[order], np.arange(series + 1))
    lengths = np.diff(starts)
    for length in np.unique(lengths[lengths >= sanity.LEAST_FOR_MODES]):
        numbers = np.flatnonzero(lengths == length)
        found[numbers] = sanity.two_modes(
            columns.value[order[starts[numbers][:, None] + np.arange(length)]]
        )
    return found


def _equal_lengths(table: SessionTable) -> Iterator[tuple[NDArray[np.intp], Integers]]:
    """Series with equally many sessions: their numbers, and their rows as a matrix (series,
    sessions).
    """
    lengths = np.diff(table.starts)
    for length in np.unique(lengths[lengths > 0]):
        numbers = np.flatnonzero(lengths == length)
        yield numbers, table.starts[numbers][:, None] + np.arange(length)


class _Batch:
    """Series with the same number of sessions, one per row."""

    def __init__(
        self,
        described: Described,
        numbers: NDArray[np.intp],
        rows: Integers,
        confidence: float,
        pilot: int | None,
    ) -> None:
        self.described = described
        self.numbers = numbers
        self.confidence = confidence
        self.sessions = described.table.session[rows]
        self.trials = described.table.trials[rows]
        values = described.values[rows]
        self.still = np.ptp(values, axis=1) <= ROUND_OFF * np.abs(values).max(axis=1)
        self.values = np.where(self.still[:, None], values[:, :1], values)
        self.geometric = described.geometric[numbers]
        column = self.geometric[:, None]
        self.x = np.where(column, np.log(np.where(column, self.values, 1.0)), self.values)
        self.squares = np.where(
            column, described.table.log_squares[rows], described.table.squares[rows]
        )
        self.n = rows.shape[1]
        self.pilot = pilot

    def summaries(self, modes: NDArray[np.bool_]) -> Iterator[Summary]:
        centre, low, high = self._interval()
        median, q1, q3 = np.percentile(self.values, [50, 25, 75], axis=1)
        mean, minimum, maximum = (
            self.values.mean(axis=1),
            self.values.min(axis=1),
            self.values.max(axis=1),
        )
        sd = (
            np.where(self.still, 0.0, self.values.std(axis=1, ddof=1))
            if self.n > 1
            else np.full(len(self.values), np.nan)
        )
        cov = np.divide(sd, np.abs(mean), out=np.full(len(sd), np.nan), where=mean != 0)
        between, within = self._variances()
        unusual = sanity.outliers(self.x)
        trimmed = self._back(np.ma.masked_array(self.x, unusual).mean(axis=1).filled(np.nan))
        median_low, median_high = self._median_interval()
        flags = self._flags(cov, unusual, modes)
        trials, median_method = self.trials.sum(axis=1).tolist(), self._median_method()
        for i in range(len(self.numbers)):
            outliers = tuple(self.sessions[i][unusual[i]].tolist()) if unusual[i].any() else ()
            yield Summary(
                sessions=tuple(self.sessions[i].tolist()),
                values=tuple(self.values[i].tolist()),
                trials=trials[i],
                centre=float(centre[i]),
                mean=float(mean[i]),
                median=float(median[i]),
                sd=_known(sd[i]),
                cov=_known(cov[i]),
                minimum=float(minimum[i]),
                maximum=float(maximum[i]),
                q1=float(q1[i]),
                q3=float(q3[i]),
                interval=self._as_interval(i, low[i], high[i], self._method(i)),
                median_interval=self._as_interval(i, median_low[i], median_high[i], median_method),
                variance_between=_known(between[i]),
                variance_within=_known(within[i]),
                outliers=outliers,
                flags=tuple(flags[i]),
                centre_without_outliers=_known(trimmed[i]) if outliers else None,
            )

    def _interval(self) -> tuple[Floats, Floats, Floats]:
        """Centre and t interval on the scale of each metric, back-transformed. One session: over
        its trials; NaN without replication.
        """
        centre = self.x.mean(axis=1)
        if self.n > 1:
            sd, df = spread_of(self.x, self.pilot)
            half = t_quantile(float(df), self.confidence) * sd / np.sqrt(self.n)
            half = np.where(self.still, 0.0, half)
        else:
            k = self.trials[:, 0].astype(np.float64)
            df_trials = np.where(k > 1, k - 1, np.nan)
            half = t_quantile(df_trials, self.confidence) * np.sqrt(
                self.squares[:, 0] / df_trials / k
            )
        return (
            self._back(centre),
            *self._possible(self._back(centre - half), self._back(centre + half)),
        )

    def _possible(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Without what cannot be: a metric that has a geometric mean, and got an arithmetic one
        because of its zeros, is never below 0, and shares lie between 0 and 1. To cut off the
        impossible takes nothing from an interval's coverage. Other arithmetic means may be of
        differences.
        """
        metrics = [self.described.metrics[number] for number in self.numbers.tolist()]
        wanted = [metric.statistic is Statistic.GEOMETRIC_MEAN for metric in metrics]
        shares = [metric.unit == Dimension.RATIO for metric in metrics]
        positive = self.values.min(axis=1) >= 0
        capped = np.asarray(shares) & positive & (self.values.max(axis=1) <= 1)
        floored = capped | (np.asarray(wanted) & positive)
        return (
            np.where(floored, np.maximum(low, 0.0), low),
            np.where(capped, np.minimum(high, 1.0), high),
        )

    def _back(self, x: Floats) -> Floats:
        with np.errstate(over="ignore"):  # an interval without bound is left out later
            return np.where(self.geometric, np.exp(np.where(self.geometric, x, 0.0)), x)

    def _method(self, i: int) -> str:
        if self.n == 1:
            return FEW_VALUES_T.format(
                scale="on the logs " if self.geometric[i] else "", n=self.trials[i, 0]
            )
        return (T_LOGS if self.geometric[i] else T_LINEAR).format(n=self.n)

    def _median_interval(self) -> tuple[Floats, Floats]:
        ranks = quantile_ranks(self.n, 0.5, self.confidence)
        if ranks is None:
            nothing = np.full(len(self.values), np.nan)
            return nothing, nothing
        ordered = np.sort(self.values, axis=1)
        return ordered[:, ranks[0] - 1], ordered[:, ranks[1] - 1]

    def _median_method(self) -> str:
        low, high = quantile_ranks(self.n, 0.5, self.confidence) or (0, 0)
        return ORDER.format(low=low, high=high, n=self.n)

    def _as_interval(self, i: int, low: float, high: float, method: str) -> Interval | None:
        if not (np.isfinite(low) and np.isfinite(high)):
            return None
        return Interval(low=float(low), high=float(high), confidence=self.confidence, method=method)

    def _variances(self) -> tuple[Floats, Floats]:
        """Between and within sessions, by the one-way random-effects estimate; NaN where the data
        cannot tell.
        """
        spare = (self.trials - 1).sum(axis=1)
        within = np.divide(
            self.squares.sum(axis=1), spare, out=np.full(len(spare), np.nan), where=spare > 0
        )
        if self.n < 2:
            return np.full(len(spare), np.nan), within
        share = np.where(spare > 0, within, 0.0) * (1 / self.trials).mean(axis=1)
        return np.maximum(self.x.var(axis=1, ddof=1) - share, 0.0), within

    def _flags(
        self, cov: Floats, unusual: NDArray[np.bool_], modes: NDArray[np.bool_]
    ) -> list[list[str]]:
        flags = [self._scale_flags(i) for i in range(len(self.numbers))]
        for i in np.flatnonzero((cov > NOISY_COV) & np.isfinite(cov)):
            flags[i].append(f"noisy: coefficient of variation {100 * cov[i]:.1f} %")
        for i in np.flatnonzero(unusual.any(axis=1)):
            flags[i].append(
                f"outliers: session {', '.join(map(str, self.sessions[i][unusual[i]]))} (modified z"
                f" over {sanity.OUTLIER_Z})"
            )
        for i in np.flatnonzero(modes[self.numbers]):
            flags[i].append("two modes: the values of the trials fall into two groups")
        if sanity.LEAST_FOR_TREND <= self.n <= sanity.MOST_FOR_TREND:
            self._trend_flags(flags)
        return flags

    def _scale_flags(self, i: int) -> list[str]:
        flags = []
        if (
            not self.geometric[i]
            and self.described.metrics[int(self.numbers[i])].statistic is Statistic.GEOMETRIC_MEAN
        ):
            flags.append("arithmetic mean: a value of 0 or less has no logarithm")
        if self.n == 1 and self.trials[i, 0] > 1:
            flags.append("one allocation: the interval does not cover re-allocation")
        return flags

    def _trend_flags(self, flags: list[list[str]]) -> None:
        for i in np.flatnonzero(self.still):
            flags[i].append("no spread: all sessions gave the same value")
        r = sanity.autocorrelation(self.x)
        worth = sanity.effective_sessions(self.n, r)
        for i in np.flatnonzero((r > sanity.AUTOCORRELATED) & ~self.still):
            flags[i].append(
                f"autocorrelated: r = {r[i]:.2f}, so {self.n} sessions are worth about"
                f" {worth[i]:.1f} independent ones"
            )
        s, p = sanity.mann_kendall(self.x)
        for i in np.flatnonzero(p < sanity.DRIFT_P):
            flags[i].append(
                f"drift: {'rising' if s[i] > 0 else 'falling'} over the sessions (Mann-Kendall p ="
                f" {p[i]:.2g})"
            )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
