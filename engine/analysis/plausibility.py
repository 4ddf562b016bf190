"""Arithmetic and physics that every valid trial must obey. A broken rule means that a figure is not
what its name says.

F351 percentiles out of order; F352 mean outside [min, max]; F353 data rate is not operations times
block size; F354 more operations in flight than the queue holds (Little's law, Oper. Res. 9, 1961: N
= rate x latency); F355 faster than the declared link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..model.errors import UnitError
from ..model.results import Finding, FindingLevel, RunData
from ..model.spec import Experiment, Placement, TrafficPath
from ..model.units import Dimension, parse_quantity
from .intervals import Floats
from .series import Columns, Integers, Observed

ORDER = ("min", "p50", "p90", "p95", "p99", "p999", "max")
ROUNDING = 1e-6
RATE_TOLERANCE = 0.02
QUEUE_TOLERANCE = 0.05
LINK_TOLERANCE = 0.05

Aligned = tuple[Integers, Floats, Floats]


def check_physics(run: RunData, observed: Observed) -> tuple[Finding, ...]:
    """Hold the valid trials of every experiment against the rules that its metrics allow; one
    finding per broken rule and series.
    """
    table = _SeriesTable(observed)
    findings: list[Finding] = []
    for experiment in run.experiments:
        series = table.of(experiment.id)
        for rule in (_quantile_order, _mean_inside, _rate_times_size, _queue, _link):
            findings.extend(rule(run, experiment, series))
    return tuple(findings)


class _Series:
    """The series of one experiment, found by metric stem and labels, aligned by trial."""

    def __init__(self, values: Mapping[str, tuple[Integers, Floats]]) -> None:
        self.values = values

    def pair(self, first: str, second: str) -> Aligned | None:
        """Trial numbers and both series' values in the trials that have both; None when a series is
        missing.
        """
        if first not in self.values or second not in self.values:
            return None
        (trials_a, a), (trials_b, b) = self.values[first], self.values[second]
        if np.array_equal(trials_a, trials_b):
            return trials_a, a, b
        common, in_a, in_b = np.intersect1d(trials_a, trials_b, return_indices=True)
        return common, a[in_a], b[in_b]

    def beside_iops(self, other: str) -> Iterator[tuple[str, Aligned]]:
        """Direction (read or write) and aligned values of ``iops.DIRECTION`` and of ``other`` with
        that direction put in.
        """
        for series in self.values:
            name, brace, labels = series.partition("{")
            if name in ("iops.read", "iops.write"):
                direction = name.removeprefix("iops.")
                found = self.pair(series, other.format(direction) + brace + labels)
                if found is not None:
                    yield direction, found

    def split(self, suffix: str) -> Iterator[tuple[str, str]]:
        """(stem, labels) of every series whose metric name ends with ``.suffix``."""
        for series in self.values:
            name, brace, labels = series.partition("{")
            if name.endswith(f".{suffix}"):
                yield name.removesuffix(f".{suffix}"), brace + labels


class _SeriesTable:
    """Valid values of all series by experiment."""

    def __init__(self, observed: Observed) -> None:
        columns: Columns = observed.columns.only(observed.columns.valid)
        order = np.argsort(columns.series, kind="stable")
        trial, value = columns.trial[order], columns.value[order]
        edges = np.searchsorted(columns.series[order], np.arange(len(observed.keys) + 1)).tolist()
        self._of: dict[str, dict[str, tuple[Integers, Floats]]] = {}
        for key, start, stop in zip(observed.keys, edges[:-1], edges[1:], strict=True):
            self._of.setdefault(key.experiment_id, {})[key.series] = (
                trial[start:stop],
                value[start:stop],
            )

    def of(self, experiment_id: str) -> _Series:
        return _Series(self._of.get(experiment_id, {}))


def _quantile_order(run: RunData, experiment: Experiment, series: _Series) -> Iterator[Finding]:
    stems = {stem_labels: None for name in ORDER for stem_labels in series.split(name)}
    for stem, labels in stems:
        present = [
            f"{stem}.{name}{labels}" for name in ORDER if f"{stem}.{name}{labels}" in series.values
        ]
        for lower, upper in pairwise(present):
            yield from _above(
                "F351", experiment, series.pair(lower, upper), f"{lower} is above {upper}"
            )


def _mean_inside(run: RunData, experiment: Experiment, series: _Series) -> Iterator[Finding]:
    for stem, labels in series.split("mean"):
        mean, least, greatest = (f"{stem}.{name}{labels}" for name in ("mean", "min", "max"))
        yield from _above("F352", experiment, series.pair(least, mean), f"{least} is above {mean}")
        yield from _above(
            "F352", experiment, series.pair(mean, greatest), f"{mean} is above {greatest}"
        )


def _rate_times_size(run: RunData, experiment: Experiment, series: _Series) -> Iterator[Finding]:
    size = _bytes(experiment, "bs")
    if size is None:
        return
    for direction, (trials, operations, data) in series.beside_iops("throughput.{}"):
        broken = np.abs(data - operations * size) > RATE_TOLERANCE * operations * size
        yield from _finding(
            "F353",
            experiment,
            trials[broken],
            f"throughput.{direction} is not iops.{direction} times bs = {size:g} B",
        )


def _queue(run: RunData, experiment: Experiment, series: _Series) -> Iterator[Finding]:
    depth, jobs = _count(experiment, "iodepth"), _count(experiment, "numjobs") or 1
    if depth is None:
        return
    for direction, (trials, rate, latency) in series.beside_iops("latency.{}.mean"):
        broken = rate * latency > depth * jobs * (1 + QUEUE_TOLERANCE)
        text = (
            f"iops.{direction} times latency.{direction}.mean exceeds the {depth * jobs} operations"
            " that can be in flight"
        )
        yield from _finding("F354", experiment, trials[broken], text)


def _link(run: RunData, experiment: Experiment, series: _Series) -> Iterator[Finding]:
    if (
        experiment.path is TrafficPath.LOOPBACK
        or experiment.placement is not Placement.ACROSS_NODES
    ):
        return
    link = run.spec.target(experiment.target).claims.get("net.link")
    if not isinstance(link, int | float):
        return
    for name, (trials, values) in series.values.items():
        if name.partition("{")[0] == "throughput":
            broken = values > link * (1 + LINK_TOLERANCE)
            yield from _finding(
                "F355",
                experiment,
                trials[broken],
                f"{name} exceeds the declared link of {link:g} bit/s",
            )


def _above(
    code: str, experiment: Experiment, found: Aligned | None, text: str
) -> Iterator[Finding]:
    if found is not None:
        trials, lower, upper = found
        yield from _finding(
            code, experiment, trials[lower > upper + ROUNDING * np.abs(upper)], text
        )


def _finding(
    code: str, experiment: Experiment, trials: NDArray[np.int64], text: str
) -> Iterator[Finding]:
    if len(trials):
        where = (
            f"trial {trials[0]}" if len(trials) == 1 else f"{len(trials)} trials, first {trials[0]}"
        )
        message = f"{experiment.cell} on {experiment.target}: {text} ({where})"
        yield Finding(
            code=code,
            level=FindingLevel.WARNING,
            message=message,
            target=experiment.target,
            experiment_id=experiment.id,
            sequence=int(trials[0]),
        )


def _bytes(experiment: Experiment, name: str) -> float | None:
    """A parameter that is a size; None when absent or no single size."""
    value = experiment.parameters.get(name)
    if not isinstance(value, str):
        return None
    try:
        return parse_quantity(value, Dimension.BYTES)
    except UnitError:
        return None  # a range or a list of sizes: the rule needs one


def _count(experiment: Experiment, name: str) -> int | None:
    value = experiment.parameters.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
