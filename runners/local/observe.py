"""Looking at this host: its facts, and the tools it has."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ...engine.facts import catalogue as facts
from ...engine.facts.tool_version import read_version
from ...engine.model.contract.values import Node, Tool, ToolStatus
from ...engine.model.results import Fact
from .launch import DEFAULT_PATH, SHELL

_VERSION_TIMEOUT_S = 10.0
_MACHINE_ID = Path("/etc/machine-id")


def observe(directory: str) -> tuple[Fact, ...]:
    """The facts of this host and of the disk under ``directory``; what takes too long is
    unknown.
    """
    return facts.parse(_output(facts.script(), {"DIR": directory}))


def observe_volume(directory: str) -> tuple[Fact, ...]:
    """The facts of the volume that holds ``directory``; what takes too long is unknown."""
    return facts.parse_volume(_output(facts.volume_script(directory), {}))


def _output(script: str, variables: Mapping[str, str]) -> bytes:
    env = {"PATH": f"{os.environ.get('PATH', '')}:{DEFAULT_PATH}", "LC_ALL": "C", **variables}
    try:
        return subprocess.run(
            [SHELL, "-c", script],
            stdin=subprocess.DEVNULL,
            env=env,
            capture_output=True,
            timeout=facts.TIMEOUT_S,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as error:
        return error.stdout or b""


def this_node() -> Node:
    """This host, with the identity that the fact ``machine.id`` gives it."""
    try:
        written = _MACHINE_ID.read_bytes()
    except OSError:
        written = b""
    return Node(
        name="localhost",
        identity=hashlib.sha256(b"benchspec\n" + written).hexdigest()[:16] if written else None,
    )


def find_tool(tool: Tool) -> ToolStatus:
    """Look for ``tool`` in PATH and ask it for its version: the first number with a dot in it, else
    the first line.

    A tool without ``version_argv`` is not asked: a spec's own program is executed only after its
    reader agreed.
    """
    path = shutil.which(tool.executable, path=os.environ.get("PATH") or DEFAULT_PATH)
    if path is None or not tool.version_argv:
        return ToolStatus(tool=tool, path=path, version=None)
    try:
        done = subprocess.run(
            [path, *tool.version_argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ToolStatus(tool=tool, path=path, version=None)
    return ToolStatus(
        tool=tool, path=path, version=read_version(done.stdout.decode("utf-8", "replace"))
    )
