"""Processes as the kernel shows them: who they are (never a bare pid, which is reused), and when
they end.

Format of /proc/PID/stat: proc(5).
"""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process: pid and start time (clock ticks since boot) together are unique until the next
    boot.
    """

    pid: int
    start: int
    group: int
    session: int
    state: str
    parent: int = 0

    @property
    def dead(self) -> bool:
        """Whether it has ended and only waits for its parent to notice."""
        return self.state in "ZX"

    def is_same(self, other: Process | None) -> bool:
        """Whether ``other`` is this very process, not a later one of the same pid."""
        return other is not None and (self.pid, self.start) == (other.pid, other.start)


def parse_stat(text: str) -> Process:
    """Read the line of /proc/PID/stat; the command's name (field 2) may hold anything, also spaces
    and brackets.

    Raises:
        ValueError: the text is cut short or no such line.
    """
    opening, closing = text.index("("), text.rindex(")")
    fields = text[closing + 1 :].split()
    if len(fields) < 20:
        raise ValueError(f"found {len(fields)} fields after the name, expected at least 20")
    return Process(
        pid=int(text[:opening]),
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start=int(fields[19]),
    )


def look_up(pid: int) -> Process | None:
    """The process that has ``pid`` now, if any."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read().decode("utf-8", "replace"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def numbers() -> list[int]:
    """The numbers of all processes of this host."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def started() -> int:
    """How many processes and threads this host has started since it was."""
    with open("/proc/stat", "rb") as file:
        for line in file:
            if line.startswith(b"processes "):
                return int(line.split()[1])
    return 0


def ancestors(pid: int) -> list[int]:
    """The numbers of the parent of ``pid``, its parent, and so on up to the host's first
    process.
    """
    above: list[int] = []
    while (found := look_up(pid)) is not None and (pid := found.parent) > 0:
        above.append(pid)
    return above


def wait_for(process: Process, timeout_s: float) -> bool:
    """Block until ``process`` has ended, through a pidfd (no polling); False when it runs on after
    ``timeout_s``.
    """
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
