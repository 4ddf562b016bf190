"""The `command` workload with a client in two roles, so that one trial has two programs that begin
together, each on its role's node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from benchspec.api.new_runs import make_directory
from benchspec.engine.execution.run import Catalogue, Options, Run
from benchspec.engine.language.load import build_spec, load_spec
from benchspec.engine.model.contract.values import (
    Commands,
    Completed,
    Endpoint,
    Server,
    Surroundings,
    Tool,
)
from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.results import Measurement, Trial
from benchspec.engine.model.spec import Experiment, Json, Role
from benchspec.engine.planning.plan import plan
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.read_run import read_plan
from benchspec.runners.registry import get_runner
from benchspec.workloads.registry import get_workload
from tests.engine.execution.bench import Recorder, write_spec

ROLES = (Role.CLIENT, Role.LOAD_GENERATOR)


class Pair:
    """Both clients run the same program. ``serving``: a third role serves TCP connections
    meanwhile, which needs ``settle_s`` after each client.
    """

    def __init__(self, *, serving: bool = False, settle_s: float = 0.0) -> None:
        self.ROLES: Sequence[Role] = (*ROLES, Role.SERVER) if serving else ROLES
        self._serving = serving
        self._settle_s = settle_s

    def __getattr__(self, name: str) -> Any:
        return getattr(get_workload("command"), name)

    def tools(self, parameters: Mapping[str, Json]) -> Sequence[Tool]:
        return [
            dataclasses.replace(tool, roles=ROLES)
            for tool in get_workload("command").tools(parameters)
        ]

    def commands(self, experiment: Experiment, surroundings: Surroundings) -> Commands:
        one = get_workload("command").commands(experiment, surroundings)
        clients = tuple(dataclasses.replace(one.clients[0], role=role) for role in ROLES)
        servers = (
            (listener(surroundings.endpoints[Role.SERVER], clients[0].timeout_s, self._settle_s),)
            if self._serving
            else ()
        )
        return dataclasses.replace(one, clients=clients, servers=servers)

    def parse(
        self, completed: Sequence[Completed], parameters: Mapping[str, Json]
    ) -> Sequence[Measurement]:
        return get_workload("command").parse(completed[:1], parameters)


def listener(endpoint: Endpoint, timeout_s: float, settle_s: float = 0.0) -> Server:
    """A server that takes connections and says nothing."""
    from benchspec.engine.model.contract.values import Command

    code = (
        f"import socket; s = socket.create_server(({endpoint.host!r}, {endpoint.port}))\nwhile"
        " True: s.accept()[0].close()"
    )
    return Server(
        command=Command(argv=("python3", "-c", code), role=Role.SERVER, timeout_s=timeout_s),
        endpoint=endpoint,
        settle_s=settle_s,
    )


def make_pair_run(
    tmp_path: Path, document: Mapping[str, Any], workload: Pair, name: str = "run"
) -> RunDirectory:
    """A new run directory for ``document``, whose `command` workload is ``workload``."""
    loaded = load_spec(write_spec(tmp_path / f"{name}.yaml", document))
    return make_directory(
        loaded, plan(loaded, {"command": cast(Workload, workload)}), tmp_path / name
    )


def execute_pair(
    path: Path, workload: Pair, options: Options | None = None, observer: Recorder | None = None
) -> tuple[Trial, ...]:
    """Run, or go on with, such a run in this process."""
    directory = RunDirectory.open(path)
    catalogue = Catalogue(runner=get_runner, workload=lambda name: cast(Workload, workload))
    run = Run(
        directory,
        build_spec(directory.resolved()),
        read_plan(directory),
        catalogue,
        observer or Recorder(),
        options or Options(),
    )
    return run.execute()
