"""One allocation on this host: private work directories and free ports per role, and the jobs that
use them.

What it consists of is written to a file when it is made, so that a later controller can take it
over by its id and release it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ...engine.model.contract.runner import Sampler
from ...engine.model.contract.values import (
    NO_DEMAND,
    Command,
    Demand,
    Endpoint,
    Node,
    Server,
    Surroundings,
)
from ...engine.model.errors import RunFailed
from ...engine.model.results import Fact
from ...engine.model.spec import Role, RolePlace
from ..agent.agent import Agent
from . import groups, job, ports, record
from .door import LocalDoor
from .groups import Before
from .job import LocalJob
from .monitor import LocalSampler
from .observe import observe_volume, this_node
from .record import was_started
from .state import Places, checked_name, inside, make_private, remove_tree, storing

_PROBE_EVERY_S = (0.002, 0.05)
_TAIL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one role got."""

    workdir: Path
    port: int
    cpus: tuple[int, ...]


class LocalAllocation:
    """Everything fresh for one round on this host. Create it with :func:`allocate`."""

    def __init__(
        self,
        allocation_id: str,
        markers: Mapping[str, str],
        where: Places,
        shares: Mapping[Role, Share],
        jobs: dict[str, LocalJob],
        demand: Demand = NO_DEMAND,
        before: Before | None = None,
    ) -> None:
        self._demand = demand
        self._before = before
        self._started: list[LocalJob] = []
        self.allocation_id = allocation_id
        self._where = where
        self._shares = shares
        self._jobs = jobs
        self._markers = {**markers, "BENCHSPEC_ALLOCATION": allocation_id}

    def surroundings(self) -> Surroundings:
        """Endpoints and work directories of the roles on this host."""
        return Surroundings(
            endpoints={
                role: Endpoint(host=ports.LOOPBACK, port=share.port)
                for role, share in self._shares.items()
            },
            workdirs={role: str(share.workdir) for role, share in self._shares.items()},
        )

    def put(self, role: Role, name: str, data: bytes) -> None:
        """Place a file in the role's work directory. Raises StorageError."""
        path = inside(self._share(role).workdir, name)
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def get(self, role: Role, name: str) -> bytes:
        """Read a file of the role's work directory. Raises RunFailed when it is not there."""
        path = inside(self._share(role).workdir, name)
        try:
            return path.read_bytes()
        except OSError as error:
            raise RunFailed(f"cannot be read: {error.strerror}", where=str(path)) from error

    def start(self, command: Command, job_id: str, *, not_before: float | None = None) -> LocalJob:
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again.
        The program waits for ``not_before``.

        Raises:
            MissingTool, Unsupported: the program or a CPU is not there; nothing was created.
            StorageError: the state directory cannot be written.
        """
        known = self._jobs.get(job_id)
        if known is not None and known.path.exists():
            return known
        share = self._share(command.role)
        directory = self._where.jobs / checked_name(job_id, "job id")
        cpus, markers = command.cpus or share.cpus, {**self._markers, "BENCHSPEC_JOB": job_id}
        if command.lasting:
            with storing(directory):
                self._where.standing(self.allocation_id).touch(mode=0o600)
        started = job.start(
            directory,
            command,
            share.workdir,
            self.allocation_id,
            cpus,
            markers,
            not_before,
            self._joined(),
        )
        self._jobs[job_id] = started
        self._started.append(started)
        return started

    def _joined(self) -> str:
        """The control group that the allocation's programs are started in, or ""."""
        try:
            path = self._group.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""
        if groups.make(Path(path)):
            return path
        self._group.unlink()  # it would tell that nobody is there
        return ""

    def serve(self, server: Server, job_id: str) -> LocalJob:
        """Start a server and wait until its endpoint answers.

        Raises:
            RunFailed: it ended or did not answer in time; the message has the end of its stderr. It
                is not left running.
        """
        endpoint, where = server.endpoint, f"server {server.command.argv[0]}"
        new = not was_started(self._where.jobs / checked_name(job_id, "job id"))
        if new and ports.listening(endpoint.host, endpoint.port):
            raise RunFailed(
                f"something else listens on {endpoint.host} port {endpoint.port} already",
                where=where,
                remedy="end it, or choose a port",
            )
        started = self.start(server.command, job_id)
        deadline, pause_s = time.monotonic() + server.ready_timeout_s, _PROBE_EVERY_S[0]
        while not started.pause(pause_s):
            if ports.listening(endpoint.host, endpoint.port):
                return started
            if time.monotonic() > deadline:
                started.cancel()
                raise RunFailed(
                    f"did not listen on {endpoint.host} port {endpoint.port} within"
                    f" {server.ready_timeout_s:g} s{_last_words(started)}",
                    where=where,
                )
            pause_s = min(2 * pause_s, _PROBE_EVERY_S[1])
        raise RunFailed(
            f"ended (exit code {started.exit_code()}) before it listened on port"
            f" {endpoint.port}{_last_words(started)}",
            where=where,
        )

    def nodes(self) -> Mapping[Role, Node]:
        """Every role is on this host."""
        return dict.fromkeys(self._shares, this_node())

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """The volume that the target names (``storage.path``), for the roles that write to it.
        Every path here is loopback.
        """
        path = self._demand.storage.get("path")
        return (
            {role: observe_volume(path) for role in self._demand.volumes if role in self._shares}
            if isinstance(path, str)
            else {}
        )

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See that ``endpoint`` accepts TCP connections, without being its first client where this
        host has its address.

        Raises:
            RunFailed: it does not within ``timeout_s``.
        """
        deadline, pause_s = time.monotonic() + timeout_s, _PROBE_EVERY_S[0]
        while not ports.listening(endpoint.host, endpoint.port):
            if time.monotonic() > deadline:
                raise RunFailed(
                    f"the {role} on localhost cannot connect to {endpoint.host} port"
                    f" {endpoint.port} within {timeout_s:g} s",
                    where=f"allocation {self.allocation_id}",
                    remedy="see whether the server listens on that address, and what lies between",
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _PROBE_EVERY_S[1])

    def sample(self, role: Role, interval_s: float) -> Sampler:
        """Start a monitor of this host, and of the CPUs the role is pinned to."""
        return LocalSampler(interval_s, self._share(role).cpus)

    def release(self) -> None:
        """Stop what still runs and remove everything of this allocation (idempotent).

        Raises:
            RunFailed: a process or directory of it is still there afterwards.
        """
        for directory in self._job_directories():
            self._jobs.pop(directory.name, None)
        if not self._is_deserted():
            left = self._agent().release(
                str(self._where.run), str(self._where.work), self.allocation_id, self._markers
            )
            self._reap()
            if left:
                raise self._still_has(left)
        directories = list(self._job_directories())
        for directory in directories:
            remove_tree(directory)
        remove_tree(self._where.work / self.allocation_id)
        beside = self._where.allocations.glob(
            f"*@{self.allocation_id}"
        )  # group, standing, sessions
        for file in (*beside, self._file):
            with storing(file):
                file.unlink(missing_ok=True)
        paths = [*directories, self._where.work / self.allocation_id, self._file]
        if rest := [str(path) for path in paths if path.exists()]:
            raise self._still_has(", ".join(rest))

    def _is_deserted(self) -> bool:
        """Whether it is sure, without asking who is there, that no process of it is."""
        self._reap()
        if self._group.exists():
            return groups.remove(Path(self._group.read_text(encoding="utf-8").strip()))
        return self._before is not None and self._before.is_all()

    def _reap(self) -> None:
        for started in self._started:
            started.reap()

    def _still_has(self, what: str) -> RunFailed:
        return RunFailed(
            f"still has {what}",
            where=f"allocation {self.allocation_id}",
            remedy="run `benchspec clean` on this run",
        )

    def _agent(self) -> Agent:
        return Agent(LocalDoor(), str(self._where.jobs), "", "", {})

    @property
    def _group(self) -> Path:
        return self._where.group(self.allocation_id)

    @property
    def _file(self) -> Path:
        return self._where.allocations / self.allocation_id

    def _share(self, role: Role) -> Share:
        try:
            return self._shares[role]
        except KeyError:
            raise RunFailed(
                f"has no role {role}",
                where=f"allocation {self.allocation_id}",
                remedy="allocate the role on this site",
            ) from None

    def _job_directories(self) -> Iterator[Path]:
        for directory in sorted(self._where.jobs.glob("*")):
            try:
                allocation = record.read(directory).allocation
            except RunFailed:
                # half made by a controller that died: not known to be ours, `clean` removes it with
                # the run
                continue
            if allocation == self.allocation_id:
                yield directory


def allocate(
    places: Sequence[RolePlace],
    allocation_id: str,
    markers: Mapping[str, str],
    where: Places,
    jobs: dict[str, LocalJob],
    demand: Demand = NO_DEMAND,
) -> LocalAllocation:
    """Make a fresh allocation, or take over the one a controller before made under this id. Raises
    StorageError.
    """
    file = where.allocations / checked_name(allocation_id, "allocation id")
    directory = where.work / allocation_id
    if file.exists():
        return LocalAllocation(allocation_id, markers, where, _read(file), jobs, demand)
    # the clean-up of an interrupted run may have taken them away since the session began
    where.create()
    remove_tree(directory)  # of a controller that died in the middle of this
    make_private(directory)
    shares = {
        place.role: Share(workdir=directory / place.role, port=port, cpus=place.cpus)
        for place, port in zip(places, ports.free_ports(len(places)), strict=True)
    }
    for share in shares.values():
        make_private(share.workdir)
    if (top := groups.home()) is not None:
        group = top / "benchspec" / where.run.parent.name / where.run.name / allocation_id
        with storing(file):  # the file first: a group that no file names would stay
            where.group(allocation_id).write_text(f"{group}\n", encoding="utf-8")
        if not groups.make(group):
            where.group(allocation_id).unlink()
    with storing(file):
        new = where.run / f"{allocation_id}.new"
        new.write_text(
            json.dumps({role: [str(s.workdir), s.port, s.cpus] for role, s in shares.items()}),
            encoding="utf-8",
        )
        new.rename(file)
    before = None if where.group(allocation_id).exists() else Before.look()
    return LocalAllocation(allocation_id, markers, where, shares, jobs, demand, before)


def _read(file: Path) -> dict[Role, Share]:
    found = cast(
        "dict[str, tuple[str, int, list[int]]]", json.loads(file.read_text(encoding="utf-8"))
    )
    return {
        Role(role): Share(workdir=Path(workdir), port=port, cpus=tuple(cpus))
        for role, (workdir, port, cpus) in found.items()
    }


def _last_words(server: LocalJob) -> str:
    text = (server.path / "stderr").read_bytes()[-_TAIL:].decode("utf-8", "replace").strip()
    return f"; its stderr ends with:\n{text}" if text else "; its stderr is empty"
