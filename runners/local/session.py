"""The connection to this host for one run: there is nothing to connect, only a place to keep what belongs to the run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence

from ...engine import facts
from ...engine.ports import Tool, ToolStatus
from ...engine.results import Fact
from ...engine.spec import RolePlace
from . import job, packages
from .allocation import LocalAllocation, allocate
from .job import LocalJob
from .launch import DEFAULT_PATH, SHELL
from .state import Places, checked_name

_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+~-]*")
_VERSION_TIMEOUT_S = 10.0


class LocalSession:
    """This host, for one run."""

    def __init__(self, run_id: str, where: Places) -> None:
        self._run_id = run_id
        self._where = where
        self._jobs: dict[str, LocalJob] = {}

    def facts(self) -> Sequence[Fact]:
        """Observe this host, and the disk of the work directories."""
        return observe(str(self._where.work))

    def find_tools(self, tools: Sequence[Tool]) -> Sequence[ToolStatus]:
        """Where each tool is and what version it says."""
        return [find_tool(tool) for tool in tools]

    def install(self, names: Sequence[str]) -> None:
        """Install packages with this host's package manager. Raises RunFailed with what to type."""
        packages.install(names)

    def allocate(self, roles: Sequence[RolePlace], allocation_id: str) -> LocalAllocation:
        """Make a fresh allocation, or take over the one that a controller before made under this id. Raises StorageError."""
        return allocate(roles, allocation_id, self._run_id, self._where, self._jobs)

    def attach(self, job_id: str) -> LocalJob | None:
        """The job of that id if it was ever started here, running or ended; None if it never was."""
        known = self._jobs.get(job_id)
        if known is not None and known.directory.exists():
            return known
        found = job.attach(self._where.jobs / checked_name(job_id, "job id"), {"BENCHSPEC_RUN": self._run_id, "BENCHSPEC_JOB": job_id})
        if found is not None:
            self._jobs[job_id] = found
        return found

    def close(self) -> None:
        """Remove the run's directories if nothing is in them (idempotent). Jobs that run go on."""
        self._where.remove_if_empty()


def observe(directory: str) -> tuple[Fact, ...]:
    """The facts of this host and of the disk under ``directory``; what takes too long is unknown."""
    env = {"PATH": f"{os.environ.get('PATH', '')}:{DEFAULT_PATH}", "LC_ALL": "C", "DIR": directory}
    try:
        done = subprocess.run([SHELL], input=facts.script().encode(), env=env, capture_output=True, timeout=facts.TIMEOUT_S, check=False)
        output = done.stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
    return facts.parse(output)


def find_tool(tool: Tool) -> ToolStatus:
    """Look for ``tool`` in PATH and ask it for its version: the first number with a dot in it, else the first line."""
    path = shutil.which(tool.executable, path=os.environ.get("PATH") or DEFAULT_PATH)
    if path is None:
        return ToolStatus(tool=tool, path=None, version=None)
    try:
        done = subprocess.run(
            [path, *tool.version_argv[1:]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_VERSION_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ToolStatus(tool=tool, path=path, version=None)
    text = done.stdout.decode("utf-8", "replace").strip()
    number = _VERSION.search(text)
    return ToolStatus(tool=tool, path=path, version=number[0] if number else text.partition("\n")[0] or None)
