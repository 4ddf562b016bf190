"""What a program printed before its controller died is kept without its secrets, whichever site
they are from, or not at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from benchspec.engine.execution.run import Catalogue, Options, Run
from benchspec.engine.language.load import build_spec
from benchspec.engine.model.contract.values import Command, Commands, Server, Surroundings
from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.errors import RunFailed, StorageError
from benchspec.engine.model.results import Trial
from benchspec.engine.model.spec import Experiment, Role, Site
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.read_run import read_plan
from benchspec.runners.local.runner import LocalRunner
from benchspec.runners.local.session import LocalSession
from benchspec.runners.local.sink import sink_directory
from benchspec.runners.local.state import places
from benchspec.workloads.registry import get_workload
from tests.engine.execution.bench import Recorder, records, spec_document
from tests.engine.execution.pairs import Pair, make_pair_run

TOKEN = "canary-4711"
SERVE = """
import contextlib, os, socket
listening = socket.create_server((os.environ["HOST"], int(os.environ["PORT"])))
while True:
    with contextlib.suppress(OSError), listening.accept()[0] as client:
        client.sendall(os.environ["TOKEN"].encode())
"""
ASK = """
import os, socket
with socket.create_connection((os.environ["HOST"], int(os.environ["PORT"]))) as server:
    print("told", server.makefile().read())
print("rate: 1")
os.rename(os.environ["RUN"] + "/raw", os.environ["RUN"] + "/away")  # what is measured cannot be stored: the run ends here
"""


class Asking:
    """The `command` workload as a client, and a server that alone gets the secret TOKEN and tells
    it to everybody.
    """

    ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)

    def __getattr__(self, name: str) -> Any:
        return getattr(get_workload("command"), name)

    def commands(self, experiment: Experiment, surroundings: Surroundings) -> Commands:
        one, endpoint = (
            get_workload("command").commands(experiment, surroundings),
            surroundings.endpoints[Role.SERVER],
        )
        env = {**one.clients[0].env, "HOST": endpoint.host, "PORT": str(endpoint.port)}
        server = Command(argv=("python3", "-c", SERVE), role=Role.SERVER, timeout_s=60, env=env)
        client = dataclasses.replace(
            one.clients[0], env={key: value for key, value in env.items() if key != "TOKEN"}
        )
        return dataclasses.replace(
            one, clients=(client,), servers=(Server(command=server, endpoint=endpoint),)
        )


class KeepingSession(LocalSession):
    """This host as a site that keeps secrets: files in a folder of its own."""

    folder: Path

    def read_secret(self, name: str) -> str:
        if not (self.folder / name).exists():
            raise RunFailed(f"there is no secret {name}", where=f"site {self.folder.name}")
        return (self.folder / name).read_text()


class KeepingRunner(LocalRunner):
    """Its sites' secrets are in folders named like the sites."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def connect(self, site: Site, run_id: str) -> KeepingSession:
        where = places(site, run_id)
        where.create()
        session = KeepingSession(run_id, where, sink_directory(site, run_id))
        session.folder = self._top / site.name
        return session


def execute(directory: RunDirectory) -> tuple[Trial, ...]:
    runner = KeepingRunner(directory.path.parent)
    catalogue = Catalogue(runner=lambda _: runner, workload=lambda _: cast(Workload, Asking()))
    return Run(
        directory,
        build_spec(directory.resolved()),
        read_plan(directory),
        catalogue,
        Recorder(),
        Options(),
    ).execute()


@pytest.fixture
def cut_short(tmp_path: Path) -> RunDirectory:
    """A run whose one trial has ended and is not stored. The server's site keeps the secret, the
    client's does not.
    """
    (tmp_path / "two" / "ns" / "name").mkdir(parents=True)
    (tmp_path / "two" / "ns" / "name" / "key").write_text(TOKEN)
    document = spec_document(
        tmp_path / "counter", method={"sessions": 1, "trials": 1, "warmups": 0}
    )
    document["sites"] = {"one": {"kind": "local"}, "two": {"kind": "local"}}
    document["targets"] = {"a": {"sites": {"client": "one", "server": "two"}}}
    document.pop("compare")
    document["workloads"]["count"]["with"] |= {
        "run": ["python3", "-c", ASK],
        "env": {"TOKEN": "${secret:kubernetes:ns/name/key}", "RUN": str(tmp_path / "run")},
    }
    directory = make_pair_run(tmp_path, document, cast(Pair, Asking()))
    with pytest.raises(StorageError):
        execute(directory)
    (directory.path / "away").rename(directory.path / "raw")
    return directory


def test_a_secret_of_another_role_s_site_is_blotted_out_too(cut_short: RunDirectory) -> None:
    (trial,) = execute(cut_short)
    assert trial.reattached
    assert (
        cut_short.path / "raw" / "000001" / "0-stdout"
    ).read_bytes() == b"told [redacted]\nrate: 1\n"


def test_a_trial_whose_secret_is_gone_is_given_up_with_the_reason(cut_short: RunDirectory) -> None:
    (cut_short.path.parent / "two" / "ns" / "name" / "key").unlink()
    with pytest.raises(RunFailed):  # nor can it be measured again
        execute(cut_short)
    (lost,) = [record.data for record in records(cut_short.path) if record.type == "trial.lost"]
    assert (
        lost["reason"]
        == "it cannot be kept without its secret: site two: there is no secret ns/name/key"
    )
    assert not [
        path
        for path in cut_short.path.rglob("*")
        if path.is_file() and TOKEN.encode() in path.read_bytes()
    ]
