"""Placement: the nodes on which an experiment's roles are held against where the spec wants them.
What cannot be shown does not count as so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from ..model.contract.values import Node
from ..model.results import GateResult
from ..model.spec import Placement, Role, RolePlace
from .validity_gates import PLACEMENT

Nodes = Mapping[Role, Node]


def violation(placement: Placement, roles: Sequence[RolePlace], nodes: Nodes) -> str | None:
    """Why ``nodes`` are not where the roles are to be; None when they are, and for roles that may
    be anywhere.

    Two names with one identity are one machine. Across nodes or sites every identity must be known;
    on the same node the name may stand for it.
    """
    if placement is Placement.ANY or len(roles) < 2:
        return None
    missing = [place.role for place in roles if place.role not in nodes]
    if missing:
        return f"placement {placement}: it is not known on which node the {missing[0]} is"
    found = (
        _pair(placement, (one, nodes[one.role]), (two, nodes[two.role]))
        for one, two in combinations(roles, 2)
    )
    return next(
        (f"placement {placement}: {reason}" for reason in found if reason is not None), None
    )


def _pair(
    placement: Placement, one: tuple[RolePlace, Node], two: tuple[RolePlace, Node]
) -> str | None:
    (place, node), (other_place, other) = one, two
    who = (
        f"the {place.role} is on {_name(place, node)} and the {other_place.role} on"
        f" {_name(other_place, other)}"
    )
    known = node.identity is not None and other.identity is not None
    if placement is Placement.SAME_NODE:
        same = (
            node.identity == other.identity
            if known
            else (place.site, node.name) == (other_place.site, other.name)
        )
        return None if same else f"{who}, which {'are' if known else 'may be'} two machines"
    if placement is Placement.ACROSS_SITES and place.site == other_place.site:
        return f"{who}, which are on one site"
    if not known:
        return f"{who}, and one of them does not say which machine it is"
    return f"{who}, which are one machine" if node.identity == other.identity else None


def _name(place: RolePlace, node: Node) -> str:
    return node.name if node.name == place.site else f"{place.site} {node.name}"


def moved(before: Nodes, after: Nodes) -> tuple[Role, ...]:
    """The roles that are not on the node any more on which they were."""
    return tuple(role for role, node in before.items() if after.get(role) != node)


def gate(
    placement: Placement, roles: Sequence[RolePlace], before: Nodes, after: Nodes | None
) -> GateResult | None:
    """The gate that every trial with a placement has, and any during which a role moved; None for
    the others.

    ``before``: the nodes on which the roles were seen when it started; ``after``: when it had ended
    (None: nobody looked). The gate's bound is how many machines the roles should have been on, its
    observed value on how many they were.
    """
    if after is None:
        asserted = placement is not Placement.ANY
        return (
            GateResult(
                name=PLACEMENT, bound=_wanted(placement, roles, before), observed=None, passed=False
            )
            if asserted
            else None
        )
    passed = not moved(before, after) and violation(placement, roles, before) is None
    if passed and placement is Placement.ANY:
        return None
    observed = float(len(_machines(before) | _machines(after)))
    return GateResult(
        name=PLACEMENT, bound=_wanted(placement, roles, before), observed=observed, passed=passed
    )


def _wanted(placement: Placement, roles: Sequence[RolePlace], before: Nodes) -> float:
    match placement:
        case Placement.ANY:
            return float(len(_machines(before)))
        case Placement.SAME_NODE:
            return 1.0
        case _:
            return float(len(roles))


def _machines(nodes: Nodes) -> set[str]:
    return {node.identity or node.name for node in nodes.values()}
