"""The observed facts of a run by target, for questions that analysis asks of them: which MTU, and do two targets match?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ..results import FactSet
from ..spec import Experiment, Json, Role, Target, TrafficPath
from .placed import Seats, roles_at


class Evidence:
    """Observed values by (target, fact): every distinct value over all sites and moments, so a change during the run shows.

    ``seats``: which nodes had which roles; without them nothing is known by role.
    """

    def __init__(self, facts: Sequence[FactSet], experiments: Sequence[Experiment] = (), seats: Seats = MappingProxyType({})) -> None:
        self._targets = frozenset(each.target for each in facts)
        self._roles: dict[str, set[Role]] = {}
        for (target, _, _), seated in seats.items():
            self._roles.setdefault(target, set()).update(seated)
        self._values: dict[tuple[str, str], dict[str, Json]] = {}
        self._of_role: dict[tuple[str, str, Role], dict[str, Json]] = {}
        self._on_path: dict[tuple[str, TrafficPath | None, str], dict[str, Json]] = {}
        paths = {experiment.short_id: experiment.path for experiment in experiments}
        for each in facts:
            whose = next((part for part in each.allocation_id.split("-") if part in paths), None)  # see engine/execute/rounds.py
            roles = roles_at(seats, *each.place)
            for fact in each.facts:
                if fact.value is not None:
                    key = _canonical(fact.value)
                    self._values.setdefault((each.target, fact.name), {})[key] = fact.value
                    for role in roles:
                        self._of_role.setdefault((each.target, fact.name, role), {})[key] = fact.value
                    if whose is not None:
                        self._on_path.setdefault((each.target, paths[whose], fact.name), {})[key] = fact.value

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
        """The distinct values that allocations on the experiment's traffic path showed, which are stored once per target; empty when unknown."""
        return _ordered(self._on_path.get((experiment.target, experiment.path, name), {}))

    def was_observed(self, target: str) -> bool:
        """Whether the target's facts were observed at all (an imported result has none)."""
        return target in self._targets


def mismatch(evidence: Evidence, baseline: Target, target: Target, must_match: Sequence[str]) -> str | None:
    """Why ``target`` may not be compared with ``baseline``, or None.

    Observed facts decide, those of the nodes of one role against those of the same role where both targets have it. A fact that was looked for
    and not found is no match. Only where no facts were observed at all (imported results) are the claims compared, and the text says so.
    """
    shared = sorted(evidence.roles(baseline.name) & evidence.roles(target.name))
    reasons = [reason for name in must_match for reason in _reasons(name, baseline, target, evidence, shared)]
    return "; ".join(reasons) or None


def _reasons(name: str, baseline: Target, target: Target, evidence: Evidence, roles: Sequence[Role]) -> Iterator[str]:
    """Why the fact ``name`` does not match: once for all roles of which the same is to be said."""
    said: dict[str, list[Role]] = {}
    for role in roles:
        reason = _reason(name, baseline, target, evidence, role)
        if reason is not None:
            said.setdefault(reason, []).append(role)
    if not roles and (reason := _reason(name, baseline, target, evidence, None)) is not None:
        yield reason
    for reason, where in said.items():
        yield reason if len(where) == len(roles) else f"{reason} (nodes of the {' and the '.join(where)})"


def _reason(name: str, baseline: Target, target: Target, evidence: Evidence, role: Role | None) -> str | None:
    ours, theirs = (_values(name, each, evidence, role) for each in (target, baseline))
    if not ours or not theirs:
        unknown = " and ".join(each.name for each, values in ((target, ours), (baseline, theirs)) if not values)
        return f"{name} must match and is unknown on {unknown}"
    if ours.keys() == theirs.keys():
        return None
    found = ", ".join(f"{', '.join(values)} on {each.name}{_how(each, evidence)}" for each, values in ((target, ours), (baseline, theirs)))
    return f"{name} must match: {found}"


def _values(name: str, target: Target, evidence: Evidence, role: Role | None) -> Mapping[str, Json]:
    """Distinct values by their canonical text."""
    if role is not None:
        return {_canonical(value): value for value in evidence.of_role(target.name, name, role)}
    if evidence.was_observed(target.name):
        return {_canonical(value): value for value in evidence.observed(target.name, name)}
    declared = target.claims.get(name)
    return {} if declared is None else {_canonical(declared): declared}


def _how(target: Target, evidence: Evidence) -> str:
    return "" if evidence.was_observed(target.name) else " (declared)"


def _ordered(values: Mapping[str, Json]) -> tuple[Json, ...]:
    return tuple(values[key] for key in sorted(values))


def _canonical(value: Json) -> str:
    """JSON with sorted keys; whole floats as integers, so that 1500.0 matches 1500."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
