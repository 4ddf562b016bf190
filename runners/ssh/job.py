"""A detached program on a host: waited for without polling, ended with all it started, and known to any later controller by its directory.

The exclusive creation of ``pid`` by the wrapper decides who runs the program (launch.py). A job with ``pid`` but neither a living wrapper nor ``rc``
was killed from outside: it may have run, so it is never run again, and ``wait`` raises RunFailed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...engine.errors import JobTimeout, RunFailed
from ...engine.ports import Completed
from .clock import duration_s
from .failures import ConnectionBroke, HostDiskFull
from .host import Host
from .job_scripts import ATTACH_SCRIPT, COLLECT_SCRIPT, DISCARD_SCRIPT, END_SCRIPT, STATE_SCRIPT, WAIT_SCRIPT
from .record import Ending, Record

COLLECT_TIMEOUT_S = 600.0
END_TIMEOUT_S = 60.0


class SshJob:
    """One job on one host, started by this session or found by it."""

    def __init__(self, host: Host, jobs: str, job_id: str, record: Record, markers: Mapping[str, str]) -> None:
        self.job_id = job_id
        self.record = record
        self.host = host
        self._jobs = jobs
        self._markers = tuple(f"{name}={value}" for name, value in markers.items())
        self._ended = False
        self.discarded = False

    @property
    def directory(self) -> str:
        """Where its files are on the host."""
        return f"{self._jobs}/{self.job_id}"

    @property
    def _where(self) -> str:
        return f"host {self.host.name}: job {self.job_id}"

    def wait(self, timeout_s: float) -> None:
        """Block until the program and its whole process group have ended.

        Raises:
            JobTimeout: it ran longer than ``timeout_s``; the group was killed. What it wrote until then can be collected.
            RunFailed: it died without leaving an exit code.
            TransportLost: the host cannot be reached any more; the job goes on there.
        """
        if self._ended:
            return
        word = self.await_end(timeout_s)
        if word is None:
            self.cancel()
            raise JobTimeout(
                f"{self.record.argv[0]} did not end within {timeout_s:g} s; its process group was killed",
                where=self._where,
                remedy="raise the workload's duration or find out why it hangs; its output so far was kept",
            )
        self._ended = word == "ended"
        if not self._ended:
            raise self._lost(word)

    def await_end(self, timeout_s: float) -> str | None:
        """Wait for at most ``timeout_s``: how it is then, None when it runs on. A wait whose connection broke is issued again."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                word = self._await_once(deadline)
                if word == "unsure":
                    word, _ = self.host.word(STATE_SCRIPT, (self._jobs, self.job_id))
                if word != "running":
                    return word
            except ConnectionBroke:
                if time.monotonic() > deadline:
                    raise

    def _await_once(self, deadline: float) -> str | None:
        stream = self.host.stream(WAIT_SCRIPT, (self._jobs, self.job_id))
        said = b""
        try:
            while True:
                piece = stream.read(max(0.0, deadline - time.monotonic()))
                if piece is None:
                    return said.decode("ascii", "replace").partition("\n")[0] or "unsure"
                said += piece
                if not piece and time.monotonic() >= deadline:
                    return None
        finally:
            stream.close()

    def cancel(self) -> None:
        """Kill its whole process group, first kindly; harmless when it has ended. Raises RunFailed when it outlives SIGKILL."""
        if self._ended:
            return
        word, pids = self.host.word(END_SCRIPT, (self._jobs, self.job_id, *self._markers), timeout_s=END_TIMEOUT_S)
        if word == "alive":
            raise RunFailed(
                f"processes {pids} do not end, even on SIGKILL",
                where=self._where,
                remedy="look for a hanging device or network file system; they vanish with a reboot at the latest",
            )

    def collect(self) -> Completed:
        """The raw bytes of an ended job, in one round trip. Raises RunFailed while it runs, or when it died without leaving an exit code."""
        arguments = (self._jobs, self.job_id, self.record.workdir, *self.record.fetch)
        head, _, rest = self.host.ask(COLLECT_SCRIPT, arguments, timeout_s=COLLECT_TIMEOUT_S).partition(b"\n")
        word, _, detail = head.decode("utf-8", "surrogateescape").partition(" ")
        if word != "ended":
            raise self._uncollected(word, detail)
        parts = _cut(rest)
        ending = Ending.parse(parts["rc"].decode("ascii", "replace"))
        if ending is None:
            raise self._lost("full")
        began_at, lasted_s = self._times(ending)
        return Completed(
            argv=self.record.argv,
            exit_code=ending.exit_code,
            stdout=parts["stdout"],
            stderr=parts["stderr"],
            started_at=began_at,
            duration_s=lasted_s,
            files={name: parts[str(number)] for number, name in enumerate(self.record.fetch, 1) if str(number) in parts},
        )

    def _times(self, ending: Ending) -> tuple[float, float]:
        """When it began by the controller's clock, and how long it ran by the host's."""
        clock = self.host.clock
        began_at = clock.controllers(ending.began) if ending.began else self.record.started_at
        if ending.ended is None:
            return began_at, 0.0
        if ending.began is None:
            return began_at, max(0.0, clock.controllers(ending.ended) - began_at)
        return began_at, duration_s(ending.began, ending.ended)

    def _uncollected(self, word: str, detail: str) -> RunFailed:
        match word:
            case "outside":
                return RunFailed(f"found file name {detail!r}, expected one inside the work directory", where=self._where)
            case "unreadable":
                return RunFailed(f"a file to fetch cannot be read: {detail}", where=self._where)
            case _:
                return RunFailed("has no exit code, there is nothing to collect", where=self._where, remedy="wait for it first")

    def discard(self) -> None:
        """Remove its files (idempotent). Raises RunFailed while it runs."""
        if self.host.word(DISCARD_SCRIPT, (self._jobs, self.job_id))[0] == "running":
            raise RunFailed("still runs, its files are needed", where=self._where, remedy="wait for it or cancel it first")
        self.discarded = True

    def _lost(self, word: str) -> RunFailed:
        program = self.record.argv[0]
        if word in ("full", "gone"):
            return HostDiskFull(
                f"how {program} ended could not be written down: the disk takes no more bytes, or its directory was removed",
                where=f"{self._where} in {self._jobs}",
                remedy="free space there",
            )
        return RunFailed(
            f"{program} died without leaving an exit code: killed from outside, or the host was restarted",
            where=self._where,
            remedy="look for the out-of-memory killer in the kernel log; under this id it is not run again",
        )


def attach(host: Host, jobs: str, job_id: str, token: str, markers: Mapping[str, str]) -> SshJob | None:
    """The job of that id on ``host``; None if its program never ran there, which then is made sure."""
    head, _, rest = host.ask(ATTACH_SCRIPT, (jobs, job_id, token)).partition(b"\n")
    if head != b"known":
        return None
    return SshJob(host, jobs, job_id, Record.parse(rest, f"host {host.name}: job {job_id}"), markers)


def _cut(data: bytes) -> dict[str, bytes]:
    """The parts of an answer: each is NAME SIZE, a newline, and that many bytes."""
    parts, at = {}, 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, _, size = data[at:end].decode("ascii").partition(" ")
        parts[name] = data[end + 1 : end + 1 + int(size)]
        at = end + 1 + int(size)
    return parts
