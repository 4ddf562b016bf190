"""The known_hosts format of OpenSSH (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): which keys are
vouched for, and which are revoked.

Hashed names, ports, patterns with ``*`` and ``?``, negated patterns and ``@revoked`` are
understood; lines of ``@cert-authority`` are passed over, since host certificates are not.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .bounded_reads import read_small

DEFAULT_PORT = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKey:
    """A public host key: its algorithm's name (ssh-ed25519, ssh-rsa, ...) and its bytes on the
    wire.
    """

    algorithm: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """As ``ssh-keygen -l`` prints it."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    def line(self, name: str) -> str:
        """A line of known_hosts that vouches for it."""
        return f"{name} {self.algorithm} {base64.b64encode(self.blob).decode()}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: the names it is about, and the key it vouches for or revokes; ``source`` is
    FILE:LINE.
    """

    names: str
    key: HostKey
    revoked: bool
    source: str

    def is_about(self, name: str) -> bool:
        """Whether it speaks of ``name``, as :func:`lookup_name` makes it."""
        if self.names.startswith("|"):
            return _hash_matches(self.names, name)
        matched = False
        for pattern in self.names.lower().split(","):
            negated = pattern.startswith("!")
            if _fits(pattern.removeprefix("!"), name):
                if negated:
                    return False
                matched = True
        return matched


def lookup_name(host: str, port: int) -> str:
    """The name under which a host's keys are kept: with its port only where that is not 22."""
    return host.lower() if port == DEFAULT_PORT else f"[{host.lower()}]:{port}"


def read(paths: Iterable[Path]) -> tuple[Entry, ...]:
    """The entries of all files, in their order. A file that is not there has none; what is no entry
    is passed over, as OpenSSH does.

    Raises:
        OSError: a file is there and cannot be read.
    """
    entries: list[Entry] = []
    for path in paths:
        try:
            data = read_small(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        lines = data.decode("utf-8", "replace").splitlines()
        entries.extend(
            e
            for number, line in enumerate(lines, 1)
            if (e := _entry(line, f"{path}:{number}")) is not None
        )
    return tuple(entries)


def _entry(line: str, source: str) -> Entry | None:
    words = line.split()
    if not words or words[0].startswith("#"):
        return None
    marker = words.pop(0) if words[0].startswith("@") else ""
    if len(words) < 3 or marker not in ("", "@revoked"):
        return None
    try:
        blob = base64.b64decode(words[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return Entry(
        names=words[0],
        key=HostKey(algorithm=words[1], blob=blob),
        revoked=marker == "@revoked",
        source=source,
    )


def _hash_matches(hashed: str, name: str) -> bool:
    parts = hashed.split("|")
    if len(parts) != 4 or parts[1] != "1":
        return False
    try:
        salt, digest = base64.b64decode(parts[2]), base64.b64decode(parts[3])
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)


def _fits(pattern: str, name: str) -> bool:
    if "*" not in pattern and "?" not in pattern:
        return pattern == name  # nearly all are plain names, and files of known hosts can be long
    return (
        re.fullmatch(
            "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern), name
        )
        is not None
    )
