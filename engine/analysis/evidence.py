"""The observed facts of a run by target, for questions that analysis asks of them: which MTU, and do two targets match?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..results import FactSet
from ..spec import Experiment, Json, Target, TrafficPath


class Evidence:
    """Observed values by (target, fact): every distinct value over all sites and moments, so a change during the run shows."""

    def __init__(self, facts: Sequence[FactSet], experiments: Sequence[Experiment] = ()) -> None:
        self._targets = frozenset(each.target for each in facts)
        self._values: dict[tuple[str, str], dict[str, Json]] = {}
        self._on_path: dict[tuple[str, TrafficPath | None, str], dict[str, Json]] = {}
        paths = {experiment.short_id: experiment.path for experiment in experiments}
        for each in facts:
            whose = next((part for part in each.allocation_id.split("-") if part in paths), None)  # see engine/execute/rounds.py
            for fact in each.facts:
                if fact.value is not None:
                    key = _canonical(fact.value)
                    self._values.setdefault((each.target, fact.name), {})[key] = fact.value
                    if whose is not None:
                        self._on_path.setdefault((each.target, paths[whose], fact.name), {})[key] = fact.value

    def observed(self, target: str, name: str) -> tuple[Json, ...]:
        """The distinct values observed on ``target``, in a stable order; empty when unknown."""
        return _ordered(self._values.get((target, name), {}))

    def on_path(self, experiment: Experiment, name: str) -> tuple[Json, ...]:
        """The distinct values that allocations on the experiment's traffic path showed, which are stored once per target; empty when unknown."""
        return _ordered(self._on_path.get((experiment.target, experiment.path, name), {}))

    def was_observed(self, target: str) -> bool:
        """Whether the target's facts were observed at all (an imported result has none)."""
        return target in self._targets


def mismatch(evidence: Evidence, baseline: Target, target: Target, must_match: Sequence[str]) -> str | None:
    """Why ``target`` may not be compared with ``baseline``, or None.

    Observed facts decide. A fact that was looked for and not found is no match. Only where no facts were observed at all (imported results)
    are the claims compared, and the text says so.
    """
    reasons = [_reason(name, baseline, target, evidence) for name in must_match]
    return "; ".join(reason for reason in reasons if reason) or None


def _reason(name: str, baseline: Target, target: Target, evidence: Evidence) -> str | None:
    ours, theirs = (_values(name, each, evidence) for each in (target, baseline))
    if not ours or not theirs:
        unknown = " and ".join(each.name for each, values in ((target, ours), (baseline, theirs)) if not values)
        return f"{name} must match and is unknown on {unknown}"
    if ours.keys() == theirs.keys():
        return None
    found = ", ".join(f"{', '.join(values)} on {each.name}{_how(each, evidence)}" for each, values in ((target, ours), (baseline, theirs)))
    return f"{name} must match: {found}"


def _values(name: str, target: Target, evidence: Evidence) -> Mapping[str, Json]:
    """Distinct values by their canonical text."""
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
