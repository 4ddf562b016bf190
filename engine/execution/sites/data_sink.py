"""The data sink: a node that keeps a copy of the results, made after the last trial and before
anything is destroyed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from ...control.events import Event, Observer
from ...model.contract.runner import DataSink, Session
from ...model.errors import RunFailed
from ...model.results import Finding, FindingLevel
from ...model.spec import Role, Site, Spec, Target
from ...model.text.json_access import mapping
from ...store.directory import RunDirectory
from ...store.journal import Journal
from ...store.records import DEPOSITED
from ...store.report_finding import report_finding
from .sites import Sites

_NOT_COPIED = ("report",)


def sinks_of(spec: Spec, targets: Collection[str]) -> dict[str, Site]:
    """The sites on which these targets have a data sink of their own choice, by name; not those
    where any role would be.
    """
    return {
        site.name: site
        for target in spec.targets
        if target.name in targets
        for site in _sinks(target)
    }


def _sinks(target: Target) -> Iterator[Site]:
    site = target.sites.get(Role.DATA_SINK)
    if site is None:
        return
    by_role = {**mapping(site.options.get("hosts")), **mapping(site.options.get("roles"))}
    if Role.DATA_SINK in mapping(target.document.get("sites")) or Role.DATA_SINK in by_role:
        yield site


def deposit(
    names: Collection[str],
    sites: Sites,
    directory: RunDirectory,
    journal: Journal,
    observer: Observer,
) -> tuple[str, ...]:
    """Copy the run directory to every sink; return what failed, which is told. Raises
    StorageError.
    """
    problems = []
    for name in names:
        files = files_of(directory.path)
        try:
            where = _copy(sites.sessions.get(name), files)
        except RunFailed as error:  # also a sink that is full: the run directory is not
            problem = f"the results were not copied to the data sink on {name}: {error.message}"
            problems.append(problem)
            message = (
                f"{problem}; they are in {directory.path} alone (`benchspec resume` tries again)"
            )
            report_finding(
                Finding(code="F605", level=FindingLevel.ERROR, message=message), journal, observer
            )
            continue
        size = sum(path.stat().st_size for path in files.values())
        journal.append(
            DEPOSITED, {"site": name, "directory": where, "files": len(files), "size": size}
        )
        message = (
            f"copied {len(files)} files of the results to {where} on {name}; the sums of the copies"
            " are right"
        )
        observer.notify(
            Event(
                kind=DEPOSITED,
                message=message,
                data={"site": name, "directory": where, "files": len(files)},
            )
        )
    return tuple(problems)


def _copy(session: Session | None, files: Mapping[str, Path]) -> str:
    if session is None:
        raise RunFailed("the site is not connected any more")
    if not isinstance(session, DataSink):
        raise RunFailed("its runner cannot keep results")
    return session.deposit(Role.DATA_SINK, files)


def files_of(directory: Path) -> Mapping[str, Path]:
    """Every file of a run directory by its name there, but for the pages, which can be made
    again.
    """
    found = {
        str(path.relative_to(directory)): path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
    return {
        name: path
        for name, path in found.items()
        if Path(name).parts[0] not in _NOT_COPIED and not Path(name).name.startswith(".")
    }
