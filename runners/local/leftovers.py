"""What a run left on this host, found and removed without its controller: by directories, pid
files, control groups, the marks in its processes' environment, and what they keep without these.

Names of leftovers hold the run's id, so that :func:`remove` can check again that what it is about
to end or delete is that run's.
"""

from __future__ import annotations

from pathlib import Path

from ...engine.model.contract.values import Leftover
from ...engine.model.errors import RunFailed, UsageError
from ...engine.model.spec import Site
from ..agent.door import ask, word
from ..agent.job import outlived
from ..agent.scripts import own
from .door import LocalDoor
from .state import places

DIRECTORY = "directory"
PROCESSES = "processes"


def find(site: Site, run_id: str) -> list[Leftover]:
    """The running processes of ``run_id`` (one leftover per run, since they are ended together) and
    its directories.
    """
    said = ask(LocalDoor(), own("list"), _arguments(site, run_id)).decode("utf-8", "replace")
    left = []
    for line in said.splitlines():
        kind, _, path = line.partition(" ")
        left.append(Leftover(kind=kind, name=path if kind == DIRECTORY else run_id))
    return left


def remove(site: Site, leftover: Leftover) -> None:
    """End the processes or delete the directory; harmless when they are gone.

    Raises:
        UsageError: it is nothing that benchspec made on this site.
        RunFailed: it could not be removed.
    """
    match leftover.kind:
        case "processes":
            said, pids = word(LocalDoor(), own("end_run"), _arguments(site, leftover.name))
            if said == "alive":
                raise outlived(pids, f"run {leftover.name}")
        case "directory":
            _remove_directory(site, Path(leftover.name))
        case _:
            raise UsageError(
                f"found leftover {leftover.kind} {leftover.name!r}, expected one of those this"
                " runner lists"
            )


def _remove_directory(site: Site, path: Path) -> None:
    run = path.parent.name
    owned = {
        root: name
        for name in (run.removeprefix("benchspec-"), run)
        for root in places(site, name).roots()
    }
    if path not in owned:
        raise UsageError(
            f"found directory {path}, expected one that benchspec made for a run on this site"
        )
    said, _ = word(LocalDoor(), own("remove"), (*_arguments(site, owned[path]), str(path)))
    if said == "link":
        raise UsageError(
            f"found a symbolic link at {path}, expected a directory that benchspec made"
        )
    places(site, owned[path]).remove_if_empty()
    if said != "removed":
        raise RunFailed("could not be removed", where=str(path))


def _arguments(site: Site, run_id: str) -> tuple[str, str, str, str]:
    where = places(site, run_id)
    workdir = site.options.get("workdir")
    return run_id, site.name, str(where.run), workdir if isinstance(workdir, str) else ""
