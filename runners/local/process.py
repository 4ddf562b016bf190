"""Processes as the kernel shows them: who they are (never a bare pid, which is reused), whose they are, and how they are ended.

Format of /proc/PID/stat and /proc/PID/environ: proc(5).
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from ...engine.errors import RunFailed

GRACE_S = 2.0
"""How long a process may take to end after SIGTERM before it gets SIGKILL."""

_KILLED_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process: pid and start time (clock ticks since boot) together are unique until the next boot."""

    pid: int
    start: int
    group: int
    session: int
    state: str

    @property
    def dead(self) -> bool:
        """Whether it has ended and only waits for its parent to notice."""
        return self.state in "ZX"

    def is_same(self, other: Process | None) -> bool:
        """Whether ``other`` is this very process, not a later one of the same pid."""
        return other is not None and (self.pid, self.start) == (other.pid, other.start)


def parse_stat(text: str) -> Process:
    """Read the line of /proc/PID/stat; the command's name (field 2) may hold anything, also spaces and brackets.

    Raises:
        ValueError: the text is cut short or no such line.
    """
    opening, closing = text.index("("), text.rindex(")")
    fields = text[closing + 1 :].split()
    if len(fields) < 20:
        raise ValueError(f"found {len(fields)} fields after the name, expected at least 20")
    return Process(pid=int(text[:opening]), state=fields[0], group=int(fields[2]), session=int(fields[3]), start=int(fields[19]))


def look_up(pid: int) -> Process | None:
    """The process that has ``pid`` now, if any."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read().decode("utf-8", "replace"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def all_processes() -> Iterator[Process]:
    """Every process of this host that has not ended, but this one."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            process = look_up(int(entry))
            if process is not None and not process.dead:
                yield process


def environment(pid: int) -> frozenset[bytes]:
    """The ``NAME=value`` entries a process was started with; empty when it has ended or belongs to somebody else."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return frozenset(file.read().split(b"\0"))
    except OSError:
        return frozenset()


def marked(markers: Mapping[str, str]) -> list[Process]:
    """The running processes whose environment holds all of ``markers``."""
    wanted = {f"{name}={value}".encode() for name, value in markers.items()}
    return [p for p in all_processes() if wanted <= environment(p.pid)]


def family(leader: Process | None, markers: Mapping[str, str], *, just_reaped: bool = False) -> list[Process]:
    """The running processes of ``leader``'s session or group, and those that left both but carry ``markers``.

    When the leader is gone, its number may serve another session by now: then only the markers count, unless this process reaped the leader
    a moment ago (``just_reaped``) and nobody has the number.
    """
    wanted = {f"{name}={value}".encode() for name, value in markers.items()}
    number = None if leader is None or not _leads(leader, just_reaped) else leader.pid
    return [p for p in all_processes() if number in (p.session, p.group) or wanted <= environment(p.pid)]


def _leads(leader: Process, just_reaped: bool) -> bool:
    found = look_up(leader.pid)
    return just_reaped if found is None else leader.is_same(found)


def wait_for(process: Process, timeout_s: float) -> bool:
    """Block until ``process`` has ended, through a pidfd (no polling); False when it runs on after ``timeout_s``."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        # opened first, compared then: the pidfd cannot move to another process any more
        if not process.is_same(look_up(process.pid)):
            return True
        return readable(descriptor, timeout_s)
    finally:
        os.close(descriptor)


def readable(descriptor: int, timeout_s: float) -> bool:
    """Block until ``descriptor`` is readable; False when it is not after ``timeout_s``."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + timeout_s
    while True:
        # poll() takes at most 2^31 ms: longer waits come round again
        rest_ms = min(max(0.0, deadline - time.monotonic()) * 1000, 2**31 - 1)
        if poll.poll(rest_ms):
            return True
        if time.monotonic() >= deadline:
            return False


def end(find: Callable[[], list[Process]], grace_s: float = GRACE_S) -> int:
    """End every process that ``find`` names, and those it names later (they fork): SIGTERM, after ``grace_s`` SIGKILL.

    Returns the last signal that was needed, 0 if there was nobody.

    Raises:
        RunFailed: some outlive SIGKILL, as a process does that hangs in the kernel.
    """
    used = 0
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, _KILLED_WITHIN_S)):
        deadline = time.monotonic() + patience_s
        told: set[tuple[int, int]] = set()
        while found := find():
            if time.monotonic() > deadline:
                break
            used = number
            _tell(number, [p for p in found if (p.pid, p.start) not in told])
            told.update((p.pid, p.start) for p in found)
            look_again = min(deadline, time.monotonic() + _LOOK_EVERY_S)
            for one in found:
                wait_for(one, max(0.0, look_again - time.monotonic()))
        else:
            return used
    if not (rest := find()):
        return used
    raise RunFailed(
        f"processes {', '.join(str(p.pid) for p in rest)} do not end, even on SIGKILL",
        remedy="look for a hanging device or network file system; they vanish with a reboot at the latest",
    )


def _tell(number: int, processes: Iterable[Process]) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            descriptor = os.pidfd_open(process.pid)
            try:
                if process.is_same(look_up(process.pid)):
                    signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)
