"""Sweeps and host baselines of a workload: what an axis and a path must be for them to mean
something.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ...model.diagnostics import Problem, alternatives, did_you_mean, quote
from ...model.spec import Json
from ...model.text.json_access import items, mapping, quantity, text
from ...model.units import Dimension
from .view import View
from .workloads import situations

HOST_PATHS = ("host-to-host", "loopback")


def axes(view: View) -> Iterator[Problem]:
    """BS290: a sweep goes along an axis of the matrix, upwards."""
    for name, workload in view.workloads.items():
        sweep = mapping(workload.get("sweep"))
        axis = text(sweep.get("axis"))
        if not axis:
            continue
        known = list(mapping(workload.get("matrix")))
        values = items(mapping(workload.get("matrix")).get(axis))
        path = ("workloads", name, "sweep", "axis")
        if axis not in known:
            expected = (
                f"an axis of the matrix: {alternatives(known, '')}"
                if known
                else "an axis of the matrix"
            )
            yield Problem(
                code="BS290",
                path=path,
                found=quote(axis),
                expected=expected,
                hint=did_you_mean(axis, known),
            )
        elif not _rises(values):
            yield Problem(
                code="BS290",
                path=("workloads", name, "matrix", axis),
                found=(
                    f"{quote(axis)}, which is swept, with values that are not at least two numbers"
                    " in rising order"
                ),
                expected="for example [1, 2, 4, 8]",
            )


def _rises(values: Sequence[Json]) -> bool:
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return len(numbers) == len(values) >= 2 and all(a < b for a, b in itertools.pairwise(numbers))


def gains(view: View) -> Iterator[Problem]:
    """BS291: the gain of a sweep means something."""
    for name, workload in view.workloads.items():
        given = mapping(workload.get("sweep")).get("gain")
        gain = quantity(given, Dimension.RATIO)
        if gain is not None and not 0 < gain < 1:
            yield Problem(
                code="BS291",
                path=("workloads", name, "sweep", "gain"),
                found=quote(given),
                expected="more than 0 and less than 100 %",
            )


def baselines(view: View) -> Iterator[Problem]:
    """BS292: a host baseline has a virtual path beside it."""
    virtual = {
        name for name, _, path, _ in situations(view, "path") if path and path not in HOST_PATHS
    }
    for name, workload in view.workloads.items():
        if workload.get("baseline") == "host" and name not in virtual:
            yield Problem(
                code="BS292",
                path=("workloads", name, "baseline"),
                found="host, and no path that is not the hosts' own",
                expected="a path such as pod-to-pod, or no baseline",
            )


CHECKS = (axes, gains, baselines)
"""The rules of this module."""
