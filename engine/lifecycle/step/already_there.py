"""What answers before a target is brought up: its waits would take it for the target."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from ...model.errors import RunFailed
from ...model.spec import Step

_ASK_S = 1.0
_LISTEN = "0A"
_PORTS = {"http": 80, "https": 443}


def refuse_what_answers(target: str, waits: Iterable[Step]) -> None:
    """See from this machine that nothing accepts connections where ``waits`` are going to wait for
    the target; addresses that only its own steps tell are not known yet, and not looked at.

    Raises:
        RunFailed: something does; it names the process that listens, where that can be seen.
    """
    for host, port in dict.fromkeys(filter(None, map(_address, waits))):
        try:
            socket.create_connection((host, port), timeout=_ASK_S).close()
        except OSError:
            continue
        shown = f"[{host}]" if ":" in host else host
        raise RunFailed(
            f"{shown}:{port} answers already, before {target} is brought up"
            f"{_told(list(_listeners(port)))}: what is measured there would not be {target}",
            where=f"target {target}",
            remedy="end it (`benchspec clean --all`, where a run left it), or give the target"
            " another address: targets of one host with `per: run` are up at the same time",
        )


def _address(step: Step) -> tuple[str, int] | None:
    """Host and port of a wait that names them itself."""
    for kind in ("tcp", "http"):
        text = str(step.arguments.get(kind, ""))
        if not text or "${" in text:
            continue
        try:
            parts = urlsplit(text if kind == "http" else f"//{text}")
            port = parts.port or _PORTS.get(parts.scheme)
        except ValueError:
            continue  # the wait itself says what is wrong with it
        if parts.hostname and port:
            return parts.hostname, port
    return None


def _told(listeners: list[str]) -> str:
    return f" ({' and '.join(listeners)} listens)" if listeners else ""


def _listeners(port: int) -> Iterator[str]:
    """``nginx, pid 123`` for each process of this machine that listens on ``port``: those that we
    may look into (proc_net_tcp in the kernel's documentation).
    """
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in Path("/proc").glob("[0-9]*") if sockets else ():
        with suppress(OSError):  # another user's, or ended meanwhile
            if any(os.readlink(one) in sockets for one in (process / "fd").iterdir()):
                yield f"{(process / 'comm').read_text().strip()}, pid {process.name},"


def _inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                row = line.split()
                if row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port:
                    yield row[9]
