"""The points of a workload's matrix: every combination of its axes, zipped axes advancing together,
excluded ones left out.

Checking a spec and planning it both expand here: checking knows where each value was written and
lives with axes that are wrong; planning refuses them.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ..model.diagnostics import did_you_mean
from ..model.errors import SpecError
from ..model.spec import Json, TrafficPath, WorkloadSpec

NAME = "name"
PATH = "path"
SITUATION = (PATH, "placement")
"""Axes whose plain values say where an experiment runs; they are no parameters of the tool."""

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""A point as (axis, label) pairs."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis and the section of the workload that it stands in."""

    name: str
    section: Literal["matrix", "zip"]
    values: Sequence[Json]


Combination: TypeAlias = tuple[tuple[Axis, int], ...]
"""One value of every axis, as (axis, index of its value) pairs."""


class Setting(NamedTuple):
    """What one axis sets at a point: ``key`` of the tool (or of the situation) to ``value``.

    ``within``: the keys that lead to ``value`` from the axis' own value.
    """

    key: str
    value: Json
    axis: Axis
    position: int
    within: tuple[str, ...] = ()

    @property
    def of_situation(self) -> bool:
        """Whether it says where the experiment runs, not what the tool does."""
        return not self.within and self.key in SITUATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination: (axis, label) pairs for people, and what it sets, both in axis order."""

    labels: Labels
    settings: tuple[Setting, ...]


def label(value: Json) -> str:
    """How an axis value is called: its ``name``, else itself as text."""
    if isinstance(value, Mapping) and NAME in value:
        return str(value[NAME])
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def axes_of(workload: WorkloadSpec) -> list[Axis]:
    """The axes of a workload: those of the matrix, then the zipped ones."""
    return [
        *(Axis(name, "matrix", values) for name, values in workload.matrix),
        *(Axis(name, "zip", values) for name, values in workload.zip),
    ]


def count(axes: Sequence[Axis]) -> int:
    """How many points the axes make, whatever is excluded; costs nothing however many there are."""
    rows = [len(axis.values) for axis in axes if axis.section == "zip"]
    return math.prod(len(axis.values) for axis in axes if axis.section == "matrix") * (
        min(rows) if rows else 1
    )


def combine(axes: Sequence[Axis]) -> Iterator[Combination]:
    """Every combination in a fixed order: the last axis of the matrix changes fastest but for the
    zipped rows. Zipped axes advance together, as far as the shortest goes.
    """
    zipped = [axis for axis in axes if axis.section == "zip"]
    factors: list[list[Combination]] = [
        [((axis, index),) for index in range(len(axis.values))]
        for axis in axes
        if axis.section == "matrix"
    ]
    if zipped:
        rows = min(len(axis.values) for axis in zipped)
        factors.append([tuple((axis, row) for axis in zipped) for row in range(rows)])
    return (
        tuple(itertools.chain.from_iterable(combination))
        for combination in itertools.product(*factors)
    )


def matches(combination: Combination, entry: Mapping[str, Json]) -> bool:
    """Whether every axis that ``entry`` names has that value (or name) there."""
    values = {axis.name: axis.values[index] for axis, index in combination}
    return all(
        axis in values and (values[axis] == wanted or label(values[axis]) == label(wanted))
        for axis, wanted in entry.items()
    )


def excluded(combination: Combination, entries: Iterable[Json]) -> bool:
    """Whether an entry of ``exclude`` matches it, by value or by name."""
    return any(isinstance(entry, Mapping) and matches(combination, entry) for entry in entries)


def settings(combination: Combination) -> Iterator[Setting]:
    """What a combination sets, in axis order.

    A mapping gives the tool its keys but its name (also a ``path``, which is then the tool's own);
    anything else is the parameter of the axis' name, or the traffic path or placement.
    """
    for axis, index in combination:
        value = axis.values[index]
        if isinstance(value, Mapping):
            for key, item in value.items():
                if key != NAME:
                    yield Setting(key, item, axis, index, (key,))
        else:
            yield Setting(axis.name, value, axis, index)


def points(workload: WorkloadSpec) -> Iterator[Point]:
    """Every point of a workload that is not excluded, in the order of :func:`combine`.

    Raises:
        SpecError: zipped axes of different lengths, two equal labels on an axis, an unknown axis in
            ``exclude``, or everything excluded.
    """
    _check_axes(workload)
    found = False
    for combination in combine(axes_of(workload)):
        if not excluded(combination, workload.exclude):
            found = True
            yield Point(
                labels=tuple((axis.name, label(axis.values[at])) for axis, at in combination),
                settings=tuple(settings(combination)),
            )
    if not found:
        where = f"workloads.{workload.name}.exclude"
        raise SpecError(
            "exclude leaves no point of the matrix",
            where=where,
            remedy="exclude less, or drop the workload",
        )


def baseline_point(point: Labels, path: TrafficPath) -> Labels:
    """The point that is measured on ``path`` beside ``point``: the axis ``path`` gets that label,
    or is added.
    """
    if any(axis == PATH for axis, _ in point):
        return tuple((axis, path.value if axis == PATH else label) for axis, label in point)
    return (*point, (PATH, path.value))


def _check_axes(workload: WorkloadSpec) -> None:
    where = f"workloads.{workload.name}"
    lengths = {axis: len(values) for axis, values in workload.zip}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{axis} has {length}" for axis, length in lengths.items())
        raise SpecError(
            f"found zipped axes of different lengths ({found}), expected equal ones",
            where=f"{where}.zip",
        )
    axes = [axis for axis, _ in (*workload.matrix, *workload.zip)]
    for axis in axes:
        if axes.count(axis) > 1:
            raise SpecError(
                f"found the axis {axis!r} twice",
                where=f"{where}.zip",
                remedy="name it in matrix or in zip",
            )
    for axis, values in workload.matrix:
        _check_labels(f"{where}.matrix.{axis}", [label(value) for value in values])
    _check_labels(
        f"{where}.zip",
        [
            ", ".join(map(label, row))
            for row in zip(*(values for _, values in workload.zip), strict=True)
        ],
    )
    for entry in workload.exclude:
        for axis in entry:
            if axis not in axes:
                raise SpecError(
                    f"found unknown axis {axis!r}, expected {_among(axes)}{suggest(axis, axes)}",
                    where=f"{where}.exclude",
                )


def _check_labels(where: str, labels: list[str]) -> None:
    twice = [text for text, times in Counter(labels).items() if times > 1]
    if twice:
        raise SpecError(
            f"found {twice[0]!r} twice",
            where=where,
            remedy="remove one, or give the two different names",
        )


def _among(names: list[str]) -> str:
    return f"one of {', '.join(names)}" if names else "no exclude: the workload has no axes"


def suggest(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` for the nearest of ``known``, or nothing: the end of a message."""
    hint = did_you_mean(word, known)
    return f"; {hint}" if hint else ""
