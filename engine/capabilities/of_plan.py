"""The capabilities of a plan: what its tools, runners and lifecycle steps do beyond measuring in
work directories of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..language.schema.registry import runner_schema, workload_schema
from ..lifecycle.step.order import all_steps
from ..lifecycle.step.places import Runners
from ..lifecycle.step.texts import Scripts
from ..model.secrets import REFERENCE
from ..model.spec import Experiment, Json, Site, Spec, Target
from .declared import declared
from .model import Capability, Kind, capability, ordered
from .programs import COMMAND, command_workloads, lifecycle_steps

_GOES_TO = ("url", "address", "host")
"""Parameters that say whom a tool talks to."""


def capabilities_of(
    spec: Spec,
    experiments: Sequence[Experiment],
    runners: Runners,
    scripts: Scripts,
    folder: Path | None = None,
) -> tuple[Capability, ...]:
    """What is asked for before ``experiments`` of ``spec`` are measured, each once, the worst
    first. Files below ``folder``, where the spec lies, are named from there, so that the list is
    the same on every machine.
    """
    targets = tuple(dict.fromkeys(experiment.target for experiment in experiments))
    sites = {
        site.name: site for name in targets for site in spec.target(name).sites.values()
    }.values()
    return ordered(
        (
            *command_workloads(experiments),
            *lifecycle_steps(spec, targets, runners, scripts),
            *(one for experiment in experiments for one in _of_experiment(experiment)),
            *(one for site in sites for one in _of_site(site, folder)),
            *(one for name in targets for one in _of_target(spec.target(name))),
        )
    )


def _of_experiment(experiment: Experiment) -> Iterator[Capability]:
    where = f"workload {experiment.workload}"
    schema, parameters = workload_schema(experiment.tool), experiment.parameters
    if schema is None:
        yield capability(Kind.UNKNOWN, f"the tool {experiment.tool}", where)
    elif experiment.tool != COMMAND:
        yield from declared(parameters, schema.document, where)
    goes_to = next((str(parameters[key]) for key in _GOES_TO if key in parameters), "")
    to = f"{experiment.tool}, which talks to {goes_to}" if goes_to else experiment.tool
    yield from _secrets(parameters, to, where)
    if experiment.image is not None:
        yield capability(Kind.IMAGES, experiment.image, where)
    path = experiment.storage.get("path")
    if isinstance(path, str):
        words = f"{path}, in folders that are made and removed"
        yield capability(Kind.WRITES, words, f"target {experiment.target}: storage.path")


def _of_site(site: Site, folder: Path | None) -> Iterator[Capability]:
    where = f"site {site.name}"
    schema, options = runner_schema(site.runner), _relative(site.options, folder)
    if schema is None:
        yield capability(Kind.UNKNOWN, f"the runner {site.runner}", where)
        return
    yield from declared(options, schema.document, where)
    yield from _secrets(options, f"the runner {site.runner}", where)


def _of_target(target: Target) -> Iterator[Capability]:
    if target.storage.get("create") is True:
        named = {key: target.storage.get(key) for key in ("class", "provisioner", "parameters")}
        words = f"a StorageClass is made for the whole cluster: {json.dumps(named, default=dict)}"
        yield capability(Kind.RIGHTS, words, f"target {target.name}: storage.create")
    for own in all_steps(target):
        where = f"target {target.name}: step {own.step.name}"
        yield from _secrets(own.step.env, f"the step's {own.step.action}", where)
        yield from _secrets(own.step.arguments, f"the step's {own.step.action}", where)


def _relative(options: Mapping[str, Json], folder: Path | None) -> Mapping[str, Json]:
    """``options`` with files below ``folder`` as the spec has them."""

    def shown(value: Json) -> Json:
        if isinstance(value, Mapping):
            return {key: shown(item) for key, item in value.items()}
        if folder is not None and isinstance(value, str) and value.startswith("/"):
            path = Path(value)
            return str(path.relative_to(folder)) if path.is_relative_to(folder) else value
        return value

    return {key: shown(value) for key, value in options.items()}


def _secrets(value: Json, to: str, where: str, path: tuple[str, ...] = ()) -> Iterator[Capability]:
    """Every reference to a secret below ``value``, and who gets it."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _secrets(item, to, where, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item, to, where, path)
    elif isinstance(value, str):
        for match in REFERENCE.finditer(value):
            yield capability(Kind.SECRETS, f"{match[0]} to {to}", f"{where}: {'.'.join(path)}")
