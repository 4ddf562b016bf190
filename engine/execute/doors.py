"""Sessions to single machines, for what must be done even though a host of their site is away."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Self

from ..errors import BenchspecError, TransportLost
from ..ports import Session, StepRunner
from ..spec import Role, Site
from .step_places import Runners, StepPlace, parts_of


class Doors:
    """Opens sites as they are needed. Where a site as a whole cannot be had, each of its hosts is reached for itself."""

    def __init__(self, runners: Runners, run_id: str) -> None:
        self._runners = runners
        self._run_id = run_id
        self._sessions: list[Session] = []
        self._whole: dict[str, Session] = {}
        self._single: dict[tuple[str, Role], Session | BenchspecError] = {}
        self._tried: set[str] = set()

    def __call__(self, place: StepPlace) -> Session:
        """The session that reaches ``place``. Raises TransportLost with the reason why there is none."""
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
        return [(part.name, role) for role in (runner.step_hosts(part) if isinstance(runner, StepRunner) else ())]

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
