"""A detached program on this host: started exactly once per id, waited for without polling, and
known to any later controller by its directory.

It is the agent's job (agent/job.py) whose files are written and read without a shell. ``mkdir``
decides who starts. Should that controller die before the program runs, the directory has no
``pid``: a later :func:`start` finishes the work (the exclusive creation of ``pid`` decides again),
while :func:`attach` takes the job back for good and says that it never was.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from ...engine.model.contract.values import Command, Completed
from ...engine.model.errors import RunFailed, StorageError
from ...engine.planning.commands import check_command
from ..agent.door import word
from ..agent.job import END_TIMEOUT_S, Job, outlived
from ..agent.record import Ending, Record
from ..agent.scripts import own
from . import launch, process, record
from .door import LocalDoor
from .state import storing

_CLOCK_SET_S = 0.1


class LocalJob(Job):
    """One job, started here or by a controller before. Create it with :func:`start` or
    :func:`attach`. ``standing``: the file that says that it was to last.
    """

    def __init__(
        self,
        directory: Path,
        what: Record,
        markers: Mapping[str, str],
        child: subprocess.Popen[bytes] | None = None,
        born: float | None = None,
    ) -> None:
        super().__init__(LocalDoor(), str(directory.parent), directory.name, what, markers)
        self.path = directory
        self._child = child
        self._born = born
        self._duration_s: float | None = None
        self._known_leader: process.Process | None = None

    def _await_end(self, timeout_s: float) -> str | None:
        watched = not self.pause(0.0)
        if watched and not self.pause(timeout_s):
            return None
        self._settle(watched)
        return "ended" if self.exit_code() is not None else "lost"

    def pause(self, timeout_s: float) -> bool:
        """Wait for at most ``timeout_s``; True if it has ended by then. Kills nothing."""
        deadline = time.monotonic() + timeout_s
        if self._child is not None and not _has_ended(self._child, timeout_s):
            return False
        leader = self._leader()
        # if another controller won the race to start this job, its wrapper is the one to wait for
        return leader is None or process.wait_for(leader, max(0.0, deadline - time.monotonic()))

    def cancel(self) -> None:
        """Kill its whole process group, first kindly; harmless when it has ended."""
        if not self._ended:
            super().cancel()
            self._settle(watched=False)

    def collect(self) -> Completed:
        """The raw bytes of an ended job. Raises RunFailed while it runs, or when it died without
        leaving an exit code.
        """
        ending = record.read_ending(self.path)
        if ending is None:
            raise self._uncollected("running", "")
        duration_s = self._duration_s
        if duration_s is None:
            duration_s = self._recorded_duration_s(ending)
        began_at = self.record.started_at
        if ending.began is not None and ending.began.wall_s is not None:
            began_at = ending.began.wall_s  # it had to wait for others
        return Completed(
            argv=self.record.argv,
            exit_code=ending.exit_code,
            stdout=(self.path / "stdout").read_bytes(),
            stderr=(self.path / "stderr").read_bytes(),
            started_at=began_at,
            duration_s=max(0.0, duration_s - (began_at - self.record.started_at)),
            files=record.fetched(self.record),
        )

    def discard(self) -> None:
        """Remove its files (idempotent). Raises RunFailed while it runs."""
        if self._standing.exists() or (not self._ended and self.path.exists()):
            if self._child is not None and self._child.poll() is None and self.exit_code() is None:
                raise self._still_runs()  # also before its wrapper has written who it is
            self.discarded = False
            super().discard()
        else:
            record.erase(self.path)

    @property
    def _standing(self) -> Path:
        return self.path.parent.parent / "allocations" / f"standing@{self.record.allocation}"

    def exit_code(self) -> int | None:
        """128+n for a signal; None while it runs, and for a job that was killed from outside."""
        ending = record.read_ending(self.path)
        return None if ending is None else ending.exit_code

    def _leader(self) -> process.Process | None:
        """The wrapper that took the job. Once there is one it is never another, so it is read
        once.
        """
        if self._known_leader is None:
            self._known_leader = record.read_leader(self.path)
        return self._known_leader

    def reap(self) -> None:
        """Take note of its end, if it has ended."""
        if self._child is not None:
            self._child.poll()

    def _settle(self, watched: bool) -> None:
        if self._child is not None:
            self._child.wait()
        if watched and self._born is not None:
            self._duration_s = time.monotonic() - self._born
        if not self._standing.exists():
            self._end_stragglers()
        self._ended = True

    def _end_stragglers(self) -> None:
        """A job ends with its group: what the program left running would disturb the next trial."""
        leader = self._leader()
        if leader is None or ((found := process.look_up(leader.pid)) and not leader.is_same(found)):
            return
        try:
            os.killpg(leader.pid, 0)
        except (ProcessLookupError, PermissionError):
            return  # the usual case: nobody of the group is left
        arguments = (str(leader.pid), *self._markers)
        said, pids = word(self.door, own("stragglers"), arguments, timeout_s=END_TIMEOUT_S)
        if said == "alive":
            raise outlived(pids, self._where)

    def _lost(self, said: str) -> RunFailed | StorageError:
        taken = self.path / "pid"
        if taken.exists() and taken.stat().st_size > 0 and not (self.path / "rc").exists():
            return super()._lost("lost")
        return StorageError(
            f"how {self.record.argv[0]} ended could not be written down: its state directory takes"
            " no more bytes, or was removed",
            where=f"{self._where} in {self.path}",
            remedy="free space there, or name another place with XDG_STATE_HOME",
        )

    def _recorded_duration_s(self, ending: Ending) -> float:
        """What a job took that nobody watched to its end: by the wall clock, which is finer, unless
        it was set meanwhile, which the uptime tells.
        """
        recorded = record.ended_at(self.path) - self.record.started_at
        ran = record.ran_s(self.path, ending)
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
    group: str = "",
) -> LocalJob:
    """Start ``command`` as the job of ``directory`` in the control group ``group``, or attach to it
    if it was started before; it begins at ``not_before`` (Unix s), if given.

    Raises:
        MissingTool, Unsupported: the program or a CPU is not there; nothing was created.
        RunFailed: the kernel refuses the command; nothing was left.
        StorageError: the state directory cannot be written.
    """
    if record.was_started(directory):
        return LocalJob(directory, record.read(directory), markers)
    check_command(command)
    program = launch.find_program(command, workdir)
    if cpus and not launch.available(cpus):
        raise launch.unavailable(cpus)
    what = Record(
        argv=command.argv,
        workdir=str(workdir),
        fetch=command.fetch,
        allocation=allocation,
        started_at=time.time(),
    )
    with storing(directory):
        # if it exists, its controller died before the program ran, or is about to run it
        directory.mkdir(mode=0o700, exist_ok=True)
        record.write(directory, what)
    argv, born = (program, *command.argv[1:]), time.monotonic()
    delay_s = 0.0 if not_before is None else not_before - time.time()
    env = launch.environment(command, markers)
    try:
        child = launch.spawn(argv, directory, workdir, env, cpus, delay_s=delay_s, group=group)
    except RunFailed:
        record.erase(directory)
        raise
    return LocalJob(directory, what, markers, child, born)


def attach(directory: Path, markers: Mapping[str, str]) -> LocalJob | None:
    """The job of ``directory``; None if its program never ran, which then is made sure: a wrapper
    still on its way finds the job withdrawn.
    """
    if not directory.is_dir() or (not record.was_started(directory) and record.withdraw(directory)):
        return None
    return LocalJob(directory, record.read(directory), markers)


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
