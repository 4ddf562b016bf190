"""What a run left on this host, found and removed without its controller: by directories, pid files and the mark in its processes' environment.

Names of leftovers hold the run's id, so that :func:`remove` can check again that what it is about to end or delete is that run's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...engine.errors import RunFailed, UsageError
from ...engine.ports import Leftover
from ...engine.spec import Site
from . import process
from .record import Record, boot_id, read_leader
from .state import Places, places, remove_tree

DIRECTORY = "directory"
PROCESSES = "processes"


def find(site: Site, run_id: str) -> list[Leftover]:
    """The running processes of ``run_id`` (one leftover per run, since they are ended together) and its directories."""
    where = places(site, run_id)
    left = [Leftover(kind=PROCESSES, name=run_id)] if running(where, run_id) else []
    left += [Leftover(kind=DIRECTORY, name=str(path)) for path in where.roots() if path.is_dir() and not path.is_symlink()]
    return left


def remove(site: Site, leftover: Leftover) -> None:
    """End the processes or delete the directory; harmless when they are gone.

    Raises:
        UsageError: it is nothing that benchspec made on this site.
        RunFailed: it could not be removed.
    """
    match leftover.kind:
        case "processes":
            where = places(site, leftover.name)
            process.end(lambda: running(where, leftover.name))
        case "directory":
            _remove_directory(site, Path(leftover.name))
        case _:
            raise UsageError(f"found leftover {leftover.kind} {leftover.name!r}, expected one of those this runner lists")


def running(where: Places, run_id: str) -> list[process.Process]:
    """The processes of a run on one site: those marked with both, and the groups whose leader is in one of its pid files."""
    markers = {"BENCHSPEC_RUN": run_id, "BENCHSPEC_SITE": where.run.name}
    found = {(p.pid, p.start): p for p in process.marked(markers)}
    for leader in _leaders(where):
        found.update(((p.pid, p.start), p) for p in process.family(leader, markers))
    return list(found.values())


def _leaders(where: Places) -> Iterator[process.Process]:
    for directory in sorted(where.jobs.glob("*")):
        leader = read_leader(directory)
        if leader is None or not leader.is_same(process.look_up(leader.pid)):
            continue
        try:
            if Record.read(directory).boot_id == boot_id():
                yield leader
        except RunFailed:
            continue  # without a record the start time may be that of another boot: the mark alone counts


def _remove_directory(site: Site, path: Path) -> None:
    run = path.parent.name
    owned = {root: where for where in (places(site, name) for name in (run.removeprefix("benchspec-"), run)) for root in where.roots()}
    if path not in owned:
        raise UsageError(f"found directory {path}, expected one that benchspec made for a run on this site")
    if path.is_symlink():
        raise UsageError(f"found a symbolic link at {path}, expected a directory that benchspec made")
    remove_tree(path)
    owned[path].remove_if_empty()
    if path.exists():
        raise RunFailed("could not be removed", where=str(path))
