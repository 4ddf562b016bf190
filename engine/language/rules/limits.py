"""Documented limits and prices: classes, units, burst, dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from ...model.diagnostics import Path, Problem, alternatives, did_you_mean, quote
from ...model.spec import Json
from ...model.text.json_access import any_quantity, items, mapping, text
from ...model.units import Dimension, expectation
from ...planning.matrix import label
from ..schema.points import axes_of
from .view import View

CLASSES = {
    "storage.iops": Dimension.RATE,
    "storage.iops.read": Dimension.RATE,
    "storage.iops.write": Dimension.RATE,
    "storage.throughput": Dimension.BYTE_RATE,
    "storage.throughput.read": Dimension.BYTE_RATE,
    "storage.throughput.write": Dimension.BYTE_RATE,
    "network.throughput": Dimension.BIT_RATE,
    "network.packets": Dimension.RATE,
    "cpu.throughput": Dimension.BYTE_RATE,
    "cpu.sign": Dimension.RATE,
    "cpu.verify": Dimension.RATE,
}
"""The classes of limits and the dimension each is in. Other classes under ``cpu.`` may have any."""


def _limits(view: View) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    for name, target in view.targets.items():
        for index, limit in enumerate(items(target.get("limits"))):
            yield ("targets", name, "limits", index), mapping(limit)


def classes(view: View) -> Iterator[Problem]:
    """BS252: a limit is of a known class."""
    for path, limit in _limits(view):
        metric = limit.get("metric")
        if isinstance(metric, str) and metric not in CLASSES and not metric.startswith("cpu."):
            known = list(CLASSES)
            yield Problem(
                code="BS252",
                path=(*path, "metric"),
                found=quote(metric),
                expected=alternatives(known),
                hint=did_you_mean(metric, known),
            )


def values(view: View) -> Iterator[Problem]:
    """BS253, BS254: a limit has the unit of its class, and bursts above what is sustained."""
    for path, limit in _limits(view):
        wanted = CLASSES.get(text(limit.get("metric")))
        found = {key: any_quantity(limit.get(key)) for key in ("sustained", "burst")}
        for key, parsed in found.items():
            if parsed is not None and wanted is not None and parsed[1] is not wanted:
                shown = f"{quote(limit[key])} for {limit['metric']}"
                yield Problem(
                    code="BS253", path=(*path, key), found=shown, expected=expectation(wanted)
                )
        sustained, burst = found["sustained"], found["burst"]
        if sustained and burst and sustained[1] is burst[1] and burst[0] < sustained[0]:
            yield Problem(
                code="BS254",
                path=(*path, "burst"),
                found=quote(limit["burst"]),
                expected=f"at least {text(limit['sustained'])}, which is sustained",
            )


def dates(view: View) -> Iterator[Problem]:
    """BS250, BS251: sources of limits and prices were read on a day that has been."""
    prices = (
        (("targets", name, "price"), mapping(target.get("price")))
        for name, target in view.targets.items()
    )
    for path, dated in (*_limits(view), *prices):
        written = text(dated.get("as_of"))
        if len(written) != len("2023-03-20") or written.count("-") != 2:
            continue
        day = _day(written)
        if day is None:
            yield Problem(
                code="BS250",
                path=(*path, "as_of"),
                found=quote(written),
                expected="a day that exists, such as 2023-03-20",
            )
        elif day > view.today + timedelta(days=1):  # it may be tomorrow elsewhere
            yield Problem(
                code="BS251",
                path=(*path, "as_of"),
                found=quote(written),
                expected="a day that has been",
            )


def _day(written: str) -> date | None:
    try:
        return date.fromisoformat(written)
    except ValueError:
        return None


def twice(view: View) -> Iterator[Problem]:
    """BS255: one limit for each metric, layer and thing."""
    seen: dict[tuple[object, ...], Path] = {}
    for path, limit in _limits(view):
        where = tuple(
            sorted((axis, label(value)) for axis, value in mapping(limit.get("where")).items())
        )
        key = (
            path[1],
            *(text(limit.get(name)) for name in ("metric", "layer", "applies_to")),
            where,
        )
        if text(limit.get("metric")) and key in seen:
            found = f"another limit for {quote(limit['metric'])}"
            yield Problem(
                code="BS255",
                path=(*path, "metric"),
                found=found,
                expected="one for each metric, layer, applies_to and where",
            )
        seen.setdefault(key, path)


def places(view: View) -> Iterator[Problem]:
    """BS256: the points that a limit is of exist."""
    for path, limit in _limits(view):
        axes = [
            axis
            for name, workload in view.workloads.items()
            if str(path[1]) in view.targets_of(name)
            for axis in axes_of(workload)
        ]
        for axis, value in mapping(limit.get("where")).items():
            labels = [label(each) for found in axes if found.name == axis for each in found.values]
            if label(value) not in labels:
                found, known = f"{axis}: {label(value)}", labels or [each.name for each in axes]
                expected = (
                    f"a value of this axis: {alternatives(labels)}"
                    if labels
                    else "an axis of a workload that runs there"
                )
                hint = did_you_mean(label(value) if labels else axis, known)
                yield Problem(
                    code="BS256",
                    path=(*path, "where", axis),
                    found=quote(found),
                    expected=expected,
                    hint=hint,
                )


CHECKS = (classes, values, dates, twice, places)
"""The rules of this module."""
