"""A long-lived script on a host, read as it prints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from .channel import Broken, Exchange, Silence
from .framing import Sifter
from .reconnecting import broke


class Stream:
    """A long-lived program: its standard output arrives piece by piece. Ends with :meth:`close`,
    which hangs up on it.
    """

    def __init__(
        self,
        name: str,
        exchange: Exchange,
        marker: bytes,
        begun: Callable[[Sifter, Sifter, int | None], None],
        release: Callable[[], None],
    ):
        self._name = name
        self._exchange = exchange
        self._out, self._err = Sifter(marker), Sifter(marker)
        self._begun = begun
        self._release = release
        self._open = True
        self.stderr = b""

    def __iter__(self) -> Iterator[bytes]:
        """The pieces as they come, until the program ends. Raises ConnectionBroke, HostSilent."""
        while (piece := self.read(None)) is not None:
            if piece:
                yield piece

    def read(self, timeout_s: float | None) -> bytes | None:
        """The next piece; b"" when none came within ``timeout_s`` (None: wait), None at the end.
        Raises HostFailure.
        """
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        while self._open:
            try:
                received = self._exchange.receive(deadline)
            except Silence:
                return b""
            except Broken as error:
                raise broke(self._name) from error
            if received is None:
                self._begun(self._out, self._err, self._exchange.exit().code)
                return None
            self.stderr = (self.stderr + self._err.sift(received[1]))[-65536:]
            if out := self._out.sift(received[0]):
                return out
        return None

    def write(self, data: bytes) -> None:
        """Hand more to the program's standard input; what becomes of it shows in :meth:`read`."""
        self._exchange.send(data, last=False)

    @property
    def started(self) -> bool:
        """Whether the script has begun, as far as was read."""
        return self._out.found

    def exit_code(self) -> int | None:
        """The program's exit code once :meth:`read` gave None; None when a signal ended it or it
        was closed.
        """
        return self._exchange.exit().code

    def close(self) -> None:
        """Hang up: the program finds its standard streams closed (idempotent)."""
        if self._open:
            self._open = False
            self._exchange.close()
            self._release()
