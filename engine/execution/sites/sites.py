"""The sites of a run: connected together before anything is created, and given up one by one when
their connection is lost for good.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...control.interrupts import Interrupts
from ...lifecycle.step.order import RUN, SESSION, rising
from ...lifecycle.step.places import ON_CONTROLLER, places_of
from ...model.contract.runner import Runner, Session
from ...model.errors import BenchspecError, Locked, TransportLost
from ...model.results import Fact
from ...model.spec import Site, Spec

S = TypeVar("S")
T = TypeVar("T")
MOST_AT_ONCE = 16
"""So many sites are connected or observed at the same time."""


class SiteLost(TransportLost):
    """The connection to one site of the run is lost (exit 4)."""

    def __init__(self, site: str, error: TransportLost) -> None:
        super().__init__(error.message, where=error.where, remedy=error.remedy)
        self.site = site


@contextlib.contextmanager
def on_site(site: str) -> Iterator[None]:
    """Say of which site a connection was lost. Raises SiteLost."""
    try:
        yield
    except SiteLost:
        raise
    except TransportLost as error:
        raise SiteLost(site, error) from error


def late_sites(
    spec: Spec, targets: Iterable[str], runner: Callable[[str], Runner]
) -> frozenset[str]:
    """The sites that need not be there before their targets are brought up, since that begins on
    the controller: it may be what makes them.
    """
    late: set[str] = set()
    needed: set[str] = set()
    for target in map(spec.target, targets):
        first = next((own for per in (RUN, SESSION) for own in rising(target, per)), None)
        made_here = first is not None and places_of(target, first.step, runner) == (ON_CONTROLLER,)
        (late if made_here else needed).update(site.name for site in target.sites.values())
    return frozenset(late - needed)


class Sites:
    """Sessions by site. ``lost``: the sites that were given up, with the reason.

    ``late``: sites that a lifecycle makes, such as a cluster that is installed. ``awaited``: those
    of them that are not there yet. ``refused``: sites that could not be connected at first, on
    which nothing was made.
    """

    def __init__(
        self,
        sites: Iterable[Site],
        runner: Callable[[str], Runner],
        run_id: str,
        interrupts: Interrupts,
        late: Collection[str] = (),
    ) -> None:
        self.sessions: dict[str, Session] = {}
        self.lost: dict[str, TransportLost] = {}
        self.late = frozenset(late)
        self.awaited: set[str] = set()
        self.refused: frozenset[str] = frozenset()
        self._left: set[str] = set()
        self._sites = {site.name: site for site in sites}
        self._runner = runner
        self._run_id = run_id
        self._interrupts = interrupts

    def connect(self) -> None:
        """Connect the sites that are not connected, at the same time. Raises TransportLost, Locked;
        those that can be used stay connected.
        """
        missing = [
            site
            for name, site in self._sites.items()
            if name not in self.sessions and name not in self.lost
        ]
        with self._interrupts.waiting():
            found = dict(
                zip((site.name for site in missing), at_once(self._connect, missing), strict=True)
            )
        self.awaited = {
            name
            for name, error in found.items()
            if name in self.late and error is not None and not isinstance(error, Locked)
        }
        self.refused = frozenset(name for name, error in found.items() if error is not None)
        errors = [
            error for name, error in found.items() if error is not None and name not in self.awaited
        ]
        if errors:
            raise errors[0] if len({error.headline for error in errors}) == 1 else _together(errors)

    def session(self, name: str) -> Session:
        """The session of a site, connected now if it was awaited or left. Raises TransportLost,
        Locked when it is not there.
        """
        if name in self.awaited | self._left:
            with on_site(name):
                error = self._connect(self._sites[name])
                if error is not None:
                    raise error
            self.awaited.discard(name)
            self._left.discard(name)
        if name not in self.sessions:
            raise TransportLost("is not connected", where=f"site {name}")
        return self.sessions[name]

    def _connect(self, site: Site) -> BenchspecError | None:
        try:
            self.sessions[site.name] = self._runner(site.runner).connect(site, self._run_id)
        except BenchspecError as error:
            return error
        return None

    def facts(self, sites: Sequence[str]) -> dict[str, Mapping[str, Sequence[Fact]]]:
        """The facts of every node of these sites. Raises SiteLost."""

        def ask(site: str) -> Mapping[str, Sequence[Fact]]:
            with on_site(site):
                return self.sessions[site].facts()

        return dict(zip(sites, at_once(ask, sites), strict=True))

    def leave_late(self) -> None:
        """Close the sites that a lifecycle makes, while they are there: once their targets are
        destroyed nobody could remove the run's directories. A step that needs one connects again.
        """
        for name in self.late & self.sessions.keys():
            self._left.add(name)
            with contextlib.suppress(BenchspecError):
                self.sessions.pop(name).close()

    def lose(self, site: str, error: TransportLost) -> None:
        """Give a site up: nothing more is asked of it in this run."""
        self.lost[site] = error
        session = self.sessions.pop(site, None)
        if session is not None:
            with contextlib.suppress(BenchspecError):
                session.close()

    def disconnect(self) -> None:
        """Close all connections (idempotent)."""
        for session in self.sessions.values():
            with contextlib.suppress(TransportLost):
                session.close()
        self.sessions.clear()


def _together(errors: Sequence[BenchspecError]) -> BenchspecError:
    """Several sites cannot be used: told in one go, so that all can be put right before the next
    try.
    """
    kind = Locked if all(isinstance(error, Locked) for error in errors) else TransportLost
    reasons, remedies = (
        dict.fromkeys(error.headline for error in errors),
        dict.fromkeys(error.remedy for error in errors if error.remedy),
    )
    return kind(
        f"{len(reasons)} hosts or sites cannot be used: {'; '.join(reasons)}",
        remedy="; ".join(remedies) or None,
    )


def at_once(do: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """``do`` of every item, several at the same time where there are several; results in order.
    Raises the first error, after all have ended.
    """
    if len(items) < 2:
        return [do(item) for item in items]
    with ThreadPoolExecutor(min(len(items), MOST_AT_ONCE), thread_name_prefix="site") as pool:
        return list(pool.map(do, items))
