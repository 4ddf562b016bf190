"""Specs and workloads made by hand, for tests of what happens after loading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchspec.engine.model.contract.values import Commands, Completed, Surroundings, Tool
from benchspec.engine.model.results import Measurement, Metric
from benchspec.engine.model.spec import (
    Comparison,
    Experiment,
    Json,
    LoadedSpec,
    Method,
    ReportOptions,
    Role,
    Site,
    Spec,
    Target,
    WorkloadSpec,
)


class Network:
    """A workload with a client and a server whose trials take ``seconds`` s."""

    NAME = "network"
    METRICS: Sequence[Metric] = ()
    ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
    DEFAULT_GATES: Mapping[str, float] = {"min_duration": 0.5, "min_samples": 1.0}

    def metrics(self, parameters: Mapping[str, Json]) -> Sequence[Metric]:
        return self.METRICS

    def tools(self, parameters: Mapping[str, Json]) -> Sequence[Tool]:
        return ()

    def primary(self, parameters: Mapping[str, Json]) -> str:
        return "jitter" if parameters.get("protocol") == "udp" else "throughput"

    def duration_s(self, parameters: Mapping[str, Json]) -> float:
        seconds = parameters.get("seconds", 1)
        return float(seconds) if isinstance(seconds, int | float) else 1.0

    def commands(self, experiment: Experiment, surroundings: Surroundings) -> Commands:
        raise NotImplementedError

    def parse(
        self, completed: Sequence[Completed], parameters: Mapping[str, Json]
    ) -> Sequence[Measurement]:
        raise NotImplementedError


class Disk(Network):
    """A workload with one role."""

    NAME = "disk"
    ROLES: Sequence[Role] = (Role.STORAGE,)
    DEFAULT_GATES: Mapping[str, float] = {}

    def primary(self, parameters: Mapping[str, Json]) -> str:
        return "iops.read"


TOOLS: dict[str, Network] = {"network": Network(), "disk": Disk()}


def sites(name: str, runner: str = "local", **options: Json) -> dict[str, Site]:
    site = Site(name=name, runner=runner, options=options)
    return {role.value: site for role in Role}


def target(
    name: str = "a",
    *,
    claims: Mapping[str, Json] | None = None,
    runner: str = "local",
    **fields: object,
) -> Target:
    given: dict[str, object] = {
        "title": name.upper(),
        "sites": sites(name, runner),
        "claims": claims or {"cni.name": name},
        "document": {},
    }
    return Target(name=name, **(given | fields))  # type: ignore[arg-type]


def workload(name: str = "net", *, tool: str = "network", **fields: object) -> WorkloadSpec:
    given: dict[str, object] = {"title": name.title(), "parameters": {"duration": "1 s"}}
    return WorkloadSpec(name=name, tool=tool, **(given | fields))  # type: ignore[arg-type]


def spec(
    *,
    targets: Sequence[Target] | None = None,
    workloads: Sequence[WorkloadSpec] | None = None,
    method: Method | None = None,
    compare: bool = True,
) -> Spec:
    made = tuple(targets if targets is not None else (target("a"), target("b")))
    return Spec(
        api_version="benchspec/v1",
        name="made",
        title="Made by hand",
        description="",
        targets=made,
        workloads=tuple(workloads if workloads is not None else (workload(),)),
        method=method or Method(seed=1),
        compare=Comparison(baseline=made[0].name) if compare else None,
        report=ReportOptions(),
    )


def loaded(made: Spec, source: bytes = b"made") -> LoadedSpec:
    return LoadedSpec(spec=made, path=Path("made.yaml"), source=source, document={})
