"""One transport of a host: alive as far as is known, made again when it broke, given up when the
host falls silent.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import paramiko

from ..failures import ConnectionBroke, HostFailure, HostSilent, SessionsRefused
from .channel import Broken, Exchange, Refused, Silence, open_channel, open_exchange
from .dial import hang_up
from .host_keys import Verified

Dial = Callable[[], tuple[paramiko.Transport, Verified]]
"""Opens an authenticated transport to a host, with the key it was known by. Raises HostFailure."""

RUNS, STREAMS = 5, 4
"""Channels that scripts and streams may hold at once on one transport. sshd allows ten sessions
(MaxSessions) unless told otherwise.
"""

RECONNECT_S = 60.0
"""So long a connection that broke is tried again."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_REFUSED_PAUSE_S = 0.05
REFUSALS = 20
"""So often a session is asked for again that sshd refused, until it is said to have no place for
one.
"""


class Line:
    """One transport of a host, made again when it broke. Not more channels are opened on it than it
    has places.
    """

    def __init__(self, name: str, dial: Dial, beat_s: float) -> None:
        self._name = name
        self._dial = dial
        self._beat_s = beat_s
        self._lock = threading.Lock()
        self._beat_lock = threading.Lock()
        self._transport: paramiko.Transport | None = None
        self.verified: Verified | None = None
        self._heard_at = 0.0
        self._closed = False
        self._given_up = False
        self.runs = threading.BoundedSemaphore(RUNS)
        self.streams = threading.BoundedSemaphore(STREAMS)

    def transport(self) -> paramiko.Transport:
        """A transport that is alive as far as is known; one that broke is made again, for
        RECONNECT_S at most. Raises HostFailure.
        """
        with self._lock:
            if self._closed:
                raise broke(self._name)
            if self._transport is None or not self._transport.is_active():
                first = self.verified is None  # then what is wrong is said at once
                self._transport, self.verified = self._dial() if first else self._redial()
                self._heard_at = time.monotonic()
            if self._closed:  # while it was made
                hang_up(self._transport)
                raise broke(self._name)
            return self._transport

    def _redial(self) -> tuple[paramiko.Transport, Verified]:
        # a host that was given up is tried once each time it is asked for: whoever still wants
        # something of it must not wait as long again
        pause, give_up = _FIRST_PAUSE_S, time.monotonic() + (0.0 if self._given_up else RECONNECT_S)
        while True:
            try:
                made = self._dial()
                self._given_up = False
                return made
            except HostFailure as error:
                if self._closed or error.permanent or time.monotonic() + pause > give_up:
                    self._given_up = True
                    raise
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def alive(self) -> None:
        """Ask the host for a sign of life if none was heard for a while. Raises HostSilent, having
        given the transport up.
        """
        with self._beat_lock:
            transport = self._transport
            if (
                transport is None
                or not transport.is_active()
                or time.monotonic() - self._heard_at < self._beat_s
            ):
                return
            # a channel of a kind that no sshd knows: it is refused at once, takes no place and
            # starts nothing
            try:
                open_channel(transport, "keepalive@benchspec.dev", self._beat_s).close()
            except Refused:
                pass
            except Broken:
                return
            except Silence as error:
                hang_up(transport)
                raise HostSilent(
                    f"accepted a connection and then did not answer for {2 * self._beat_s:g} s",
                    host=self._name,
                    remedy=(
                        "look whether the host hangs (its console, its load); `benchspec resume`"
                        " goes on when it answers again"
                    ),
                ) from error
            self._heard_at = time.monotonic()

    def open(self, command: str, timeout_s: float, refusals: int = REFUSALS) -> Exchange:
        """Start a command. Raises HostFailure, and Broken when the transport ended before anything
        of ours ran.
        """
        for _ in range(refusals):
            transport = self.transport()
            try:
                return open_exchange(
                    transport, command, timeout_s=timeout_s, alive=self.alive, beat_s=self._beat_s
                )
            except (
                Refused
            ):  # the places of channels just closed become free when their programs have ended
                time.sleep(_REFUSED_PAUSE_S)
            except Silence:
                self.alive()
        raise SessionsRefused(
            "its sshd opens no further session on the connection",
            host=self._name,
            remedy="raise MaxSessions in its sshd_config (10 unless given)",
        )

    def close(self) -> None:
        """End the transport (idempotent)."""
        self._closed = True
        transport = self._transport
        if transport is not None:
            hang_up(transport)


def broke(host: str) -> ConnectionBroke:
    """The error of a connection that ended."""
    return ConnectionBroke(
        "the connection broke",
        host=host,
        remedy="look at the network and at its sshd; `benchspec resume` goes on from there",
    )
