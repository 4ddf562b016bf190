"""From trials to columns: every measurement grouped by experiment and series, then folded into
session values, all vectorised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.errors import UnitError
from ..model.results import (
    Direction,
    Measurement,
    Metric,
    RunData,
    Statistic,
    Trial,
    TrialKind,
    TrialStatus,
)
from ..model.spec import Experiment
from .intervals import Floats

Integers = NDArray[np.int64]

GATE_INPUTS = frozenset(
    {"duration", "error.ratio", "achieved.ratio", "loss.ratio", "retransmit.ratio", "samples"}
)
"""Measurements that only feed the validity gates; summarised when the workload declares them as
metrics, else left to the gates.
"""


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """One series of one experiment."""

    experiment_id: str
    series: str
    metric: Metric


@dataclass(frozen=True, slots=True)
class Columns:
    """One row per measurement of a measured trial: index of its series, the trial's sequence number
    and session, value, whether it was valid.
    """

    series: Integers
    trial: Integers
    session: Integers
    value: Floats
    valid: NDArray[np.bool_]

    def only(self, chosen: NDArray[np.bool_]) -> Columns:
        """The chosen rows."""
        return Columns(
            self.series[chosen],
            self.trial[chosen],
            self.session[chosen],
            self.value[chosen],
            self.valid[chosen],
        )


@dataclass(frozen=True, slots=True)
class Observed:
    """Every series of a run with its measurements; ``measured`` are the measured trials of each
    experiment, in order.
    """

    keys: tuple[SeriesKey, ...]
    columns: Columns
    measured: Mapping[str, Sequence[Trial]]

    def counts(self, experiment_id: str) -> Mapping[str, int]:
        """How many measured trials of the experiment had each status."""
        return dict(Counter(trial.status.value for trial in self.measured.get(experiment_id, ())))

    def failed_share(self, experiment_id: str) -> float:
        """Of the measured trials the share that failed and in whose place none was measured."""
        trials = self.measured.get(experiment_id, ())
        replaced = {trial.replaces for trial in trials}
        final = [trial for trial in trials if trial.sequence not in replaced]
        failed = sum(trial.status is TrialStatus.FAILED for trial in final)
        return failed / len(final) if final else 0.0


def collect(run: RunData, metrics: Mapping[str, Sequence[Metric]]) -> Observed:
    """Group the measurements of all measured trials.

    ``metrics`` maps a tool's name, or an experiment's id where its parameters declare the metrics,
    to the declared metrics. A series that nothing declares is described by its arithmetic mean and
    has no direction.

    Raises:
        UnitError: a measurement is in another unit than its metric, or one series in two units.
    """
    grouping = _Grouping(
        {experiment.id: _declared(experiment, metrics) for experiment in run.experiments}
    )
    measured: dict[str, list[Trial]] = {}
    for trial in run.trials:
        if trial.kind is TrialKind.MEASURED:
            measured.setdefault(trial.experiment_id, []).append(trial)
            grouping.add(trial)
    return Observed(keys=tuple(grouping.keys), columns=grouping.columns(), measured=measured)


def _declared(
    experiment: Experiment, metrics: Mapping[str, Sequence[Metric]]
) -> Mapping[str, Metric]:
    declared = metrics.get(experiment.id, metrics.get(experiment.tool, ()))
    return {metric.name: metric for metric in declared}


def metric_of(
    experiment: Experiment, series: str, metrics: Mapping[str, Sequence[Metric]]
) -> Metric:
    """The metric of ``series`` (``name`` or ``name{labels}``), declared or, failing that, without
    direction and of unit ``1``.
    """
    name = series.partition("{")[0]
    return _declared(experiment, metrics).get(name) or _undeclared(name, "1")


def _undeclared(name: str, unit: str) -> Metric:
    return Metric(
        name=name,
        title=name,
        unit=unit,
        direction=Direction.NEITHER,
        statistic=Statistic.ARITHMETIC_MEAN,
        declared=False,
    )


class _Grouping:
    """Appends measurements to columns, giving each (experiment, series) a number. Trials of one
    experiment usually repeat one layout of series, so the layout of the last one is kept and
    compared before series are looked up singly.
    """

    def __init__(self, declared: Mapping[str, Mapping[str, Metric]]) -> None:
        self.keys: list[SeriesKey] = []
        self._declared = declared
        self._numbers: dict[tuple[str, str], int] = {}
        self._layouts: dict[str, tuple[list[tuple[str, str, Mapping[str, str]]], list[int]]] = {}
        self._series: list[int] = []
        self._values: list[float] = []
        self._trials: list[tuple[int, int, int, bool]] = []

    def add(self, trial: Trial) -> None:
        layout = [(m.metric, m.unit, m.labels) for m in trial.measurements]
        known = self._layouts.get(trial.experiment_id)
        if known is None or known[0] != layout:
            known = (layout, [self._number(trial.experiment_id, m) for m in trial.measurements])
            self._layouts[trial.experiment_id] = known
        self._series.extend(known[1])
        self._values.extend([m.value for m in trial.measurements])
        self._trials.append(
            (len(layout), trial.sequence, trial.session, trial.status is TrialStatus.VALID)
        )

    def columns(self) -> Columns:
        """The rows that belong to a series and are finite numbers."""
        trials = np.array(self._trials, dtype=np.int64).reshape(-1, 4)
        series, value = (
            np.array(self._series, dtype=np.int64),
            np.array(self._values, dtype=np.float64),
        )
        sequence, session, valid = (np.repeat(trials[:, i], trials[:, 0]) for i in (1, 2, 3))
        columns = Columns(series, sequence, session, value, valid.astype(np.bool_))
        return columns.only((series >= 0) & np.isfinite(value))

    def _number(self, experiment_id: str, measurement: Measurement) -> int:
        """The number of the measurement's series; -1 for a gate input that is no metric."""
        declared = self._declared.get(experiment_id)
        if declared is None or (
            measurement.metric in GATE_INPUTS and measurement.metric not in declared
        ):
            return -1
        number = self._numbers.setdefault((experiment_id, measurement.series), len(self.keys))
        if number == len(self.keys):
            metric = declared.get(measurement.metric) or _undeclared(
                measurement.metric, measurement.unit
            )
            self.keys.append(SeriesKey(experiment_id, measurement.series, metric))
        _check_unit(self.keys[number].metric, measurement)
        return number


def _check_unit(metric: Metric, measurement: Measurement) -> None:
    if measurement.unit != metric.unit:
        raise UnitError(
            f"{measurement.series}: found a value in {measurement.unit}, expected {metric.unit}",
            remedy="let the workload convert to the unit its metric declares",
        )


@dataclass(frozen=True, slots=True)
class SessionTable:
    """Session values of every series. Series ``k`` owns rows ``starts[k]:starts[k + 1]``, in
    session order.

    ``mean`` is the arithmetic mean of the session's trials; ``log_mean`` the mean of their logs
    (NaN where one is 0 or less); ``squares`` and ``log_squares`` the sums of squares around them.
    """

    starts: Integers
    session: Integers
    trials: Integers
    mean: Floats
    log_mean: Floats
    squares: Floats
    log_squares: Floats

    def rows(self, number: int) -> slice:
        """The rows of series ``number``."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))


def fold(columns: Columns, series: int) -> SessionTable:
    """Fold the measurements of ``series`` series into session values."""
    order = np.lexsort((columns.session, columns.series))
    number, session, value = columns.series[order], columns.session[order], columns.value[order]
    changes = np.ones(len(value), dtype=np.bool_)
    changes[1:] = (np.diff(number) != 0) | (np.diff(session) != 0)
    first = np.flatnonzero(changes)
    count = np.diff(np.append(first, len(value)))
    logs = np.log(np.where(value > 0, value, np.nan))
    mean, squares = _moments(value, first, count)
    log_mean, log_squares = _moments(logs, first, count)
    starts = np.searchsorted(number[first], np.arange(series + 1)).astype(np.int64)
    return SessionTable(
        starts, session[first], count.astype(np.int64), mean, log_mean, squares, log_squares
    )


def _moments(
    values: Floats, first: NDArray[np.intp], count: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Mean and sum of squares around it of each run of rows that starts at ``first``."""
    if not len(first):
        return np.empty(0), np.empty(0)
    mean = np.add.reduceat(values, first) / count
    return mean, np.add.reduceat((values - np.repeat(mean, count)) ** 2, first)
