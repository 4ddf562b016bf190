"""What beds are made of on this machine: directories, marks on processes, and programs that are
called.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

HOME = Path("/run/benchspec-hosts")
"""One directory per bed, by its name."""

PROGRAMS = ("unshare", "nsenter", "pivot_root", "setsid", "ip", "tc", "sysctl", "/usr/sbin/sshd")


class BedError(Exception):
    """A bed cannot be made, found or removed; the message says what is missing and what to do."""


def missing(*programs: str) -> str | None:
    """Why no bed whose hosts have ``programs`` can be made here, for a test to skip with; None
    where one can.
    """
    if os.geteuid() != 0:
        return "a bed of hosts needs root"
    absent = [
        program for program in (*PROGRAMS, *programs) if shutil.which(program, path=_path()) is None
    ]
    return f"a bed of hosts needs {', '.join(absent)}: run tests/setup" if absent else None


def mark(name: str) -> str:
    """The argument by which every process that holds a bed's namespaces is known, also when its
    directory is lost.
    """
    return f"benchspec-bed={name}"


def marked(name: str) -> tuple[int, ...]:
    """The PIDs of the processes that hold the bed's namespaces."""
    wanted = mark(name).encode()
    return tuple(pid for pid, arguments in _processes() if wanted in arguments)


def marked_names() -> frozenset[str]:
    """The names of all beds of which a process is left."""
    prefix = mark("").encode()
    return frozenset(
        a.removeprefix(prefix).decode()
        for _, arguments in _processes()
        for a in arguments
        if a.startswith(prefix)
    )


def call(argv: Sequence[str], text: str | None = None) -> str:
    """Run a program of the test bed; its output.

    Raises:
        BedError: it failed; with what it said.
    """
    done = subprocess.run(
        argv,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": _path()},
    )
    if done.returncode != 0:
        raise BedError(
            f"{' '.join(argv)}: exit code {done.returncode}:"
            f" {done.stderr.strip() or done.stdout.strip()}\n{text or ''}"
        )
    return done.stdout


def _path() -> str:
    return os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"


def _processes() -> Iterator[tuple[int, list[bytes]]]:
    """Every living process and its arguments."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it ended while we looked
            if arguments != [b""]:  # a kernel thread or a zombie
                yield int(entry.name), arguments
