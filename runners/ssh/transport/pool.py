"""All connections of this process: one per host and user, whichever sites name it, made for many
hosts at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import paramiko

from ....engine.model.errors import BenchspecError
from ....engine.model.secrets import parse_reference, resolve
from ..failures import ConfigRefused
from ..options import HostOptions, SiteOptions
from .authentication import KeyRing
from .become import Elevation
from .config import Route, route
from .connection import Connection
from .dial import dial
from .host_keys import Trust
from .reconnecting import Dial

AT_ONCE = 32
"""Hosts that are connected to at the same time."""


@dataclass(slots=True)
class _Held:
    """A connection, the way it goes, and how many hold it."""

    connection: Connection
    way: Route
    holders: int = 0


class Pool:
    """Connections by the way they go. A connection lives while somebody holds it."""

    def __init__(self) -> None:
        self.trust = Trust()
        self._keys = KeyRing()
        self._lock = threading.Lock()
        self._held: dict[tuple[object, ...], _Held] = {}
        self._fronts: dict[tuple[object, ...], Connection] = {}

    def open(
        self, site: SiteOptions, names: Iterable[str]
    ) -> Mapping[str, Connection | BenchspecError]:
        """Connect to the hosts of ``site`` called ``names``, many at once; what fails stands in the
        place of its connection.
        """
        wanted = tuple(dict.fromkeys(names))
        with ThreadPoolExecutor(
            max(1, min(AT_ONCE, len(wanted))), thread_name_prefix="benchspec-ssh-connect"
        ) as workers:
            return dict(
                zip(wanted, workers.map(lambda name: self._try(site, name), wanted), strict=True)
            )

    def connect(self, site: SiteOptions, name: str) -> Connection:
        """Connect to one host, or share the connection that is there. Give it back with
        :meth:`release`. Raises BenchspecError.
        """
        options = site.hosts[name]
        way = route(site, name)
        key = (*way.endpoint, options.become)
        with self._lock:
            if key not in self._held:
                self._held[key] = _Held(self._make(options, way, site.keepalive_s), way)
            held = self._held[key]
            held.holders += 1
        try:
            held.connection.connect()
        except BaseException:
            self.release(held.connection)
            raise
        return held.connection

    def release(self, connection: Connection) -> None:
        """Give a connection back; it is closed when nobody holds it any more."""
        with self._lock:
            for key, held in list(self._held.items()):
                if held.connection is connection:
                    held.holders -= 1
                    if held.holders == 0:
                        del self._held[key]
                        break
            else:
                return
            idle = [connection, *self._idle_fronts()]
        for one in idle:
            one.close()

    def close(self) -> None:
        """Close every connection, whoever holds it."""
        with self._lock:
            open_ones = [held.connection for held in self._held.values()]
            self._held.clear()
            open_ones += self._idle_fronts()
        for one in open_ones:
            one.close()

    def _idle_fronts(self) -> list[Connection]:
        """The connections to jump hosts that no held connection goes through any more, taken out of
        the pool; outermost last.
        """
        needed = {jump.endpoint for held in self._held.values() for jump in _jumps(held.way)}
        return [self._fronts.pop(key) for key in reversed(list(self._fronts)) if key not in needed]

    def _try(self, site: SiteOptions, name: str) -> Connection | BenchspecError:
        try:
            return self.connect(site, name)
        except BenchspecError as error:
            return error

    def _make(self, options: HostOptions, way: Route, keepalive_s: float) -> Connection:
        elevation = (
            None
            if options.become is None
            else Elevation(options.label, options.become, _password(options))
        )
        return Connection(
            options.label,
            self._dial(way, keepalive_s),
            elevation=elevation,
            is_root=way.user == "root",
            beat_s=keepalive_s,
        )

    def _dial(self, way: Route, keepalive_s: float) -> Dial:
        def front(jump: Route) -> paramiko.Transport:
            with self._lock:
                if jump.endpoint not in self._fronts:
                    self._fronts[jump.endpoint] = Connection(
                        jump.name, self._dial(jump, keepalive_s), beat_s=keepalive_s
                    )
                connection = self._fronts[jump.endpoint]
            return connection.transport()

        return lambda: dial(way, front, self.trust, self._keys, keepalive_s)


def _jumps(way: Route) -> Iterator[Route]:
    jump = way.jump
    while jump is not None:
        yield jump
        jump = jump.jump


def _password(options: HostOptions) -> Callable[[], str] | None:
    """How the password of ``become`` is looked up, each time it is needed."""
    text = options.become.password if options.become else None
    if text is None:
        return None
    reference = parse_reference(text)
    if reference is None:
        raise ConfigRefused(
            "found become.password that is no secret reference",
            host=options.label,
            remedy="write it as ${secret:env:NAME} or ${secret:file:PATH}",
        )
    return lambda: resolve(reference)
