"""A detached program in a role's container: started once per id, awaited by the pod's log, collected byte by byte, known to any later controller."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ...engine.errors import JobTimeout, MissingTool, RunFailed, TransportLost
from ...engine.ports import Command, Completed
from ...engine.spec import Json
from . import scripts
from .container import Container
from .failures import PodLost
from .manifests import JOBS

GRACE_S = 2.0
"""How long a program may take to end after SIGTERM before it gets SIGKILL."""

_COLLECT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What was started, as the container keeps it. ``offset_s``: by how much the node's clock is ahead of the controller's."""

    argv: tuple[str, ...]
    workdir: str
    fetch: tuple[str, ...]
    offset_s: float
    lasting: bool

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(
            {"argv": self.argv, "workdir": self.workdir, "fetch": self.fetch, "offset_s": self.offset_s, "lasting": self.lasting}
        ).encode()

    @classmethod
    def decode(cls, data: bytes) -> Started:
        """Read it back. Raises ValueError, KeyError."""
        found = cast("Mapping[str, Json]", json.loads(data))
        return cls(
            argv=tuple(cast("list[str]", found["argv"])),
            workdir=str(found["workdir"]),
            fetch=tuple(cast("list[str]", found["fetch"])),
            offset_s=cast(float, found["offset_s"]),
            lasting=found["lasting"] is True,
        )


class PodJob:
    """One job, started here or by a controller before."""

    def __init__(self, job_id: str, container: Container, started: Started | None = None) -> None:
        self.job_id = job_id
        self._container = container
        self._record = started
        self._completed: Completed | None = None
        self._ended = False
        self._discarded = False

    @property
    def discarded(self) -> bool:
        """Whether its files were removed."""
        return self._discarded

    @property
    def _program(self) -> str:
        return "the program" if self._record is None else self._record.argv[0]

    def wait(self, timeout_s: float) -> None:
        """Block until it ends, without a word to its node.

        Raises:
            JobTimeout: it ran longer; its whole family was killed. What it wrote until then can be collected.
            PodLost, RunFailed: it died without leaving an exit code, with its pod or alone.
            TransportLost: the node does not answer any more.
        """
        if self._ended:
            return
        if self._container.await_word(f"ended {self.job_id}", timeout_s):
            self._ended = True  # its exit code is written before the word
        elif not self._look():
            self.cancel()
            raise JobTimeout(
                f"{self._program} did not end within {timeout_s:g} s; its process group was killed",
                where=f"job {self.job_id}",
                remedy="raise the workload's duration or find out why it hangs; its output so far was kept",
            )

    def _look(self) -> bool:
        """Whether it has ended, asked in the container. Raises RunFailed when it died without leaving an exit code."""
        state = self._container.ask(scripts.state(self.job_id)).decode().split()
        if state[0] in ("lost", "none"):
            raise self._lost()
        self._ended = state[0] == "ended"
        return self._ended

    def _lost(self) -> RunFailed:
        return RunFailed(
            f"{self._program} died without leaving an exit code: killed from outside, perhaps for want of memory",
            where=f"job {self.job_id} in pod {self._container.pod}",
            remedy="ask for more `memory`; under this id it is not run again",
        )

    def cancel(self) -> None:
        """Kill its whole family, first kindly; harmless when it has ended, or when its pod has."""
        if self._ended:
            return
        try:
            self._container.ask(scripts.stop(self.job_id, f"BENCHSPEC_JOB={self.job_id}", GRACE_S), timeout_s=60)
        except PodLost:
            return
        self._ended = self._container.ask(scripts.state(self.job_id)).startswith(b"ended")

    def collect(self) -> Completed:
        """The raw bytes of an ended job. Raises RunFailed while it runs, or when it died without leaving an exit code."""
        if self._completed is None:
            self._completed = self._collect()
        return self._completed

    def _collect(self) -> Completed:
        started = self._started()
        said = self._container.ask(scripts.collect(self.job_id, started.workdir, started.fetch), timeout_s=_COLLECT_S)
        head, _, rest = said.partition(b"\n")
        kind, *words = head.decode("utf-8", "replace").split(" ")
        if kind != "sizes":
            raise RunFailed(f"a file to fetch cannot be read: {' '.join(words)} is {kind} the work directory", where=f"job {self.job_id}")
        sizes = [int(word) for word in words]
        if sum(size for size in sizes if size > 0) != len(rest):
            raise TransportLost(f"found {len(rest)} bytes of results, expected {sum(s for s in sizes if s > 0)}", where=f"pod {self._container.pod}")
        if sizes[0] < 0:
            raise RunFailed("has no exit code, there is nothing to collect", where=f"job {self.job_id}", remedy="wait for it first")
        pieces = _cut(rest, sizes)
        code, began, ended, _, stdout, stderr, *files = pieces
        began_s, ended_s = _seconds(began), _seconds(ended)
        return Completed(
            argv=started.argv,
            exit_code=int(code or b"0"),
            stdout=stdout or b"",
            stderr=stderr or b"",
            started_at=(began_s or time.time()) - started.offset_s,
            duration_s=max(0.0, ended_s - began_s) if began_s and ended_s else 0.0,
            files={name: data for name, data in zip(started.fetch, files, strict=True) if data is not None},
        )

    def _started(self) -> Started:
        try:
            self._record = self._record or Started.decode(self._container.ask(f"cat {JOBS}/{scripts.quote(self.job_id)}/job"))
            return self._record
        except (ValueError, KeyError) as error:
            raise RunFailed(f"holds no readable record of a job ({error})", where=f"job {self.job_id}") from error

    def discard(self) -> None:
        """Remove its files (idempotent). Raises RunFailed while it runs."""
        if self._discarded:
            return
        directory = f"{JOBS}/{scripts.quote(self.job_id)}"
        try:
            if not self._ended and self._container.ask(scripts.state(self.job_id)).startswith(b"running"):
                raise RunFailed("still runs, its files are needed", where=f"job {self.job_id}", remedy="wait for it or cancel it first")
            self._container.ask(f"rm -rf {directory}")
        except PodLost:
            pass  # and its files with it
        self._discarded = True


class LostJob:
    """A job whose pod is gone: it may have run, so it is never run again under its id."""

    def __init__(self, job_id: str, why: str) -> None:
        self.job_id = job_id
        self._why = why

    def wait(self, timeout_s: float) -> None:
        """Raises PodLost."""
        raise PodLost(self._why, where=f"job {self.job_id}", remedy="under this id it is not run again")

    def cancel(self) -> None:
        """Nothing runs any more."""

    def collect(self) -> Completed:
        """Raises PodLost."""
        raise PodLost(self._why, where=f"job {self.job_id}")

    def discard(self) -> None:
        """Its files went with its pod."""


def start(
    container: Container,
    command: Command,
    job_id: str,
    workdir: str,
    env: Mapping[str, str],
    offset_s: float,
    cpus: Sequence[int],
    not_before: float | None,
) -> PodJob:
    """Start ``command``, or attach to it if it was started before.

    Raises:
        MissingTool: the program is not in the container; nothing was created.
        RunFailed: it cannot be started.
    """
    record = Started(argv=command.argv, workdir=workdir, fetch=command.fetch, offset_s=offset_s, lasting=command.lasting)
    at = None if not_before is None else round((not_before + offset_s) * 1e9)
    said = container.ask(scripts.launch(job_id, command.argv, env, workdir, record.encode(), at, cpus, command.lasting)).decode("utf-8", "replace")
    word, _, rest = said.partition("\n")
    if word == "missing":
        raise MissingTool(f"no program {command.argv[0]!r} in PATH={env['PATH']}", where=f"role {command.role} in pod {container.pod}",
                          remedy=f"use an image that has {command.argv[0]} (`image`), or correct its name")  # fmt: skip
    if word not in ("started", "attached"):
        raise RunFailed(f"cannot be started: {rest.strip() or word}", where=command.argv[0])
    return PodJob(job_id, container, record if word == "started" else None)


def _cut(data: bytes, sizes: Sequence[int]) -> list[bytes | None]:
    pieces: list[bytes | None] = []
    start = 0
    for size in sizes:
        pieces.append(data[start : start + size] if size >= 0 else None)
        start += max(0, size)
    return pieces


def _seconds(text: bytes | None) -> float | None:
    """A time as ``date +%s.%N`` prints it; a ``date`` without nanoseconds prints the rest as it stands."""
    found = re.match(rb"\d+(\.\d+)?", text or b"")
    return float(found[0]) if found else None
