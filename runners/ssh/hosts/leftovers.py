"""What a run left on hosts, found and removed without its controller: by directories, pid files,
locks, and the marks in its processes' environment.

Names of leftovers hold the host and the run's id, so that :func:`remove` can check again that what
it is about to end or delete is that run's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ....engine.model.contract.values import Leftover
from ....engine.model.errors import BenchspecError, RunFailed, UsageError
from ....engine.model.spec import Role, Site
from ...agent.agent import checked_name
from ...agent.door import word
from ...agent.job import outlived
from ...agent.scripts import here, own
from ..options import HostOptions, site_options
from ..transport.connection import Connection
from .crew import CREW, POOL, host_name, hosts_of_roles, workdir
from .directories import Places
from .host import Host
from .in_parallel import attempt, together
from .lock import unlock

DIRECTORY, PROCESSES, LOCK = "directory", "processes", "lock"
_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """A host that is looked at for what a run left there, and the options that say where."""

    host: Host
    options: HostOptions
    workdir: str


def find(site: Site, run_id: str) -> list[Leftover]:
    """The running processes of ``run_id`` (one leftover per host, since they are ended together),
    its directories and its locks.

    A lock that a session of this process holds is no leftover. Raises TransportLost when a host
    cannot be asked.
    """
    with _visits(site) as visits:
        found = together(lambda visit: list(_look(visit, site, run_id)), visits)
    return [leftover for one in found for leftover in one]


def _look(visit: _Visit, site: Site, run_id: str) -> Iterator[Leftover]:
    name = visit.host.name
    arguments = _arguments(visit, site, run_id)
    said = visit.host.ask(own("list"), arguments, timeout_s=_TIMEOUT_S)
    said += visit.host.ask(here(__file__, "held"), (run_id,), timeout_s=_TIMEOUT_S)
    for line in said.decode("utf-8", "replace").splitlines():
        kind, _, path = line.partition(" ")
        if kind == LOCK and CREW.holds(run_id, visit.host):
            continue
        yield Leftover(
            kind=kind, name=f"{path} on {name}" if kind == DIRECTORY else f"{run_id} on {name}"
        )


def remove(site: Site, leftover: Leftover) -> None:
    """End the processes, delete the directory or free the lock; harmless when they are gone.

    Raises:
        UsageError: it is nothing that benchspec made on this site.
        RunFailed: it could not be removed.
    """
    what, on, name = leftover.name.rpartition(" on ")
    if not on or leftover.kind not in (DIRECTORY, PROCESSES, LOCK):
        raise UsageError(
            f"found leftover {leftover.kind} {leftover.name!r}, expected one of those this runner"
            " lists"
        )
    with _visits(site, name) as visits:
        for visit in visits[:1]:
            if leftover.kind == DIRECTORY:
                _remove_directory(visit, site, what)
            else:
                _end(visit, site, checked_name(what, "run id"), leftover.kind)
            return
    raise UsageError(
        f"found a leftover on {name}, expected one of the hosts of this site",
        where=f"site {site.name}",
    )


def _remove_directory(visit: _Visit, site: Site, path: str) -> None:
    run_id = _run_of(visit, site, path)
    arguments = (*_arguments(visit, site, run_id), path)
    said, _ = word(visit.host, own("remove"), arguments, timeout_s=_TIMEOUT_S)
    if said == "link":
        raise UsageError(
            f"found a symbolic link at {path} on {visit.host.name}, expected a directory that"
            " benchspec made"
        )
    if said != "removed":
        raise RunFailed("could not be removed", where=f"host {visit.host.name}: {path}")


def _run_of(visit: _Visit, site: Site, path: str) -> str:
    """The run whose directory ``path`` is. Raises UsageError when it is none that benchspec makes
    for this site.
    """
    parent = path.rpartition("/")[0].rpartition("/")[2]
    user = visit.host.ask("id -u").decode("ascii").strip()
    for run_id in dict.fromkeys((parent.removeprefix("benchspec-"), parent)):
        if path in Places(run_id=run_id, site=site.name, user=user, workdir=visit.workdir).roots():
            return checked_name(run_id, "run id")
    raise UsageError(
        f"found directory {path}, expected one that benchspec made for a run on this site"
    )


def _end(visit: _Visit, site: Site, run_id: str, kind: str) -> None:
    if kind == PROCESSES:
        arguments = _arguments(visit, site, run_id)
        said, pids = word(visit.host, own("end_run"), arguments, timeout_s=_TIMEOUT_S)
    else:
        said, pids = unlock(visit.host, run_id, f"BENCHSPEC_LOCK={run_id}")
    if said == "alive":
        raise outlived(pids, f"host {visit.host.name}")


def _arguments(visit: _Visit, site: Site, run_id: str) -> tuple[str, str, str, str]:
    return checked_name(run_id, "run id"), checked_name(site.name, "site name"), "", visit.workdir


@contextmanager
def _visits(site: Site, only: str | None = None) -> Iterator[list[_Visit]]:
    """Connections to the hosts of ``site`` (or the one called ``only``), as long as they are
    needed; each host once. Raises TransportLost.
    """
    options = site_options(site)
    wanted: dict[tuple[str, str], tuple[Role, HostOptions]] = {}
    for role, host in hosts_of_roles(options).items():
        if only in (None, host_name(host)):
            wanted.setdefault((host_name(host), workdir(options, host)), (role, host))
    opened = POOL.open(options, [role.value for role, _ in wanted.values()])
    connections = {name: found for name, found in opened.items() if isinstance(found, Connection)}
    try:
        errors = [found for found in opened.values() if isinstance(found, BenchspecError)]
        if errors:
            raise errors[0]
        yield [
            _Visit(host=Host(name, connections[role.value], host), options=host, workdir=where)
            for (name, where), (role, host) in wanted.items()
        ]
    finally:
        attempt(POOL.release, connections.values())
