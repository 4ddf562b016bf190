"""One allocation on the hosts of a site: private work directories and free ports per role, each on
its own host, and the jobs that use them.

What it consists of is written down on each host when it is made, so that a later controller can
take it over by its id and release it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ....engine.facts import catalogue as facts
from ....engine.model.contract.values import (
    NO_DEMAND,
    Command,
    Demand,
    Endpoint,
    Node,
    Server,
    Surroundings,
)
from ....engine.model.errors import RunFailed
from ....engine.model.results import Fact
from ....engine.model.spec import Role, RolePlace, TrafficPath
from ...agent.agent import Agent, Start, checked_name
from ...agent.job import Job
from ...agent.scripts import here
from . import observe
from .directories import Places
from .host import Host
from .in_parallel import together
from .monitor import HostSampler

LOOPBACK = "127.0.0.1"
FIRST_PORT, PORTS = 20000, 10000


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
        """Where the other roles send their traffic to. Another site may have another address for
        the same host.
        """
        return self.address or self.host.address


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A role's host and the run's directories there."""

    host: Host
    places: Places


class SshAllocation:
    """Everything fresh for one round on the hosts of a site. Create it with :func:`allocate`."""

    def __init__(
        self,
        allocation_id: str,
        markers: Mapping[str, str],
        token: str,
        shares: Mapping[Role, Share],
        jobs: dict[str, Job],
        demand: Demand,
    ) -> None:
        self.allocation_id = allocation_id
        self._markers = {**markers, "BENCHSPEC_ALLOCATION": allocation_id}
        self._token = token
        self._shares = shares
        self._jobs = jobs
        self._demand = demand

    def surroundings(self) -> Surroundings:
        """Endpoints and work directories of the roles on this site. On the path `loopback` the
        endpoints are the hosts' own.
        """
        own = self._demand.path is TrafficPath.LOOPBACK
        return Surroundings(
            endpoints={
                role: Endpoint(host=LOOPBACK if own else share.reached_at, port=share.port)
                for role, share in self._shares.items()
            },
            workdirs={role: share.workdir for role, share in self._shares.items()},
        )

    def put(self, role: Role, name: str, data: bytes) -> None:
        """Place a file in the role's work directory. Raises HostDiskFull, and RunFailed for a name
        that leads out of it.
        """
        share = self._share(role)
        self._agent(share).put(share.workdir, name, data)

    def get(self, role: Role, name: str) -> bytes:
        """Read a file of the role's work directory. Raises RunFailed when it is not there."""
        share = self._share(role)
        return self._agent(share).get(share.workdir, name)

    def start(self, command: Command, job_id: str, *, not_before: float | None = None) -> Job:
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again.
        The program waits for ``not_before``.

        Raises:
            MissingTool, Unsupported: the program or a CPU is not there; nothing was created.
            Locked: the host became another run's while the connection was away.
            HostDiskFull: the host's state directory cannot be written.
        """
        share = self._share(command.role)
        return self._agent(share).start(command, job_id, self._given(share, command, not_before))

    def serve(self, server: Server, job_id: str) -> Job:
        """Start a server and wait until its endpoint is listened on, without being its first
        client.

        Raises:
            RunFailed: it ended or did not listen in time; the message has the end of its stderr. It
                is not left running.
        """
        share = self._share(server.command.role)
        given = self._given(share, server.command, None)
        return self._agent(share).serve(server, job_id, given)

    def _agent(self, share: Share) -> Agent:
        return share.places.agent(share.host, self._token, self._jobs)

    def _given(self, share: Share, command: Command, not_before: float | None) -> Start:
        host, places = share.host, share.places
        hold = 0 if not_before is None else math.ceil(host.clock.uptime_at(not_before) * 100)
        return Start(
            workdir=share.workdir,
            allocation=self.allocation_id,
            markers=self._markers,
            cpus=command.cpus or share.cpus,
            hold=hold,
            lasting=places.standing(self.allocation_id) if command.lasting else "",
            environment={},
            variables={
                "lock": host.lock,
                "away": host.away,
                "ttl": str(places.ttl_s),
                "group": places.group(self.allocation_id),
            },
        )

    def nodes(self) -> Mapping[Role, Node]:
        """On which machine each role is, asked now."""
        identities = dict(together(lambda host: (host, observe.identity(host)), self._hosts()))
        return {
            role: Node(name=share.host.name, identity=identities[share.host])
            for role, share in self._shares.items()
        }

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """The path from each role to the one it has to do with (interface, route, MTU), and the
        volume that the target names (``storage.path``).
        """

        def look(role: Role) -> tuple[Fact, ...]:
            host, far = self._shares[role].host, facts.far_end(role, peers.endpoints)
            path = observe.path(host, peers.endpoints[far].host) if far is not None else ()
            return (
                *path,
                *(
                    observe.volume(host, volume)
                    if isinstance(volume, str) and role in self._demand.volumes
                    else ()
                ),
            )

        volume = self._demand.storage.get("path")
        seen = zip(self._shares, together(look, self._shares), strict=True)
        return {role: found for role, found in seen if found}

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See from the role's host that ``endpoint`` accepts TCP connections. Raises RunFailed
        naming both ends.
        """
        share = self._share(role)
        try:
            share.host.connection.reach(endpoint.host, endpoint.port, timeout_s)
        except RunFailed as error:
            raise RunFailed(
                f"the {role} on {share.host.name} cannot connect to {endpoint.host} port"
                f" {endpoint.port} within {timeout_s:g} s: {error.message}",
                where=f"allocation {self.allocation_id}",
                remedy=(
                    "see whether the server listens on that address, and what lies between (routes,"
                    " firewalls)"
                ),
            ) from error

    def sample(self, role: Role, interval_s: float) -> HostSampler:
        """Start a monitor of the role's host, and of the CPUs it is pinned to."""
        share = self._share(role)
        return HostSampler(share.host, share.places.state, interval_s, share.cpus)

    def release(self) -> None:
        """Stop what still runs and remove everything of this allocation from all its hosts
        (idempotent).

        Raises:
            RunFailed: a process or directory of it is still there afterwards.
            TransportLost: a host cannot be asked; the others were.
        """
        left = [
            f"{host} still has {what}"
            for host, what in together(self._release, self._seats())
            if what
        ]
        self._jobs.clear()
        if left:
            raise RunFailed(
                "; ".join(left),
                where=f"allocation {self.allocation_id}",
                remedy="run `benchspec clean` on this run",
            )

    def _release(self, seat: Seat) -> tuple[str, str]:
        host, places = seat.host, seat.places
        agent = places.agent(host, self._token, self._jobs)
        return host.name, agent.release(
            places.state, places.work, self.allocation_id, self._markers
        )

    def _share(self, role: Role) -> Share:
        try:
            return self._shares[role]
        except KeyError:
            raise RunFailed(
                f"has no role {role}",
                where=f"allocation {self.allocation_id}",
                remedy="allocate the role on this site",
            ) from None

    def _hosts(self) -> list[Host]:
        return list(dict.fromkeys(share.host for share in self._shares.values()))

    def _seats(self) -> list[Seat]:
        return list(
            {
                (share.host, share.places): Seat(host=share.host, places=share.places)
                for share in self._shares.values()
            }.values()
        )


def allocate(
    roles: Sequence[RolePlace],
    seats: Mapping[Role, Seat],
    addresses: Mapping[Role, str],
    allocation_id: str,
    markers: Mapping[str, str],
    token: str,
    jobs: dict[str, Job],
    demand: Demand = NO_DEMAND,
) -> SshAllocation:
    """Make a fresh allocation, or take over the one a controller before made under this id. Raises
    HostDiskFull, Locked, TransportLost.
    """
    checked_name(allocation_id, "allocation id")
    groups: dict[Seat, list[RolePlace]] = {}
    for place in roles:
        groups.setdefault(seats[place.role], []).append(place)

    def make(group: tuple[Seat, list[RolePlace]]) -> dict[Role, Share]:
        seat, places = group
        seat.host.hold(seat.places.run_id)
        wishes = [
            f"{one.role}:{','.join(map(str, one.cpus))}:{_first_port(allocation_id, one.role)}"
            for one in places
        ]
        where = seat.places
        arguments = (where.run_id, where.site, where.workdir, str(where.ttl_s), allocation_id)
        text = seat.host.ask(here(__file__, "allocate"), (*arguments, seat.host.groups, *wishes))
        lines = text.decode("ascii").splitlines()
        return dict(_share(line, seat, allocation_id) for line in lines)

    shares = {
        role: replace(share, address=addresses.get(role, ""))
        for made in together(make, groups.items())
        for role, share in made.items()
    }
    return SshAllocation(allocation_id, markers, token, shares, jobs, demand)


def _first_port(allocation_id: str, role: Role) -> int:
    """Where to begin to look for a port: elsewhere for every allocation, so that none meets the
    remains of the one before.
    """
    return FIRST_PORT + zlib.crc32(f"{allocation_id} {role}".encode()) % PORTS


def _share(line: str, seat: Seat, allocation_id: str) -> tuple[Role, Share]:
    role, port, cpus = line.split()
    chosen = () if cpus == "-" else tuple(map(int, cpus.split(",")))
    workdir = f"{seat.places.work}/{allocation_id}/{role}"
    return Role(role), Share(
        host=seat.host, places=seat.places, workdir=workdir, port=int(port), cpus=chosen
    )
