"""Targets that are set exactly like their baseline: a comparison of them is an A/A run, and what it
shows is the noise of the method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..model.spec import Json, Spec, Target, WorkloadSpec
from .baselines import held_against
from .expand import read_cpus, read_gates, without_notes
from .identity import canonical, target_claims


def same_settings(spec: Spec) -> dict[str, str]:
    """Every compared target that means the same as the baseline of its environment on every
    workload, apart from name, title, limits and price; and that baseline.

    It is asked more than the id of an experiment is: places, lifecycles and topology must be the
    same as well, so that another host or another script is never taken for the same settings.
    """
    against = held_against(spec)
    named = {name: spec.target(name) for name in {*against, *against.values()}}
    return {
        name: base
        for name, base in against.items()
        if _bare(named[name]) == _bare(named[base]) and _on_all(spec, named[base], named[name])
    }


def _bare(target: Target) -> Target:
    """``target`` without what decides no result."""
    return replace(
        target,
        name="",
        title="",
        claims=_mapping(canonical(target.claims)),
        document={},
        sites={role: replace(site, name="") for role, site in target.sites.items()}
        if "runner" in target.document
        else target.sites,
        storage=_mapping(canonical(target.storage)),
        limits=(),
        price=None,
    )


def _on_all(spec: Spec, base: Target, target: Target) -> bool:
    """Whether both run the same workloads, at least one, with the same settings."""
    theirs, ours = (
        {
            workload.name: _settings(workload, each)
            for workload in spec.workloads
            if workload.targets is None or each.name in workload.targets
        }
        for each in (base, target)
    )
    return bool(ours) and ours == theirs


def _settings(workload: WorkloadSpec, target: Target) -> dict[str, Json]:
    """What ``workload`` sets on ``target``. An override that says what holds anyway changes
    nothing; one of what an axis sets counts as it stands.
    """
    override = workload.overrides.get(target.name, {})
    machine = override.get("machine")
    given, own = without_notes(workload.parameters), without_notes(_mapping(override.get("with")))
    varied = {
        key
        for _, values in (*workload.matrix, *workload.zip)
        for value in values
        for key in _mapping(value)
    }
    replaced = {
        key: value
        for key, value in own.items()
        if key in varied or key not in given or canonical(value) != canonical(given[key])
    }
    cpus = read_cpus(override["cpus"]) if "cpus" in override else workload.cpus or target.cpus
    return {
        "claims": canonical(target_claims(target, None if machine is None else str(machine))),
        "parameters": canonical(replaced),
        "path": str(override.get("path") or workload.path),
        "placement": str(override.get("placement") or workload.placement),
        "image": str(override.get("image") or workload.image),
        "cpus": {role: list(numbers) for role, numbers in cpus.items()},
        "gates": {**workload.gates, **read_gates(_mapping(override.get("gates")))},
        "primary": str(override.get("primary") or workload.primary),
    }


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
