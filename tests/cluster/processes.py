"""Processes that outlive the command that started them. They are ended by pid; a pid file holds the
start time too and so never names a stranger.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class Processes:
    """The processes of one cluster by name; ``directory`` holds a pid file and a log of each."""

    def __init__(self, directory: Path, env: Mapping[str, str]) -> None:
        self._pids, self._logs, self._env = directory / "pids", directory / "logs", dict(env)

    def spawn(self, name: str, argv: Sequence[str]) -> None:
        """Start a process in a session of its own, unless it runs already."""
        if self.pid(name) is not None:
            return
        for made in (self._pids, self._logs):
            made.mkdir(parents=True, exist_ok=True)
        with (self._logs / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._env},
                start_new_session=True,
            )
        (self._pids / name).write_text(f"{child.pid} {started(child.pid)}\n")

    def pid(self, name: str) -> int | None:
        """The pid of a process that runs."""
        try:
            pid, start = (self._pids / name).read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if started(int(pid)) == start else None

    def names(self) -> list[str]:
        """Every process that was started and not ended."""
        return sorted(path.name for path in self._pids.glob("*"))

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """End one and wait until it is gone; harmless when it is."""
        if (pid := self.pid(name)) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            await_true(lambda: self.pid(name) is None, 20, f"{name} (pid {pid}) does not end")
        (self._pids / name).unlink(missing_ok=True)

    def log(self, name: str, lines: int = 15) -> str:
        """The end of a log."""
        path = self._logs / f"{name}.log"
        return (
            "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
            if path.exists()
            else ""
        )


def started(pid: int) -> str | None:
    """When the process was started (clock ticks since boot); None when there is none, or only a
    zombie.
    """
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # a child of this very command
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def child_of(pid: int) -> int | None:
    """The first child of a process."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(found[0]) if found else None


def await_true(condition: Callable[[], bool], timeout_s: float, otherwise: str) -> None:
    """Ask until it is so. Raises TimeoutError with ``otherwise``."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.05)
