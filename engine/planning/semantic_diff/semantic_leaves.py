"""The meanings of a spec as leaves by path, each with what it is about, so that two specs can be
held against each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum

from ...model import codec
from ...model.spec import (
    Comparison,
    Experiment,
    Json,
    Limit,
    Method,
    ReportOptions,
    Spec,
    Target,
    WorkloadSpec,
)
from ...model.units import Dimension, scale_for
from .. import identity, matrix


class Subject(StrEnum):
    """What a meaning is about, from what decides results to what only describes them."""

    ENVIRONMENT = "environment"
    WORKLOAD = "workload"
    METHOD = "method"
    JUDGEMENT = "judgement"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """One value with its subject and area (``cni``, ``machine``, ``gates``)."""

    subject: Subject
    area: str
    value: Json


Meanings = Iterator[tuple[str, Meaning]]


def of_spec(spec: Spec) -> Meanings:
    """Every leaf of what ``spec`` means; a path that comes twice holds the same value, the later
    spelling being the reader's.
    """
    for name, value in (
        ("name", spec.name),
        ("title", spec.title),
        ("description", spec.description or None),
        ("labels", spec.labels),
    ):
        yield from _leaves(name, Subject.REPORT, name, value)
    for target in spec.targets:
        yield from _of_target(target)
    for workload in spec.workloads:
        yield from _of_workload(workload)
    yield from _leaves("method", Subject.METHOD, "method", _with_defaults(spec.method))
    yield from _leaves(
        "compare",
        Subject.JUDGEMENT,
        "compare",
        _with_defaults(spec.compare) if spec.compare else None,
    )
    yield from _leaves("report", Subject.REPORT, "report", _with_defaults(spec.report))


def _with_defaults(section: Method | Comparison | ReportOptions) -> dict[str, Json]:
    """Every field: a reader wants to see "10 to 30", not that 30 was added to a section that did
    not say 10.
    """
    return {field.name: codec.encode(getattr(section, field.name)) for field in fields(section)}


def of_experiment(spec: Spec, experiment: Experiment) -> Meanings:
    """Every leaf of what decides the result of ``experiment``: the parts of its id."""
    meaning = identity.meaning(
        spec.target(experiment.target), experiment, identity.machine_override(spec, experiment)
    )
    for section in ("claims", "runners", "components", "storage", "cpus"):
        yield from _leaves(
            "" if section == "claims" else section, Subject.ENVIRONMENT, None, meaning.pop(section)
        )
    for section, value in meaning.items():
        yield from _leaves(section, Subject.WORKLOAD, section, value)


def _of_target(target: Target) -> Meanings:
    at = f"targets.{target.name}"
    yield from _leaves(f"{at}.title", Subject.REPORT, "title", target.title)
    yield from _leaves(
        f"{at}.description", Subject.REPORT, "description", target.document.get("description")
    )
    yield from _leaves(f"{at}.environment", Subject.JUDGEMENT, "compare", target.environment)
    for name, value in target.claims.items():
        if name != "net.mtu" or value != target.claims.get("cni.mtu"):  # one claim under two names
            yield from _leaves(f"{at}.{name}", Subject.ENVIRONMENT, _area(name), value)
    yield from _leaves(f"{at}.storage", Subject.ENVIRONMENT, "storage", target.storage)
    for role, site in target.sites.items():
        yield from _leaves(
            f"{at}.sites.{role}", Subject.ENVIRONMENT, "site", {"kind": site.runner, **site.options}
        )
    yield from _leaves(f"{at}.cpus", Subject.ENVIRONMENT, "cpus", target.cpus)
    yield from _leaves(
        f"{at}.lifecycle", Subject.ENVIRONMENT, "lifecycle", codec.encode(target.lifecycle)
    )
    for component in target.components:
        yield from _leaves(
            f"{at}.components.{component.name}",
            Subject.ENVIRONMENT,
            "component",
            codec.encode(component),
        )
    for limit in target.limits:
        names = [
            *([limit.applies_to] if limit.applies_to else []),
            *(f"{axis}={label}" for axis, label in limit.where),
        ]
        of = f"({', '.join(names)})" if names else ""
        yield from _leaves(
            f"{at}.limits.{limit.metric}{of}", Subject.JUDGEMENT, "limit", _readable(limit)
        )
    yield from _leaves(
        f"{at}.price",
        Subject.JUDGEMENT,
        "price",
        codec.encode(target.price) if target.price else None,
    )


def _readable(limit: Limit) -> dict[str, Json]:
    """A limit with its rates as text, and ``burst`` only where it is one."""
    dimension = Dimension(limit.unit)
    rates = {"sustained": limit.sustained} | (
        {"burst": limit.burst} if limit.burst != limit.sustained else {}
    )
    factor, unit = scale_for(list(rates.values()), dimension)
    return {
        **codec.encode(limit),
        "burst": None,
        **{name: f"{rate / factor:.12g} {unit}" for name, rate in rates.items()},
    }


_APART = ("name", "title", "primary", "matrix", "zip", "sweep")


def _of_workload(workload: WorkloadSpec) -> Meanings:
    at = f"workloads.{workload.name}"
    yield from _leaves(f"{at}.title", Subject.REPORT, "title", workload.title)
    yield from _leaves(f"{at}.primary", Subject.JUDGEMENT, "primary", workload.primary)
    yield from _leaves(
        f"{at}.sweep",
        Subject.JUDGEMENT,
        "sweep",
        codec.encode(workload.sweep) if workload.sweep else None,
    )
    for section, value in codec.encode(workload).items():
        if section not in _APART:
            yield from _leaves(f"{at}.{section}", Subject.WORKLOAD, section, value)
    for section, axes in (("matrix", workload.matrix), ("zip", workload.zip)):
        for axis, values in axes:
            yield from _leaves(
                f"{at}.{section}.{axis}",
                Subject.WORKLOAD,
                section,
                {matrix.label(value): value for value in values},
            )


def _leaves(path: str, subject: Subject, area: str | None, value: Json) -> Meanings:
    """The leaves at and below ``path``; None and an empty value mean that there is nothing."""
    for name, leaf in identity.leaves(value, path):
        if leaf is not None and (isinstance(leaf, str | bool | int | float) or leaf):
            yield name, Meaning(subject=subject, area=area or _area(name), value=leaf)


def _area(path: str) -> str:
    """The first word of a claim's name, without its node group: ``cni`` of ``cni.version``."""
    return path.rpartition("/")[2].partition(".")[0]
