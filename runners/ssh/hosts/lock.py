"""Exclusive use of a host: one run at a time, whoever's it is, with the owner's name for all others
to read.

The lock is `flock` on a file per user, ``/var/tmp/benchspec.lock-UID`` (readable by all: its text
names the owner), held in shared mode by everything of the run: by a small process behind a channel
for as long as the session lives, and by the wrapper of every job (agent/start.py). So it outlives a
broken connection or a killed controller exactly as long as something still runs, and the same run,
resumed, joins it. A run that comes first to a host takes the exclusive mode for a moment, which it
gets only if nobody holds the shared one. Before that it sees that no other user's file is held. All
of this happens behind a gate, `flock` on the directory itself, so that two newcomers do not disturb
each other.

Where a host has no `flock`, nothing is held: doctor says so. The same channel answers questions
about the host's clock (agent/clock.py).
"""

from __future__ import annotations

import getpass
import secrets
import shlex
import socket
import time

from ....engine.model.errors import Locked
from ...agent.door import Door, word
from ...agent.scripts import here
from ...agent.start import MORE_PATH
from ..failures import ConnectionBroke, HostDiskFull, HostSilent
from ..transport.connection import Connection

ANSWER_TIMEOUT_S = 30.0
PATIENCE_S = 90
"""So long the lock outlives a broken connection by itself: longer than connecting again is
tried.
"""

_CARRYING = (
    f'env PATH="${{PATH:+$PATH:}}{MORE_PATH}" LC_ALL=C BENCHSPEC_LOCK="$1" BENCHSPEC_HOLDER="$4"'
)


def _hold_script() -> str:
    """Holds a host as a process that carries the run's mark and the holder's own in its
    environment.
    """
    carried = shlex.quote(here(__file__, "hold"))
    return f'exec {_CARRYING} /bin/sh -c {carried} benchspec-lock "$@"'


def unlock(door: Door, run_id: str, mark: str) -> tuple[str, str]:
    """End those that hold a host for ``run_id`` and carry ``mark``, and remove the lock if nobody
    holds it any more. What the host says: ``freed``, ``held``, or ``alive`` and who.
    """
    return word(door, here(__file__, "unlock"), (run_id, mark))


class Hold:
    """The channel behind which a host is held for a run."""

    def __init__(self, connection: Connection, host: str, run_id: str, *, privileged: bool) -> None:
        self.run_id = run_id
        self.mark = f"BENCHSPEC_HOLDER={(token := secrets.token_hex(8))}"
        """What the holding process carries in its environment."""
        self._stream = connection.stream(
            _hold_script(),
            (run_id, describe_owner(), str(PATIENCE_S), token),
            privileged=privileged,
        )
        self._host = host
        self._held = b""
        word, _, detail = self.line().partition(" ")
        if word not in ("held", "free"):
            self._stream.close()
            raise self._refusal(word, detail)
        self.file = detail
        """The lock's file on the host; "" where there is no flock."""

    def _refusal(self, word: str, detail: str) -> Locked | HostDiskFull:
        if word == "locked":
            run, _, owner = detail.partition(" ")
            return Locked(
                f"is used by run {run or 'of an unknown owner'} ({owner or 'it says no more'})",
                where=f"host {self._host}",
                remedy=(
                    "wait until it has ended; if its controller is gone for good, `benchspec clean`"
                    " on that run frees the host"
                ),
            )
        why = f"cannot be locked: {detail or word}"
        return HostDiskFull(
            why,
            where=f"host {self._host}",
            remedy="free space in /var/tmp, and let this user write there",
        )

    def ask(self, question: str) -> str:
        """What the host says to ``who`` (its machine-id) or ``when`` (wall clock and uptime): one
        way there and back. Raises TransportLost.

        A question that was not answered in time is the last one: its answer would be taken for that
        of the next.
        """
        self._stream.write(f"{question}\n".encode())
        try:
            return self.line()
        except HostSilent:
            self._stream.close()
            raise

    def line(self) -> str:
        """The next line that the host says. Raises TransportLost."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while b"\n" not in self._held:
            piece = self._stream.read(max(0.0, deadline - time.monotonic()))
            if piece is None:
                raise ConnectionBroke(
                    "the process that held the host was ended",
                    host=self._host,
                    remedy="look who ends this user's processes",
                )
            if not piece and time.monotonic() >= deadline:
                raise HostSilent(
                    "does not say its time", host=self._host, remedy="look whether the host is busy"
                )
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        return line.decode("utf-8", "replace")

    def release(self) -> None:
        """Give the lock back, as far as this session holds it (idempotent)."""
        self._stream.write(b"bye\n")
        while self._stream.read(ANSWER_TIMEOUT_S):
            pass
        self._stream.close()


def describe_owner() -> str:
    """Who this controller is, for whoever finds the host taken."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    return (
        f"{user} at {socket.gethostname()} since"
        f" {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())}"
    )
