"""Which nodes of a site a claim is about: one about a group of nodes those that have the group's
roles, any other all that are measured with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..model.spec import Role, Target
from .build_target import ANY_ROLE, NODE_FACTS, is_control_plane

Placed = Mapping[tuple[str, str], frozenset[Role]]
"""The roles that nodes were seen to have, by site and node (as in ``FactSet``)."""

NOT_PLACED: Placed = MappingProxyType({})

ASIDE = frozenset({Role.MONITOR, Role.DATA_SINK, Role.CONTROL_PLANE})
"""The roles of nodes that take no part in what is measured."""

MEASURING = frozenset(Role) - ASIDE

_OF_GROUPS = frozenset(NODE_FACTS.values())
_OF_STORAGE = ("storage.", "disk.")


def nodes_of_claim(
    target: Target, claim: str, site: str, nodes: Sequence[str], placed: Placed
) -> tuple[str, ...] | None:
    """Those of ``nodes`` on ``site`` that ``claim`` is about.

    None: the claim is about nodes of other sites. Empty: it cannot be said which they are, since it
    is not known which node has which role, or since one node belongs to several groups.
    """
    group, _, name = claim.rpartition("/")
    here, meant = _roles_on(target, site), _roles_meant(target, group, name)
    if not meant & here:
        return None
    known = {node: placed[site, node] for node in nodes if placed.get((site, node))} or (
        dict.fromkeys(nodes, here) if len(nodes) == 1 else {}
    )
    if not known:  # which node has which role: that matters where some are meant and others not
        return tuple(nodes) if here & MEASURING <= meant else ()
    chosen = tuple(node for node, roles in known.items() if roles & meant)
    return () if any(_is_shared(target, group, known[node]) for node in chosen) else chosen


_ROLES = frozenset(role.value for role in Role)


def _roles_on(target: Target, site: str) -> frozenset[Role]:
    named = {Role(role): each.name for role, each in target.sites.items() if role in _ROLES}
    everywhere = target.sites.get(ANY_ROLE)
    rest = (
        frozenset(Role) - named.keys()
        if everywhere is not None and everywhere.name == site
        else frozenset()
    )
    return rest | {role for role, name in named.items() if name == site}


def _roles_meant(target: Target, group: str, name: str) -> frozenset[Role]:
    """The roles of the nodes that a claim is about; the same for a group that does not say which it
    has.
    """
    if name.startswith(_OF_STORAGE):
        return frozenset({Role.CLIENT, Role.STORAGE})
    groups = _measuring(target) if name in _OF_GROUPS else {}
    if group:
        return groups.get(group) or MEASURING
    return (next(iter(groups.values())) if len(groups) == 1 else None) or MEASURING


def _is_shared(target: Target, group: str, roles: frozenset[Role]) -> bool:
    """Whether a node with these roles also belongs to a group other than ``group``; one without
    roles of its own may be any.
    """
    return bool(group) and any(
        not others or roles & others for name, others in _measuring(target).items() if name != group
    )


def _measuring(target: Target) -> Mapping[str, frozenset[Role]]:
    """The roles of every group of nodes but the one that only runs the cluster."""
    return {
        group.name: frozenset(Role(role) for role in group.roles if role in _ROLES)
        for group in target.topology
        if not is_control_plane(group.name, group.roles)
    }
