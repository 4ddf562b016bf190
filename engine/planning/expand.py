"""From a spec to its experiments: target x workload x point of the matrix. Pure and deterministic;
needs no target.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..model.contract.workload import Workload
from ..model.errors import SpecError, UnitError
from ..model.spec import (
    HOST_PATHS,
    Experiment,
    Json,
    Placement,
    Role,
    RolePlace,
    Spec,
    Target,
    TrafficPath,
    WorkloadSpec,
)
from ..model.units import Dimension, parse_quantity
from . import identity, matrix
from .matrix import SITUATION, Labels, Point, baseline_point, suggest

MAX_EXPERIMENTS = 10_000
ANY_ROLE = "any"
OVERRIDABLE = ("with", "cpus", "gates", "image", "machine", "path", "placement", "primary")


def expand(
    spec: Spec, workloads: Mapping[str, Workload], *, max_experiments: int = MAX_EXPERIMENTS
) -> tuple[Experiment, ...]:
    """Return every experiment of ``spec``: workloads in the spec's order, then points, then
    targets. Ids are unique.

    A workload with a ``baseline`` has, beside each virtual path, the same experiment on the path of
    the baseline, once for every target and point.

    Raises:
        SpecError: too many experiments, an unknown tool, a contradictory axis or override, or a
            role without a site.
    """
    _check_count(spec, max_experiments)
    seen: set[str] = set()
    return tuple(
        _tell_apart(found, seen)
        for workload in spec.workloads
        for found in _experiments(spec, workload, _tool(workload, workloads))
    )


def _check_count(spec: Spec, maximum: int) -> None:
    counts = [
        matrix.count(matrix.axes_of(workload))
        * len(_targets(spec, workload))
        * (2 if workload.baseline else 1)
        for workload in spec.workloads
    ]
    if sum(counts) <= maximum:
        return
    largest, workload = max(zip(counts, spec.workloads, strict=True), key=lambda pair: pair[0])
    axes = [f"{axis} ({len(values)})" for axis, values in (*workload.matrix, *workload.zip)]
    factors = " x ".join([f"targets ({len(_targets(spec, workload))})", *axes])
    raise SpecError(
        f"found {sum(counts)} experiments before exclusion, expected at most {maximum}; {largest}"
        f" of them are {factors}",
        where=f"workloads.{workload.name}",
        remedy="shorten an axis, restrict the workload's targets, or raise --max-experiments",
    )


def _targets(spec: Spec, workload: WorkloadSpec) -> list[Target]:
    known = [target.name for target in spec.targets]
    for name in (*(workload.targets or ()), *workload.overrides):
        if name not in known:
            raise SpecError(
                f"found unknown target {name!r}{suggest(name, known)}",
                where=f"workloads.{workload.name}",
            )
    return [
        target
        for target in spec.targets
        if workload.targets is None or target.name in workload.targets
    ]


def _tool(workload: WorkloadSpec, workloads: Mapping[str, Workload]) -> Workload:
    try:
        return workloads[workload.tool]
    except KeyError as error:
        known = sorted(workloads)
        message = (
            f"found unknown tool {workload.tool!r}, expected one of"
            f" {', '.join(known)}{suggest(workload.tool, known)}"
        )
        raise SpecError(message, where=f"workloads.{workload.name}.tool") from error


def _experiments(spec: Spec, workload: WorkloadSpec, tool: Workload) -> Iterator[Experiment]:
    targets = _targets(spec, workload)
    for target in targets:
        _check_override(workload, target.name)
    points = list(matrix.points(workload))
    there = {(target.name, point.labels) for point in points for target in targets}
    for point in points:
        for target in targets:
            experiment = _experiment(workload, tool, target, point)
            yield experiment
            beside = _beside(experiment, target, workload)
            if (
                beside is not None and (target.name, beside.point) not in there
            ):  # several paths share one baseline
                there.add((target.name, beside.point))
                yield beside


def _check_override(workload: WorkloadSpec, target: str) -> None:
    """A scalar axis is what its label says on every target; an override must not make the label
    lie.
    """
    override = workload.overrides.get(target, {})
    where = f"workloads.{workload.name}.overrides.{target}"
    for key in override:
        if key not in OVERRIDABLE and not key.startswith("x-"):
            known = list(OVERRIDABLE)
            raise SpecError(
                f"found unknown key {key!r}, expected one of"
                f" {', '.join(known)}{suggest(key, known)}",
                where=where,
            )
    changed = {*_mapping(override, "with"), *override.keys() & set(SITUATION)}
    for axis, values in (*workload.matrix, *workload.zip):
        if axis in changed and not all(isinstance(value, Mapping) for value in values):
            raise SpecError(
                f"found {axis!r}, which is an axis of the workload",
                where=where,
                remedy=f"exclude points of {axis!r} instead",
            )


def _mapping(mapping: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    found = mapping.get(key)
    return found if isinstance(found, Mapping) else {}


def _experiment(workload: WorkloadSpec, tool: Workload, target: Target, point: Point) -> Experiment:
    override = workload.overrides.get(target.name, {})
    values, situation = _values(point)
    parameters = without_notes({**workload.parameters, **values, **_mapping(override, "with")})
    path, placement = (override.get(key) or situation.get(key) for key in SITUATION)
    cpus = read_cpus(override["cpus"]) if "cpus" in override else workload.cpus or target.cpus
    primary, image = (
        override.get("primary") or workload.primary,
        override.get("image") or workload.image,
    )
    experiment = Experiment(
        id="",
        target=target.name,
        workload=workload.name,
        title=_title(workload, point.labels, target),
        point=point.labels,
        tool=workload.tool,
        parameters=parameters,
        roles=deal(tool.ROLES, cpus, target),
        path=TrafficPath(str(path)) if path else workload.path,
        placement=Placement(str(placement)) if placement else workload.placement,
        gates={**tool.DEFAULT_GATES, **workload.gates, **read_gates(_mapping(override, "gates"))},
        primary=str(primary or tool.primary(parameters)),
        image=None if image is None else str(image),
        storage=target.storage,
    )
    return replace(
        experiment,
        id=identity.digest(identity.meaning(target, experiment, _machine(workload, target))),
    )


def _machine(workload: WorkloadSpec, target: Target) -> str | None:
    machine = workload.overrides.get(target.name, {}).get("machine")
    return None if machine is None else str(machine)


def _beside(experiment: Experiment, target: Target, workload: WorkloadSpec) -> Experiment | None:
    """``experiment`` on the path of the workload's baseline, as a point of its own; None where it
    takes no virtual path.
    """
    path = workload.baseline
    if path is None or experiment.path is None or experiment.path in HOST_PATHS:
        return None
    labels = baseline_point(experiment.point, path)
    moved = replace(
        experiment, id="", path=path, point=labels, title=_title(workload, labels, target)
    )
    return replace(
        moved, id=identity.digest(identity.meaning(target, moved, _machine(workload, target)))
    )


def _values(point: Point) -> tuple[dict[str, Json], dict[str, Json]]:
    """What the point sets, for the tool and for where it runs."""
    values: dict[str, Json] = {}
    situation: dict[str, Json] = {}
    for setting in point.settings:
        (situation if setting.of_situation else values)[setting.key] = setting.value
    return values, situation


def without_notes(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """``parameters`` without the author's own ``x-`` keys, on every level: neither the tool nor the
    id should see them.
    """
    return {
        key: without_notes(value) if isinstance(value, Mapping) else value
        for key, value in parameters.items()
        if not key.startswith("x-")
    }


def _title(workload: WorkloadSpec, point: Labels, target: Target) -> str:
    axes = ", ".join(f"{axis} {text}" for axis, text in point)
    return (
        f"{workload.title}, {axes} on {target.title}"
        if axes
        else f"{workload.title} on {target.title}"
    )


def read_cpus(value: Json) -> Mapping[str, tuple[int, ...]]:
    """The ``cpus`` of an override as in the model: by role, a plain list under ``any``."""
    by_role = value if isinstance(value, Mapping) else {ANY_ROLE: value}
    return {
        role: tuple(n for n in numbers if isinstance(n, int))
        for role, numbers in by_role.items()
        if isinstance(numbers, Sequence)
    }


def read_gates(bounds: Mapping[str, Json]) -> dict[str, float]:
    """The ``gates`` of an override in base units."""
    return {name: _bound(name, bound) for name, bound in bounds.items()}


def _bound(name: str, bound: Json) -> float:
    if isinstance(bound, int | float):
        return float(bound)
    dimension = Dimension.TIME if name == "min_duration" else Dimension.RATIO
    try:
        return parse_quantity(str(bound), dimension)
    except UnitError as error:
        raise UnitError(error.message, where=f"gates.{name}") from error


def deal(
    roles: Sequence[Role], cpus: Mapping[str, tuple[int, ...]], target: Target
) -> tuple[RolePlace, ...]:
    """Place ``roles`` on the target's sites and deal them CPUs.

    A role named in ``cpus`` has those. The others are dealt the ``any`` list in order, evenly and
    contiguously, the first ones taking what is left over, so that each has CPUs of its own; when
    there are fewer CPUs than roles they all share the whole list.

    Raises:
        SpecError: the target has no site for a role.
    """
    free = [role for role in roles if role.value not in cpus]
    shares = dict(zip(free, _shares(cpus.get(ANY_ROLE, ()), len(free)), strict=True))
    return tuple(
        RolePlace(
            role=role, site=_site(target, role), cpus=cpus.get(role.value, shares.get(role, ()))
        )
        for role in roles
    )


def _shares(numbers: tuple[int, ...], parts: int) -> list[tuple[int, ...]]:
    if len(numbers) < parts:
        return [numbers] * parts
    size, rest = divmod(len(numbers), parts) if parts else (0, 0)
    ends = list(itertools.accumulate(size + (part < rest) for part in range(parts)))
    return [numbers[end - size - (part < rest) : end] for part, end in enumerate(ends)]


def _site(target: Target, role: Role) -> str:
    site = target.sites.get(role.value) or target.sites.get(ANY_ROLE)
    if site is None:
        known = ", ".join(sorted(target.sites)) or "none"
        message = f"found no site for the role {role.value!r} (roles with a site: {known})"
        raise SpecError(
            message, where=f"targets.{target.name}.sites", remedy=f"add `{role.value}: SITE`"
        )
    return site.name


def _tell_apart(experiment: Experiment, seen: set[str]) -> Experiment:
    """Keep ids unique where two experiments mean the same (a target against itself): the first
    keeps its id, a later one mixes in its name.
    """
    if experiment.id in seen:
        experiment = replace(
            experiment,
            id=identity.digest(
                {"twin of": experiment.id, "target": experiment.target, "cell": experiment.cell}
            ),
        )
    seen.add(experiment.id)
    return experiment
