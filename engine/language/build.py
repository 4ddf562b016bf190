"""From a validated document to the typed model. Called when a spec is loaded, and again when a run
directory is read back.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.spec import (
    Comparison,
    Json,
    Method,
    Mode,
    Order,
    Placement,
    Precision,
    ReportOptions,
    Spec,
    Sweep,
    TrafficPath,
    WorkloadSpec,
)
from ..model.text.json_access import items, mapping, quantity, text
from ..model.units import Dimension
from .build_target import build_cpus, build_target

BASELINES = {"host": TrafficPath.HOST_TO_HOST}
"""What a workload's ``baseline`` may be, and the path it stands for."""


def build_spec(document: Mapping[str, Json]) -> Spec:
    """The model of a resolved document that has no errors."""
    sites = mapping(document.get("sites"))
    return Spec(
        api_version=text(document["apiVersion"]),
        name=text(document["name"]),
        title=text(document["title"]),
        description=text(document.get("description")),
        targets=tuple(
            build_target(name, mapping(target), sites)
            for name, target in mapping(document["targets"]).items()
            if not name.startswith("x-")
        ),
        workloads=tuple(
            _workload(name, mapping(found))
            for name, found in mapping(document["workloads"]).items()
            if not name.startswith("x-")
        ),
        method=build_method(mapping(document.get("method"))),
        compare=_comparison(mapping(document["compare"])) if "compare" in document else None,
        report=_report(mapping(document.get("report"))),
        labels={name: text(label) for name, label in mapping(document.get("labels")).items()},
    )


def _workload(name: str, found: Mapping[str, Json]) -> WorkloadSpec:
    targets = items(found["targets"]) if "targets" in found else None
    return WorkloadSpec(
        name=name,
        title=text(found.get("title")) or name,
        tool=text(found["tool"]),
        parameters=mapping(found.get("with")),
        matrix=_axes(found, "matrix"),
        zip=_axes(found, "zip"),
        exclude=tuple(mapping(entry) for entry in items(found.get("exclude"))),
        path=TrafficPath(text(found["path"])) if "path" in found else None,
        placement=Placement(text(found["placement"])) if "placement" in found else Placement.ANY,
        cpus=build_cpus(found.get("cpus")),
        gates=_gates(mapping(found.get("gates"))),
        primary=text(found.get("primary")) or None,
        image=text(found.get("image")) or None,
        targets=None if targets is None else tuple(map(text, targets)),
        sweep=_sweep(mapping(found["sweep"])) if "sweep" in found else None,
        baseline=BASELINES[text(found["baseline"])] if "baseline" in found else None,
        overrides={
            target: mapping(override)
            for target, override in mapping(found.get("overrides")).items()
            if not target.startswith("x-")
        },
    )


def _sweep(found: Mapping[str, Json]) -> Sweep:
    default = Sweep(axis=text(found["axis"]))
    return Sweep(axis=default.axis, gain=_quantity(found, "gain", Dimension.RATIO, default.gain))


def _axes(found: Mapping[str, Json], section: str) -> tuple[tuple[str, tuple[Json, ...]], ...]:
    return tuple(
        (axis, tuple(items(values))) for axis, values in mapping(found.get(section)).items()
    )


def _gates(found: Mapping[str, Json]) -> dict[str, float]:
    """Bounds in base units: s for a duration, a number for samples, ratios for the rest."""
    bounds: dict[str, float] = {}
    for name, bound in found.items():
        value = (
            float(bound)
            if name == "min_samples" and isinstance(bound, int)
            else quantity(bound, _gate_dimension(name))
        )
        if value is not None and not name.startswith("x-"):
            bounds[name] = value
    return bounds


def _gate_dimension(name: str) -> Dimension:
    return Dimension.TIME if name == "min_duration" else Dimension.RATIO


def build_method(found: Mapping[str, Json]) -> Method:
    """The ``method`` section; what it leaves out has the model's defaults."""
    default = Method()
    stop = mapping(found.get("precision"))
    return Method(
        sessions=_integer(found, "sessions", default.sessions),
        trials=_integer(found, "trials", default.trials),
        warmups=_integer(found, "warmups", default.warmups),
        order=Order(text(found.get("order")) or default.order),
        seed=_integer(found, "seed", default.seed),
        mode=Mode(text(found.get("mode")) or default.mode),
        confidence=_number(found, "confidence", default.confidence),
        cooldown_s=_quantity(found, "cooldown", Dimension.TIME, default.cooldown_s),
        replacements=_integer(found, "replacements", default.replacements),
        retries=_integer(found, "retries", default.retries),
        precision=Precision(
            half_width=_quantity(stop, "half_width", Dimension.RATIO, 0.0),
            max_sessions=_integer(stop, "max_sessions", 0),
        )
        if stop
        else None,
    )


def _comparison(found: Mapping[str, Json]) -> Comparison:
    margin = quantity(found.get("equivalence"), Dimension.RATIO)
    names = tuple(map(text, items(found["baseline"]))) or (text(found["baseline"]),)
    return Comparison(
        baseline=names if len(names) > 1 else names[0],
        equivalence=Comparison(baseline="").equivalence if margin is None else margin,
        must_match=tuple(map(text, items(found.get("must_match")))),
    )


def _report(found: Mapping[str, Json]) -> ReportOptions:
    figures = (
        tuple(map(text, items(found["figures"]))) if "figures" in found else ReportOptions().figures
    )
    return ReportOptions(
        docs=text(found.get("docs")) or None,
        template=text(found.get("template")) or None,
        figures=figures,
    )


def _integer(found: Mapping[str, Json], key: str, default: int) -> int:
    value = found.get(key, default)
    return int(value) if isinstance(value, int | float) else default


def _number(found: Mapping[str, Json], key: str, default: float) -> float:
    value = found.get(key, default)
    return float(value) if isinstance(value, int | float) else default


def _quantity(found: Mapping[str, Json], key: str, dimension: Dimension, default: float) -> float:
    value = quantity(found.get(key), dimension)
    return default if value is None else value
