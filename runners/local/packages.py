"""Installing packages with whatever package manager the host has."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.model.errors import RunFailed

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._:@/=~-]*")
_TIMEOUT_S = 900.0
_TAIL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageManager:
    """How one package manager installs, and how it renews its lists when a package is not found."""

    install: tuple[str, ...]
    refresh: tuple[str, ...]


MANAGERS = (
    PackageManager(
        install=("apt-get", "install", "-y", "--no-install-recommends"),
        refresh=("apt-get", "update"),
    ),
    PackageManager(install=("dnf", "install", "-y"), refresh=("dnf", "makecache")),
    PackageManager(install=("apk", "add"), refresh=("apk", "update")),
)


def install(names: Sequence[str]) -> None:
    """Install packages.

    Raises:
        RunFailed: no package manager, no rights, or it failed; the message says what to type.
    """
    if not names:
        return
    if bad := [name for name in names if _NAME.fullmatch(name) is None]:
        raise RunFailed(f"found {bad[0]!r}, expected the name of a package")
    manager = next((m for m in MANAGERS if shutil.which(m.install[0])), None)
    if manager is None:
        known = ", ".join(m.install[0] for m in MANAGERS)
        raise RunFailed(
            f"found none of the package managers {known}",
            remedy=f"install by hand: {' '.join(names)}",
        )
    typed = shlex.join((*manager.install, *names))
    if os.geteuid() != 0:
        raise RunFailed("packages can be installed by root alone", remedy=f"type: sudo {typed}")
    if _run((*manager.install, *names)).returncode == 0:
        return
    _run(manager.refresh)
    again = _run((*manager.install, *names))
    if again.returncode != 0:
        words = again.stdout[-_TAIL:].decode("utf-8", "replace").strip()
        raise RunFailed(
            f"exit code {again.returncode}:\n{words}",
            where=typed,
            remedy="correct the package's name or the host's package sources",
        )


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RunFailed(
            f"did not end within {_TIMEOUT_S:g} s",
            where=shlex.join(argv),
            remedy="look for a lock or a broken mirror",
        ) from error
