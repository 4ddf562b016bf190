"""Taking down what a run left up and removing what it left on its sites, without its controller: `clean`, `down`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ..errors import BenchspecError, TransportLost
from ..journal import Journal
from ..plan import Plan
from ..ports import Session, StepRunner
from ..rundir import RunDirectory
from ..spec import Role, Site, Spec
from .events import Observer
from .interrupts import Interrupts
from .leftovers import Left, sweep, used_sites
from .lifecycle import Stage
from .standing import Standings
from .step_places import Runners, StepPlace, parts_of, sites_of

CLEANED = "cleaned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What cleaning a run did: targets destroyed, leftovers removed; ``problems`` of destroying, and what is left."""

    destroyed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


class Doors:
    """Sessions to the machines of several sites. Where a site as a whole cannot be had, each of its hosts is reached for itself."""

    def __init__(self, sites: Mapping[str, Site], runners: Runners, run_id: str) -> None:
        self._sites = sites
        self._runners = runners
        self._run_id = run_id
        self._sessions: list[Session] = []
        self._whole: dict[str, Session] = {}
        self._single: dict[tuple[str, Role], Session | str] = {}

    def __enter__(self) -> Self:
        for site in self._sites.values():
            self._open(site)
        return self

    def _open(self, site: Site) -> None:
        try:
            self._whole[site.name] = self._connect(site)
        except BenchspecError as error:
            parts = parts_of(site, self._runners)
            for part in parts:
                reached = _reason(error) if len(parts) == 1 else self._try(part)
                self._single |= dict.fromkeys(self._roles(part), reached)

    def _try(self, part: Site) -> Session | str:
        try:
            return self._connect(part)
        except BenchspecError as error:
            return _reason(error)

    def _connect(self, site: Site) -> Session:
        session = self._runners(site.runner).connect(site, self._run_id)
        self._sessions.append(session)
        return session

    def _roles(self, part: Site) -> list[tuple[str, Role]]:
        runner = self._runners(part.runner)
        return [(part.name, role) for role in (runner.step_hosts(part) if isinstance(runner, StepRunner) else ())]

    def __call__(self, place: StepPlace) -> Session:
        """The session that reaches ``place``. Raises TransportLost with the reason why there is none."""
        if place.site.name in self._whole:
            return self._whole[place.site.name]
        found = self._single.get(place.key, "is not connected")
        if isinstance(found, str):
            raise TransportLost(found, where=place.host)
        return found

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for session in self._sessions:
            with contextlib.suppress(TransportLost):
                session.close()


def _reason(error: BenchspecError) -> str:
    return f"{error.where}: {error.message}" if error.where else error.message


def clean(directory: RunDirectory, spec: Spec, plan: Plan, runners: Runners, journal: Journal, observer: Observer) -> Cleaned:
    """Carry out the destroy steps of everything the journal says is up, then remove all that is left of the run.

    What cannot be done on one host is told, and the rest is done.

    Raises:
        Interrupted: a signal came while a step of a controller before was waited for.
        StorageError: the run directory cannot be written.
    """
    if not journal.records:  # nothing is created before the first record
        return Cleaned()
    destroyed, problems = _destroy(directory, spec, runners, journal, observer)
    swept = sweep(used_sites(spec, plan, runners), runners, directory.run_id)
    left = [{"site": one.site, "what": one.what, "why": one.why} for one in swept.left]
    journal.append(CLEANED, {"removed": list(swept.removed), "left": left})
    return Cleaned(destroyed=destroyed, removed=swept.removed, problems=problems, left=swept.left)


def _destroy(directory: RunDirectory, spec: Spec, runners: Runners, journal: Journal, observer: Observer) -> tuple[tuple[str, ...], tuple[str, ...]]:
    targets = dict.fromkeys(standing.bringing.target for standing in Standings(journal.records).up)
    if not targets:
        return (), ()
    with Interrupts() as interrupts, Doors(sites_of(spec, targets, runners), runners, directory.run_id) as doors:
        stage = Stage(directory, spec, runners, doors, journal, interrupts, observer)
        stage.recover()
    return tuple(target for target in targets if target not in stage.troubled), tuple(stage.problems)
