"""Several clients of one trial begin at one instant and are waited for together; one client begins
at once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..model.contract.runner import Job
from ..model.contract.values import Commands
from .sites.allocations import Place
from .sites.sites import on_site

_FIRST_GUESS_S = 0.15
_MARGIN_S = 0.1
_TWICE = 2.0


class Barrier:
    """Starts clients with a common instant that lies as far ahead as starting all of them has been
    seen to take, and half as much again.
    """

    def __init__(self) -> None:
        self._slowest_s = _FIRST_GUESS_S
        self._due_s = 0.0

    def start(
        self, job_ids: Sequence[str], place: Place, commands: Commands, started: list[Job]
    ) -> None:
        """Start every client; ``started`` receives the jobs as they come to be. Raises what
        :meth:`Allocation.start` does.
        """
        lead_s = 0.0 if len(job_ids) < 2 else _MARGIN_S + _TWICE * len(job_ids) * self._slowest_s
        begin_at = time.time() + lead_s
        self._due_s = time.monotonic() + lead_s
        slowest_s = 0.0
        for command, job_id in zip(commands.clients, job_ids, strict=True):
            before = time.monotonic()
            started.append(place.start(command, job_id, begin_at if lead_s else None))
            slowest_s = max(slowest_s, time.monotonic() - before)
        self._slowest_s = slowest_s
        if not lead_s:
            self._due_s = time.monotonic()

    def wait(self, place: Place, commands: Commands, started: Sequence[Job]) -> None:
        """Wait for all of them; each has its own deadline, counted from the common instant. Raises
        JobTimeout, RunFailed, SiteLost.
        """
        for job, command in sorted(
            zip(started, commands.clients, strict=True), key=lambda pair: pair[1].timeout_s
        ):
            with on_site(place.site_of(command.role)):
                job.wait(_rest(self._due_s, command.timeout_s))


def wait_together(jobs: Sequence[Job], deadlines_s: Sequence[float]) -> None:
    """Wait for jobs that run at the same time: the time one is waited for counts for the others
    too. Raises JobTimeout, RunFailed.
    """
    began = time.monotonic()
    for job, deadline_s in sorted(zip(jobs, deadlines_s, strict=True), key=lambda pair: pair[1]):
        job.wait(_rest(began, deadline_s))


def _rest(since: float, deadline_s: float) -> float:
    return max(0.0, round(since + deadline_s - time.monotonic(), 2))
