"""SIGINT, SIGTERM and SIGHUP: noticed at once while the run waits, at the next safe point while it
writes.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self

from ..model.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While active, a signal raises Interrupted inside :meth:`waiting` blocks and at :meth:`check`,
    nowhere else: no record is torn.

    The second signal gets the default action, so that an impatient user ends the program;
    `benchspec resume` or `clean` then tidies up.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._waiting = False
        self._previous: dict[int, Any] = {}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._received = number
        signal.signal(number, signal.SIG_DFL)
        if self._waiting:
            self._waiting = False
            self._raise()

    def _raise(self) -> None:
        number = self._received or signal.SIGINT
        name = signal.Signals(number).name
        raise Interrupted(
            f"stopped by {name}",
            signal_number=number,
            remedy="`benchspec resume` goes on where it stopped",
        )

    def check(self) -> None:
        """Raise Interrupted if a signal has come (once)."""
        if self._received is not None and not self._waiting:
            self._raise()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """A block that a signal may leave at any instruction: only for waiting, never for
        writing.
        """
        self._waiting = True  # first, so that no signal comes unseen between the look and the wait
        try:
            if self._received is not None:
                self._raise()
            yield
        finally:
            self._waiting = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            wanted = [
                number
                for number in _SIGNALS
                if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
            ]  # nohup(1)
            self._previous = {number: signal.signal(number, self._receive) for number in wanted}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}
