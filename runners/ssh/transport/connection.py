"""One host, reached once for the whole run: scripts and streams share its connection, which is made
again when it breaks.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import paramiko

from ...agent.door import Answer
from ...agent.scripts import here
from ..failures import (
    BecomeRefused,
    HostSilent,
    NotReached,
    ScriptKilled,
    ScriptTimeout,
    SessionsRefused,
    WrongShell,
)
from .become import Elevation
from .channel import Broken, Exchange, Refused, Silence
from .framing import COMMAND, Sifter, frame, legible
from .host_keys import Verified
from .reconnecting import RECONNECT_S, REFUSALS, Dial, Line, broke
from .stream import Stream as Stream
from .tcp_probe import PROHIBITED, Forwarding

REPEATS = 3
"""So often a repeatable script is started again after the connection broke under it."""


class Connection:
    """A host for the whole run; safe to use from many threads."""

    def __init__(
        self,
        name: str,
        dial: Dial,
        *,
        elevation: Elevation | None = None,
        is_root: bool = False,
        beat_s: float = 15.0,
    ) -> None:
        self.name = name
        self.noise = b""
        """What the host printed before our scripts' output, when it first did (an rc file, a
        banner).
        """
        self._dial = dial
        self._elevation = elevation
        self._is_root = is_root
        self._beat_s = beat_s
        self._lines = [Line(name, dial, beat_s)]
        self._lock = threading.Lock()

    def connect(self) -> None:
        """Connect now, so that what is wrong is said before anything is done. Raises
        HostFailure.
        """
        self._lines[0].transport()

    def transport(self) -> paramiko.Transport:
        """The transport, for connections that go through this host. Raises HostFailure."""
        return self._lines[0].transport()

    @property
    def verified(self) -> Verified | None:
        """The host's key and who vouches for it, once connected."""
        return self._lines[0].verified

    def run(
        self,
        script: str,
        arguments: Sequence[str] = (),
        data: bytes = b"",
        *,
        timeout_s: float,
        privileged: bool = False,
        repeatable: bool = False,
    ) -> Answer:
        """Run a POSIX sh script with ``arguments`` as $1, $2 and so on, and ``data`` on its
        standard input.

        ``privileged``: as the user that ``become`` names. ``repeatable``: doing it twice does no
        harm, so that it is started again after the connection broke under it; otherwise that is an
        error, since nobody knows how far it came.

        Raises:
            ScriptTimeout: it did not end within ``timeout_s``. It is left to itself, with its
                standard streams closed.
            HostFailure: it cannot be started, or the connection broke.
        """
        deadline = time.monotonic() + timeout_s
        line = self._lines[0]
        for attempt in range(REPEATS):
            with _place(line.runs, self.name, deadline, timeout_s):
                exchange = self._start(line, deadline, timeout_s, privileged)
                try:
                    return self._converse(
                        exchange, script, arguments, data, deadline, timeout_s, privileged
                    )
                except (Broken, HostSilent) as error:
                    if not repeatable or attempt == REPEATS - 1:
                        raise (
                            error if isinstance(error, HostSilent) else broke(self.name)
                        ) from error
                finally:
                    exchange.close()
        raise broke(self.name)

    def stream(
        self, script: str, arguments: Sequence[str] = (), *, privileged: bool = False
    ) -> Stream:
        """Start a script that lasts and read its output as it comes. Raises HostFailure."""
        line = self._streaming_line()
        try:
            exchange = self._start(line, time.monotonic() + RECONNECT_S, RECONNECT_S, privileged)
            framed = frame(script, arguments)
            exchange.send(framed.head, last=False)
        except BaseException:
            line.streams.release()
            raise

        def begun(out: Sifter, err: Sifter, code: int | None) -> None:
            self._check_begun(out, err, code, privileged)

        return Stream(self.name, exchange, framed.marker, begun, line.streams.release)

    def reach(self, host: str, port: int, timeout_s: float) -> None:
        """See from this host that ``host`` accepts TCP connections at ``port``.

        Raises:
            NotReached: it does not, with the reason.
            HostFailure: this host cannot be asked.
        """
        try:
            Forwarding(self.transport(), host, port).wait(timeout_s)
        except TimeoutError as error:
            self._lines[0].alive()  # or it is this host that does not answer
            raise _not_reached(
                self.name, host, port, f"no answer within {timeout_s:g} s"
            ) from error
        except Refused as error:
            if error.code not in (0, PROHIBITED):
                raise _not_reached(
                    self.name, host, port, "the connection was refused, or there is no way there"
                ) from error
            self._reach_by_program(host, port, timeout_s)
        except Broken as error:
            raise broke(self.name) from error

    def _reach_by_program(self, host: str, port: int, timeout_s: float) -> None:
        try:
            answer = self.run(
                here(__file__, "reach"),
                (host, str(port), str(math.ceil(timeout_s))),
                timeout_s=timeout_s + self._beat_s,
                repeatable=True,
            )
        except ScriptTimeout as error:
            raise _not_reached(
                self.name, host, port, f"no answer within {timeout_s:g} s"
            ) from error
        if answer.exit_code != 0:
            raise _not_reached(
                self.name, host, port, legible(answer.stderr) or "connection refused, or no answer"
            )

    def close(self) -> None:
        """End the connection and every stream of it (idempotent)."""
        with self._lock:
            for line in self._lines:
                line.close()

    def _streaming_line(self) -> Line:
        """A line with a place for a stream, which is taken; streams may last as long as the run, so
        that nobody can wait for their places.
        """
        with self._lock:
            for line in self._lines:
                if line.streams.acquire(blocking=False):
                    return line
            line = Line(self.name, self._dial, self._beat_s)
            line.streams.acquire()
            self._lines.append(line)
            return line

    def _start(self, line: Line, deadline: float, timeout_s: float, privileged: bool) -> Exchange:
        """Start a shell, the privileged one if asked, that waits for a frame. Nothing of ours has
        run when this fails, so that it may be repeated.
        """
        elevation = self._wanted_elevation() if privileged else None
        command = elevation.command() if elevation else COMMAND
        for _ in range(REPEATS):
            try:
                exchange = self._open(line, command)
            except Broken:
                line.alive()
                continue
            try:
                if elevation is not None:
                    self._remember_noise(elevation.enter(exchange, deadline))
                return exchange
            except Broken:
                exchange.close()
            except Silence as error:
                exchange.close()
                raise ScriptTimeout(
                    f"no shell after {timeout_s:g} s",
                    where=f"host {self.name}",
                    remedy="look whether the host is busy",
                ) from error
            except BaseException:
                exchange.close()
                raise
        raise broke(self.name)

    def _open(self, line: Line, command: str) -> Exchange:
        """Start a command on ``line``, or on another one where an sshd allows fewer sessions than
        usual. Raises HostFailure, Broken.
        """
        with self._lock:
            others = [other for other in self._lines if other is not line]
        for one, refusals in ((line, REFUSALS), *((other, 1) for other in others)):
            try:
                return one.open(command, self._beat_s, refusals)
            except SessionsRefused:
                continue
        with self._lock:
            fresh = Line(self.name, self._dial, self._beat_s)
            self._lines.append(fresh)
        return fresh.open(command, self._beat_s)

    def _wanted_elevation(self) -> Elevation | None:
        if self._elevation is None and not self._is_root:
            raise BecomeRefused(
                "something needs root's rights, and the spec gives the host no `become`",
                host=self.name,
                remedy="add `become: true` to the host",
            )
        return self._elevation

    def _converse(
        self,
        exchange: Exchange,
        script: str,
        arguments: Sequence[str],
        data: bytes,
        deadline: float,
        timeout_s: float,
        privileged: bool,
    ) -> Answer:
        framed = frame(script, arguments)
        out, err = Sifter(framed.marker), Sifter(framed.marker)
        stdout, stderr = [], []
        exchange.send(framed.head + data, last=True)
        try:
            while (received := exchange.receive(deadline)) is not None:
                stdout.append(out.sift(received[0]))
                stderr.append(err.sift(received[1]))
        except Silence as error:
            raise self._late(out, timeout_s) from error
        code = exchange.exit().code
        self._check_begun(out, err, code, privileged)
        if code is None:
            raise ScriptKilled(
                "a signal ended the shell of a script",
                where=f"host {self.name}",
                remedy="look at the host's log for who killed it",
            )
        return Answer(exit_code=code, stdout=b"".join(stdout), stderr=b"".join(stderr))

    def _late(self, out: Sifter, timeout_s: float) -> ScriptTimeout:
        """The error of a script that did not end, or of a shell that never came to it."""
        out.end()
        if out.found:
            return ScriptTimeout(
                f"a script did not end within {timeout_s:g} s",
                where=f"host {self.name}",
                remedy="look whether the host is busy",
            )
        printed = f"; it printed: {legible(out.noise)}" if out.noise else ""
        return ScriptTimeout(
            f"the login shell ran nothing within {timeout_s:g} s{printed}",
            where=f"host {self.name}",
            remedy=(
                "look for an rc file (~/.bashrc, ~/.zshenv, ~/.ssh/rc) that waits for input when"
                " there is no terminal"
            ),
        )

    def _check_begun(self, out: Sifter, err: Sifter, code: int | None, privileged: bool) -> None:
        """See that a script which has ended ever began, and remember what was printed before.
        Raises WrongShell, or why there were no rights.
        """
        out.end()
        err.end()
        if out.found:
            self._remember_noise(out.noise + err.noise)
            return
        if privileged and self._elevation is not None:
            raise self._elevation.refusal(err.noise + out.noise)
        said = legible(out.noise + err.noise) or "nothing"
        raise WrongShell(
            "the login shell runs no POSIX sh (it ended with"
            f" {'a signal' if code is None else f'exit code {code}'} and printed: {said})",
            host=self.name,
            remedy=(
                "give the user a login shell that takes commands (chsh -s /bin/sh), or log in as"
                " another user"
            ),
        )

    def _remember_noise(self, noise: bytes) -> None:
        if noise.strip() and not self.noise:
            self.noise = noise


@contextmanager
def _place(
    places: threading.BoundedSemaphore, host: str, deadline: float, timeout_s: float
) -> Iterator[None]:
    if not places.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise ScriptTimeout(
            f"no place for a script became free within {timeout_s:g} s",
            where=f"host {host}",
            remedy="look whether the host is busy",
        )
    try:
        yield
    finally:
        places.release()


def _not_reached(here: str, host: str, port: int, why: str) -> NotReached:
    at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return NotReached(
        f"cannot reach {at}: {why}",
        where=f"host {here}",
        remedy="look whether the server runs there, and at routes and firewalls",
    )
