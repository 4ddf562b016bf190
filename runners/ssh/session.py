"""The connection to the hosts of one site for one run: entered and held by this run alone, their
clocks known.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...engine.model.contract.values import NO_DEMAND, Demand, Tool, ToolStatus
from ...engine.model.errors import BenchspecError, RunFailed
from ...engine.model.results import Fact
from ...engine.model.spec import Role, RolePlace, Site
from ..agent import sink
from ..agent.agent import checked_name
from ..agent.job import Job
from .hosts import observe
from .hosts.allocation import Seat, SshAllocation, allocate
from .hosts.crew import CREW, hosts_of_roles, workdir
from .hosts.host import Host
from .hosts.in_parallel import attempt, together
from .options import site_options


class SshSession:
    """The hosts of a site, for one run. Create it with :func:`connect`."""

    def __init__(self, run_id: str, site: Site, seats: Mapping[Role, Seat]) -> None:
        self._addresses = {
            role: host.address
            for role, host in hosts_of_roles(site_options(site)).items()
            if host.address
        }
        self._run_id = run_id
        self._markers = {"BENCHSPEC_RUN": run_id, "BENCHSPEC_SITE": site.name}
        self._seats = seats
        self._token = secrets.token_hex(8)
        self._jobs: dict[str, Job] = {}
        self._open = True

    def facts(self) -> Mapping[str, Sequence[Fact]]:
        """Observe every host, the disk of its work directories, and its clock."""
        seats = self._distinct()

        def look(seat: Seat) -> tuple[str, Sequence[Fact]]:
            seat.host.hold(self._run_id, fresh=True)
            return seat.host.name if len(seats) > 1 else "", observe.host_facts(
                seat.host, seat.places.work
            )

        return dict(together(look, seats))

    def find_tools(
        self, role: Role, tools: Sequence[Tool], image: str | None = None
    ) -> Sequence[ToolStatus]:
        """Where each tool is on the role's host and what version it says, in one round trip."""
        return observe.find_tools(self._seat(role).host, tools)

    def install(self, role: Role, packages: Sequence[str]) -> None:
        """Install packages with the host's package manager. Raises RunFailed with what to do."""
        observe.install(self._seat(role).host, packages)

    def allocate(
        self, roles: Sequence[RolePlace], allocation_id: str, demand: Demand = NO_DEMAND
    ) -> SshAllocation:
        """Make a fresh allocation, or take over the one that a controller before made under this
        id.
        """
        seats = {place.role: self._seat(place.role) for place in roles}
        return allocate(
            roles,
            seats,
            self._addresses,
            allocation_id,
            self._markers,
            self._token,
            self._jobs,
            demand,
        )

    def attach(self, job_id: str) -> Job | None:
        """The job of that id if it was ever started here, on whichever host; None if it never was,
        which then is made sure.
        """
        known = self._jobs.get(checked_name(job_id, "job id"))
        if known is not None and not known.discarded:
            return known
        looks = together(
            lambda seat: seat.places.agent(seat.host, self._token, self._jobs).attach(
                job_id, self._markers
            ),
            self._distinct(),
        )
        found = next((one for one in looks if one is not None), None)
        if found is not None:
            self._jobs[job_id] = found
        return found

    def deposit(self, role: Role, files: Mapping[str, Path]) -> str:
        """Copy files to the role's host, into a directory of the run that stays. Raises RunFailed
        when a copy is not the file.
        """
        seat = self._seat(role)
        return sink.deposit(seat.host, seat.places.workdir, seat.places.run_id, files)

    def close(self) -> None:
        """Remove the run's directories where nothing is in them, and give the hosts back
        (idempotent). Jobs that run go on.
        """
        if not self._open:
            return
        self._open = False
        _, errors = attempt(
            lambda seat: seat.host.leave(seat.places, self._token), self._distinct()
        )
        CREW.close(self._run_id, [seat.host for seat in self._seats.values()])
        if errors:
            raise errors[0]

    def _seat(self, role: Role) -> Seat:
        try:
            return self._seats[role]
        except KeyError:
            raise RunFailed(
                f"has no host for role {role}", where="ssh site", remedy="name one under `hosts`"
            ) from None

    def _distinct(self) -> list[Seat]:
        return list(dict.fromkeys(self._seats.values()))


def connect(site: Site, run_id: str) -> SshSession:
    """Connect to every host of ``site``, make the run's directories there, and take the hosts for
    this run alone.

    Raises:
        Locked: a host is another run's; nothing is left held.
        TransportLost, RunFailed: a host cannot be used; its name and the remedy are in the message.
    """
    options = site_options(site)
    roles = hosts_of_roles(options)
    hosts = CREW.open(site, run_id)
    entering: dict[tuple[Host, str], None] = {
        (hosts[role], workdir(options, host)): None for role, host in roles.items()
    }
    seats: dict[tuple[Host, str], Seat] = {}

    def enter(key: tuple[Host, str]) -> None:
        host, where = key
        host.hold(run_id)
        seats[key] = Seat(
            host=host, places=host.enter(run_id, site.name, where, options.whole_ttl_s)
        )

    try:
        together(enter, entering)
        return SshSession(
            run_id,
            site,
            {role: seats[hosts[role], workdir(options, host)] for role, host in roles.items()},
        )
    except BaseException:
        with contextlib.suppress(BenchspecError):
            attempt(lambda seat: seat.host.leave(seat.places, ""), seats.values())
        CREW.close(run_id, list(hosts.values()))
        raise
