"""The connection to this host for one run: there is nothing to connect, only a place to keep what
belongs to the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...engine.facts.boundaries import GROUP, KEPT
from ...engine.facts.catalogue import process_facts
from ...engine.model.contract.values import NO_DEMAND, Demand, Tool, ToolStatus
from ...engine.model.results import Fact
from ...engine.model.spec import Role, RolePlace
from . import groups, job, packages, sink
from .allocation import LocalAllocation, allocate
from .job import LocalJob
from .observe import find_tool, observe
from .state import Places, checked_name


class LocalSession:
    """This host, for one run."""

    def __init__(self, run_id: str, where: Places, results: Path) -> None:
        self._markers = {"BENCHSPEC_RUN": run_id, "BENCHSPEC_SITE": where.run.name}
        self._where = where
        self._results = results
        self._jobs: dict[str, LocalJob] = {}

    def facts(self) -> Mapping[str, Sequence[Fact]]:
        """Observe this host, and the disk of the work directories: the only node there is."""
        boundary = KEPT if groups.home() is None else GROUP
        return {"": (*observe(str(self._where.work)), *process_facts(boundary))}

    def find_tools(
        self, role: Role, tools: Sequence[Tool], image: str | None = None
    ) -> Sequence[ToolStatus]:
        """Where each tool is and what version it says, whatever the role: there is one host."""
        return [find_tool(tool) for tool in tools]

    def install(self, role: Role, names: Sequence[str]) -> None:
        """Install packages with this host's package manager. Raises RunFailed with what to type."""
        packages.install(names)

    def allocate(
        self, roles: Sequence[RolePlace], allocation_id: str, demand: Demand = NO_DEMAND
    ) -> LocalAllocation:
        """Make a fresh allocation, or take over the one that a controller before made under this
        id. Raises StorageError.
        """
        return allocate(roles, allocation_id, self._markers, self._where, self._jobs, demand)

    def attach(self, job_id: str) -> LocalJob | None:
        """The job of that id if it was ever started here, running or ended; None if it never
        was.
        """
        known = self._jobs.get(job_id)
        if known is not None and known.path.exists():
            return known
        found = job.attach(
            self._where.jobs / checked_name(job_id, "job id"),
            {**self._markers, "BENCHSPEC_JOB": job_id},
        )
        if found is not None:
            self._jobs[job_id] = found
        return found

    def deposit(self, role: Role, files: Mapping[str, Path]) -> str:
        """Keep copies of results on this host. Raises RunFailed, StorageError."""
        sink.deposit(self._results, files)
        return str(self._results)

    def close(self) -> None:
        """Remove the run's directories if nothing is in them (idempotent). Jobs that run go on."""
        self._where.remove_if_empty()
