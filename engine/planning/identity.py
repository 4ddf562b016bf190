"""What an experiment means, and the hash of it. Two specs that mean the same give the same id,
however they are written.

The meaning is what decides a result: the target's claims, runner kinds and components, the tool and
its parameters, path, placement, CPUs, gates, image and storage. Names, titles, descriptions,
labels, limits, prices, the method and the report are not part of it, and of a secret only the
reference is. Quantities count by value: ``60 s``, ``60s`` and ``1 min`` mean the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ..model.errors import UnitError
from ..model.spec import Experiment, Json, Spec, Target
from ..model.units import Dimension, format_exact, parse_quantity

MACHINE = "machine.type"
_LIKE_QUANTITY = re.compile(
    r"^\s*[+-]?\.?\d.*[^\d.\s]\s*$", re.ASCII | re.DOTALL
)  # a unit at its end: the version 1.10 is not 1.1


def digest(meaning: Mapping[str, Json]) -> str:
    """The sha256 (hex) of ``meaning`` as canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(canonical(meaning), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Json) -> Json:
    """``value`` in the one spelling of its meaning: quantities in base units, whole floats as
    integers.
    """
    if isinstance(value, str):
        return _canonical_text(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [canonical(item) for item in value]
    return value


@lru_cache(maxsize=4096)
def _canonical_text(text: str) -> str:
    if not _LIKE_QUANTITY.match(text):
        return text
    for dimension in Dimension:
        try:
            return format_exact(parse_quantity(text, dimension), dimension)
        except UnitError:
            continue
    return text


def target_claims(target: Target, machine: str | None) -> Mapping[str, Json]:
    """The target's claims, with every machine type replaced by ``machine`` where a workload runs on
    another one.
    """
    if machine is None:
        return target.claims
    kept = {
        name: value for name, value in target.claims.items() if name.rpartition("/")[2] != MACHINE
    }
    replaced = [name for name in target.claims if name.rpartition("/")[2] == MACHINE] or [MACHINE]
    return kept | dict.fromkeys(replaced, machine)


def machine_override(spec: Spec, experiment: Experiment) -> str | None:
    """The machine type the spec gives ``experiment`` in place of its target's; None when it has
    none.
    """
    workload = next(w for w in spec.workloads if w.name == experiment.workload)
    machine = workload.overrides.get(experiment.target, {}).get("machine")
    return None if machine is None else str(machine)


def meaning(target: Target, experiment: Experiment, machine: str | None = None) -> dict[str, Json]:
    """Everything that decides the result of ``experiment``, as JSON values."""
    places = {place.role.value: place for place in experiment.roles}
    runners = {site.name: site.runner for site in target.sites.values()}
    return {
        "claims": target_claims(target, machine),
        "runners": {role: runners[place.site] for role, place in places.items()},
        "components": {component.name: component.version for component in target.components},
        "tool": experiment.tool,
        "parameters": experiment.parameters,
        "path": experiment.path,
        "placement": experiment.placement,
        "cpus": {role: place.cpus for role, place in places.items()},
        "gates": experiment.gates,
        "image": experiment.image,
        "storage": experiment.storage,
    }


def leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """The leaves of a nested value with their dotted paths: scalars, lists of scalars, and what is
    empty. Other lists count by index.
    """
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str) and any(map(_is_nested, value)):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def _is_nested(value: Json) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)
