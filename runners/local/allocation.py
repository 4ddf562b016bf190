"""One allocation on this host: private work directories and free ports per role, and the jobs that use them.

What it consists of is written to a file when it is made, so that a later controller can take it over by its id and release it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ...engine.errors import RunFailed
from ...engine.ports import NO_DEMAND, Command, Demand, Endpoint, Node, Sampler, Server, Surroundings
from ...engine.results import Fact
from ...engine.spec import Role, RolePlace
from . import job, ports, process
from .job import LocalJob
from .monitor import LocalSampler
from .observe import observe_volume, this_node
from .record import Record, was_started
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
    ) -> None:
        self._demand = demand
        self.allocation_id = allocation_id
        self._where = where
        self._shares = shares
        self._jobs = jobs
        self._markers = {**markers, "BENCHSPEC_ALLOCATION": allocation_id}

    def surroundings(self) -> Surroundings:
        """Endpoints and work directories of the roles on this host."""
        return Surroundings(
            endpoints={role: Endpoint(host=ports.LOOPBACK, port=share.port) for role, share in self._shares.items()},
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
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again. The program waits for ``not_before``.

        Raises:
            MissingTool, Unsupported: the program or a CPU is not there; nothing was created.
            StorageError: the state directory cannot be written.
        """
        known = self._jobs.get(job_id)
        if known is not None and known.directory.exists():
            return known
        share = self._share(command.role)
        directory = self._where.jobs / checked_name(job_id, "job id")
        cpus, markers = command.cpus or share.cpus, {**self._markers, "BENCHSPEC_JOB": job_id}
        started = job.start(directory, command, share.workdir, self.allocation_id, cpus, markers, not_before)
        self._jobs[job_id] = started
        return started

    def serve(self, server: Server, job_id: str) -> LocalJob:
        """Start a server and wait until its endpoint answers.

        Raises:
            RunFailed: it ended or did not answer in time; the message has the end of its stderr. It is not left running.
        """
        endpoint, where = server.endpoint, f"server {server.command.argv[0]}"
        new = not was_started(self._where.jobs / checked_name(job_id, "job id"))
        if new and ports.listening(endpoint.host, endpoint.port):
            raise RunFailed(f"something else listens on {endpoint.host} port {endpoint.port} already", where=where, remedy="end it, or choose a port")
        started = self.start(server.command, job_id)
        deadline, pause_s = time.monotonic() + server.ready_timeout_s, _PROBE_EVERY_S[0]
        while not started.pause(pause_s):
            if ports.listening(endpoint.host, endpoint.port):
                return started
            if time.monotonic() > deadline:
                started.cancel()
                raise RunFailed(
                    f"did not listen on {endpoint.host} port {endpoint.port} within {server.ready_timeout_s:g} s{_last_words(started)}", where=where
                )
            pause_s = min(2 * pause_s, _PROBE_EVERY_S[1])
        raise RunFailed(f"ended (exit code {started.exit_code()}) before it listened on port {endpoint.port}{_last_words(started)}", where=where)

    def nodes(self) -> Mapping[Role, Node]:
        """Every role is on this host."""
        return dict.fromkeys(self._shares, this_node())

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """The volume that the target names (``storage.path``), for the roles that write to it. Every path here is loopback."""
        path = self._demand.storage.get("path")
        return {role: observe_volume(path) for role in self._demand.volumes if role in self._shares} if isinstance(path, str) else {}

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See that ``endpoint`` accepts TCP connections, without being its first client where this host has its address.

        Raises:
            RunFailed: it does not within ``timeout_s``.
        """
        deadline, pause_s = time.monotonic() + timeout_s, _PROBE_EVERY_S[0]
        while not ports.listening(endpoint.host, endpoint.port):
            if time.monotonic() > deadline:
                raise RunFailed(
                    f"the {role} on localhost cannot connect to {endpoint.host} port {endpoint.port} within {timeout_s:g} s",
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
        directories = list(self._job_directories())
        process.end(lambda: process.marked(self._markers))
        for directory in directories:
            self._end_job(directory)
            remove_tree(directory)
        remove_tree(self._where.work / self.allocation_id)
        with storing(self._file):
            self._file.unlink(missing_ok=True)
        self._verify(directories)

    @property
    def _file(self) -> Path:
        return self._where.allocations / self.allocation_id

    def _share(self, role: Role) -> Share:
        try:
            return self._shares[role]
        except KeyError:
            raise RunFailed(f"has no role {role}", where=f"allocation {self.allocation_id}", remedy="allocate the role on this site") from None

    def _job_directories(self) -> Iterator[Path]:
        for directory in sorted(self._where.jobs.glob("*")):
            try:
                allocation = Record.read(directory).allocation
            except RunFailed:
                continue  # half made by a controller that died: not known to be ours, `clean` removes it with the run
            if allocation == self.allocation_id:
                yield directory

    def _end_job(self, directory: Path) -> None:
        """End what escaped the search by markers: a program that cleared its environment is found through its process group."""
        known = self._jobs.pop(directory.name, None)
        found = known or job.attach(directory, {**self._markers, "BENCHSPEC_JOB": directory.name})
        if found is not None:
            found.stop()

    def _verify(self, directories: Sequence[Path]) -> None:
        paths = [*directories, self._where.work / self.allocation_id, self._file]
        left = [str(path) for path in paths if path.exists()]
        left += [f"process {found.pid}" for found in process.marked(self._markers)]
        if left:
            raise RunFailed(f"still has {', '.join(left)}", where=f"allocation {self.allocation_id}", remedy="run `benchspec clean` on this run")


def allocate(
    places: Sequence[RolePlace], allocation_id: str, markers: Mapping[str, str], where: Places, jobs: dict[str, LocalJob], demand: Demand = NO_DEMAND
) -> LocalAllocation:
    """Make a fresh allocation, or take over the one a controller before made under this id. Raises StorageError."""
    file = where.allocations / checked_name(allocation_id, "allocation id")
    directory = where.work / allocation_id
    if file.exists():
        return LocalAllocation(allocation_id, markers, where, _read(file), jobs, demand)
    where.create()  # the clean-up of an interrupted run may have taken them away since the session began
    remove_tree(directory)  # of a controller that died in the middle of this
    make_private(directory)
    shares = {
        place.role: Share(workdir=directory / place.role, port=port, cpus=place.cpus)
        for place, port in zip(places, ports.free_ports(len(places)), strict=True)
    }
    for share in shares.values():
        make_private(share.workdir)
    with storing(file):
        new = where.run / f"{allocation_id}.new"
        new.write_text(json.dumps({role: [str(s.workdir), s.port, s.cpus] for role, s in shares.items()}), encoding="utf-8")
        new.rename(file)
    return LocalAllocation(allocation_id, markers, where, shares, jobs, demand)


def _read(file: Path) -> dict[Role, Share]:
    found = cast("dict[str, tuple[str, int, list[int]]]", json.loads(file.read_text(encoding="utf-8")))
    return {Role(role): Share(workdir=Path(workdir), port=port, cpus=tuple(cpus)) for role, (workdir, port, cpus) in found.items()}


def _last_words(server: LocalJob) -> str:
    text = (server.directory / "stderr").read_bytes()[-_TAIL:].decode("utf-8", "replace").strip()
    return f"; its stderr ends with:\n{text}" if text else "; its stderr is empty"
