from __future__ import annotations

import pytest

from benchspec.engine.model.contract.values import Node
from benchspec.engine.model.spec import Placement, Role, RolePlace
from benchspec.engine.planning.placement import gate, moved, violation
from benchspec.engine.planning.validity_gates import describe

HERE = (RolePlace(role=Role.CLIENT, site="s"), RolePlace(role=Role.SERVER, site="s"))
APART = (RolePlace(role=Role.CLIENT, site="s"), RolePlace(role=Role.SERVER, site="t"))
ACROSS, SAME, SITES, ANY = (
    Placement.ACROSS_NODES,
    Placement.SAME_NODE,
    Placement.ACROSS_SITES,
    Placement.ANY,
)


def nodes(client: str, server: str, names: tuple[str, str] = ("one", "two")) -> dict[Role, Node]:
    """Identities, "" for unknown."""
    found = zip((Role.CLIENT, Role.SERVER), names, (client, server), strict=True)
    return {role: Node(name=name, identity=identity or None) for role, name, identity in found}


@pytest.mark.parametrize(
    ("placement", "roles", "found", "reason"),
    [
        (ACROSS, HERE, nodes("a", "b"), None),
        (
            ACROSS,
            HERE,
            nodes("a", "a"),
            "the client is on s one and the server on s two, which are one machine",
        ),
        (ACROSS, HERE, nodes("a", ""), "does not say which machine it is"),
        (ACROSS, HERE, nodes("", ""), "does not say which machine it is"),
        (ACROSS, APART, nodes("a", "a"), "one machine"),
        (
            ACROSS,
            HERE,
            {Role.CLIENT: Node(name="one", identity="a")},
            "not known on which node the server is",
        ),
        (SAME, HERE, nodes("a", "a"), None),
        (SAME, HERE, nodes("a", "b"), "are two machines"),
        (SAME, HERE, nodes("a", ""), "may be two machines"),
        (SAME, HERE, nodes("", "", ("one", "one")), None),
        (SAME, APART, nodes("", "", ("one", "one")), "may be two machines"),
        (SITES, APART, nodes("a", "b"), None),
        (SITES, HERE, nodes("a", "b"), "which are on one site"),
        (SITES, APART, nodes("a", "a"), "one machine"),
        (ANY, HERE, nodes("a", "a"), None),
        (ANY, HERE, {}, None),
        (ACROSS, HERE[:1], nodes("a", "a"), None),
    ],
)
def test_what_violates_a_placement(
    placement: Placement, roles: tuple[RolePlace, ...], found: dict[Role, Node], reason: str | None
) -> None:
    told = violation(placement, roles, found)
    if reason is None:
        assert told is None
    else:
        assert reason in (told or "")
        assert f"placement {placement}" in (told or "")


def test_three_roles_are_compared_pair_by_pair() -> None:
    roles = (*HERE, RolePlace(role=Role.LOAD_GENERATOR, site="s"))
    found = nodes("a", "b") | {Role.LOAD_GENERATOR: Node(name="three", identity="b")}
    assert "the server is on s two and the load-generator on s three" in (
        violation(ACROSS, roles, found) or ""
    )


def test_a_trial_passes_when_nobody_moved() -> None:
    before = nodes("a", "b")
    result = gate(ACROSS, HERE, before, nodes("a", "b"))
    assert result is not None
    assert (result.passed, result.observed, result.bound) == (True, 2.0, 2.0)
    assert describe(result) == "placement: as asked"
    assert gate(ANY, HERE, before, before) is None


@pytest.mark.parametrize(
    ("placement", "after", "observed", "words"),
    [
        (ACROSS, nodes("a", "a"), 2.0, "placement: a role moved to another node"),
        (ACROSS, nodes("a", "c"), 3.0, "placement: the roles were on 3 machines, expected 2"),
        (ACROSS, nodes("b", "a", ("two", "one")), 2.0, "placement: a role moved to another node"),
        (ACROSS, None, None, "placement: not seen after the trial"),
        (ANY, nodes("a", "c"), 3.0, "placement: the roles were on 3 machines, expected 2"),
    ],
)
def test_who_moved_voids_the_trial(
    placement: Placement, after: dict[Role, Node] | None, observed: float | None, words: str
) -> None:
    result = gate(placement, HERE, nodes("a", "b"), after)
    assert result is not None
    assert (result.passed, result.observed) == (False, observed)
    assert describe(result) == words


def test_a_node_of_the_same_name_can_be_another_machine() -> None:
    assert moved(nodes("a", "b"), nodes("a", "c")) == (Role.SERVER,)
    assert moved(nodes("a", "b"), nodes("a", "b")) == ()


def test_nobody_looked_where_the_roles_may_be_anywhere() -> None:
    assert gate(ANY, HERE, nodes("a", "b"), None) is None
