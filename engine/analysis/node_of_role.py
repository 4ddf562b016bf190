"""On which nodes the roles of a run were, as its trials saw it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..model.results import Trial
from ..model.spec import Experiment, Role

Seats = Mapping[tuple[str, str, str], frozenset[Role]]
"""Roles by target, site and node."""


def seats_of(experiments: Sequence[Experiment], trials: Iterable[Trial]) -> Seats:
    """Every node that had a role in some trial."""
    seen = {
        (trial.experiment_id, role, node) for trial in trials for role, node in trial.nodes.items()
    }
    of = {
        experiment.id: (experiment.target, {place.role: place.site for place in experiment.roles})
        for experiment in experiments
    }
    found: dict[tuple[str, str, str], frozenset[Role]] = {}
    for identity, name, node in seen:
        target, sites = of[identity]
        role = Role(name)
        if role in sites:
            key = target, sites[role], node
            found[key] = found.get(key, frozenset()) | {role}
    return found


def roles_at(seats: Seats, target: str, site: str, node: str) -> frozenset[Role]:
    """The roles of a node; of all nodes of the site for ``""``, which stands for the site as a
    whole or for its only node.
    """
    if node:
        return seats.get((target, site, node), frozenset())
    return frozenset().union(
        *(roles for (whose, where, _), roles in seats.items() if (whose, where) == (target, site))
    )
