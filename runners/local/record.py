"""The directory of a job: what the controller and the wrapper write there, and what any later controller reads.

::

    job      what was started (JSON: argv, work directory, files to fetch, allocation, boot id, time); no secrets. Written before the start
    pid      /proc line of the wrapper, created exclusively by the wrapper itself: whoever creates it runs the program
    stdout   stderr   the program's raw bytes
    rc       exit code, the host's uptime in s (missing where it was not the wrapper that wrote it) and a newline, when the program has ended
    began    empty; made when the program began, if it had to wait for a common start
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from ...engine.errors import RunFailed
from ...engine.spec import Json
from . import process
from .state import inside, remove_tree, storing

_FILES = ("job", "pid", "rc", "stdout", "stderr", "began")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TAKEN_WITHIN_S = 1.0
_PID_WRITTEN_WITHIN_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the file ``job`` holds. ``started_at`` in Unix s; ``lasting`` as in :class:`benchspec.engine.ports.Command`."""

    argv: tuple[str, ...]
    workdir: Path
    fetch: tuple[str, ...]
    allocation: str
    boot_id: str
    started_at: float
    lasting: bool = False

    def write(self, directory: Path) -> None:
        """Write it whole or not at all, for this user alone."""
        new = directory / f"job.{os.getpid()}"
        content = {
            "argv": self.argv, "workdir": str(self.workdir), "fetch": self.fetch,
            "allocation": self.allocation, "boot_id": self.boot_id, "started_at": self.started_at, "lasting": self.lasting,
        }  # fmt: skip
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(content))  # json.dump would encode in Python
        new.rename(directory / "job")

    @classmethod
    def read(cls, directory: Path) -> Record:
        """Read it back. Raises RunFailed when it is not there or not whole."""
        try:
            found = cast("Mapping[str, Json]", json.loads((directory / "job").read_text(encoding="utf-8")))
            return cls(
                argv=tuple(cast("list[str]", found["argv"])),
                workdir=Path(cast(str, found["workdir"])),
                fetch=tuple(cast("list[str]", found["fetch"])),
                allocation=cast(str, found["allocation"]),
                boot_id=cast(str, found["boot_id"]),
                started_at=cast(float, found["started_at"]),
                lasting=found.get("lasting") is True,
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunFailed(f"holds no readable record of a job ({error})", where=str(directory)) from error


@cache
def boot_id() -> str:
    """Which start of this host it is; a pid means nothing across two."""
    return _BOOT_ID.read_text().strip()


def was_started(directory: Path) -> bool:
    """Whether some wrapper took the job. One that is on its way gets a second; there is none if the controller died before it made one."""
    deadline = time.monotonic() + _TAKEN_WITHIN_S
    while directory.exists():
        if (directory / "pid").exists():
            return True
        if time.monotonic() > deadline:
            break
        time.sleep(0.002)
    return False


def withdraw(directory: Path) -> bool:
    """Take a job back that no wrapper has taken yet: one still on its way finds ``pid`` taken, or no directory. False: it was started after all."""
    try:
        os.close(os.open(directory / "pid", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    except FileNotFoundError:
        return True
    remove_tree(directory)
    return True


def read_leader(directory: Path) -> process.Process | None:
    """The wrapper that took the job; None if none did. The wrapper writes in one go, but its file is empty for a moment."""
    deadline = time.monotonic() + _PID_WRITTEN_WITHIN_S
    while True:
        try:
            return process.parse_stat((directory / "pid").read_text(encoding="utf-8", errors="replace"))
        except FileNotFoundError:
            return None
        except ValueError:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.002)


def read_exit_code(directory: Path) -> int | None:
    """What the wrapper wrote down, 128+n for a signal; None when it has not (yet)."""
    try:
        text = (directory / "rc").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    return int(text.split()[0]) if text.endswith("\n") else None


def write_exit_code(directory: Path, code: int) -> None:
    """Write what the wrapper could not, because it was killed with its program. Raises StorageError."""
    with storing(directory):
        new = directory / "rc.new"
        new.write_text(f"{code}\n", encoding="ascii")
        new.rename(directory / "rc")


def began_at(directory: Path) -> float | None:
    """When a program that had to wait began, in Unix s; None when it had not to wait, or never began."""
    try:
        return (directory / "began").stat().st_mtime
    except FileNotFoundError:
        return None


def ran_s(directory: Path) -> float | None:
    """How long wrapper and program ran by the host's uptime, in s, to about 0.02 s; None where it is not known."""
    leader, words = read_leader(directory), (directory / "rc").read_text(encoding="ascii").split()
    if leader is None or len(words) < 2:
        return None
    return max(0.0, float(words[1]) - leader.start / os.sysconf("SC_CLK_TCK"))


def ended_at(directory: Path) -> float:
    """When the exit code was written, in Unix s, as finely as the file system keeps times."""
    return (directory / "rc").stat().st_mtime


def fetched(record: Record) -> dict[str, bytes]:
    """Those of the files to fetch that are there.

    Raises:
        RunFailed: a name leads out of the work directory, or the program forbade this user to read what it wrote.
    """
    paths = {name: inside(record.workdir, name) for name in record.fetch}
    try:
        return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
    except OSError as error:
        raise RunFailed(f"a file to fetch cannot be read: {error.strerror}", where=str(error.filename)) from error


def erase(directory: Path) -> None:
    """Remove the directory of a job; harmless when it is gone. Raises StorageError."""
    with storing(directory):
        for name in _FILES:
            with suppress(FileNotFoundError):
                os.unlink(directory / name)
    try:
        directory.rmdir()
    except FileNotFoundError:
        return
    except OSError:
        remove_tree(directory)
