"""From an address to an authenticated transport: TCP, the host's key, ours. Every way this can fail
has its own error.
"""

from __future__ import annotations

import contextlib
import errno
import math
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import paramiko

from ..failures import (
    ConfigRefused,
    HostFailure,
    NoAnswer,
    NotSsh,
    PortRefused,
    UnknownHost,
    Unreachable,
)
from .authentication import KeyRing
from .channel import Broken, Refused, Silence, open_channel
from .config import Route
from .host_keys import NotPinned, Trust, Verified, not_pinned
from .known_hosts import HostKey
from .tcp_probe import PROHIBITED

CIPHERS = (
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-ctr",
    "aes192-ctr",
    "aes256-ctr",
)
"""Authenticated ones first: one pass over the data. The CBC ones of paramiko's list are left
out.
"""

EXCHANGES = (
    "curve25519-sha256@libssh.org",
    "curve25519-sha256",
    "mlkem768x25519-sha256",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group-exchange-sha256",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group14-sha256",
)
"""Cheapest first, for the sake of hosts by the dozen."""

MACS = (
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
)

DROPPED = 3
"""So often a connection is tried that is closed before the host says who it is: sshd does that when
many log in at once (MaxStartups).
"""

_DROP_PAUSE_S = 0.5
_LOGIN_S = 30.0
"""So long a host may take to let us in: it may ask a directory service, or be as busy as a host
that is measured.
"""

_PROXY_END_S = 1.0
_IDLE_S = 2.0
"""So often the thread that reads an idle connection wakes; paramiko's own 0.1 s makes a controller
of 64 hosts busy with nothing.
"""

_UNREACHABLE = frozenset(
    {
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.EHOSTDOWN,
        errno.EADDRNOTAVAIL,
        errno.EACCES,
        errno.EPERM,
    }
)


class _Dropped(Exception):
    """The host closed the connection before it said who it is."""


def dial(
    route: Route,
    through: Callable[[Route], paramiko.Transport],
    trust: Trust,
    keys: KeyRing,
    keepalive_s: float,
) -> tuple[paramiko.Transport, Verified]:
    """Connect to ``route``; ``through`` gives the transport of the host in front of it.

    Raises:
        HostFailure: what is wrong, by its type.
    """
    for attempt in range(DROPPED):
        try:
            return _by_any_key(route, through, trust, keys, keepalive_s)
        except _Dropped as error:
            if attempt + 1 == DROPPED:
                raise Unreachable(
                    f"{_at(route)} closes connections before it says who it is",
                    host=route.name,
                    remedy="look at its sshd's log (MaxStartups, hosts.deny, a firewall)",
                ) from error
            time.sleep(_DROP_PAUSE_S * (attempt + 1))
    raise AssertionError  # the last attempt returned or raised


def _by_any_key(
    route: Route,
    through: Callable[[Route], paramiko.Transport],
    trust: Trust,
    keys: KeyRing,
    keepalive_s: float,
) -> tuple[paramiko.Transport, Verified]:
    """Connect; where a key is pinned and the host shows another, ask for its keys of other
    kinds.
    """
    shown: list[HostKey] = []
    while True:
        try:
            return _dial(route, through, trust, keys, keepalive_s, shown)
        except NotPinned as error:
            shown.append(error.key)
        except NotSsh as error:
            if not shown:
                raise
            raise not_pinned(route, shown) from error


def _dial(
    route: Route,
    through: Callable[[Route], paramiko.Transport],
    trust: Trust,
    keys: KeyRing,
    keepalive_s: float,
    shown: Sequence[HostKey],
) -> tuple[paramiko.Transport, Verified]:
    sock = _open(route, through, keepalive_s)
    try:
        transport = paramiko.Transport(sock)
    except paramiko.SSHException as error:
        raise Unreachable(
            f"{_at(route)} cannot be reached: {error}",
            host=route.name,
            remedy="look at the network",
        ) from error
    try:
        _negotiate(transport, route, trust.algorithms(route, shown))
        key = transport.get_remote_server_key()
        verified = trust.verify(route, HostKey(algorithm=key.get_name(), blob=key.asbytes()))
        transport.auth_timeout = max(_LOGIN_S, route.connect_timeout_s)
        verified = replace(verified, entered_with=keys.authenticate(transport, route))
    except BaseException:
        transport.close()
        raise
    transport.set_keepalive(max(1, math.ceil(keepalive_s)))
    transport.sock.settimeout(_IDLE_S)
    return transport, verified


def hang_up(transport: paramiko.Transport) -> None:
    """End a transport at once, whatever its thread waits for (idempotent)."""
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        transport.sock.shutdown(socket.SHUT_RDWR)
    transport.close()


def _negotiate(transport: paramiko.Transport, route: Route, key_types: tuple[str, ...]) -> None:
    security = transport.get_security_options()
    security.ciphers = _known(CIPHERS, security.ciphers)
    security.kex = _known(EXCHANGES, security.kex)
    security.digests = _known(MACS, security.digests)
    security.key_types = tuple(name for name in key_types if name in security.key_types)
    transport.banner_timeout = transport.handshake_timeout = route.connect_timeout_s
    ready = threading.Event()
    transport.start_client(event=ready)
    ready.wait(route.connect_timeout_s)
    if ready.is_set() and transport.is_active():
        return
    raise _unfinished(transport, route)


def _unfinished(transport: paramiko.Transport, route: Route) -> Exception:
    """Why the two sides did not come to an agreement."""
    error = transport.get_exception()
    said = str(error or "")
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return NotSsh(
            f"{_at(route)} and this program have no algorithm in common: {said}",
            host=route.name,
            remedy="update its sshd",
        )
    if "Indecipherable" in said or "Invalid SSH banner" in said:
        return NotSsh(
            f"what listens at {_at(route)} does not speak SSH: {said[:200]!r}",
            host=route.name,
            remedy="correct host or port",
        )
    if (
        error is None
        or isinstance(error, TimeoutError)
        or "timed out" in said
        or "timeout" in said.lower()
    ):
        return NoAnswer(
            f"{_at(route)} accepts connections and did not say who it is within"
            f" {route.connect_timeout_s:g} s",
            host=route.name,
            remedy=(
                "look whether it is an sshd and whether the host hangs, or raise connect_timeout"
            ),
        )
    return _Dropped(said)


def _open(route: Route, through: Callable[[Route], paramiko.Transport], keepalive_s: float) -> Any:
    """Something that is read and written like a socket, with the host at its other end."""
    if route.jump is not None:
        return _forwarded(route, through(route.jump))
    if route.proxy_command is not None:
        return _Proxied(route.proxy_command)  # from the user's own ssh_config, see config.py
    return _connected(route, keepalive_s)


def _connected(route: Route, keepalive_s: float) -> socket.socket:
    try:
        sock = socket.create_connection(
            (route.hostname, route.port), timeout=route.connect_timeout_s
        )
    except (OSError, UnicodeError) as error:
        raise _unconnected(route, error) from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(
        socket, "TCP_USER_TIMEOUT"
    ):  # what is sent and not acknowledged for so long ends the connection
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, math.ceil(2000 * keepalive_s))
    return sock


def _unconnected(route: Route, error: OSError | UnicodeError) -> HostFailure:
    at, name = _at(route), route.name
    if isinstance(error, socket.gaierror | UnicodeError):
        return UnknownHost(
            f"the name {route.hostname!r} has no address: {_reason(error)}",
            host=name,
            remedy="correct `host`, or add it to DNS or ssh_config",
        )
    if isinstance(error, ConnectionRefusedError):
        return PortRefused(
            f"nothing listens at {at}", host=name, remedy="start sshd there, or correct `port`"
        )
    if isinstance(error, TimeoutError) or error.errno == errno.ETIMEDOUT:
        return NoAnswer(
            f"{at} did not answer within {route.connect_timeout_s:g} s",
            host=name,
            remedy="look at the host and at firewalls, or raise connect_timeout",
        )
    remedy = (
        "look at routes and firewalls" if error.errno in _UNREACHABLE else "look at the network"
    )
    return Unreachable(f"{at} cannot be reached: {_reason(error)}", host=name, remedy=remedy)


def _forwarded(route: Route, front: paramiko.Transport) -> _Tunnel:
    """A connection made by the host in front, as ProxyJump does."""
    jump = route.jump.name if route.jump else ""
    try:
        return _Tunnel(
            open_channel(
                front, "direct-tcpip", route.connect_timeout_s, (route.hostname, route.port)
            )
        )
    except Refused as error:
        if error.code == PROHIBITED:
            raise ConfigRefused(
                f"the jump host {jump} forwards no connections",
                host=route.name,
                remedy="allow it there (AllowTcpForwarding), or use another",
            ) from error
        raise PortRefused(
            f"{_at(route)} cannot be reached from the jump host {jump}: the connection was refused,"
            " or there is no way there",
            host=route.name,
            remedy="start sshd there, or correct `host`, `port` or `jump`",
        ) from error
    except Broken as error:
        raise Unreachable(
            f"the connection to its jump host {jump} broke",
            host=route.name,
            remedy="look at the jump host",
        ) from error
    except Silence as error:
        raise NoAnswer(
            f"{_at(route)} did not answer the jump host {jump} within"
            f" {route.connect_timeout_s:g} s",
            host=route.name,
            remedy="look at both hosts",
        ) from error


class _Tunnel:
    """A channel of the host in front, as a transport reads and writes it. Closing it never fails:
    the host in front may be gone first.
    """

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self.send, self.recv, self.settimeout = channel.send, channel.recv, channel.settimeout
        self._closed = False  # paramiko asks sockets for it when their transport ends

    def shutdown(self, how: int) -> None:
        """End it in these directions."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.shutdown(how)

    def close(self) -> None:
        """End it (idempotent)."""
        self._closed = True
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()


class _Proxied(socket.socket):
    """The standard input and output of a program; it is ended when this is closed."""

    def __init__(self, command: str) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(fileno=ours.detach())
        with theirs:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"], stdin=theirs.fileno(), stdout=theirs.fileno()
            )

    def close(self) -> None:
        """Close both directions and end the program (idempotent)."""
        super().close()
        try:
            self._process.wait(_PROXY_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _known(wanted: tuple[str, ...], offered: Sequence[str]) -> tuple[str, ...]:
    """Those of ``wanted`` that this paramiko has, or all it has when it has none of them."""
    return tuple(name for name in wanted if name in offered) or tuple(offered)


def _at(route: Route) -> str:
    return (
        f"[{route.hostname}]:{route.port}"
        if ":" in route.hostname
        else f"{route.hostname}:{route.port}"
    )


def _reason(error: OSError | UnicodeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
