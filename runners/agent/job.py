"""A detached program at a place: waited for without polling, ended with all it started, and known
to any later controller by its directory.

The exclusive creation of ``pid`` by the wrapper decides who runs the program (start.py). A job with
``pid`` but neither a living wrapper nor ``rc`` was killed from outside: it may have run, so it is
never run again, and ``wait`` raises RunFailed.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.model.contract.values import Completed
from ...engine.model.errors import FromOutside, JobTimeout, RunFailed, StorageError, TransportLost
from .clock import duration_s
from .door import Door, HostDiskFull, PlaceLost, ask, word
from .record import Ending, Record
from .scripts import own

COLLECT_TIMEOUT_S = 600.0
END_TIMEOUT_S = 60.0


class Job:
    """One job at one place, started by this session or found by it."""

    def __init__(
        self, door: Door, jobs: str, job_id: str, record: Record, markers: Mapping[str, str]
    ) -> None:
        self.job_id = job_id
        self.record = record
        self.door = door
        self._jobs = jobs
        self._markers = tuple(f"{name}={value}" for name, value in markers.items())
        self._ended = False
        self._completed: Completed | None = None
        self.discarded = False

    @property
    def directory(self) -> str:
        """Where its files are."""
        return f"{self._jobs}/{self.job_id}"

    @property
    def _where(self) -> str:
        return self.door.at(f"job {self.job_id}")

    def wait(self, timeout_s: float) -> None:
        """Block until the program and its whole process group have ended.

        Raises:
            JobTimeout: it ran longer than ``timeout_s``; the group was killed. What it wrote until
                then can be collected.
            RunFailed: it died without leaving an exit code.
            TransportLost: the place cannot be reached any more; the job goes on there.
        """
        if self._ended:
            return
        said = self._await_end(timeout_s)
        if said is None:
            self.cancel()
            raise JobTimeout(
                f"{self.record.argv[0]} did not end within {timeout_s:g} s; its process group was"
                " killed",
                where=self._where,
                remedy=(
                    "raise the workload's duration or find out why it hangs; its output so far was"
                    " kept"
                ),
            )
        self._ended = said == "ended"
        if not self._ended:
            raise self._lost(said)

    def _await_end(self, timeout_s: float) -> str | None:
        return self.door.await_end(self._jobs, self.job_id, timeout_s)

    def cancel(self) -> None:
        """Kill its whole process group, first kindly; harmless when it has ended. Raises RunFailed
        when it outlives SIGKILL.
        """
        if self._ended:
            return
        arguments = (self._jobs, self.job_id, self.door.manner.told, *self._markers)
        try:
            said, pids = word(self.door, own("end"), arguments, timeout_s=END_TIMEOUT_S)
        except PlaceLost:
            return
        if said == "alive":
            raise outlived(pids, self._where)

    def collect(self) -> Completed:
        """The raw bytes of an ended job, in one round trip. Raises RunFailed while it runs, or when
        it died without leaving an exit code.
        """
        if self._completed is not None:
            return self._completed
        arguments = (self._jobs, self.job_id, self.record.workdir, *self.record.fetch)
        said = ask(self.door, own("collect"), arguments, timeout_s=COLLECT_TIMEOUT_S)
        head, _, rest = said.partition(b"\n")
        first, _, detail = head.decode("utf-8", "surrogateescape").partition(" ")
        if first != "ended":
            raise self._uncollected(first, detail)
        parts = _cut(rest, self._where)
        ending = Ending.parse(parts["rc"].decode("ascii", "replace"))
        if ending is None:
            raise self._lost("full")
        began_at, lasted_s = self._times(ending)
        self._completed = Completed(
            argv=self.record.argv,
            exit_code=ending.exit_code,
            stdout=parts["stdout"],
            stderr=parts["stderr"],
            started_at=began_at,
            duration_s=lasted_s,
            files={
                name: parts[str(number)]
                for number, name in enumerate(self.record.fetch, 1)
                if str(number) in parts
            },
        )
        return self._completed

    def _times(self, ending: Ending) -> tuple[float, float]:
        """When it began by the controller's clock, and how long it ran by the place's."""
        began, ended = ending.began, ending.ended
        began_at = self.door.moment(began, self.record) if began else self.record.started_at
        if ended is None:
            return began_at, 0.0
        if began is None:
            return began_at, max(0.0, self.door.moment(ended, self.record) - began_at)
        return began_at, duration_s(began, ended)

    def _uncollected(self, said: str, detail: str) -> RunFailed:
        match said:
            case "outside":
                return RunFailed(
                    f"found file name {detail!r}, expected one inside the work directory",
                    where=self._where,
                )
            case "unreadable":
                return RunFailed(f"a file to fetch cannot be read: {detail}", where=self._where)
            case _:
                return RunFailed(
                    "has no exit code, there is nothing to collect",
                    where=self._where,
                    remedy="wait for it first",
                )

    def discard(self) -> None:
        """Remove its files (idempotent). Raises RunFailed while it runs."""
        if self.discarded:
            return
        try:
            said, _ = word(self.door, own("discard"), (self._jobs, self.job_id))
        except PlaceLost:  # and its files with it
            said = "gone"
        if said == "running":
            raise self._still_runs()
        self.discarded = True

    def _still_runs(self) -> RunFailed:
        return RunFailed(
            "still runs, its files are needed",
            where=self._where,
            remedy="wait for it or cancel it first",
        )

    def _lost(self, said: str) -> RunFailed | StorageError:
        program = self.record.argv[0]
        if said in ("full", "gone"):
            return HostDiskFull(
                f"how {program} ended could not be written down: the disk takes no more bytes, or"
                " its directory was removed",
                where=f"{self._where} in {self._jobs}",
                remedy="free space there",
            )
        manner = self.door.manner
        message = f"{program} died without leaving an exit code: {manner.lost}"
        return FromOutside(message, where=self._where, remedy=manner.remedy)


def outlived(pids: str, where: str) -> RunFailed:
    """The error of processes that do not end."""
    return RunFailed(
        f"processes {pids} do not end, even on SIGKILL",
        where=where,
        remedy=(
            "look for a hanging device or network file system; they vanish with a reboot at the"
            " latest"
        ),
    )


def _cut(data: bytes, where: str) -> dict[str, bytes]:
    """The parts of an answer: each is NAME SIZE, a newline, and that many bytes."""
    parts, at = {}, 0
    while at < len(data):
        end = data.find(b"\n", at)
        name, _, size = data[at:end].decode("ascii", "replace").partition(" ")
        if end < 0 or not size.isdigit() or end + 1 + int(size) > len(data):
            raise TransportLost("found an answer that was cut short", where=where)
        parts[name] = data[end + 1 : end + 1 + int(size)]
        at = end + 1 + int(size)
    return parts
