"""Whether a host is who it should be: by the fingerprint in the spec, by known_hosts, or by what
this run accepted before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....engine.model.errors import StorageError
from ..failures import ConfigRefused, HostKeyChanged, HostKeyUnknown
from . import known_hosts
from .config import Route
from .known_hosts import Entry, HostKey

ALGORITHMS = {
    "ssh-ed25519": ("ssh-ed25519",),
    "ecdsa-sha2-nistp256": ("ecdsa-sha2-nistp256",),
    "ecdsa-sha2-nistp384": ("ecdsa-sha2-nistp384",),
    "ecdsa-sha2-nistp521": ("ecdsa-sha2-nistp521",),
    "ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256"),
}
"""Key types by what known_hosts calls them, best first, and the signature algorithms of each."""

ACCEPTED = "--accept-new-host-keys"
PINNED = "the spec's host_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A host's key, and who vouches for it: a line of known_hosts, the spec, or nobody but
    --accept-new-host-keys. ``entered_with``: our own key.
    """

    key: HostKey
    source: str
    entered_with: str = ""

    @property
    def accepted(self) -> bool:
        """Whether it was taken on faith when first seen."""
        return self.source == ACCEPTED


class NotPinned(Exception):
    """The host showed another key than the pinned one. It may have that one, too, and of another
    kind.
    """

    def __init__(self, key: HostKey) -> None:
        super().__init__(key.fingerprint)
        self.key = key


class Trust:
    """What is known of host keys during a run. A key taken on faith binds from then on, and is kept
    in a file for when the run goes on.
    """

    def __init__(self) -> None:
        self._accept_new = False
        self._kept: Path | None = None
        self._lock = threading.Lock()
        self._files: dict[tuple[Path, ...], tuple[Entry, ...]] = {}
        self._accepted: dict[str, HostKey] = {}

    def keep(self, kept: Path | None, *, accept_new: bool) -> None:
        """As :meth:`benchspec.engine.model.contract.runner.KeepsHostKeys.keep_host_keys`; files of
        known hosts are read again when they are next needed.
        """
        with self._lock:
            self._files.clear()
            self._accept_new, self._kept = accept_new, kept
            if kept is None:
                self._accepted.clear()
            else:
                self._accepted |= {entry.names: entry.key for entry in _read_kept(kept)}

    def algorithms(self, route: Route, shown: Sequence[HostKey]) -> tuple[str, ...]:
        """The key types to ask the host for, those that are known of it first: it shows only one of
        its keys. Those it has ``shown`` are left out.
        """
        known = [key.algorithm for key, _ in self._known(route)]
        seen = {key.algorithm for key in shown}
        ordered = sorted(
            ALGORITHMS.keys() - seen,
            key=lambda algorithm: (algorithm not in known, list(ALGORITHMS).index(algorithm)),
        )
        return tuple(name for algorithm in ordered for name in ALGORITHMS[algorithm])

    def verify(self, route: Route, key: HostKey) -> Verified:
        """Check the key that the host showed.

        Raises:
            HostKeyChanged: another key is known, or this one is revoked.
            HostKeyUnknown: none is known, and new ones are not accepted.
            NotPinned: the spec names another one.
            StorageError: an accepted key cannot be kept.
        """
        if any(
            e.revoked and e.key.blob == key.blob and e.is_about(route.key_name)
            for e in self._entries(route)
        ):
            raise HostKeyChanged(
                f"it shows a key that is revoked: {_show(key)}",
                host=route.name,
                remedy="find out why; it is not to be trusted",
            )
        if route.host_key is not None:
            if key.fingerprint != route.host_key.rstrip("="):
                raise NotPinned(key)
            return Verified(key=key, source=PINNED)
        known = self._known(route)
        for one, source in known:
            if one.blob == key.blob:
                return Verified(key=key, source=source)
        if known:
            raise changed(route, [key], [(_show(one), source) for one, source in known])
        return self._accept(route, key)

    def _accept(self, route: Route, key: HostKey) -> Verified:
        if not self._accept_new:
            files = ", ".join(map(str, route.known_hosts)) or "no file"
            raise HostKeyUnknown(
                f"it shows the key {_show(key)}, which nobody has vouched for ({files} has none for"
                f" {route.key_name})",
                host=route.name,
                remedy=(
                    "compare it with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the"
                    " host itself; then pin it in the spec (`host_key:`), add it to known_hosts,"
                    f" or run again with {ACCEPTED}"
                ),
            )
        with self._lock:
            first = self._accepted.setdefault(route.key_name, key)
            if first.blob != key.blob:
                raise changed(route, [key], [(_show(first), ACCEPTED)])
            if self._kept is not None:
                _append(self._kept, key.line(route.key_name))
        return Verified(key=key, source=ACCEPTED)

    def _known(self, route: Route) -> Sequence[tuple[HostKey, str]]:
        """The keys that are vouched for, with who does; what this run accepted stands alone."""
        with self._lock:
            accepted = self._accepted.get(route.key_name)
        if accepted is not None:
            return [(accepted, ACCEPTED)]
        return [
            (e.key, e.source)
            for e in self._entries(route)
            if not e.revoked and e.is_about(route.key_name)
        ]

    def _entries(self, route: Route) -> tuple[Entry, ...]:
        with self._lock:
            if route.known_hosts not in self._files:
                try:
                    self._files[route.known_hosts] = known_hosts.read(route.known_hosts)
                except OSError as error:
                    raise ConfigRefused(
                        f"its known host keys cannot be read: {error}",
                        host=route.name,
                        remedy="make the file readable, or name another",
                    ) from error
            return self._files[route.known_hosts]


def not_pinned(route: Route, shown: Sequence[HostKey]) -> HostKeyChanged:
    """The error of a host none of whose keys, all of them ``shown``, is the pinned one."""
    return changed(route, shown, [(str(route.host_key), PINNED)])


def changed(
    route: Route, shown: Sequence[HostKey], known: Sequence[tuple[str, str]]
) -> HostKeyChanged:
    """The error of a host that showed these keys where others are ``known``, each with who vouches
    for it.
    """
    expected = " or ".join(f"{what} ({source})" for what, source in known)
    return HostKeyChanged(
        f"it shows the key {' and '.join(map(_show, shown))}, expected {expected}: it was set up"
        " anew, is another machine, or somebody is in between",
        host=route.name,
        remedy=(
            "ask who runs the host; if the new key is right, correct it where the old one stands"
            f" (ssh-keygen -R '{route.key_name}')"
        ),
    )


def _show(key: HostKey) -> str:
    return f"{key.algorithm} {key.fingerprint}"


def _read_kept(path: Path) -> Sequence[Entry]:
    try:
        return known_hosts.read([path])
    except OSError as error:
        raise StorageError(
            f"accepted host keys cannot be read: {error.strerror}",
            where=str(path),
            remedy="make it readable",
        ) from error


def _append(path: Path, line: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line)
    except OSError as error:
        raise StorageError(
            f"an accepted host key cannot be kept: {error.strerror}",
            where=str(path),
            remedy="free some space",
        ) from error
