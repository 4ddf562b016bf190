"""The matrix of a workload: axes, zipped axes, exclusions, and how many points they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.diagnostics import At, Problem, alternatives, did_you_mean, escape, quote
from ...model.text.json_access import items, mapping
from ...planning.matrix import SITUATION, Axis, combine, count, excluded, label, matches
from ..schema.points import axes_of, path_of, unwieldy
from .view import View

MOST_EXPERIMENTS = 100_000
MOST_LISTED = 5


def sizes(view: View) -> Iterator[Problem]:
    """BS277: there are no more experiments than can run. Where there are, the other rules would
    take too long to look at them.
    """
    total = 0
    for name, workload in view.workloads.items():
        axes = axes_of(workload)
        only = workload.get("targets")
        targets = len(view.targets) if only is None else len(items(only))
        total += count(axes) * targets
        path = ("workloads", name)
        if count(axes) * targets > MOST_EXPERIMENTS or unwieldy(workload):
            factors = " x ".join(
                [
                    f"targets ({targets})",
                    *(f"{escape(axis.name)} ({len(axis.values)})" for axis in axes[:MOST_LISTED]),
                ]
            )
            found = f"{count(axes) * targets} experiments before exclusion: {factors}"
            yield Problem(
                code="BS277",
                path=path,
                found=found,
                expected=f"at most {MOST_EXPERIMENTS}",
                hint="shorten an axis or exclude less",
                at=At.KEY,
            )
            return
    if total > MOST_EXPERIMENTS:
        found = f"{total} experiments before exclusion"
        yield Problem(
            code="BS277",
            path=("workloads",),
            found=found,
            expected=f"at most {MOST_EXPERIMENTS}",
            hint="restrict workloads to targets",
            at=At.KEY,
        )


def names(view: View) -> Iterator[Problem]:
    """BS265, BS266: axes and their values can be told apart."""
    for name, workload in view.workloads.items():
        axes = axes_of(workload)
        in_matrix = {axis.name for axis in axes if axis.section == "matrix"}
        for axis in axes:
            if axis.section == "zip" and axis.name in in_matrix:
                yield Problem(
                    code="BS265",
                    path=path_of(axis, name),
                    found=f"the axis {quote(axis.name)} in matrix and zip",
                    expected="one of them",
                    at=At.KEY,
                )
            yield from _labels(name, axis)


def _labels(name: str, axis: Axis) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, value in enumerate(axis.values):
        if isinstance(value, Mapping) and not isinstance(value.get("name"), str):
            yield Problem(
                code="BS266",
                path=path_of(axis, name, index),
                found="a mapping without a name",
                expected="name: TEXT among its keys",
                at=At.HOLDER,
            )
        elif axis.section == "matrix" and label(value) in seen:
            yield Problem(
                code="BS266",
                path=path_of(axis, name, index),
                found=f"{quote(label(value))} again",
                expected="every value of an axis once",
            )
        seen.add(label(value))


def zipped(view: View) -> Iterator[Problem]:
    """BS264: zipped axes are equally long."""
    for name, workload in view.workloads.items():
        axes = [axis for axis in axes_of(workload) if axis.section == "zip"]
        for axis in axes[1:]:
            if len(axis.values) != len(axes[0].values):
                found = (
                    f"{len(axis.values)} values of {axis.name} beside {len(axes[0].values)} of"
                    f" {axes[0].name}"
                )
                yield Problem(
                    code="BS264",
                    path=path_of(axis, name),
                    found=found,
                    expected="equally many values",
                    at=At.KEY,
                )


def hidden(view: View) -> Iterator[Problem]:
    """BS261: no axis hides a parameter that is set in ``with``."""
    for name, workload in view.workloads.items():
        given = mapping(workload.get("with"))
        for axis in axes_of(workload):
            kept = [value for value in axis.values if isinstance(value, Mapping)]
            keys = (
                set[str].intersection(*(set(value) for value in kept)) - {"name"}
                if kept and len(kept) == len(axis.values)
                else {axis.name}
            )
            for key in given:
                if key in keys and axis.values:
                    found = f"{quote(key)}, which the axis {quote(axis.name)} sets"
                    yield Problem(
                        code="BS261",
                        path=("workloads", name, "with", key),
                        found=found,
                        expected="it in one place only",
                        at=At.KEY,
                    )
            if axis.name in SITUATION and axis.name in workload:
                found = f"{quote(axis.name)}, which the axis of this name sets"
                yield Problem(
                    code="BS261",
                    path=("workloads", name, axis.name),
                    found=found,
                    expected="it in one place only",
                    at=At.KEY,
                )


def overridden(view: View) -> Iterator[Problem]:
    """BS278: an override leaves plain axes alone, whose labels would be wrong on that target."""
    for name, workload in view.workloads.items():
        plain = {
            axis.name
            for axis in axes_of(workload)
            if not any(isinstance(value, Mapping) for value in axis.values)
        }
        for target, override in mapping(workload.get("overrides")).items():
            changed = [
                *((key, ("with", key)) for key in mapping(mapping(override).get("with"))),
                *((key, (key,)) for key in SITUATION if key in mapping(override)),
            ]
            for key, place in changed:
                if key in plain:
                    path = ("workloads", name, "overrides", target, *place)
                    yield Problem(
                        code="BS278",
                        path=path,
                        found=f"{quote(key)}, which is an axis",
                        expected="something else",
                        hint=f"exclude points of {key}",
                        at=At.KEY,
                    )


def exclusions(view: View) -> Iterator[Problem]:
    """BS262, BS263, BS267: exclusions name axes, match something and leave something."""
    for name, workload in view.workloads.items():
        axes, entries = axes_of(workload), items(workload.get("exclude"))
        if not entries:
            continue
        unknown = list(_unknown_axes(name, axes, entries))
        yield from unknown
        every = list(combine(axes))
        for index, entry in enumerate(entries):
            path = ("workloads", name, "exclude", index)
            if (
                isinstance(entry, Mapping)
                and not unknown
                and not any(matches(point, entry) for point in every)
            ):
                yield Problem(
                    code="BS262",
                    path=path,
                    found="an entry that matches no point",
                    expected="values that the axes have",
                )
        if every and all(excluded(point, entries) for point in every):
            yield Problem(
                code="BS263",
                path=("workloads", name, "exclude"),
                found="entries that exclude every point",
                expected="points that are left",
                at=At.KEY,
            )


def _unknown_axes(name: str, axes: list[Axis], entries: object) -> Iterator[Problem]:
    known = [axis.name for axis in axes]
    for index, entry in enumerate(items(entries)):  # type: ignore[arg-type]
        for key in mapping(entry):
            if key not in known:
                path = ("workloads", name, "exclude", index, key)
                yield Problem(
                    code="BS267",
                    path=path,
                    found=f"the unknown axis {quote(key)}",
                    expected=alternatives(known),
                    hint=did_you_mean(key, known),
                    at=At.KEY,
                )


CHECKS = (names, zipped, hidden, overridden, exclusions)
"""The rules of this module but for :func:`sizes`, which comes before all others."""
