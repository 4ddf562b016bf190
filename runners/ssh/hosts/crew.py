"""The hosts of a site: which roles are on which, by which name, and those that a run has entered.
Sites of one run share what they both name.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ....engine.model.errors import BenchspecError, UsageError
from ....engine.model.spec import Json, Role, Site
from ....engine.model.text.json_access import mapping
from ...agent.agent import checked_name
from ..failures import HostFailure
from ..options import HostOptions, SiteOptions, site_options
from ..transport.connection import Connection
from ..transport.pool import Pool
from .host import Host
from .in_parallel import attempt

POOL = Pool()
"""The connections of this process."""

_ROLES = frozenset(role.value for role in Role)
_SSH_PORT = 22


def hosts_of_roles(options: SiteOptions) -> dict[Role, HostOptions]:
    """The hosts that play a role; the others are only there to go through."""
    return {Role(name): host for name, host in options.hosts.items() if name in _ROLES}


def host_name(host: HostOptions) -> str:
    """What people know a host by: the same for two roles on one host."""
    return host.host if host.port in (None, _SSH_PORT) else f"{host.host}:{host.port}"


def workdir(options: SiteOptions, host: HostOptions) -> str:
    """The directory in which work directories are made, or "". Raises UsageError for a relative
    one, or one of several lines.
    """
    found = host.workdir or options.workdir or ""
    if found and (not found.startswith("/") or not found.isprintable()):
        raise UsageError(
            f"found workdir {found!r}, expected an absolute path on one line",
            where=f"host {host.name}",
        )
    return found.rstrip("/") if found.strip("/") else found


def parts(site: Site) -> list[Site]:
    """``site`` cut into one site per host: the roles on it, and the hosts to go through, under
    names that are no roles.
    """
    options = site_options(site)
    by_name: dict[str, list[str]] = {}
    for role, host in hosts_of_roles(options).items():
        by_name.setdefault(host_name(host), []).append(role.value)
    return [replace(site, options=_part(site, roles)) for roles in by_name.values()]


def _part(site: Site, roles: Collection[str]) -> Mapping[str, Json]:
    """The options of ``site`` with the hosts of ``roles`` alone; the others stay as ways to
    these.
    """
    everyone = {name: mapping(host) for name, host in mapping(site.options.get("hosts")).items()}
    way = {name: f"way-{name}" if name in _ROLES else name for name in everyone}
    moved = {
        name: {**host, **({"jump": way[str(host["jump"])]} if host.get("jump") in way else {})}
        for name, host in everyone.items()
    }
    return {
        **site.options,
        "hosts": {way[name]: host for name, host in moved.items()}
        | {role: moved[role] for role in roles},
    }


@dataclass(slots=True)
class _Entered:
    host: Host
    users: int = 0


class Crew:
    """The hosts that runs of this process have entered: one :class:`Host` per run and connection,
    however many sites and sessions use it.
    """

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._entered: dict[tuple[str, Connection], _Entered] = {}

    def open(self, site: Site, run_id: str) -> dict[Role, Host]:
        """Connect to every host that plays a role, many at once.

        Raises:
            TransportLost: a host cannot be reached or used; the connections to the others are given
                back.
        """
        checked_name(run_id, "run id")
        checked_name(site.name, "site name")
        options = site_options(site)
        roles = hosts_of_roles(options)
        opened = POOL.open(options, [role.value for role in roles])
        errors = [found for found in opened.values() if isinstance(found, BenchspecError)]
        connections = {
            Role(name): found for name, found in opened.items() if isinstance(found, Connection)
        }
        if errors:
            attempt(POOL.release, connections.values())
            first = errors[0]
            raise first.beside(errors[1:]) if isinstance(first, HostFailure) else first
        with self._guard:
            return {
                role: self._share(run_id, connection, roles[role])
                for role, connection in connections.items()
            }

    def _share(self, run_id: str, connection: Connection, options: HostOptions) -> Host:
        key = (run_id, connection)
        entered = self._entered.setdefault(
            key, _Entered(Host(host_name(options), connection, options))
        )
        entered.users += 1
        return entered.host

    def close(self, run_id: str, hosts: list[Host]) -> None:
        """Give hosts back, once for each role that :meth:`open` gave; the last one gives up the
        lock and the connection.
        """
        last = []
        with self._guard:
            for host in hosts:
                entered = self._entered.get((run_id, host.connection))
                if entered is None:
                    continue
                entered.users -= 1
                if entered.users == 0:
                    del self._entered[run_id, host.connection]
                    last.append(host)
        attempt(lambda host: host.release(), last)
        for host in hosts:
            POOL.release(host.connection)

    def holds(self, run_id: str, host: Host) -> bool:
        """Whether a session of this process holds the host for that run."""
        with self._guard:
            return any(
                run == run_id and entered.host.name == host.name and entered.host.lock
                for (run, _), entered in self._entered.items()
            )


CREW = Crew()
"""The hosts that this process has entered."""
