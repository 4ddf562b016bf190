from __future__ import annotations

from collections.abc import Mapping

import pytest

from benchspec.engine.language.schema.points import candidates, path_of
from benchspec.engine.model.spec import Json
from benchspec.engine.planning.expand import expand
from benchspec.engine.planning.matrix import Axis, combine, count, excluded, matches
from tests.engine.handmade import TOOLS, spec, target, workload

MATRIX = Axis("bs", "matrix", ["4 KiB", "1 MiB"])
JOBS = Axis("job", "matrix", [{"name": "read", "rw": "read"}, {"name": "write", "rw": "write"}])
ZIPPED = (Axis("a", "zip", [1, 2, 3]), Axis("b", "zip", ["x", "y", "z"]))


def labels_of(axes: list[Axis]) -> list[tuple[Json, ...]]:
    return [tuple(axis.values[at] for axis, at in point) for point in combine(axes)]


def test_the_last_axis_of_the_matrix_changes_fastest_but_for_zipped_rows() -> None:
    assert labels_of([MATRIX, *ZIPPED]) == [
        ("4 KiB", 1, "x"),
        ("4 KiB", 2, "y"),
        ("4 KiB", 3, "z"),
        ("1 MiB", 1, "x"),
        ("1 MiB", 2, "y"),
        ("1 MiB", 3, "z"),
    ]
    assert labels_of([]) == [()], "a workload without axes has one point"


@pytest.mark.parametrize("axes", [[], [MATRIX], [MATRIX, JOBS], [MATRIX, *ZIPPED], [*ZIPPED]])
def test_points_are_counted_without_being_made(axes: list[Axis]) -> None:
    assert count(axes) == len(list(combine(axes)))


def test_zipped_axes_of_different_lengths_go_as_far_as_the_shortest() -> None:
    axes = [ZIPPED[0], Axis("b", "zip", ["x"])]
    assert (labels_of(axes), count(axes)) == ([(1, "x")], 1)


def test_entries_exclude_by_value_or_by_name_and_never_by_an_unknown_axis() -> None:
    point = next(combine([MATRIX, JOBS]))
    assert matches(point, {"bs": "4 KiB", "job": "read"})
    assert matches(point, {"job": {"name": "read", "rw": "read"}})
    assert not matches(point, {"job": "write"})
    assert not matches(point, {"speed": "4 KiB"})
    assert not excluded(point, ["no mapping", {"bs": "1 MiB"}])


def test_a_spec_is_checked_at_the_points_that_are_planned() -> None:
    given: Mapping[str, Json] = {"duration": "1 s"}
    axes: Mapping[str, list[Json]] = {
        "bs": ["4 KiB", "1 MiB"],
        "job": [{"name": "r", "rw": "read"}, {"name": "w", "rw": "write", "depth": 4}],
        "path": ["pod-to-pod"],
    }
    rows: Mapping[str, list[Json]] = {"streams": [1, 2], "length": ["1 KiB", "8 KiB"]}
    exclude: list[Mapping[str, Json]] = [{"bs": "1 MiB", "job": "w"}, {"streams": 2, "job": "r"}]
    document: Mapping[str, Json] = {"with": given, "matrix": axes, "zip": rows, "exclude": exclude}
    made = workload(
        parameters=given,
        matrix=tuple((axis, tuple(values)) for axis, values in axes.items()),
        zip=tuple((axis, tuple(values)) for axis, values in rows.items()),
        exclude=tuple(exclude),
    )
    checked = [dict(found.parameters) for found in candidates("net", document)]
    planned = expand(spec(targets=[target()], workloads=[made]), TOOLS)
    assert len(checked) == 4
    assert checked == [dict(experiment.parameters) for experiment in planned]


def test_a_checked_parameter_knows_where_it_was_written() -> None:
    document: Mapping[str, Json] = {
        "with": {"size": "1 GiB"},
        "matrix": {"job": [{"name": "w", "rw": "write"}], "path": ["pod-to-pod"]},
    }
    (candidate,) = candidates("disk", document)
    assert candidate.origins == {
        "size": ("workloads", "disk", "with", "size"),
        "rw": ("workloads", "disk", "matrix", "job", 0, "rw"),
    }
    assert path_of(JOBS, "disk", 1) == ("workloads", "disk", "matrix", "job", 1)
