"""A trial without a runner: a workload's commands as processes of this machine, in directories of
their own.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import (
    Command,
    Commands,
    Completed,
    Endpoint,
    Surroundings,
)
from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.spec import Experiment, Json, Role, RolePlace


def experiment(
    workload: Workload,
    parameters: Mapping[str, Json],
    storage: Mapping[str, Json] | None = None,
    cpus: tuple[int, ...] = (),
) -> Experiment:
    """One experiment of ``workload`` here."""
    return Experiment(
        id="0" * 64,
        target="here",
        workload="w",
        title="w on here",
        point=(),
        tool=workload.NAME,
        parameters=parameters,
        roles=tuple(RolePlace(role=role, site="here", cpus=cpus) for role in workload.ROLES),
        storage=storage or {},
    )


def surroundings(workdir: Path | str, host: str = "127.0.0.1", port: int = 5201) -> Surroundings:
    """One directory and one endpoint for all roles."""
    return Surroundings(
        endpoints={role: Endpoint(host=host, port=port) for role in Role},
        workdirs={role: str(workdir) for role in Role},
    )


def require(executable: str) -> None:
    """Skip the test where the tool is missing."""
    if shutil.which(executable) is None:
        pytest.skip(f"{executable} is not installed: tests/setup installs it")


def free_port() -> int:
    """A TCP port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run(commands: Commands, workdir: Path) -> list[Completed]:
    """Place the files and run each client once."""
    for file in commands.files:
        (workdir / file.name).write_bytes(file.data)
    return [_run(command, workdir) for command in commands.clients]


def _run(command: Command, workdir: Path) -> Completed:
    started = time.time()
    process = subprocess.run(
        command.argv,
        cwd=workdir,
        capture_output=True,
        timeout=min(command.timeout_s, 30),
        check=False,
    )
    files = {
        name: (workdir / name).read_bytes() for name in command.fetch if (workdir / name).exists()
    }
    return Completed(
        argv=command.argv,
        exit_code=process.returncode,
        stdout=process.stdout,
        stderr=process.stderr,
        started_at=started,
        duration_s=time.time() - started,
        files=files,
    )


@contextlib.contextmanager
def serving(commands: Commands) -> Iterator[None]:
    """The servers of ``commands``, each ready when a TCP connection succeeds, as runners on other
    hosts find out.
    """
    processes = [
        subprocess.Popen(server.command.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for server in commands.servers
    ]
    try:
        for server in commands.servers:
            _await(server.endpoint)
            time.sleep(server.settle_s)
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def _await(endpoint: Endpoint) -> None:
    for _ in range(100):
        with (
            contextlib.suppress(OSError),
            socket.create_connection((endpoint.host, endpoint.port), timeout=1),
        ):
            return
        time.sleep(0.05)
    raise AssertionError(f"no answer at {endpoint}")
