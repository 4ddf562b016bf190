"""Whether a host can open a TCP connection to somewhere: asked of its sshd, which needs no program there, or else of what the host has."""

from __future__ import annotations

import threading

import paramiko

from .channel import open_channel

PROHIBITED = 1
"""The reason code of a refusal that says nothing about the place (RFC 4254, 5.1): sshd forwards no connections."""

_PATIENCE_S = 300.0

SCRIPT = """
seconds=$3
if command -v nc >/dev/null 2>&1; then
    nc -z -w "$seconds" "$1" "$2" && exit 0
elif command -v bash >/dev/null 2>&1; then
    bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" && exit 0
elif command -v python3 >/dev/null 2>&1; then
    python3 -c 'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3]))' "$1" "$2" "$seconds" && exit 0
else
    echo "it has neither nc nor bash nor python3, and its sshd forwards no connections (AllowTcpForwarding)" >&2
    exit 3
fi
exit 1
"""
"""Exit code 0: a connection to $1 port $2 was opened within $3 s; 1: none was; 3: nobody can tell."""


class Forwarding:
    """One connection that a host's sshd is asked to open and closes at once."""

    def __init__(self, transport: paramiko.Transport, host: str, port: int) -> None:
        self._done = threading.Event()
        self._failure: Exception | None = None
        arguments = (transport, host, port)
        threading.Thread(target=self._open, args=arguments, daemon=True, name="benchspec-ssh-reach").start()

    def _open(self, transport: paramiko.Transport, host: str, port: int) -> None:
        try:  # waited for beyond the caller's deadline, so that a connection which comes late is closed like any other
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
