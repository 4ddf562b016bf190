"""Sessions to single machines, for what must be done even though a host of their site is away."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ...lifecycle.step.places import Runners, StepPlace, parts_of
from ...model.contract.runner import Session, StepRunner
from ...model.errors import BenchspecError, TransportLost
from ...model.spec import Role, Site
from .sites import Sites


class Doors:
    """Opens sites as they are needed. Where a site as a whole cannot be had, each of its hosts is
    reached for itself.
    """

    def __init__(self, runners: Runners, run_id: str) -> None:
        self._runners = runners
        self._run_id = run_id
        self._sessions: list[Session] = []
        self._whole: dict[str, Session] = {}
        self._single: dict[tuple[str, Role], Session | BenchspecError] = {}
        self._tried: set[str] = set()

    def __call__(self, place: StepPlace) -> Session:
        """The session that reaches ``place``. Raises TransportLost with the reason why there is
        none.
        """
        if place.site.name not in self._tried:
            self._tried.add(place.site.name)
            self._open(place.site)
        if place.site.name in self._whole:
            return self._whole[place.site.name]
        found = self._single.get(place.key)
        if found is None:
            raise TransportLost("is not connected", where=place.host)
        if isinstance(found, BenchspecError):
            raise TransportLost(found.headline, where=place.host, remedy=found.remedy)
        return found

    def _open(self, site: Site) -> None:
        try:
            self._whole[site.name] = self._connect(site)
        except BenchspecError as error:
            parts = parts_of(site, self._runners)
            for part in parts:
                reached = error if len(parts) == 1 else self._try(part)
                self._single |= dict.fromkeys(self._roles(part), reached)

    def _try(self, part: Site) -> Session | BenchspecError:
        try:
            return self._connect(part)
        except BenchspecError as error:
            return error

    def _connect(self, site: Site) -> Session:
        session = self._runners(site.runner).connect(site, self._run_id)
        self._sessions.append(session)
        return session

    def _roles(self, part: Site) -> list[tuple[str, Role]]:
        runner = self._runners(part.runner)
        return [
            (part.name, role)
            for role in (runner.step_hosts(part) if isinstance(runner, StepRunner) else ())
        ]

    def close(self) -> None:
        """Close all sessions (idempotent)."""
        while self._sessions:
            with contextlib.suppress(TransportLost):
                self._sessions.pop().close()
        self._whole.clear()
        self._single.clear()
        self._tried.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDoors:
    """The sessions for lifecycle steps of a run: those of its sites, and of single hosts where a
    site was lost, since one host that was lost does not keep a site's others from being destroyed.
    """

    sites: Sites
    remains: Doors

    def __call__(self, place: StepPlace) -> Session:
        """The session that reaches ``place``. Raises TransportLost."""
        if place.site.name in self.sites.lost:
            return self.remains(place)
        return self.sites.session(place.site.name)
