"""Claims are held against the nodes they are about."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from benchspec.engine.claims.claims import check_claims
from benchspec.engine.language.claim_nodes import Placed, nodes_of_claim
from benchspec.engine.model.results import ClaimState, Fact, FactSet
from benchspec.engine.model.spec import Json, NodeGroup, Role, Site, Target

CLIENT, SERVER = frozenset({Role.CLIENT}), frozenset({Role.SERVER})
LAB: Placed = {("lab", "one"): CLIENT, ("lab", "two"): SERVER}
SIDES = (NodeGroup(name="clients", roles=("client",)), NodeGroup(name="servers", roles=("server",)))


def target(
    claims: Mapping[str, Json],
    groups: tuple[NodeGroup, ...] = (),
    sites: Mapping[str, str] | None = None,
) -> Target:
    places = {
        role: Site(name=name, runner="ssh")
        for role, name in (sites or {"client": "lab", "server": "lab"}).items()
    }
    return Target(name="t", title="T", sites=places, claims=claims, document={}, topology=groups)


def seen(node: str, site: str = "lab", allocation: str = "", **facts: Json) -> FactSet:
    found = tuple(
        Fact(name=name.replace("__", "."), value=value, source=name)
        for name, value in facts.items()
    )
    return FactSet(
        target="t",
        site=site,
        node=node,
        when="before",
        observed_at=0.0,
        facts=found,
        allocation_id=allocation,
    )


@pytest.mark.parametrize(
    ("claim", "nodes", "placed", "expected"),
    [
        ("clients/cpu.model", ("one", "two"), LAB, ("one",)),
        ("servers/cpu.model", ("one", "two"), LAB, ("two",)),
        ("clients/cpu.model", ("one", "two"), {}, ()),
        ("clients/cpu.model", ("one",), {("lab", "one"): CLIENT | SERVER}, ()),
        ("kernel.tainted", ("one", "two"), LAB, ("one", "two")),
        ("kernel.tainted", ("one", "two", "idle"), LAB, ("one", "two")),
        ("kernel.tainted", ("one", "two"), {}, ("one", "two")),
        ("storage.class", ("one", "two"), LAB, ("one",)),
        ("storage.class", ("one", "two"), {}, ()),
    ],
)
def test_which_nodes_a_claim_is_about(
    claim: str, nodes: tuple[str, ...], placed: Placed, expected: tuple[str, ...]
) -> None:
    assert nodes_of_claim(target({}, SIDES), claim, "lab", nodes, placed) == expected


def test_a_claim_about_volumes_is_held_against_the_nodes_that_had_one() -> None:
    made = dataclasses.replace(target({"storage.encryption": "none"}), storage={"class": "fast"})
    both: Placed = {("lab", "one"): CLIENT, ("lab", "two"): CLIENT | SERVER}
    nodes = [seen("one", disk__encryption="luks"), seen("two", disk__encryption="none")]
    (unseen,) = check_claims(made, nodes, both)
    assert (unseen.state, unseen.nodes) == (ClaimState.UNKNOWN, ("one", "two"))
    (bound,) = check_claims(made, [*nodes, seen("two", storage__encryption="none")], both)
    assert (bound.state, bound.nodes) == (ClaimState.MATCH, ("two",))
    (unknown,) = check_claims(made, [*nodes, seen("two", storage__encryption=None)], both)
    assert (unknown.state, unknown.nodes) == (ClaimState.UNKNOWN, ("two",))


def test_a_site_without_a_role_that_measures_is_held_against_nothing() -> None:
    aside = target(
        {"net.mtu": 1450}, sites={"client": "lab", "data-sink": "others", "control-plane": "others"}
    )
    assert nodes_of_claim(aside, "net.mtu", "others", ("x",), {}) is None
    checks = check_claims(aside, [seen("", net__mtu=1450), seen("", "others", net__mtu=1500)])
    assert [(check.site, check.state) for check in checks] == [("lab", ClaimState.MATCH)]


def test_a_site_for_any_role_is_meant_where_no_other_is_named() -> None:
    anywhere = target({}, sites={"server": "far", "any": "lab"})
    assert nodes_of_claim(anywhere, "cpu.model", "lab", ("",), {}) == ("",)
    servers = target({}, SIDES, sites={"server": "far", "any": "lab"})
    assert nodes_of_claim(servers, "servers/cpu.model", "lab", ("",), {}) is None


def test_nodes_that_show_the_same_share_a_row_and_a_contradiction_names_its_node() -> None:
    claims: Mapping[str, Json] = {"kernel.release": "6.1", "os.id": "debian"}
    checks = check_claims(
        target(claims),
        [
            seen("one", kernel__release="6.1.3", os__id="debian"),
            seen("two", kernel__release="5.10", os__id="debian"),
        ],
        LAB,
    )
    assert [(check.fact, check.observed, check.state, check.nodes) for check in checks] == [
        ("kernel.release", "6.1.3", ClaimState.MATCH, ("one",)),
        ("kernel.release", "5.10", ClaimState.MISMATCH, ("two",)),
        ("os.id", "debian", ClaimState.MATCH, ("one", "two")),
    ]


def test_what_is_said_of_the_whole_site_holds_for_its_nodes() -> None:
    (check,) = check_claims(
        target({"kubernetes.version": "1.29"}),
        [seen("", kubernetes__version="v1.29.2"), seen("one"), seen("two")],
        LAB,
    )
    assert (check.state, check.nodes) == (ClaimState.MATCH, ())


@pytest.mark.parametrize(
    ("declared", "state"), [(1450, ClaimState.MATCH), (1500, ClaimState.MISMATCH)]
)
def test_the_mtu_of_a_cni_is_that_of_the_path_and_not_of_the_default_route(
    declared: int, state: ClaimState
) -> None:
    sets = [
        seen("one", net__mtu=1500),
        seen("two", net__mtu=1500),
        *(seen(node, allocation="a1", path__mtu=1450) for node in ("one", "two")),
    ]
    checks = check_claims(target({"cni.mtu": declared, "net.mtu": declared}), sets, LAB)
    assert [(check.fact, check.observed, check.state, check.nodes) for check in checks] == [
        ("cni.mtu", 1450, state, ("one", "two")),
    ], "once, though limits know it as net.mtu"


def test_the_mtu_that_is_set_on_the_way_stands_in_where_it_cannot_be_measured() -> None:
    sets = [seen("", net__mtu=1500, path__mtu=None, path__link_mtu=1450)]
    assert [
        check.state for check in check_claims(target({"cni.mtu": 1450, "net.mtu": 1450}), sets)
    ] == [ClaimState.MATCH]
    both = check_claims(target({"cni.mtu": 1450, "net.mtu": 1500}), sets)
    assert [(check.observed, check.state) for check in both] == [
        (1450, ClaimState.MATCH),
        (1500, ClaimState.MATCH),
    ], "two claims"
    (own,) = check_claims(target({"net.mtu": 1500}), sets)
    assert (own.observed, own.state) == (1500, ClaimState.MATCH), (
        "said of the interface, without a CNI"
    )
