"""The directory of a job on this host, written and read without a shell (agent/record.py says what
is in it).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from ...engine.model.errors import RunFailed
from ..agent.record import Ending, Record
from . import process
from .state import Places, inside, remove_tree, storing

_FILES = ("job", "pid", "rc", "stdout", "stderr")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TAKEN_WITHIN_S = 1.0
_PID_WRITTEN_WITHIN_S = 0.1


def write(directory: Path, what: Record) -> None:
    """Write what is started whole or not at all, for this user alone."""
    new = directory / f"job.{os.getpid()}"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{what.text()}\n")
    new.rename(directory / "job")


def read(directory: Path) -> Record:
    """Read it back. Raises RunFailed when it is not there or not whole."""
    try:
        return Record.parse((directory / "job").read_bytes(), str(directory))
    except OSError as error:
        raise RunFailed(
            f"holds no readable record of a job ({error})", where=str(directory)
        ) from error


def begin(where: Places) -> None:
    """Note since when, and below whom, the run has processes here; done once. Raises
    StorageError.
    """
    me = process.look_up(os.getpid())
    if me is None or where.began.exists():
        return
    above = " ".join(map(str, process.ancestors(me.pid)))
    new = where.run / f"began.{me.pid}"
    with storing(new):
        new.write_text(f"{boot_id()} {me.start} {above}\n", encoding="ascii")
        new.rename(where.began)


@cache
def boot_id() -> str:
    """Which start of this host it is; a pid means nothing across two."""
    return _BOOT_ID.read_text().strip()


def was_started(directory: Path) -> bool:
    """Whether some wrapper took the job. One that is on its way gets a second; there is none if the
    controller died before it made one.
    """
    deadline = time.monotonic() + _TAKEN_WITHIN_S
    while directory.exists():
        if (directory / "pid").exists():
            return True
        if time.monotonic() > deadline:
            break
        time.sleep(0.002)
    return False


def withdraw(directory: Path) -> bool:
    """Take a job back that no wrapper has taken yet: one still on its way finds ``pid`` taken, or
    no directory. False: it was started after all.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        os.close(os.open(directory / "pid", flags, 0o600))
    except FileExistsError:
        return False
    except FileNotFoundError:
        return True
    remove_tree(directory)
    return True


def read_leader(directory: Path) -> process.Process | None:
    """The wrapper that took the job, in this start of the host; None if none did. The wrapper
    writes in one go, but its file is empty for a moment.
    """
    deadline = time.monotonic() + _PID_WRITTEN_WITHIN_S
    while True:
        try:
            text = (directory / "pid").read_text(encoding="utf-8", errors="replace")
            boot, _, stat = text.partition(" ")
            # without a boot id where the local runner wrote it before there was an agent
            leader = process.parse_stat(text if boot.isdigit() else stat)
            return leader if boot.isdigit() or boot == boot_id() else None
        except FileNotFoundError:
            return None
        except ValueError:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.002)


def read_ending(directory: Path) -> Ending | None:
    """What the wrapper wrote down; None when it has not (yet)."""
    try:
        return Ending.parse((directory / "rc").read_text(encoding="ascii"))
    except FileNotFoundError:
        return None


def write_exit_code(directory: Path, code: int) -> None:
    """Write what the wrapper could not, because it was killed with its program. Raises
    StorageError.
    """
    with storing(directory):
        new = directory / "rc.new"
        new.write_text(f"{code} - - - -\n", encoding="ascii")
        new.rename(directory / "rc")


def ran_s(directory: Path, ending: Ending) -> float | None:
    """How long wrapper and program ran by the host's uptime, in s, to about 0.02 s; None where it
    is not known.
    """
    leader = read_leader(directory)
    if leader is None or ending.ended is None:
        return None
    return max(0.0, ending.ended.uptime_s - leader.start / os.sysconf("SC_CLK_TCK"))


def ended_at(directory: Path) -> float:
    """When the exit code was written, in Unix s, as finely as the file system keeps times."""
    return (directory / "rc").stat().st_mtime


def fetched(record: Record) -> dict[str, bytes]:
    """Those of the files to fetch that are there.

    Raises:
        RunFailed: a name leads out of the work directory, or the program forbade this user to read
            what it wrote.
    """
    paths = {name: inside(Path(record.workdir), name) for name in record.fetch}
    try:
        return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
    except OSError as error:
        raise RunFailed(
            f"a file to fetch cannot be read: {error.strerror}", where=str(error.filename)
        ) from error


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
