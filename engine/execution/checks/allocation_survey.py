"""What only an allocation shows, looked at before anything is measured and in every allocation
after: who is on which node, what lies between.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from ...claims.claims import drift
from ...facts.catalogue import fact_kinds
from ...model.contract.values import Node
from ...model.errors import DriftError
from ...model.results import Fact, FactSet, Finding, FindingLevel
from ...model.spec import HOST_PATHS, Experiment, Json, Role
from ...planning.placement import violation
from ..sites.allocations import Place
from .observation import Observatory

ALLOCATED = "allocated"


class PlacementRefused(DriftError):
    """Roles are not on nodes as the spec wants them; nothing was measured (exit 5)."""


class Survey:
    """What the allocations of a run have shown so far. ``placed``: the roles of nodes, by target
    and then by site and node.
    """

    def __init__(self, experiments: Sequence[Experiment], observatory: Observatory) -> None:
        self._observatory = observatory
        self._virtual = {
            each.target
            for each in experiments
            if each.path is not None and each.path not in HOST_PATHS
        }
        self.placed: dict[str, dict[tuple[str, str], frozenset[Role]]] = {}
        self._shown: dict[tuple[str, str, str, str], list[FactSet]] = {}

    def look(self, place: Place) -> tuple[FactSet, ...]:
        """Note where the roles of ``place`` are and what its nodes show; return what is new of it
        and may contradict a claim.

        Each distinct observation is journalled once, and what differs from the one before is told.
        On a target with a virtual network, what a baseline without it shows contradicts no claim.

        Raises:
            PlacementRefused: the roles are not where the spec wants them.
            SiteLost: a connection is lost.
        """
        experiment, nodes = place.experiment, place.nodes()
        self.require_placement(experiment, nodes)
        placed = self.placed.setdefault(experiment.target, {})
        for role, node in nodes.items():
            where = place.site_of(role), node.name
            placed[where] = placed.get(where, frozenset()) | {role}
        new = [facts for facts in _sets(place, nodes) if self._is_new(facts, experiment)]
        for facts in new:
            self._observatory.keep(facts)
        return (
            ()
            if experiment.path in HOST_PATHS and experiment.target in self._virtual
            else tuple(new)
        )

    def require_placement(self, experiment: Experiment, nodes: Mapping[Role, Node]) -> None:
        """Tell of roles that are not where the spec wants them. Raises PlacementRefused."""
        reason = violation(experiment.placement, experiment.roles, nodes)
        if reason is None:
            return
        message = f"{experiment.cell} on {experiment.target}: not measured: {reason}"
        self._observatory.tell(
            Finding(
                code="F201",
                level=FindingLevel.ERROR,
                message=message,
                target=experiment.target,
                experiment_id=experiment.id,
            )
        )
        raise PlacementRefused(
            message, remedy="put the roles on other nodes, or state another `placement`"
        )

    def _is_new(self, facts: FactSet, experiment: Experiment) -> bool:
        """Whether the node did not show just this on the experiment's path before; a change is
        told.
        """
        known = self._shown.setdefault((*facts.place, str(experiment.path)), [])
        if any(_steady(other) == _steady(facts) for other in known):
            return False
        for finding in drift(known[-1], facts) if known else ():
            self._observatory.tell(finding)
        known.append(facts)
        return True


def _steady(facts: FactSet) -> dict[str, Json]:
    """What does not move by itself."""
    kinds = fact_kinds()
    return {
        fact.name: fact.value
        for fact in facts.facts
        if fact.name not in kinds or not kinds[fact.name].moves
    }


def _sets(place: Place, nodes: Mapping[Role, Node]) -> Iterator[FactSet]:
    """What the nodes show in this allocation, once per node."""
    by_node: dict[tuple[str, str], dict[str, Fact]] = {}
    for role, facts in place.observe().items():
        by_node.setdefault((place.site_of(role), nodes[role].name), {}).update(
            {fact.name: fact for fact in facts}
        )
    for (site, node), seen in by_node.items():
        if seen:
            yield FactSet(
                target=place.experiment.target,
                site=site,
                node=node,
                when=ALLOCATED,
                observed_at=time.time(),
                facts=tuple(seen.values()),
                allocation_id=place.allocation_id,
            )
