"""One command on one channel of a connection: standard input in, both output streams out, no
polling.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import paramiko

logging.getLogger("paramiko").addHandler(
    logging.NullHandler()
)  # what it says is in our errors; without a handler it would print it

WINDOW = 8 * 1024 * 1024
"""Bytes a host may send before it must wait for us."""

_CHUNK = 1024 * 1024
_LAST_WORDS_S = 0.2


class Broken(Exception):
    """The transport ended while the command ran."""


class Silence(Exception):
    """Nothing came before the deadline."""


class Refused(Exception):
    """The host answered that it opens no such channel, or no further one; ``code`` says why (RFC
    4254, 5.1), 0 where that is not known.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def open_channel(
    transport: paramiko.Transport,
    kind: str,
    timeout_s: float,
    destination: tuple[str, int] | None = None,
) -> paramiko.Channel:
    """Open a channel of ``kind``, to ``destination`` where that is a connection the host makes.

    Raises:
        Refused: the host said no.
        Broken: the transport ended.
        Silence: the host said nothing within ``timeout_s``.
    """
    source = ("127.0.0.1", 0) if destination else None
    try:
        return transport.open_channel(
            kind, destination, source, window_size=WINDOW, timeout=timeout_s
        )
    except paramiko.ChannelException as error:
        raise Refused(error.code) from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        if not transport.is_active():
            raise Broken from error
        if "Timeout" in str(error):
            raise Silence from error
        raise Refused(0) from error  # of several refusals at once paramiko knows the reason of one


class _Wake(threading.Event):
    """Set by both streams of a channel. They also clear it, each when it alone is empty, which
    would lose the other's news; only we clear it.
    """

    def clear(self) -> None:
        """Nothing: see :meth:`rearm`."""

    def rearm(self) -> None:
        """Forget what was signalled so far."""
        super().clear()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended: its exit code, or None when a signal killed it."""

    code: int | None


class Exchange:
    """A running command. ``alive`` is asked now and then during silence and raises when the host is
    gone.
    """

    def __init__(
        self,
        transport: paramiko.Transport,
        channel: paramiko.Channel,
        alive: Callable[[], None],
        beat_s: float,
    ) -> None:
        self._transport = transport
        self._channel = channel
        self._alive = alive
        self._beat_s = beat_s
        self._wake = _Wake()
        channel.in_buffer.set_event(self._wake)
        channel.in_stderr_buffer.set_event(self._wake)
        self._ended = False
        self._sending: threading.Thread | None = None

    def send(self, data: bytes, *, last: bool) -> None:
        """Hand over standard input; what does not fit into the window goes on in the background, in
        the order it was handed over.

        ``last``: the end of the input follows. sshd opens its window only when the command runs.
        """
        before = self._sending
        if (before is None or not before.is_alive()) and len(data) <= self._channel.out_window_size:
            self._send(data, last)
        else:
            self._sending = threading.Thread(
                target=self._send,
                args=(data, last, before),
                daemon=True,
                name="benchspec-ssh-stdin",
            )
            self._sending.start()

    def _send(self, data: bytes, last: bool, before: threading.Thread | None = None) -> None:
        if before is not None:
            before.join()
        try:
            if data:
                self._channel.sendall(data)
            if last:
                self._channel.shutdown_write()
        except (
            OSError,
            EOFError,
            paramiko.SSHException,
        ):  # the program has ended, or the transport has: the reading side finds out which
            pass

    def receive(self, deadline: float) -> tuple[bytes, bytes] | None:
        """The next bytes of both streams (one may be empty), or None at the end of both.

        Raises:
            Broken: the transport ended first.
            Silence: nothing came until ``deadline`` (monotonic s).
        """
        while True:
            self._wake.rearm()
            out, err = (
                self._take(self._channel.recv_ready, self._channel.recv),
                self._take(self._channel.recv_stderr_ready, self._channel.recv_stderr),
            )
            if out or err:
                return out, err
            if self._finished():
                return None
            self._pause(deadline)

    @staticmethod
    def _take(ready: Callable[[], bool], receive: Callable[[int], bytes]) -> bytes:
        return receive(_CHUNK) if ready() else b""

    def _finished(self) -> bool:
        channel = self._channel
        if (
            not (channel.eof_received or channel.closed)
            or channel.recv_ready()
            or channel.recv_stderr_ready()
        ):
            return False
        if channel.exit_status >= 0:
            return True
        if channel.closed:
            self._transport.join(
                _LAST_WORDS_S
            )  # a transport that ends closes its channels first, and says so afterwards
        if not self._transport.is_active():
            raise Broken
        return channel.closed

    def _pause(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Silence
        if not self._wake.wait(min(left, self._beat_s)):
            self._alive()

    def exit(self) -> Exit:
        """How it ended, once :meth:`receive` gave None."""
        code = self._channel.exit_status
        return Exit(code if code >= 0 else None)

    def close(self) -> None:
        """Give the channel up; sshd then closes the streams of what still runs (idempotent)."""
        with contextlib.suppress(
            OSError, EOFError, paramiko.SSHException
        ):  # the transport is gone, and the channel with it
            self._channel.close()


def open_exchange(
    transport: paramiko.Transport,
    command: str,
    *,
    timeout_s: float,
    alive: Callable[[], None],
    beat_s: float,
) -> Exchange:
    """Start ``command`` on a new channel, without waiting for sshd to say that it did: a refusal
    closes the channel.

    Raises:
        Refused: sshd opens no further session.
        Broken: the transport ended.
        Silence: sshd did not answer within ``timeout_s``.
    """
    channel = open_channel(transport, "session", timeout_s)
    try:
        exchange = Exchange(transport, channel, alive, beat_s)
        # Channel.exec_command waits for the reply, without a deadline and a round trip longer
        request = paramiko.Message()
        request.add_byte(paramiko.common.cMSG_CHANNEL_REQUEST)
        request.add_int(channel.remote_chanid)
        request.add_string("exec")
        request.add_boolean(True)
        request.add_string(command)
        transport._send_user_message(request)  # type: ignore[attr-defined]  # the stubs know public names only
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise Broken from error
    return exchange
