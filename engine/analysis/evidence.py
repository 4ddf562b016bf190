"""The observed facts of a run by target, for questions that analysis asks of them: which MTU, and
do two targets match?
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ..model.results import FactSet
from ..model.spec import Experiment, Json, Role, Target, TrafficPath
from .node_of_role import Seats, roles_at
from .reasons import FactDiffers, FactsDiffer, FactUnknown, Mismatch, Shown


class Evidence:
    """Observed values by (target, fact): every distinct value over all sites and moments, so a
    change during the run shows.

    ``seats``: which nodes had which roles; without them nothing is known by role.
    """

    def __init__(
        self,
        facts: Sequence[FactSet],
        experiments: Sequence[Experiment] = (),
        seats: Seats = MappingProxyType({}),
    ) -> None:
        self._targets = frozenset(each.target for each in facts)
        self._roles: dict[str, set[Role]] = {}
        for (target, _, _), seated in seats.items():
            self._roles.setdefault(target, set()).update(seated)
        self._values: dict[tuple[str, str], dict[str, Json]] = {}
        self._of_role: dict[tuple[str, str, Role], dict[str, Json]] = {}
        self._on_path: dict[tuple[str, TrafficPath | None, str], dict[str, Json]] = {}
        paths = {experiment.short_id: experiment.path for experiment in experiments}
        for each in facts:
            whose = next(
                (part for part in each.allocation_id.split("-") if part in paths), None
            )  # see engine/execution/rounds.py
            roles = roles_at(seats, *each.place)
            for fact in each.facts:
                if fact.value is not None:
                    key = _canonical(fact.value)
                    self._values.setdefault((each.target, fact.name), {})[key] = fact.value
                    for role in roles:
                        self._of_role.setdefault((each.target, fact.name, role), {})[key] = (
                            fact.value
                        )
                    if whose is not None:
                        self._on_path.setdefault((each.target, paths[whose], fact.name), {})[
                            key
                        ] = fact.value

    def observed(self, target: str, name: str) -> tuple[Json, ...]:
        """The distinct values observed on ``target``, in a stable order; empty when unknown."""
        return _ordered(self._values.get((target, name), {}))

    def roles(self, target: str) -> frozenset[Role]:
        """The roles whose nodes are known."""
        return frozenset(self._roles.get(target, ()))

    def of_role(self, target: str, name: str, role: Role) -> tuple[Json, ...]:
        """The distinct values observed on the nodes that had ``role``; empty when unknown."""
        return _ordered(self._of_role.get((target, name, role), {}))

    def on_path(self, experiment: Experiment, name: str) -> tuple[Json, ...]:
        """The distinct values that allocations on the experiment's traffic path showed, which are
        stored once per target; empty when unknown.
        """
        return _ordered(self._on_path.get((experiment.target, experiment.path, name), {}))

    def was_observed(self, target: str) -> bool:
        """Whether the target's facts were observed at all (an imported result has none)."""
        return target in self._targets


def mismatch(
    evidence: Evidence, baseline: Target, target: Target, must_match: Sequence[str]
) -> FactsDiffer | None:
    """Why ``target`` may not be compared with ``baseline``, or None.

    Observed facts decide, those of the nodes of one role against those of the same role where both
    targets have it. A fact that was looked for and not found is no match. Only where no facts were
    observed at all (imported results) are the claims compared, and the reason says so.
    """
    shared = sorted(evidence.roles(baseline.name) & evidence.roles(target.name))
    found = tuple(
        each
        for name in must_match
        for each in _mismatches(name, baseline, target, evidence, shared)
    )
    return FactsDiffer(mismatches=found) if found else None


def _mismatches(
    name: str, baseline: Target, target: Target, evidence: Evidence, roles: Sequence[Role]
) -> Iterator[Mismatch]:
    """Why the fact ``name`` does not match: once for all roles of which the same is to be said."""
    found: dict[Mismatch, list[Role]] = {}
    for role in roles:
        each = _mismatch(name, baseline, target, evidence, role)
        if each is not None:
            found.setdefault(each, []).append(role)
    if not roles and (each := _mismatch(name, baseline, target, evidence, None)) is not None:
        yield each
    for each, where in found.items():
        yield each if len(where) == len(roles) else replace(each, roles=tuple(where))


def _mismatch(
    name: str, baseline: Target, target: Target, evidence: Evidence, role: Role | None
) -> Mismatch | None:
    ours, theirs = (_values(name, each, evidence, role) for each in (target, baseline))
    if not ours or not theirs:
        sides = ((target, ours), (baseline, theirs))
        return FactUnknown(
            fact=name, targets=tuple(each.name for each, values in sides if not values)
        )
    if ours.keys() == theirs.keys():
        return None
    return FactDiffers(
        fact=name,
        target=_shown(target, ours, evidence),
        baseline=_shown(baseline, theirs, evidence),
    )


def _values(name: str, target: Target, evidence: Evidence, role: Role | None) -> Mapping[str, Json]:
    """Distinct values by their canonical text."""
    if role is not None:
        return {_canonical(value): value for value in evidence.of_role(target.name, name, role)}
    if evidence.was_observed(target.name):
        return {_canonical(value): value for value in evidence.observed(target.name, name)}
    declared = target.claims.get(name)
    return {} if declared is None else {_canonical(declared): declared}


def _shown(target: Target, values: Mapping[str, Json], evidence: Evidence) -> Shown:
    return Shown(
        target=target.name,
        values=tuple(values),
        declared=not evidence.was_observed(target.name),
    )


def _ordered(values: Mapping[str, Json]) -> tuple[Json, ...]:
    return tuple(values[key] for key in sorted(values))


def _canonical(value: Json) -> str:
    """JSON with sorted keys; whole floats as integers, so that 1500.0 matches 1500."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
