"""One allocation on the hosts of a site: private work directories and free ports per role, each on its own host, and the jobs that use them.

What it consists of is written down on each host when it is made, so that a later controller can take it over by its id and release it.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from ...engine import facts
from ...engine.commands import check_command
from ...engine.errors import Locked, MissingTool, RunFailed, Unsupported
from ...engine.ports import NO_DEMAND, Command, Demand, Endpoint, Node, Server, Surroundings
from ...engine.results import Fact
from ...engine.spec import Role, RolePlace, TrafficPath
from . import launch, observe
from .allocation_scripts import ALLOCATE_SCRIPT, GET_SCRIPT, PUT_SCRIPT, RELEASE_SCRIPT, WORDS_SCRIPT
from .failures import HostDiskFull
from .host import Host
from .job import SshJob
from .monitor import SshSampler
from .places import Places, checked_file, checked_name
from .record import Record
from .sockets import AWAIT_SCRIPT, hex_addresses, hex_port
from .together import together

LOOPBACK = "127.0.0.1"
FIRST_PORT, PORTS = 20000, 10000
COPY_TIMEOUT_S = 600.0
RELEASE_TIMEOUT_S = 120.0
_MARGIN_S = 60.0
_TAIL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one role got, and where. ``address`` is the site's option for the role, or ""."""

    host: Host
    places: Places
    workdir: str
    port: int
    cpus: tuple[int, ...]
    address: str = ""

    @property
    def reached_at(self) -> str:
        """Where the other roles send their traffic to. Another site may have another address for the same host."""
        return self.address or self.host.address


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A role's host and the run's directories there."""

    host: Host
    places: Places


class SshAllocation:
    """Everything fresh for one round on the hosts of a site. Create it with :func:`allocate`."""

    def __init__(
        self, allocation_id: str, markers: Mapping[str, str], token: str, shares: Mapping[Role, Share], jobs: dict[str, SshJob], demand: Demand
    ) -> None:
        self.allocation_id = allocation_id
        self._markers = {**markers, "BENCHSPEC_ALLOCATION": allocation_id}
        self._token = token
        self._shares = shares
        self._jobs = jobs
        self._demand = demand

    def surroundings(self) -> Surroundings:
        """Endpoints and work directories of the roles on this site. On the path `loopback` the endpoints are the hosts' own."""
        own = self._demand.path is TrafficPath.LOOPBACK
        return Surroundings(
            endpoints={role: Endpoint(host=LOOPBACK if own else share.reached_at, port=share.port) for role, share in self._shares.items()},
            workdirs={role: share.workdir for role, share in self._shares.items()},
        )

    def put(self, role: Role, name: str, data: bytes) -> None:
        """Place a file in the role's work directory. Raises HostDiskFull, and RunFailed for a name that leads out of it."""
        share = self._share(role)
        word, _ = share.host.word(PUT_SCRIPT, (share.workdir, checked_file(name, share.workdir)), data, timeout_s=COPY_TIMEOUT_S)
        if word != "placed":
            raise self._no_file(share, name, "leads out of the work directory" if word == "outside" else "the work directory is gone")

    def get(self, role: Role, name: str) -> bytes:
        """Read a file of the role's work directory. Raises RunFailed when it is not there."""
        share = self._share(role)
        head, _, data = share.host.ask(GET_SCRIPT, (share.workdir, checked_file(name, share.workdir)), timeout_s=COPY_TIMEOUT_S).partition(b"\n")
        if head != b"found":
            word, _, why = head.decode("utf-8", "replace").partition(" ")
            raise self._no_file(share, name, f"cannot be read: {why or word}")
        return data

    def _no_file(self, share: Share, name: str, why: str) -> RunFailed:
        return RunFailed(why, where=f"host {share.host.name}: {share.workdir}/{name}")

    def start(self, command: Command, job_id: str, *, not_before: float | None = None) -> SshJob:
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again. The program waits for ``not_before``.

        Raises:
            MissingTool, Unsupported: the program or a CPU is not there; nothing was created.
            Locked: the host became another run's while the connection was away.
            HostDiskFull: the host's state directory cannot be written.
        """
        return self._start(command, job_id, not_before, None)

    def _start(self, command: Command, job_id: str, not_before: float | None, endpoint: Endpoint | None) -> SshJob:
        known = self._jobs.get(checked_name(job_id, "job id"))
        if known is not None and not known.discarded:
            return known
        check_command(command)
        share = self._share(command.role)
        markers = {**self._markers, "BENCHSPEC_JOB": job_id}
        record = Record(
            argv=command.argv, workdir=share.workdir, fetch=tuple(checked_file(name, share.workdir) for name in command.fetch),
            allocation=self.allocation_id, started_at=time.time(),
        )  # fmt: skip
        variables = self._variables(share, command, job_id, not_before, endpoint) | {"record": record.text()}
        told = launch.starter(variables, {**command.env, **command.secrets, **markers}, command.argv)
        word, detail = share.host.word(launch.START_SCRIPT, (), told)
        if word not in ("started", "attached"):
            self._refuse(word, detail, command, share, endpoint)
        job = SshJob(share.host, share.places.jobs, job_id, record, markers)
        self._jobs[job_id] = job
        return job

    def _variables(self, share: Share, command: Command, job_id: str, not_before: float | None, endpoint: Endpoint | None) -> dict[str, str]:
        hold = 0 if not_before is None else math.ceil(share.host.clock.uptime_at(not_before) * 100)
        return {
            "jobs": share.places.jobs, "job": job_id, "run": share.places.run_id, "token": self._token, "lock": share.host.lock,
            "away": share.host.away, "work": share.workdir, "cpus": launch.cpu_list(command.cpus or share.cpus), "hold": str(hold),
            "ttl": str(share.places.ttl_s), "lasting": share.places.standing(self.allocation_id) if command.lasting else "",
            "port": hex_port(endpoint.port) if endpoint else "", "addresses": hex_addresses(endpoint.host) if endpoint else "",
        }  # fmt: skip

    def _refuse(self, word: str, detail: str, command: Command, share: Share, endpoint: Endpoint | None) -> NoReturn:
        """Raise what a starter's word stands for."""
        name, where = command.argv[0], f"host {share.host.name}: role {command.role}"
        match word:
            case "missing":
                raise MissingTool(
                    f"no program {name!r} in PATH={detail}", where=where, remedy=f"install the package that has {name}, or correct its name"
                )
            case "cpus":
                wanted = launch.cpu_list(command.cpus or share.cpus)
                raise Unsupported(
                    f"found CPUs {wanted}, expected some of those the host has: {detail}", where=where, remedy="change `cpus` in the spec"
                )
            case "occupied" if endpoint is not None:
                message = f"something else listens on {endpoint.host} port {endpoint.port} already"
                raise RunFailed(message, where=f"host {share.host.name}: server {name}", remedy="end it, or choose a port")
            case "unlocked":
                raise Locked(
                    f"is no longer held for this run ({detail or 'its lock is gone'})", where=f"host {share.host.name}", remedy="resume the run later"
                )
            case "gone":
                raise HostDiskFull("the run's directories are gone", where=where, remedy="look who removes files below /var/tmp or `workdir`")
            case "withdrawn":
                raise RunFailed("this job was taken back by another controller, and is never started under its id", where=where)
            case _:
                raise RunFailed(f"cannot be started: {detail or word}", where=f"host {share.host.name}: {name}", remedy="shorten its arguments")

    def serve(self, server: Server, job_id: str) -> SshJob:
        """Start a server and wait until its endpoint is listened on, without being its first client.

        Raises:
            RunFailed: it ended or did not listen in time; the message has the end of its stderr. It is not left running.
        """
        endpoint, share = server.endpoint, self._share(server.command.role)
        job = self._start(server.command, job_id, None, endpoint)
        where = f"host {share.host.name}: server {server.command.argv[0]}"
        arguments = (
            hex_port(endpoint.port), hex_addresses(endpoint.host), str(math.ceil(server.ready_timeout_s * 100)), share.places.jobs, job_id,
        )  # fmt: skip
        word, _ = share.host.word(AWAIT_SCRIPT, arguments, timeout_s=server.ready_timeout_s + _MARGIN_S)
        if word == "listening":
            return job
        if word == "deaf":
            job.cancel()
            message = f"did not listen on {endpoint.host} port {endpoint.port} within {server.ready_timeout_s:g} s{self._last_words(share, job_id)}"
            raise RunFailed(message, where=where)
        code = job.collect().exit_code
        raise RunFailed(f"ended (exit code {code}) before it listened on port {endpoint.port}{self._last_words(share, job_id)}", where=where)

    def _last_words(self, share: Share, job_id: str) -> str:
        text = share.host.ask(WORDS_SCRIPT, (share.places.jobs, job_id, str(_TAIL))).decode("utf-8", "replace").strip()
        return f"; its stderr ends with:\n{text}" if text else "; its stderr is empty"

    def nodes(self) -> Mapping[Role, Node]:
        """On which machine each role is, asked now."""
        identities = dict(together(lambda host: (host, observe.identity(host)), self._hosts()))
        return {role: Node(name=share.host.name, identity=identities[share.host]) for role, share in self._shares.items()}

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """The path from each role to the one it has to do with (interface, route, MTU), and the volume that the target names (``storage.path``)."""

        def look(role: Role) -> tuple[Fact, ...]:
            host, far = self._shares[role].host, facts.far_end(role, peers.endpoints)
            path = observe.path(host, peers.endpoints[far].host) if far is not None else ()
            return (*path, *(observe.volume(host, volume) if isinstance(volume, str) and role in self._demand.volumes else ()))

        volume = self._demand.storage.get("path")
        seen = zip(self._shares, together(look, self._shares), strict=True)
        return {role: found for role, found in seen if found}

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See from the role's host that ``endpoint`` accepts TCP connections. Raises RunFailed naming both ends."""
        share = self._share(role)
        try:
            share.host.connection.reach(endpoint.host, endpoint.port, timeout_s)
        except RunFailed as error:
            raise RunFailed(
                f"the {role} on {share.host.name} cannot connect to {endpoint.host} port {endpoint.port} within {timeout_s:g} s: {error.message}",
                where=f"allocation {self.allocation_id}",
                remedy="see whether the server listens on that address, and what lies between (routes, firewalls)",
            ) from error

    def sample(self, role: Role, interval_s: float) -> SshSampler:
        """Start a monitor of the role's host, and of the CPUs it is pinned to."""
        share = self._share(role)
        return SshSampler(share.host, share.places.state, interval_s, share.cpus)

    def release(self) -> None:
        """Stop what still runs and remove everything of this allocation from all its hosts (idempotent).

        Raises:
            RunFailed: a process or directory of it is still there afterwards.
            TransportLost: a host cannot be asked; the others were.
        """
        left = [f"{host} still has {what}" for host, what in together(self._release, self._seats()) if what]
        self._jobs.clear()
        if left:
            raise RunFailed("; ".join(left), where=f"allocation {self.allocation_id}", remedy="run `benchspec clean` on this run")

    def _release(self, seat: Seat) -> tuple[str, str]:
        places = seat.places
        marks = (f"{name}={value}" for name, value in self._markers.items())
        arguments = (places.jobs, places.allocations, places.work, self.allocation_id, *marks)
        word, rest = seat.host.word(RELEASE_SCRIPT, arguments, timeout_s=RELEASE_TIMEOUT_S)
        return seat.host.name, rest if word == "left" else ""

    def _share(self, role: Role) -> Share:
        try:
            return self._shares[role]
        except KeyError:
            raise RunFailed(f"has no role {role}", where=f"allocation {self.allocation_id}", remedy="allocate the role on this site") from None

    def _hosts(self) -> list[Host]:
        return list(dict.fromkeys(share.host for share in self._shares.values()))

    def _seats(self) -> list[Seat]:
        return list({(share.host, share.places): Seat(host=share.host, places=share.places) for share in self._shares.values()}.values())


def allocate(
    roles: Sequence[RolePlace],
    seats: Mapping[Role, Seat],
    addresses: Mapping[Role, str],
    allocation_id: str,
    markers: Mapping[str, str],
    token: str,
    jobs: dict[str, SshJob],
    demand: Demand = NO_DEMAND,
) -> SshAllocation:
    """Make a fresh allocation, or take over the one a controller before made under this id. Raises HostDiskFull, Locked, TransportLost."""
    checked_name(allocation_id, "allocation id")
    groups: dict[Seat, list[RolePlace]] = {}
    for place in roles:
        groups.setdefault(seats[place.role], []).append(place)

    def make(group: tuple[Seat, list[RolePlace]]) -> dict[Role, Share]:
        seat, places = group
        seat.host.hold(seat.places.run_id)
        wishes = [f"{place.role}:{','.join(map(str, place.cpus))}:{_first_port(allocation_id, place.role)}" for place in places]
        where = seat.places
        text = seat.host.ask(ALLOCATE_SCRIPT, (where.run_id, where.site, where.workdir, str(where.ttl_s), allocation_id, *wishes)).decode("ascii")
        return dict(_share(line, seat, allocation_id) for line in text.splitlines())

    shares = {role: replace(share, address=addresses.get(role, "")) for made in together(make, groups.items()) for role, share in made.items()}
    return SshAllocation(allocation_id, markers, token, shares, jobs, demand)


def _first_port(allocation_id: str, role: Role) -> int:
    """Where to begin to look for a port: elsewhere for every allocation, so that none meets the remains of the one before."""
    return FIRST_PORT + zlib.crc32(f"{allocation_id} {role}".encode()) % PORTS


def _share(line: str, seat: Seat, allocation_id: str) -> tuple[Role, Share]:
    role, port, cpus = line.split()
    chosen = () if cpus == "-" else tuple(map(int, cpus.split(",")))
    workdir = f"{seat.places.work}/{allocation_id}/{role}"
    return Role(role), Share(host=seat.host, places=seat.places, workdir=workdir, port=int(port), cpus=chosen)
