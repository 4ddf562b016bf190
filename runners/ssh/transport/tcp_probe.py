"""Whether a host can open a TCP connection to somewhere: asked of its sshd, which needs no program
there, or else of what the host has.
"""

from __future__ import annotations

import threading

import paramiko

from .channel import open_channel

PROHIBITED = 1
"""The reason code of a refusal that says nothing about the place (RFC 4254, 5.1): sshd forwards no
connections.
"""

_PATIENCE_S = 300.0


class Forwarding:
    """One connection that a host's sshd is asked to open and closes at once."""

    def __init__(self, transport: paramiko.Transport, host: str, port: int) -> None:
        self._done = threading.Event()
        self._failure: Exception | None = None
        arguments = (transport, host, port)
        threading.Thread(
            target=self._open, args=arguments, daemon=True, name="benchspec-ssh-reach"
        ).start()

    def _open(self, transport: paramiko.Transport, host: str, port: int) -> None:
        # waited for beyond the caller's deadline, so that a connection which comes late is closed
        # like any other
        try:
            open_channel(transport, "direct-tcpip", _PATIENCE_S, (host, port)).close()
        except Exception as error:
            self._failure = error
        self._done.set()

    def wait(self, timeout_s: float) -> None:
        """Return when the connection was opened.

        Raises:
            TimeoutError: it was not within ``timeout_s``.
            Refused: it cannot be, or sshd does not do such things (PROHIBITED).
            Broken: the transport ended.
        """
        if not self._done.wait(timeout_s):
            raise TimeoutError
        if self._failure is not None:
            raise self._failure
