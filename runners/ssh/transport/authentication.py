"""Proving to a host who we are, by keys alone: those of files, those of the agent. Keys are read,
and passphrases asked for, once per process.
"""

from __future__ import annotations

import base64
import copy
import getpass
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import paramiko

from ....engine.model.errors import BenchspecError, RunFailed
from ....engine.model.secrets import parse_reference, resolve
from ..failures import KeyUnusable, NoAnswer, NoKeyAccepted
from .bounded_reads import read_small
from .config import Route

DEFAULT_FILES = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
"""Tried when neither the spec nor ssh_config names a file."""

_LOG = logging.getLogger(__name__)


class KeyRing:
    """The private keys of this process, by file. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[Path, paramiko.PKey] = {}

    def authenticate(self, transport: paramiko.Transport, route: Route) -> str:
        """Log in on a transport whose host key was verified; return which key the host accepted, in
        words.

        Raises:
            KeyUnusable: a named key cannot be read.
            NoKeyAccepted: the host accepts none of the keys.
            NoAnswer: the host does not answer.
        """
        tried: list[str] = []
        unusable: list[KeyUnusable] = []
        for key, what in self._candidates(route, unusable):
            tried.append(what)
            try:
                left = transport.auth_publickey(route.user, key)
            except paramiko.BadAuthenticationType as error:
                raise _refused(
                    route, tried, f"it takes {', '.join(error.allowed_types)} only"
                ) from error
            except paramiko.AuthenticationException as error:
                if not transport.is_active():
                    raise _refused(
                        route, tried, "it then closed the connection (MaxAuthTries)"
                    ) from error
                continue
            except (paramiko.SSHException, EOFError, OSError) as error:
                if not transport.is_active() and tried:
                    raise _refused(
                        route,
                        tried,
                        "it then closed the connection (too many keys for its MaxAuthTries, or a"
                        " broken network)",
                    ) from error
                raise NoAnswer(
                    "it stopped answering while logging in",
                    host=route.name,
                    remedy="look at its sshd's log",
                ) from error
            if left:
                raise _refused(
                    route,
                    tried,
                    f"it wants {', '.join(left)} besides, which benchspec does not offer",
                )
            return what
        if unusable:
            raise unusable[0]
        raise _refused(route, tried, "")

    def _candidates(
        self, route: Route, unusable: list[KeyUnusable]
    ) -> Iterator[tuple[paramiko.PKey, str]]:
        """The keys to offer, each once, best guess first: named files, the agent, the default
        files. What cannot be read is put aside.
        """
        with closing(_agent(route)) as agent:
            held = {key.asbytes(): key for key in agent.get_keys()}
            offered: set[bytes] = set()
            for path in route.identity_files:
                key = held.get(_public_half(path)) or self._load_or_note(path, route, unusable)
                if key is None or key.asbytes() in offered:
                    continue
                certified = _certified(key, path)
                if certified is not None:
                    yield certified, f"the certificate of {path}"
                offered.add(key.asbytes())
                yield key, str(path)
            if route.only_files:
                return
            for blob, key in held.items():
                if blob not in offered:
                    offered.add(blob)
                    yield key, f"the agent's {key.comment or key.get_name()}"
            for path in (
                () if route.identity_files else (Path(name).expanduser() for name in DEFAULT_FILES)
            ):
                key = self._load_or_note(path, route, unusable) if path.exists() else None
                if key is not None and key.asbytes() not in offered:
                    yield key, str(path)

    def _load_or_note(
        self, path: Path, route: Route, unusable: list[KeyUnusable]
    ) -> paramiko.PKey | None:
        try:
            return self._load(path, route)
        except KeyUnusable as error:
            unusable.append(error)
            return None

    def _load(self, path: Path, route: Route) -> paramiko.PKey:
        """The key in ``path``, which may need a passphrase. Raises KeyUnusable."""
        with self._lock:
            if path not in self._keys:
                self._keys[path] = _read(path, route)
            return self._keys[path]


def _certified(key: paramiko.PKey, path: Path) -> paramiko.PKey | None:
    """``key`` with the certificate that lies beside its file, if there is one for it."""
    certificate = path.with_name(path.name + "-cert.pub")
    if not certificate.exists():
        return None
    both = (
        paramiko.AgentKey(key.agent, key.blob, key.comment)
        if isinstance(key, paramiko.AgentKey)
        else copy.copy(key)
    )
    try:
        both.load_certificate(str(certificate))
    except (OSError, ValueError, paramiko.SSHException) as error:
        _LOG.info("%s cannot be used: %s", certificate, error)
        return None
    return both


def _read(path: Path, route: Route) -> paramiko.PKey:
    try:
        return _parse(path, None)
    except paramiko.PasswordRequiredException:
        passphrase = _passphrase(path, route)
    except (
        OSError,
        ValueError,
        TypeError,
        paramiko.SSHException,
        paramiko.pkey.UnknownKeyType,
    ) as error:
        raise _unreadable(path, route, error) from error
    try:
        return _parse(path, passphrase)
    except (
        OSError,
        ValueError,
        TypeError,
        paramiko.SSHException,
        paramiko.pkey.UnknownKeyType,
    ) as error:
        raise KeyUnusable(
            f"the passphrase does not unlock {path}",
            host=route.name,
            remedy="provide the right one, or load the key into the agent (ssh-add)",
        ) from error


def _parse(path: Path, passphrase: str | None) -> paramiko.PKey:
    """Each class in turn: first the likely one, since a passphrase makes every attempt slow on
    purpose.
    """
    problem: Exception = ValueError("it holds no private key that paramiko knows")
    data = read_small(path)
    for kind in sorted(_MARKS, key=lambda kind: not _holds(data, _MARKS[kind])):
        try:
            return kind.from_private_key_file(str(path), passphrase)
        except paramiko.PasswordRequiredException:
            raise
        except (paramiko.SSHException, ValueError) as error:
            problem = error
    raise problem


_MARKS: dict[type[paramiko.PKey], bytes] = {
    paramiko.Ed25519Key: b"ssh-ed25519",
    paramiko.ECDSAKey: b"ecdsa-sha2-",
    paramiko.RSAKey: b"ssh-rsa",
}
"""What OpenSSH's format says of a key in its public half, which is not locked."""


def _holds(data: bytes, mark: bytes) -> bool:
    body = b"".join(line for line in data.splitlines() if not line.startswith(b"-"))
    try:
        return mark in base64.b64decode(body)
    except ValueError:
        return False


def _passphrase(path: Path, route: Route) -> str:
    """From the secret the spec refers to, or from whoever sits at the terminal."""
    if route.passphrase is not None:
        reference = parse_reference(route.passphrase)
        try:
            if reference is None:
                raise RunFailed("passphrase is no secret reference")
            return resolve(reference)
        except BenchspecError as error:
            raise KeyUnusable(
                f"the passphrase of {path}: {error.message}",
                host=route.name,
                remedy=error.remedy or "",
            ) from error
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass(f"Passphrase of {path}: ")
    raise KeyUnusable(
        f"{path} is locked by a passphrase, and there is no terminal to ask on",
        host=route.name,
        remedy=(
            "load it into the agent (ssh-add), or name the passphrase as `passphrase:"
            " ${secret:env:NAME}`"
        ),
    )


def _unreadable(path: Path, route: Route, error: Exception) -> KeyUnusable:
    said = (
        error.strerror
        if isinstance(error, OSError)
        else "it holds no private key of a known kind (ed25519, ecdsa, rsa)"
    )
    return KeyUnusable(
        f"the private key {path} cannot be used: {said}",
        host=route.name,
        remedy="name another as identity_file, or use the agent",
    )


def _public_half(path: Path) -> bytes:
    """The public key beside a private one, by which the agent's copy of it is found; empty when
    there is none.
    """
    try:
        words = read_small(path.with_name(path.name + ".pub")).split()
        return base64.b64decode(words[1])
    except (OSError, ValueError, IndexError):
        return b""


def _agent(route: Route) -> paramiko.Agent:
    """The agent, or one without keys. Each caller gets a connection of its own: a shared one would
    mix up the answers.
    """
    if route.use_agent:
        try:
            return paramiko.Agent()
        except (paramiko.SSHException, OSError, EOFError) as error:
            _LOG.info("the SSH agent cannot be used: %s", error)
    return _NoAgent()


class _NoAgent(paramiko.Agent):
    """An agent that is not there."""

    def __init__(self) -> None:
        paramiko.agent.AgentSSH.__init__(self)


def _refused(route: Route, tried: list[str], more: str) -> NoKeyAccepted:
    what = (
        f"it accepts no key of ours for the user {route.user} (tried: {', '.join(tried)})"
        if tried
        else "there is no key to log in with"
    )
    return NoKeyAccepted(
        f"{what}{f'; {more}' if more else ''}",
        host=route.name,
        remedy=(
            f"put a public key there (ssh-copy-id {route.user}@{route.hostname}), or name its"
            " private half as identity_file"
        ),
    )
