"""What a workload of a document would give its tool, point by point, with where each parameter was
written.

The document may still be wrong in any way. :mod:`benchspec.engine.planning.matrix` expands; here
every candidate keeps the paths that a message needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ...model.diagnostics import Path
from ...model.spec import Json
from ...planning.matrix import Axis, Combination, combine, count, excluded, settings

_SECTIONS: tuple[Literal["matrix", "zip"], ...] = ("matrix", "zip")

MOST_CANDIDATES = 10_000
MOST_COMPARISONS = 2_000_000
"""So many points are held against entries of ``exclude``; beyond it a workload is not expanded."""


def path_of(axis: Axis, workload: str, *rest: str | int) -> Path:
    """Where the axis of ``workload``, or something in it, lies in the document."""
    return ("workloads", workload, axis.section, axis.name, *rest)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The parameters of one point on one target (None: on those without overrides), and where each
    was written.
    """

    target: str | None
    parameters: Mapping[str, Json]
    origins: Mapping[str, Path]


def axes_of(workload: Mapping[str, Json]) -> list[Axis]:
    """The axes of ``matrix`` and ``zip`` that are lists."""
    found = []
    for section in _SECTIONS:
        axes = workload.get(section)
        if isinstance(axes, Mapping):
            found += [
                Axis(name, section, values)
                for name, values in axes.items()
                if isinstance(values, list | tuple)
            ]
    return found


def unwieldy(workload: Mapping[str, Json]) -> bool:
    """Whether a workload has too many points, or points and exclusions, to look at them all."""
    entries = workload.get("exclude")
    return (
        count(axes_of(workload)) * (1 + (len(entries) if isinstance(entries, list) else 0))
        > MOST_COMPARISONS
    )


def candidates(name: str, workload: Mapping[str, Json]) -> Iterator[Candidate]:
    """What the tool gets at every point that is not excluded, once without overrides and once for
    each target that has some.
    """
    if unwieldy(workload):
        return
    given = workload.get("with")
    base = given if isinstance(given, Mapping) else {}
    origins: dict[str, Path] = {key: ("workloads", name, "with", key) for key in base}
    entries = workload.get("exclude")
    kept = (
        point
        for point in combine(axes_of(workload))
        if not excluded(point, entries if isinstance(entries, list) else ())
    )
    overrides = [(None, {}), *_overrides(workload)]
    for point in itertools.islice(kept, MOST_CANDIDATES):
        values, places = _at(name, point)
        for target, override in overrides:
            where = {
                key: ("workloads", name, "overrides", target, "with", key)
                for key in override
                if target is not None
            }
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


def _at(workload: str, point: Combination) -> tuple[dict[str, Json], dict[str, Path]]:
    """The parameters a point sets, and where."""
    given = [setting for setting in settings(point) if not setting.of_situation]
    return (
        {setting.key: setting.value for setting in given},
        {
            setting.key: path_of(setting.axis, workload, setting.position, *setting.within)
            for setting in given
        },
    )
