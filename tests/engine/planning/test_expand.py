"""Expansion: points, parameters, CPUs, gates and the identity of what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.model.errors import SpecError, UnitError
from benchspec.engine.model.spec import (
    Component,
    Experiment,
    Json,
    Layer,
    Limit,
    Method,
    Placement,
    Price,
    Role,
    Site,
    Spec,
    TrafficPath,
    WorkloadSpec,
)
from benchspec.engine.planning.expand import deal, expand
from benchspec.engine.planning.identity import (
    canonical,
    digest,
    leaves,
    machine_override,
    meaning,
    target_claims,
)
from tests.engine.handmade import TOOLS, sites, spec, target, workload


def only(made: Spec, name: str = "a") -> Experiment:
    [found] = [e for e in expand(made, TOOLS) if e.target == name]
    return found


def ids(made: Spec) -> dict[tuple[str, str], str]:
    return {(e.target, e.cell): e.id for e in expand(made, TOOLS)}


def matrix(*axes: tuple[str, list[Json]]) -> tuple[tuple[str, tuple[Json, ...]], ...]:
    return tuple((axis, tuple(values)) for axis, values in axes)


def cells(made: WorkloadSpec) -> list[str]:
    return [e.cell for e in expand(spec(targets=[target()], workloads=[made]), TOOLS)]


def test_a_matrix_is_a_product_in_axis_order_with_targets_innermost() -> None:
    found = expand(
        spec(
            workloads=[workload(matrix=matrix(("protocol", ["tcp", "udp"]), ("streams", [1, 8])))]
        ),
        TOOLS,
    )
    assert [(e.target, e.cell) for e in found[:4]] == [
        ("a", "net[protocol=tcp, streams=1]"),
        ("b", "net[protocol=tcp, streams=1]"),
        ("a", "net[protocol=tcp, streams=8]"),
        ("b", "net[protocol=tcp, streams=8]"),
    ]
    assert len(found) == 8
    assert found[3].parameters == {"duration": "1 s", "protocol": "tcp", "streams": 8}
    assert found[3].title == "Net, protocol tcp, streams 8 on B"


def test_zipped_axes_advance_together_beside_a_matrix() -> None:
    made = workload(
        matrix=matrix(("protocol", ["tcp", "udp"])),
        zip=matrix(("streams", [1, 8]), ("length", ["1 KiB", "8 KiB"])),
    )
    assert cells(made) == [
        "net[protocol=tcp, streams=1, length=1 KiB]",
        "net[protocol=tcp, streams=8, length=8 KiB]",
        "net[protocol=udp, streams=1, length=1 KiB]",
        "net[protocol=udp, streams=8, length=8 KiB]",
    ]


def test_a_mapping_value_merges_its_keys_and_is_called_by_its_name() -> None:
    job: Json = {"name": "read_iops", "rw": "randread", "bs": "4 KiB"}
    found = only(spec(workloads=[workload("fio", tool="disk", matrix=matrix(("job", [job])))]))
    assert found.point == (("job", "read_iops"),)
    assert found.parameters == {"duration": "1 s", "rw": "randread", "bs": "4 KiB"}


def test_values_without_a_name_are_called_by_themselves() -> None:
    assert cells(workload(matrix=matrix(("v", [{"x": 1}, True, 2, None])))) == [
        'net[v={"x": 1}]',
        "net[v=true]",
        "net[v=2]",
        "net[v=null]",
    ]


def test_path_and_placement_may_be_axes_and_never_reach_the_tool() -> None:
    made = workload(
        path=TrafficPath.LOOPBACK,
        matrix=matrix(("path", ["pod-to-pod"]), ("placement", ["same-node"])),
    )
    found = only(spec(workloads=[made]))
    assert (found.path, found.placement) == (TrafficPath.POD_TO_POD, Placement.SAME_NODE)
    assert found.parameters == {"duration": "1 s"}


def test_a_path_among_the_parameters_is_the_tools_own() -> None:
    disks: list[Json] = [{"name": "p10", "path": "E:\\test.dat"}]
    made = workload(parameters={"path": "/index.html"}, path=TrafficPath.MESH)
    assert (only(spec(workloads=[made])).parameters, only(spec(workloads=[made])).path) == (
        {"path": "/index.html"},
        TrafficPath.MESH,
    )
    found = only(spec(workloads=[replace(made, matrix=matrix(("disk", disks)))]))
    assert (found.parameters, found.path) == ({"path": "E:\\test.dat"}, TrafficPath.MESH)


@pytest.mark.parametrize(
    "entry", [{"job": "b"}, {"job": {"name": "b", "x": 2}}, {"job": "b", "streams": 1}]
)
def test_exclude_takes_labels_or_values(entry: Mapping[str, Json]) -> None:
    made = workload(
        matrix=matrix(("job", [{"name": "a", "x": 1}, {"name": "b", "x": 2}]), ("streams", [1])),
        exclude=(entry,),
    )
    assert cells(made) == ["net[job=a, streams=1]"]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            workload(tool="netwrok"),
            "unknown tool 'netwrok', expected one of disk, network; did you mean \"network\"?",
        ),
        (workload(targets=("c",)), "unknown target 'c'"),
        (workload(overrides={"aa": {}}), "unknown target 'aa'; did you mean \"a\"?"),
        (
            workload(overrides={"a": {"gate": {}}}),
            "unknown key 'gate', expected one of with, .*; did you mean \"gates\"?",
        ),
        (
            workload(zip=matrix(("x", [1, 2]), ("y", [1]))),
            r"different lengths \(x has 2, y has 1\)",
        ),
        (workload(matrix=matrix(("x", [1])), zip=matrix(("x", [1]))), "the axis 'x' twice"),
        (workload(matrix=matrix(("x", [1, 1]))), "found '1' twice"),
        (workload(zip=matrix(("x", [1, 1]), ("y", [2, 2]))), "found '1, 2' twice"),
        (workload(exclude=({"x": 1},)), "unknown axis 'x', expected no exclude"),
        (
            workload(matrix=matrix(("streams", [1])), exclude=({"stream": 1},)),
            'expected one of streams; did you mean "streams"?',
        ),
        (workload(matrix=matrix(("x", [1])), exclude=({"x": 1},)), "leaves no point"),
        (
            workload(matrix=matrix(("x", [1, 2])), overrides={"a": {"with": {"x": 3}}}),
            "found 'x', which is an axis",
        ),
        (
            workload(matrix=matrix(("path", ["mesh"])), overrides={"a": {"path": "loopback"}}),
            "found 'path', which is an axis",
        ),
    ],
)
def test_a_contradiction_is_a_spec_error_that_says_where(made: WorkloadSpec, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        expand(spec(workloads=[made]), TOOLS)
    assert caught.value.where is not None
    assert caught.value.where.startswith("workloads.net")


def test_the_cap_names_the_axes_before_anything_is_enumerated() -> None:
    values: list[Json] = list(range(100))
    axes = matrix(*((f"axis{n}", values) for n in range(20)))
    with pytest.raises(
        SpecError,
        match=(
            r"expected at most 10000; .* of them are targets \(2\) x axis0 \(100\) x axis1 \(100\)"
        ),
    ):
        expand(spec(workloads=[workload(matrix=axes)]), TOOLS)


def test_the_cap_can_be_moved() -> None:
    made = spec(workloads=[workload(matrix=matrix(("streams", [1, 2])))])
    assert len(expand(made, TOOLS, max_experiments=4)) == 4
    with pytest.raises(SpecError, match="found 4 experiments before exclusion, expected at most 3"):
        expand(made, TOOLS, max_experiments=3)


def test_a_workload_may_be_restricted_to_some_targets() -> None:
    assert {e.target for e in expand(spec(workloads=[workload(targets=("b",))]), TOOLS)} == {"b"}


def test_overrides_of_a_target_win_over_the_workload_and_over_mapping_axes() -> None:
    override: Mapping[str, Json] = {
        "with": {"window": "2 MiB", "x": 9},
        "cpus": [3],
        "gates": {"min_duration": "2 s", "max_error_ratio": "1 %", "min_samples": 7},
        "image": "img@sha256:1",
        "path": "host-to-host",
        "placement": "across-nodes",
        "primary": "retransmits",
    }
    made = spec(
        workloads=[
            workload(matrix=matrix(("job", [{"name": "j", "x": 1}])), overrides={"a": override})
        ]
    )
    a, b = only(made), only(made, "b")
    assert a.parameters == {"duration": "1 s", "window": "2 MiB", "x": 9}
    assert [place.cpus for place in a.roles] == [(3,), (3,)]
    assert a.gates == {"min_duration": 2.0, "max_error_ratio": 0.01, "min_samples": 7.0}
    assert (a.image, a.path, a.placement, a.primary) == (
        "img@sha256:1",
        "host-to-host",
        "across-nodes",
        "retransmits",
    )
    assert (b.image, b.path, b.placement, b.primary) == (None, None, Placement.ANY, "throughput")
    assert b.parameters == {"duration": "1 s", "x": 1}
    assert a.cell == b.cell


def test_the_cpus_of_an_override_may_name_roles() -> None:
    made = spec(workloads=[workload(overrides={"a": {"cpus": {"client": [1], "any": [2]}}})])
    assert [place.cpus for place in only(made).roles] == [(1,), (2,)]


def test_a_gate_of_an_override_with_a_wrong_unit_is_named() -> None:
    with pytest.raises(UnitError, match="found '2 GiB' in B, expected a time") as caught:
        expand(
            spec(workloads=[workload(overrides={"a": {"gates": {"min_duration": "2 GiB"}}})]), TOOLS
        )
    assert caught.value.where == "gates.min_duration"


def test_gates_of_the_spec_win_over_those_of_the_tool() -> None:
    assert only(spec(workloads=[workload(gates={"min_duration": 9.0})])).gates == {
        "min_duration": 9.0,
        "min_samples": 1.0,
    }


def test_the_primary_is_the_specs_or_the_tools_for_these_parameters() -> None:
    assert only(spec(workloads=[workload(primary="cpu.local")])).primary == "cpu.local"
    assert only(spec(workloads=[workload(parameters={"protocol": "udp"})])).primary == "jitter"


@pytest.mark.parametrize(
    ("cpus", "client", "server"),
    [
        ({}, (), ()),
        ({"any": (0,)}, (0,), (0,)),
        ({"any": (0, 1)}, (0,), (1,)),
        ({"any": (4, 5, 6)}, (4, 5), (6,)),
        ({"any": (0, 1, 2, 3)}, (0, 1), (2, 3)),
        ({"client": (0,), "server": (1, 2)}, (0,), (1, 2)),
        ({"client": (0,)}, (0,), ()),
        ({"client": (0,), "any": (1, 2)}, (0,), (1, 2)),
    ],
)
def test_cpus_are_dealt_evenly_and_contiguously(
    cpus: Mapping[str, tuple[int, ...]], client: tuple[int, ...], server: tuple[int, ...]
) -> None:
    places = deal((Role.CLIENT, Role.SERVER), cpus, target())
    assert [(p.role, p.cpus) for p in places] == [(Role.CLIENT, client), (Role.SERVER, server)]


@given(
    st.lists(st.integers(0, 500), unique=True, max_size=64),
    st.lists(st.sampled_from(list(Role)), unique=True, max_size=6),
)
def test_dealing_uses_every_cpu_once_when_there_are_enough(
    numbers: list[int], roles: list[Role]
) -> None:
    shares = [place.cpus for place in deal(roles, {"any": tuple(numbers)}, target())]
    if len(numbers) < len(roles):
        assert shares == [tuple(numbers)] * len(roles)
    elif roles:
        assert [n for share in shares for n in share] == numbers
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_the_workloads_cpus_win_over_the_targets() -> None:
    made = spec(
        targets=[target(cpus={"any": (0, 1)})],
        workloads=[workload(cpus={"any": (5,)}), workload("other", parameters={"x": 1})],
    )
    assert [[p.cpus for p in e.roles] for e in expand(made, TOOLS)] == [[(5,), (5,)], [(0,), (1,)]]


def test_roles_go_to_their_sites() -> None:
    far = {"client": Site(name="one", runner="local"), "any": Site(name="two", runner="ssh")}
    assert [(p.role, p.site) for p in deal((Role.CLIENT, Role.SERVER), {}, target(sites=far))] == [
        (Role.CLIENT, "one"),
        (Role.SERVER, "two"),
    ]
    with pytest.raises(
        SpecError, match=r"no site for the role 'server' \(roles with a site: client\)"
    ):
        deal((Role.SERVER,), {}, target(sites={"client": Site(name="one", runner="local")}))
    with pytest.raises(SpecError, match="roles with a site: none"):
        deal((Role.SERVER,), {}, target(sites={}))


def test_keys_of_the_authors_own_reach_neither_the_tool_nor_the_id() -> None:
    noted = workload(
        parameters={"duration": "1 s", "x-why": "?", "config": {"x-note": 1, "a": 2}},
        overrides={"a": {"x-note": 1, "with": {"x-why": 2}}},
    )
    plain = workload(parameters={"duration": "1 s", "config": {"a": 2}})
    assert only(spec(workloads=[noted])) == only(spec(workloads=[plain]))


# Identity


def base() -> Spec:
    axes = matrix(("streams", [1, 8]))
    return spec(
        workloads=[
            workload(matrix=axes),
            workload("disk", tool="disk", parameters={"size": "10 GiB"}),
        ]
    )


def with_target(made: Spec, **fields: object) -> Spec:
    return replace(made, targets=(replace(made.targets[0], **fields), *made.targets[1:]))  # type: ignore[arg-type]


def with_workload(made: Spec, **fields: object) -> Spec:
    return replace(made, workloads=(replace(made.workloads[0], **fields), *made.workloads[1:]))  # type: ignore[arg-type]


PRICE = Price(per_hour=1.0, currency="USD", source="s", as_of="2023-03-20")
LIMIT = Limit(
    metric="m",
    sustained=1.0,
    burst=1.0,
    unit="1/s",
    layer=Layer.WIRE,
    applies_to=None,
    source="s",
    as_of="d",
)


@pytest.mark.parametrize(
    "same",
    [
        replace(
            base(),
            title="Other",
            description="prose",
            labels={"team": "x"},
            method=Method(sessions=30),
            compare=None,
        ),
        with_target(base(), title="Other", limits=(LIMIT,), price=PRICE),
        with_workload(base(), title="Other", primary="jitter"),
        with_workload(base(), parameters={"duration": "1000 ms"}),
        with_workload(base(), matrix=matrix(("streams", [1.0, 8.0]))),
    ],
    ids=["spec", "target", "workload", "quantity", "whole float"],
)
def test_prose_method_and_spelling_keep_every_id(same: Spec) -> None:
    assert sorted(ids(same).values()) == sorted(ids(base()).values())


TOUCHED_BY_TARGET = {("a", "net[streams=1]"), ("a", "net[streams=8]"), ("a", "disk")}
TOUCHED_BY_WORKLOAD = {(t, f"net[streams={n}]") for t in "ab" for n in (1, 8)}


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        (with_target(base(), claims={"cni.name": "cilium"}), TOUCHED_BY_TARGET),
        (with_target(base(), sites=sites("a", "ssh")), TOUCHED_BY_TARGET),
        (
            with_target(base(), components=(Component(name="vault", version="1"),)),
            TOUCHED_BY_TARGET,
        ),
        (with_target(base(), storage={"class": "gp3"}), TOUCHED_BY_TARGET),
        (with_target(base(), cpus={"any": (0,)}), TOUCHED_BY_TARGET),
        (with_workload(base(), parameters={"duration": "2 s"}), TOUCHED_BY_WORKLOAD),
        (with_workload(base(), path=TrafficPath.MESH), TOUCHED_BY_WORKLOAD),
        (with_workload(base(), placement=Placement.SAME_NODE), TOUCHED_BY_WORKLOAD),
        (with_workload(base(), gates={"min_samples": 2.0}), TOUCHED_BY_WORKLOAD),
        (with_workload(base(), image="x"), TOUCHED_BY_WORKLOAD),
        (
            with_workload(base(), overrides={"b": {"machine": "D4"}}),
            {("b", "net[streams=1]"), ("b", "net[streams=8]")},
        ),
        (
            with_workload(base(), matrix=matrix(("streams", [1, {"name": "8", "streams": 9}]))),
            {("a", "net[streams=8]"), ("b", "net[streams=8]")},
        ),
    ],
)
def test_a_change_of_meaning_changes_exactly_the_ids_it_touches(
    changed: Spec, touched: set[tuple[str, str]]
) -> None:
    before, after = ids(base()), ids(changed)
    assert before.keys() == after.keys()
    assert {key for key in before if before[key] != after[key]} == touched


def test_a_target_against_itself_has_two_ids_and_the_first_keeps_its_own() -> None:
    twin = replace(target("a"), name="b")
    alone, both = ids(spec(targets=[target("a")])), ids(spec(targets=[target("a"), twin]))
    assert both["a", "net"] == alone["a", "net"]
    assert len(set(both.values())) == 2


def test_a_machine_override_replaces_the_claim_in_every_group() -> None:
    grouped = target(claims={"x/machine.type": "D2", "y/machine.type": "D2", "cni.name": "n"})
    assert target_claims(grouped, "D4") == {
        "x/machine.type": "D4",
        "y/machine.type": "D4",
        "cni.name": "n",
    }
    assert target_claims(target(claims={}), "D4") == {"cni.name": "a", "machine.type": "D4"}
    made = spec(workloads=[workload(overrides={"a": {"machine": "D4"}})])
    found = only(made)
    assert machine_override(made, found) == "D4"
    assert machine_override(made, only(made, "b")) is None
    assert found.id == digest(meaning(made.target("a"), found, "D4"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("60 s", "1 min"),
        ("60s", " 60  s "),
        ("1024 KiB", "1 MiB"),
        (2.0, 2),
        ({"b": 1, "a": [1.0]}, {"a": (1,), "b": 1}),
    ],
)
def test_equal_meanings_have_one_digest(one: Json, other: Json) -> None:
    assert digest({"v": one}) == digest({"v": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.10", "1.1"),
        ("1.10", 1.1),
        ("1 MB", "1 MiB"),
        (True, 1),
        ("x", "X"),
        ("4k", "4 KiB"),
        ("1.", "1"),
        ("", None),
    ],
)
def test_different_meanings_have_two(one: Json, other: Json) -> None:
    assert digest({"v": one}) != digest({"v": other})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_key_order_never_matters_and_canonical_is_idempotent(value: dict[str, Json]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))
    assert canonical(canonical(value)) == canonical(value)


def test_leaves_are_scalars_with_their_paths() -> None:
    value: Json = {"a": {"b": [1, {"c": "x"}], "empty": {}}, "d": None, "none": [], "list": [1, 2]}
    assert dict(leaves(value)) == {
        "a.b[0]": 1,
        "a.b[1].c": "x",
        "a.empty": {},
        "d": None,
        "none": [],
        "list": [1, 2],
    }


VALUES = st.integers(0, 9) | st.sampled_from(["x", "y"])
AXES = st.dictionaries(
    st.sampled_from(["p", "q", "r"]), st.lists(VALUES, min_size=1, max_size=4, unique=True)
)


@settings(max_examples=50)
@given(AXES, st.integers(1, 3))
def test_ids_are_unique_and_stable(axes: dict[str, list[Json]], count: int) -> None:
    made = spec(
        targets=[target(name) for name in "abc"[:count]],
        workloads=[workload(matrix=matrix(*axes.items()))],
    )
    first, second = expand(made, TOOLS), expand(made, TOOLS)
    assert first == second
    assert len({e.id for e in first}) == len(first)
    assert len({(e.target, e.cell) for e in first}) == len(first)


HOST = TrafficPath.HOST_TO_HOST


def beside(**fields: Any) -> list[str]:
    made = workload(baseline=HOST, **fields)
    return [f"{e.target} {e.cell} {e.path}" for e in expand(spec(workloads=[made]), TOOLS)]


def test_a_host_baseline_adds_the_host_path_once_beside_all_virtual_ones() -> None:
    found = beside(
        matrix=matrix(("path", ["pod-to-pod", "pod-to-service"]), ("streams", [1])), targets=("a",)
    )
    assert found == [
        "a net[path=pod-to-pod, streams=1] pod-to-pod",
        "a net[path=host-to-host, streams=1] host-to-host",
        "a net[path=pod-to-service, streams=1] pod-to-service",
    ]


def test_a_host_baseline_adds_nothing_to_hosts_and_nothing_twice() -> None:
    assert beside(path=HOST) == ["a net host-to-host", "b net host-to-host"]
    assert beside() == ["a net None", "b net None"]
    named = beside(matrix=matrix(("path", ["pod-to-pod", "host-to-host"])), targets=("a",))
    assert named == ["a net[path=pod-to-pod] pod-to-pod", "a net[path=host-to-host] host-to-host"]


def test_a_host_baseline_of_a_path_that_is_no_axis_is_a_point_of_its_own() -> None:
    made = workload(
        baseline=HOST, path=TrafficPath.POD_TO_POD, overrides={"b": {"path": "host-to-host"}}
    )
    found = {(e.target, e.cell): e for e in expand(spec(workloads=[made]), TOOLS)}
    assert list(found) == [("a", "net"), ("a", "net[path=host-to-host]"), ("b", "net")]
    virtual, host = found["a", "net"], found["a", "net[path=host-to-host]"]
    assert virtual.id != host.id
    assert virtual.parameters == host.parameters
    plain = workload(path=HOST, matrix=matrix(("path", ["host-to-host"])))
    assert host.id == next(
        e.id for e in expand(spec(workloads=[plain]), TOOLS) if e.target == "a"
    ), "it means the same as a workload on that path"
