"""What a workload of a document would give its tool, point by point, with where each parameter was written.

The document may still be wrong in any way. :mod:`benchspec.engine.matrix` expands valid specs; here every candidate keeps the paths that a
message needs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .diagnostics import Path
from .matrix import label
from .spec import Json

SITUATIONS = ("path", "placement")
"""Axes whose plain values say where an experiment runs; they are no parameters of the tool."""

MOST_CANDIDATES = 10_000
MOST_COMPARISONS = 2_000_000
"""So many points are held against entries of ``exclude``; beyond it a workload is not expanded."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis with the path of its values (``section`` is ``matrix`` or ``zip``)."""

    name: str
    section: str
    values: Sequence[Json]

    def path(self, workload: str, *rest: str | int) -> Path:
        """Where the axis, or something in it, lies."""
        return ("workloads", workload, self.section, self.name, *rest)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The parameters of one point on one target (None: on those without overrides), and where each was written."""

    target: str | None
    parameters: Mapping[str, Json]
    origins: Mapping[str, Path]


def axes_of(workload: Mapping[str, Json]) -> list[Axis]:
    """The axes of ``matrix`` and ``zip`` that are lists."""
    found = []
    for section in ("matrix", "zip"):
        axes = workload.get(section)
        if isinstance(axes, Mapping):
            found += [Axis(name, section, values) for name, values in axes.items() if isinstance(values, list | tuple)]
    return found


def points(axes: Sequence[Axis]) -> Iterator[tuple[tuple[Axis, int], ...]]:
    """Every combination as (axis, index of its value) pairs; zipped axes advance together, as far as the shortest goes."""
    zipped = [axis for axis in axes if axis.section == "zip"]
    factors = [[((axis, index),) for index in range(len(axis.values))] for axis in axes if axis.section == "matrix"]
    if zipped:
        rows = min(len(axis.values) for axis in zipped)
        factors.append([tuple((axis, row) for axis in zipped) for row in range(rows)])  # type: ignore[misc]
    return (tuple(itertools.chain.from_iterable(combination)) for combination in itertools.product(*factors))


def count(axes: Sequence[Axis]) -> int:
    """How many points the axes make, whatever is excluded; costs nothing however many there are."""
    rows = [len(axis.values) for axis in axes if axis.section == "zip"]
    return math.prod(len(axis.values) for axis in axes if axis.section == "matrix") * (min(rows) if rows else 1)


def unwieldy(workload: Mapping[str, Json]) -> bool:
    """Whether a workload has too many points, or points and exclusions, to look at them all."""
    entries = workload.get("exclude")
    return count(axes_of(workload)) * (1 + (len(entries) if isinstance(entries, list) else 0)) > MOST_COMPARISONS


def excluded(point: Sequence[tuple[Axis, int]], entries: Sequence[Json]) -> bool:
    """Whether an entry of ``exclude`` matches the point, by value or by name."""
    return any(isinstance(entry, Mapping) and matches(point, entry) for entry in entries)


def matches(point: Sequence[tuple[Axis, int]], entry: Mapping[str, Json]) -> bool:
    """Whether every axis that ``entry`` names has that value (or name) at the point."""
    values = {axis.name: axis.values[index] for axis, index in point}
    return all(axis in values and (values[axis] == wanted or label(values[axis]) == label(wanted)) for axis, wanted in entry.items())


def candidates(name: str, workload: Mapping[str, Json]) -> Iterator[Candidate]:
    """What the tool gets at every point that is not excluded, once without overrides and once for each target that has some."""
    if unwieldy(workload):
        return
    given = workload.get("with")
    base = given if isinstance(given, Mapping) else {}
    origins: dict[str, Path] = {key: ("workloads", name, "with", key) for key in base}
    entries = workload.get("exclude")
    kept = (point for point in points(axes_of(workload)) if not excluded(point, entries if isinstance(entries, list) else ()))
    overrides = [(None, {}), *_overrides(workload)]
    for point in itertools.islice(kept, MOST_CANDIDATES):
        values, places = _at(name, point)
        for target, override in overrides:
            where = {key: ("workloads", name, "overrides", target, "with", key) for key in override if target is not None}
            yield Candidate(target, {**base, **values, **override}, {**origins, **places, **where})


def _overrides(workload: Mapping[str, Json]) -> list[tuple[str | None, Mapping[str, Json]]]:
    """The replaced parameters of the targets that have some."""
    found: list[tuple[str | None, Mapping[str, Json]]] = []
    overrides = workload.get("overrides")
    for target, override in overrides.items() if isinstance(overrides, Mapping) else ():
        given = override.get("with") if isinstance(override, Mapping) else None
        if isinstance(given, Mapping):
            found.append((target, given))
    return found


def _at(workload: str, point: Sequence[tuple[Axis, int]]) -> tuple[dict[str, Json], dict[str, Path]]:
    """The parameters a point sets, and where."""
    values: dict[str, Json] = {}
    places: dict[str, Path] = {}
    for axis, index in point:
        value = axis.values[index]
        if isinstance(value, Mapping):
            own = {key: item for key, item in value.items() if key != "name"}
            values |= own
            places |= {key: axis.path(workload, index, key) for key in own}
        elif axis.name not in SITUATIONS:
            values[axis.name] = value
            places[axis.name] = axis.path(workload, index)
    return values, places
