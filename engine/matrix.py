"""The points of a workload's matrix: every combination of its axes, zipped axes advancing together, excluded ones left out."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .diagnostics import did_you_mean
from .errors import SpecError
from .spec import Json, TrafficPath, WorkloadSpec

NAME = "name"
PATH = "path"

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""A point as (axis, label) pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination: (axis, label) pairs for people, (axis, value) pairs for the tool, both in axis order."""

    labels: Labels
    values: tuple[tuple[str, Json], ...]


def label(value: Json) -> str:
    """How an axis value is called: its ``name``, else itself as text."""
    if isinstance(value, Mapping) and NAME in value:
        return str(value[NAME])
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def count(workload: WorkloadSpec) -> int:
    """How many points the matrix has before any is excluded; costs nothing however many there are."""
    rows = len(workload.zip[0][1]) if workload.zip else 1
    return rows * math.prod(len(values) for _, values in workload.matrix)


def points(workload: WorkloadSpec) -> Iterator[Point]:
    """Every point in a fixed order: the last axis of the matrix changes fastest, then the zipped rows.

    Raises:
        SpecError: zipped axes of different lengths, two equal labels on an axis, an unknown axis in ``exclude``, or everything excluded.
    """
    _check_axes(workload)
    found = False
    for combination in itertools.product(*_dimensions(workload)):
        pairs = tuple(itertools.chain.from_iterable(combination))
        point = Point(labels=tuple((axis, label(value)) for axis, value in pairs), values=pairs)
        if not any(_matches(point, entry) for entry in workload.exclude):
            found = True
            yield point
    if not found:
        where = f"workloads.{workload.name}.exclude"
        raise SpecError("exclude leaves no point of the matrix", where=where, remedy="exclude less, or drop the workload")


def baseline_point(point: Labels, path: TrafficPath) -> Labels:
    """The point that is measured on ``path`` beside ``point``: the axis ``path`` gets that label, or is added."""
    if any(axis == PATH for axis, _ in point):
        return tuple((axis, path.value if axis == PATH else label) for axis, label in point)
    return (*point, (PATH, path.value))


def _dimensions(workload: WorkloadSpec) -> list[list[tuple[tuple[str, Json], ...]]]:
    """The factors of the product: one per matrix axis, and one for all zipped axes together."""
    factors: list[list[tuple[tuple[str, Json], ...]]] = [[((axis, value),) for value in values] for axis, values in workload.matrix]
    if workload.zip:
        names = [axis for axis, _ in workload.zip]
        factors.append([tuple(zip(names, row, strict=True)) for row in zip(*(values for _, values in workload.zip), strict=True)])
    return factors


def _matches(point: Point, entry: Mapping[str, Json]) -> bool:
    labels, values = dict(point.labels), dict(point.values)
    return all(labels[axis] == label(wanted) or values[axis] == wanted for axis, wanted in entry.items())


def _check_axes(workload: WorkloadSpec) -> None:
    where = f"workloads.{workload.name}"
    lengths = {axis: len(values) for axis, values in workload.zip}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{axis} has {length}" for axis, length in lengths.items())
        raise SpecError(f"found zipped axes of different lengths ({found}), expected equal ones", where=f"{where}.zip")
    axes = [axis for axis, _ in (*workload.matrix, *workload.zip)]
    for axis in axes:
        if axes.count(axis) > 1:
            raise SpecError(f"found the axis {axis!r} twice", where=f"{where}.zip", remedy="name it in matrix or in zip")
    for axis, values in workload.matrix:
        _check_labels(f"{where}.matrix.{axis}", [label(value) for value in values])
    _check_labels(f"{where}.zip", [", ".join(map(label, row)) for row in zip(*(values for _, values in workload.zip), strict=True)])
    for entry in workload.exclude:
        for axis in entry:
            if axis not in axes:
                raise SpecError(f"found unknown axis {axis!r}, expected {_among(axes)}{suggest(axis, axes)}", where=f"{where}.exclude")


def _check_labels(where: str, labels: list[str]) -> None:
    twice = [text for text, times in Counter(labels).items() if times > 1]
    if twice:
        raise SpecError(f"found {twice[0]!r} twice", where=where, remedy="remove one, or give the two different names")


def _among(names: list[str]) -> str:
    return f"one of {', '.join(names)}" if names else "no exclude: the workload has no axes"


def suggest(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` for the nearest of ``known``, or nothing: the end of a message."""
    hint = did_you_mean(word, known)
    return f"; {hint}" if hint else ""
