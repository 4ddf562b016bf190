"""One host of one run: its connection, its lock and its clock. Sites of a run that share a host
share this.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Sequence

from ....engine.model.errors import RunFailed
from ...agent import door
from ...agent.clock import Clock, Reading, Stamp
from ...agent.door import SCRIPT_TIMEOUT_S, Answer, Manner
from ...agent.record import Record
from ...agent.scripts import here, own
from ..failures import ConnectionBroke, HostFailure
from ..options import HostOptions
from ..transport.connection import Connection, Stream
from .directories import Places
from .lock import Hold, unlock

CLOCK_HOLDS_S = 10.0
"""So long a measured clock is relied on: at 50 ppm it drifts by 0.5 ms in that time."""

MANNER = Manner(
    missing="install the package that has {name}, or correct its name",
    lost="killed from outside, or the host was restarted",
    remedy=(
        "look for the out-of-memory killer in the kernel log; under this id it is not run again"
    ),
    fifos="end life",
)


class Host:
    """A host as scripts see it. Where the spec has ``become``, everything runs as that user: what
    one user made, another could not remove.
    """

    def __init__(self, name: str, connection: Connection, options: HostOptions) -> None:
        self.name = name
        self.connection = connection
        self.privileged = options.become is not None
        self.user = ""
        self.home = ""
        self.away = ""
        """What begins a session of its own for a program there: ``setsid -f``, ``setsid``, or
        nothing.
        """
        self.groups = ""
        """Where control groups can be made there, or nothing."""
        self._options = options
        self._address = ""
        self._hold: Hold | None = None
        self._clock: Clock | None = None
        self._measured_at = 0.0
        self._guard = threading.RLock()

    @property
    def manner(self) -> Manner:
        """What is special about a host."""
        return MANNER

    def at(self, what: str) -> str:
        """Where ``what`` is, for messages."""
        return f"host {self.name}: {what}" if what else f"host {self.name}"

    def sh(
        self,
        script: str,
        arguments: Sequence[str] = (),
        data: bytes = b"",
        *,
        timeout_s: float = SCRIPT_TIMEOUT_S,
    ) -> Answer:
        """Run a script that may be sent again when the connection broke under it: all scripts of
        this package may. Raises HostFailure.

        One that needs no standard input goes that way itself: read by `cat` at once, not by the
        shell byte for byte.
        """
        if not data:
            script, data = 'eval "$(cat)"', compact(script)
        return self.connection.run(
            script,
            arguments,
            data,
            timeout_s=timeout_s,
            privileged=self.privileged,
            repeatable=True,
        )

    def ask(
        self, script: str, arguments: Sequence[str] = (), *, timeout_s: float = SCRIPT_TIMEOUT_S
    ) -> bytes:
        """What a script prints. Raises HostDiskFull, RunFailed."""
        return door.ask(self, script, arguments, timeout_s=timeout_s)

    def await_end(self, jobs: str, job_id: str, timeout_s: float) -> str | None:
        """Wait for at most ``timeout_s``: how it is then, None when it runs on. A wait whose
        connection broke is issued again.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                said = self._await_once(jobs, job_id, deadline)
                if said == "unsure":
                    said, _ = door.word(self, own("state"), (jobs, job_id))
                if said != "running":
                    return said
            except ConnectionBroke:
                if time.monotonic() > deadline:
                    raise

    def _await_once(self, jobs: str, job_id: str, deadline: float) -> str | None:
        stream = self.stream(own("wait"), (jobs, job_id))
        said = b""
        try:
            while True:
                piece = stream.read(max(0.0, deadline - time.monotonic()))
                if piece is None:
                    return said.decode("ascii", "replace").partition("\n")[0] or "unsure"
                said += piece
                if not piece and time.monotonic() >= deadline:
                    return None
        finally:
            stream.close()

    def moment(self, stamp: Stamp, record: Record) -> float:
        """A moment that the host saw, in Unix s by the controller's clock as it was measured
        last.
        """
        return self.clock.controllers(stamp)

    def stream(self, script: str, arguments: Sequence[str] = ()) -> Stream:
        """Start a script that lasts and may read its standard input. Raises HostFailure."""
        return self.connection.stream(script, arguments, privileged=self.privileged)

    def ask_within(self, script: str, timeout_s: float) -> bytes:
        """What a script has printed by its end or within ``timeout_s``, which count from its first
        sign of life. Raises HostFailure.
        """
        told = compact(script)
        stream, output, deadline = (
            self.stream(f'eval "$(head -c {len(told)})"'),
            b"",
            time.monotonic() + 4 * timeout_s,
        )
        try:
            stream.write(told)
            while (piece := stream.read(max(0.0, deadline - time.monotonic()))) is not None:
                if not piece and time.monotonic() >= deadline:
                    break
                if not output:
                    deadline = time.monotonic() + timeout_s
                output += piece
        finally:
            stream.close()
        return output

    def enter(self, run_id: str, site: str, workdir: str, ttl_s: int) -> Places:
        """Make the directories of a site of the run, and learn who we are there; what is overdue of
        other runs goes. Raises HostDiskFull.
        """
        said = self.ask(here(__file__, "enter"), (run_id, site, workdir, str(ttl_s)))
        lines = said.decode("utf-8", "replace").split("\n")
        self.user, self.home = lines[0], lines[1]
        self._address = self._address or lines[2]
        self.away, self.groups = lines[3], lines[4]
        return Places(run_id=run_id, site=site, user=self.user, workdir=workdir, ttl_s=ttl_s)

    def leave(self, places: Places, token: str) -> None:
        """Remove the directories of a site that hold nothing any more."""
        self.ask(here(__file__, "leave"), (token, *places.inner_first()))

    @property
    def address(self) -> str:
        """Where other roles send their traffic to, unless a site says otherwise: the address at
        which its sshd was reached, else its name.
        """
        if not self._address:  # become took the environment away: ask as the user who logged in
            answer = self.connection.run(
                'set -- $SSH_CONNECTION; echo "$3"', timeout_s=SCRIPT_TIMEOUT_S, repeatable=True
            )
            self._address = answer.stdout.decode("ascii", "replace").strip()
        return self._options.host if self._address in ("", "UNKNOWN") else self._address

    def hold(self, run_id: str, *, fresh: bool = False) -> None:
        """Take the host for this run alone, or see that it is still held, and measure its clock if
        that was some time ago (or if ``fresh``).

        Raises:
            Locked: another run has it.
            HostDiskFull, TransportLost: it cannot be taken.
        """
        with self._guard:
            if self._hold is not None:
                if not fresh and time.monotonic() - self._measured_at < CLOCK_HOLDS_S:
                    return
                try:
                    self._measure(self._hold)
                    return
                except HostFailure:
                    pass
            before, self._hold = self._hold, self._take(run_id)
            self._measure(self._hold)
            if before is not None:  # what held the host behind the connection that broke
                unlock(self, run_id, before.mark)

    def _take(self, run_id: str) -> Hold:
        try:
            return Hold(self.connection, self.name, run_id, privileged=self.privileged)
        except ConnectionBroke:
            self.sh(
                ":"
            )  # says what is wrong with a host that starts nothing: its shell, our rights there
            raise

    def release(self) -> None:
        """Give the lock back. The connection is the pool's."""
        with self._guard:
            hold, self._hold = self._hold, None
            if hold is None:
                return
            try:
                hold.release()
            except HostFailure:  # its connection broke: it holds on for a while, unless it is told
                with contextlib.suppress(HostFailure):
                    unlock(self, hold.run_id, hold.mark)

    @property
    def lock(self) -> str:
        """The lock's file; "" where there is no flock."""
        return self._hold.file if self._hold is not None else ""

    def machine_id(self) -> str:
        """What its /etc/machine-id says now; "" where there is none. Costs the host no process,
        since it is asked at every trial.
        """
        with self._guard:
            for _ in range(2):
                if self._hold is not None:
                    with contextlib.suppress(ConnectionBroke):
                        return self._hold.ask("who")
                    self.hold(self._hold.run_id, fresh=True)
            return ""

    @property
    def clock(self) -> Clock:
        """The clock as it was measured last."""
        if self._clock is None:
            raise RunFailed(
                "its clock was not measured", where=f"host {self.name}", remedy="connect first"
            )
        return self._clock

    def _measure(self, hold: Hold) -> None:
        self._clock = Clock.measure(lambda: self._read_clock(hold))
        self._measured_at = time.monotonic()

    def _read_clock(self, hold: Hold) -> Reading:
        asked_at = time.time()
        answer = hold.ask("when")
        heard_at = time.time()
        stamp = Stamp.parse(*[*answer.split(" "), "", ""][:2])
        if stamp is None:
            raise ConnectionBroke(
                f"says no time but {answer!r}",
                host=self.name,
                remedy="look at its sshd; `benchspec resume` goes on from there",
            )
        return Reading(asked_at=asked_at, heard_at=heard_at, stamp=stamp)


@functools.lru_cache(128)
def compact(script: str) -> bytes:
    """A script without its comment lines and indentation, which a host need not read."""
    lines = (line.lstrip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#")).encode() + b"\n"
