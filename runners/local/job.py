"""A detached program on this host: started exactly once per id, waited for without polling, and known to any later controller by its directory.

``mkdir`` decides who starts. Should that controller die before the program runs, the directory has no ``pid``: a later :func:`start` finishes
the work (the exclusive creation of ``pid`` decides again), while :func:`attach` takes the job back for good and says that it never was. With ``pid``
but neither a living wrapper nor ``rc`` the program was killed from outside: it may have run, so it is never run again, and ``wait`` raises RunFailed.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from ...engine.commands import check_command
from ...engine.errors import JobTimeout, RunFailed, StorageError
from ...engine.ports import Command, Completed
from . import launch, process, record
from .record import Record
from .state import storing

_CLOCK_SET_S = 0.1


class LocalJob:
    """One job, started here or by a controller before. Create it with :func:`start` or :func:`attach`."""

    def __init__(
        self, directory: Path, what: Record, markers: Mapping[str, str], child: subprocess.Popen[bytes] | None = None, born: float | None = None
    ) -> None:
        self.job_id = directory.name
        self.directory = directory
        self.record = what
        self._markers = markers
        self._child = child
        self._born = born
        self._duration_s: float | None = None
        self._ended = False
        self._known_leader: process.Process | None = None

    def wait(self, timeout_s: float) -> None:
        """Block until the program and its whole process group have ended.

        Raises:
            JobTimeout: it ran longer than ``timeout_s``; the group was killed. What it wrote until then can be collected.
            RunFailed: it died without leaving an exit code.
        """
        watched = not self._ended and not self.pause(0.0)
        if watched and not self.pause(timeout_s):
            self.cancel()
            raise JobTimeout(
                f"{self.record.argv[0]} did not end within {timeout_s:g} s; its process group was killed",
                where=f"job {self.job_id}",
                remedy="raise the workload's duration or find out why it hangs; its output so far was kept",
            )
        if not self._ended:
            self._settle(watched)
        if self.exit_code() is None:
            raise self._lost()

    def pause(self, timeout_s: float) -> bool:
        """Wait for at most ``timeout_s``; True if it has ended by then. Kills nothing."""
        deadline = time.monotonic() + timeout_s
        if self._child is not None and not _has_ended(self._child, timeout_s):
            return False
        leader = self._leader()
        if leader is None or self.record.boot_id != record.boot_id():
            return True
        # if another controller won the race to start this job, its wrapper is the one to wait for
        return process.wait_for(leader, max(0.0, deadline - time.monotonic()))

    def cancel(self) -> None:
        """Kill its whole process group, first kindly; harmless when it has ended."""
        if not self._ended:
            self.stop()
            self._settle(watched=False)

    def stop(self) -> None:
        """Kill its whole process group and do not ask how it ended. Raises RunFailed when it outlives SIGKILL."""
        leader = self._leader()
        number = process.end(lambda: process.family(leader, self._markers))
        if self._child is not None:
            self._child.wait()
        if number and self.exit_code() is None and self.directory.exists():
            record.write_exit_code(self.directory, 128 + number)

    def collect(self) -> Completed:
        """The raw bytes of an ended job. Raises RunFailed while it runs, or when it died without leaving an exit code."""
        code = self.exit_code()
        if code is None:
            raise RunFailed("has no exit code, there is nothing to collect", where=f"job {self.job_id}", remedy="wait for it first")
        began_at = record.began_at(self.directory) or self.record.started_at  # later than the start, if it waited for others
        duration_s = self._duration_s if self._duration_s is not None else self._recorded_duration_s()
        return Completed(
            argv=self.record.argv,
            exit_code=code,
            stdout=(self.directory / "stdout").read_bytes(),
            stderr=(self.directory / "stderr").read_bytes(),
            started_at=began_at,
            duration_s=max(0.0, duration_s - (began_at - self.record.started_at)),
            files=record.fetched(self.record),
        )

    def discard(self) -> None:
        """Remove its files (idempotent). Raises RunFailed while it runs."""
        if not self._ended and self.directory.exists() and not self.pause(0.0):
            raise RunFailed("still runs, its files are needed", where=f"job {self.job_id}", remedy="wait for it or cancel it first")
        record.erase(self.directory)

    def exit_code(self) -> int | None:
        """128+n for a signal; None while it runs, and for a job that was killed from outside."""
        return record.read_exit_code(self.directory)

    def _leader(self) -> process.Process | None:
        """The wrapper that took the job. Once there is one it is never another, so it is read once."""
        if self._known_leader is None:
            self._known_leader = record.read_leader(self.directory)
        return self._known_leader

    def _settle(self, watched: bool) -> None:
        if self._child is not None:
            self._child.wait()
        if watched and self._born is not None:
            self._duration_s = time.monotonic() - self._born
        if not self.record.lasting:
            self._end_stragglers()
        self._ended = True

    def _end_stragglers(self) -> None:
        """A job ends with its group: what the program left running would disturb the next trial."""
        leader = self._leader()
        if leader is None:
            return
        try:
            os.killpg(leader.pid, 0)
        except (ProcessLookupError, PermissionError):
            return  # the usual case: nobody of the group is left
        owned = self._child is not None and self._child.pid == leader.pid
        process.end(lambda: process.family(leader, self._markers, just_reaped=owned))

    def _lost(self) -> RunFailed | StorageError:
        where, program = f"job {self.job_id}", self.record.argv[0]
        if record.read_leader(self.directory) is None or (self.directory / "rc").exists():
            return StorageError(
                f"how {program} ended could not be written down: its state directory takes no more bytes, or was removed",
                where=f"{where} in {self.directory}",
                remedy="free space there, or name another place with XDG_STATE_HOME",
            )
        return RunFailed(
            f"{program} died without leaving an exit code: killed from outside, or the host was restarted",
            where=where,
            remedy="look for the out-of-memory killer in the kernel log; under this id it is not run again",
        )

    def _recorded_duration_s(self) -> float:
        """What a job took that nobody watched to its end: by the wall clock, which is finer, unless it was set meanwhile, which the uptime tells."""
        recorded, ran = record.ended_at(self.directory) - self.record.started_at, record.ran_s(self.directory)
        if ran is not None and abs(recorded - ran) > _CLOCK_SET_S:
            recorded = ran
        passed = recorded if self._born is None else time.monotonic() - self._born
        return max(0.0, min(recorded, passed))


def start(
    directory: Path,
    command: Command,
    workdir: Path,
    allocation: str,
    cpus: tuple[int, ...],
    markers: Mapping[str, str],
    not_before: float | None = None,
) -> LocalJob:
    """Start ``command`` as the job of ``directory``, or attach to it if it was started before; it begins at ``not_before`` (Unix s), if given.

    Raises:
        MissingTool, Unsupported: the program or a CPU is not there; nothing was created.
        RunFailed: the kernel refuses the command; nothing was left.
        StorageError: the state directory cannot be written.
    """
    if record.was_started(directory):
        return LocalJob(directory, Record.read(directory), markers)
    check_command(command)
    program = launch.find_program(command, workdir)
    if cpus and not launch.available(cpus):
        raise launch.unavailable(cpus)
    what = Record(
        argv=command.argv, workdir=workdir, fetch=command.fetch, allocation=allocation, boot_id=record.boot_id(), started_at=time.time(),
        lasting=command.lasting,
    )  # fmt: skip
    with storing(directory):
        directory.mkdir(mode=0o700, exist_ok=True)  # if it exists, its controller died before the program ran, or is about to run it
        what.write(directory)
    argv = (program, *command.argv[1:])
    born = time.monotonic()
    if not_before is not None:
        argv = launch.held(argv, directory, not_before - time.time())
    try:
        child = launch.spawn(argv, directory, workdir, launch.environment(command, markers), cpus)
    except RunFailed:
        record.erase(directory)
        raise
    return LocalJob(directory, what, markers, child, born)


def attach(directory: Path, markers: Mapping[str, str]) -> LocalJob | None:
    """The job of ``directory``; None if its program never ran, which then is made sure: a wrapper still on its way finds the job withdrawn."""
    if not directory.is_dir() or (not record.was_started(directory) and record.withdraw(directory)):
        return None
    return LocalJob(directory, Record.read(directory), markers)


def _has_ended(child: subprocess.Popen[bytes], timeout_s: float) -> bool:
    if child.returncode is not None:
        return True
    try:
        descriptor = os.pidfd_open(child.pid)  # not yet reaped, so the number is still its own
    except ProcessLookupError:
        return True
    try:
        return process.readable(descriptor, timeout_s)
    finally:
        os.close(descriptor)
