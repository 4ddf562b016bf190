"""Facts that must match are compared role by role."""

from __future__ import annotations

from collections.abc import Mapping

from benchspec.engine.analysis.evidence import Evidence, mismatch
from benchspec.engine.analysis.node_of_role import Seats, roles_at
from benchspec.engine.analysis.reasons import FactDiffers, FactsDiffer, FactUnknown, Shown
from benchspec.engine.model.results import Fact, FactSet
from benchspec.engine.model.spec import Json, Role
from tests.engine.analysis import synthetic

CLIENT, SERVER = frozenset({Role.CLIENT}), frozenset({Role.SERVER})
SEATS: Seats = {
    (t, "lab", f"{t}-{role}"): frozenset({role})
    for t in ("a", "b")
    for role in (Role.CLIENT, Role.SERVER)
}


def seen(target: str, node: str, **facts: Json) -> FactSet:
    found = tuple(
        Fact(name=name.replace("__", "."), value=value, source=name)
        for name, value in facts.items()
    )
    return FactSet(
        target=target, site="lab", node=node, when="before", observed_at=0.0, facts=found
    )


def judged(values: Mapping[str, str], seats: Seats = SEATS) -> FactsDiffer | None:
    """Kernels by node."""
    evidence = Evidence(
        [seen(node[0], node, kernel__release=value) for node, value in values.items()], (), seats
    )
    return mismatch(evidence, synthetic.target("a"), synthetic.target("b"), ["kernel.release"])


def differs(ours: str, theirs: str, *roles: Role) -> FactDiffers:
    """The kernel of b and that of a."""
    return FactDiffers(
        fact="kernel.release",
        target=Shown(target="b", values=(f'"{ours}"',)),
        baseline=Shown(target="a", values=(f'"{theirs}"',)),
        roles=roles,
    )


def test_different_machines_for_different_roles_match_where_each_role_has_the_same() -> None:
    assert (
        judged({"a-client": "5.10", "a-server": "6.1", "b-client": "5.10", "b-server": "6.1"})
        is None
    )


def test_swapped_kernels_do_not_match_although_both_targets_show_both() -> None:
    reason = judged({"a-client": "5.10", "a-server": "6.1", "b-client": "6.1", "b-server": "5.10"})
    expected = (differs("6.1", "5.10", Role.CLIENT), differs("5.10", "6.1", Role.SERVER))
    assert reason == FactsDiffer(mismatches=expected)


def test_one_reason_for_all_roles_is_said_once() -> None:
    reason = judged({"a-client": "5.10", "a-server": "5.10", "b-client": "6.1", "b-server": "6.1"})
    assert reason == FactsDiffer(mismatches=(differs("6.1", "5.10"),))


def test_a_node_without_a_role_does_not_count() -> None:
    same = {"a-client": "5.10", "a-server": "6.1", "b-client": "5.10", "b-server": "6.1"}
    assert judged({**same, "b-idle": "4.19"}) is None


def test_a_fact_that_one_role_does_not_show_is_no_match() -> None:
    reason = judged({"a-client": "5.10", "a-server": "6.1", "b-client": "5.10"})
    unknown = FactUnknown(fact="kernel.release", targets=("b",), roles=(Role.SERVER,))
    assert reason == FactsDiffer(mismatches=(unknown,))


def test_an_unknown_fact_is_one_mismatch_whatever_the_other_side_shows() -> None:
    reason = judged({"a-client": "5.10", "a-server": "6.1"}, {**SEATS})
    unknown = FactUnknown(fact="kernel.release", targets=("b",))
    assert reason == FactsDiffer(mismatches=(unknown,))


def test_without_nodes_all_values_of_a_target_are_compared() -> None:
    assert (
        judged({"a-client": "5.10", "a-server": "6.1", "b-client": "6.1", "b-server": "5.10"}, {})
        is None
    )


def test_a_site_as_a_whole_has_all_roles_that_are_on_it() -> None:
    assert roles_at(SEATS, "a", "lab", "") == CLIENT | SERVER
    assert roles_at(SEATS, "a", "lab", "a-server") == SERVER
    assert roles_at(SEATS, "a", "elsewhere", "") == frozenset()
