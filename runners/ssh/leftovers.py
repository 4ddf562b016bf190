"""What a run left on hosts, found and removed without its controller: by directories, pid files, locks, and the marks in its processes' environment.

Names of leftovers hold the host and the run's id, so that :func:`remove` can check again that what it is about to end or delete is that run's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...engine.errors import BenchspecError, RunFailed, UsageError
from ...engine.ports import Leftover
from ...engine.spec import Role, Site
from .connection import Connection
from .family import FAMILY_SCRIPT
from .host import Host
from .hosts import CREW, POOL, host_name, hosts_of_roles, workdir
from .lock import LOCK_FILE_SCRIPT, UNLOCK_SCRIPT
from .options import HostOptions, site_options
from .places import Places, checked_name
from .together import attempt, together

DIRECTORY, PROCESSES, LOCK = "directory", "processes", "lock"
_TIMEOUT_S = 120.0

# $1 run id, $2 site, $3 directory of work directories or nothing. Sets state, and `look`, which finds the run's processes on this site: those that
# carry both marks, and the sessions whose leader stands in one of its pid files, since a program may clear its environment
_RUN = (
    FAMILY_SCRIPT
    + r"""
run=$1 site=$2
state=/var/tmp/benchspec-$(id -u)/$1/$2
work=$state/work
[ -z "$3" ] || work=$3/benchspec-$1/$2
sessions=
for d in "$state"/jobs/*; do
    [ -e "$d/pid" ] && read_leader "$d" && lives "$leader" "$began" "$boot_of" && sessions="$sessions $leader"
done
look() {
    all=
    for s in $sessions; do
        scan_session "$s" -
        all="$all$found"
    done
    found=$all
    scan_marks - "BENCHSPEC_RUN=$run" "BENCHSPEC_SITE=$site"
}
"""
    + LOCK_FILE_SCRIPT
)

# Prints a line per leftover: its kind, and for a directory its path
LIST_SCRIPT = (
    _RUN
    + r"""
look
[ -z "$found" ] || echo processes
for p in "$work" "$state"; do
    case $p in "$state"/*) continue ;; esac
    if [ -d "$p" ] && [ ! -L "$p" ]; then printf 'directory %s\n' "$p"; fi
done
found=
scan_marks - "BENCHSPEC_LOCK=$run"
if [ -n "$found" ] || lock_file "$run"; then echo lock; fi
:
"""
)

# Says: ended, or alive and who
END_PROCESSES_SCRIPT = (
    _RUN
    + r"""
end_all
[ -z "$found" ] && echo ended || echo "alive$found"
"""
)

# $4 the directory. Says: removed, link, or left
REMOVE_DIRECTORY_SCRIPT = r"""
[ ! -L "$4" ] || { echo link; exit 0; }
rm -rf "$4" 2>/dev/null
[ ! -e "$4" ] || { chmod -R u+rwX "$4" 2>/dev/null; rm -rf "$4" || exit 73; }
up=${4%/*}
rmdir "$up" 2>/dev/null
case $up in /var/tmp/benchspec-*/*) rmdir "${up%/*}" 2>/dev/null ;; esac
[ ! -e "$4" ] && echo removed || echo left
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """A host that is looked at for what a run left there, and the options that say where."""

    host: Host
    options: HostOptions
    workdir: str


def find(site: Site, run_id: str) -> list[Leftover]:
    """The running processes of ``run_id`` (one leftover per host, since they are ended together), its directories and its locks.

    A lock that a session of this process holds is no leftover. Raises TransportLost when a host cannot be asked.
    """
    with _visits(site) as visits:
        found = together(lambda visit: list(_look(visit, site, run_id)), visits)
    return [leftover for one in found for leftover in one]


def _look(visit: _Visit, site: Site, run_id: str) -> Iterator[Leftover]:
    name = visit.host.name
    for line in visit.host.ask(LIST_SCRIPT, _arguments(visit, site, run_id), timeout_s=_TIMEOUT_S).decode("utf-8", "replace").splitlines():
        kind, _, path = line.partition(" ")
        if kind == LOCK and CREW.holds(run_id, visit.host):
            continue
        yield Leftover(kind=kind, name=f"{path} on {name}" if kind == DIRECTORY else f"{run_id} on {name}")


def remove(site: Site, leftover: Leftover) -> None:
    """End the processes, delete the directory or free the lock; harmless when they are gone.

    Raises:
        UsageError: it is nothing that benchspec made on this site.
        RunFailed: it could not be removed.
    """
    what, on, name = leftover.name.rpartition(" on ")
    if not on or leftover.kind not in (DIRECTORY, PROCESSES, LOCK):
        raise UsageError(f"found leftover {leftover.kind} {leftover.name!r}, expected one of those this runner lists")
    with _visits(site, name) as visits:
        for visit in visits[:1]:
            if leftover.kind == DIRECTORY:
                _remove_directory(visit, site, what)
            else:
                _end(visit, site, checked_name(what, "run id"), leftover.kind)
            return
    raise UsageError(f"found a leftover on {name}, expected one of the hosts of this site", where=f"site {site.name}")


def _remove_directory(visit: _Visit, site: Site, path: str) -> None:
    run_id = _run_of(visit, site, path)
    said, _ = visit.host.word(REMOVE_DIRECTORY_SCRIPT, (*_arguments(visit, site, run_id), path), timeout_s=_TIMEOUT_S)
    if said == "link":
        raise UsageError(f"found a symbolic link at {path} on {visit.host.name}, expected a directory that benchspec made")
    if said != "removed":
        raise RunFailed("could not be removed", where=f"host {visit.host.name}: {path}")


def _run_of(visit: _Visit, site: Site, path: str) -> str:
    """The run whose directory ``path`` is. Raises UsageError when it is none that benchspec makes for this site."""
    parent = path.rpartition("/")[0].rpartition("/")[2]
    user = visit.host.ask("id -u").decode("ascii").strip()
    for run_id in dict.fromkeys((parent.removeprefix("benchspec-"), parent)):
        if path in Places(run_id=run_id, site=site.name, user=user, workdir=visit.workdir).roots():
            return checked_name(run_id, "run id")
    raise UsageError(f"found directory {path}, expected one that benchspec made for a run on this site")


def _end(visit: _Visit, site: Site, run_id: str, kind: str) -> None:
    if kind == PROCESSES:
        word, pids = visit.host.word(END_PROCESSES_SCRIPT, _arguments(visit, site, run_id), timeout_s=_TIMEOUT_S)
    else:
        word, pids = visit.host.word(UNLOCK_SCRIPT, (run_id, f"BENCHSPEC_LOCK={run_id}"), timeout_s=_TIMEOUT_S)
    if word == "alive":
        raise RunFailed(
            f"processes {pids} do not end, even on SIGKILL",
            where=f"host {visit.host.name}",
            remedy="look for a hanging device or network file system; they vanish with a reboot at the latest",
        )


def _arguments(visit: _Visit, site: Site, run_id: str) -> tuple[str, str, str]:
    return checked_name(run_id, "run id"), site.name, visit.workdir


@contextmanager
def _visits(site: Site, only: str | None = None) -> Iterator[list[_Visit]]:
    """Connections to the hosts of ``site`` (or the one called ``only``), as long as they are needed; each host once. Raises TransportLost."""
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
        yield [_Visit(host=Host(name, connections[role.value], host), options=host, workdir=where) for (name, where), (role, host) in wanted.items()]
    finally:
        attempt(POOL.release, connections.values())
