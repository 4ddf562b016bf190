"""Where a run keeps its things on a host, and the script that makes these places.

Layout, all for the user alone (mode 0700)::

    /var/tmp/benchspec-UID/RUN_ID/SITE/jobs/JOB_ID/              see record.py
    /var/tmp/benchspec-UID/RUN_ID/SITE/allocations/ROLE@ALLOCATION_ID port and CPUs of a role
    /var/tmp/benchspec-UID/RUN_ID/SITE/allocations/group@ALLOCATION_ID the control group of its
    processes, where the host has one for them
    /var/tmp/benchspec-UID/RUN_ID/SITE/allocations/sessions@ALLOCATION_ID the sessions of jobs that
    were to last (agent/kept.sh)
    /var/tmp/benchspec-UID/RUN_ID/SITE/allocations/standing@ALLOCATION_ID there if something was
    brought up that is to last
    /var/tmp/benchspec-UID/RUN_ID/SITE/ttl                       for how long (s) all this is kept,
    a space, and where the work directories are
    /var/tmp/benchspec-UID/RUN_ID/SITE/began                     boot id, and since when (1/100 s
    since then) the site may have processes
    /var/tmp/benchspec-UID/RUN_ID/SITE/overdue/                  jobs that a sweep (sweep.sh) has
    not erased in its time
    /var/tmp/benchspec-UID/RUN_ID/SITE/work/ALLOCATION_ID/ROLE/  work directories, unless the option
    ``workdir`` moves them to WORKDIR/benchspec-RUN_ID/SITE/ALLOCATION_ID/ROLE/

/var/tmp and not /run or /tmp, since work directories hold test files of many GiB, and a memory file
system would be measured instead of the disk. Exit code 73 of any script means: no room, or no right
to write; what stderr says last is the reason.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass

from ....engine.model.contract.values import DEFAULT_TTL_S
from ...agent.agent import Agent
from ...agent.door import Door
from ...agent.job import Job

STATE = "/var/tmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The directories of one site of a run on one host. ``workdir`` and ``ttl_s`` are the options;
    ``workdir`` is "" where there is none.
    """

    run_id: str
    site: str
    user: str
    workdir: str = ""
    ttl_s: int = round(DEFAULT_TTL_S)

    @property
    def state(self) -> str:
        """The directory of all that belongs to the site."""
        return f"{STATE}/benchspec-{self.user}/{self.run_id}/{self.site}"

    @property
    def jobs(self) -> str:
        """One directory per job that was started and not yet discarded."""
        return f"{self.state}/jobs"

    @property
    def allocations(self) -> str:
        """One file per role and allocation that was not released."""
        return f"{self.state}/allocations"

    def standing(self, allocation_id: str) -> str:
        """The file that says that something was brought up for an allocation which is to last:
        nobody but `down` or `clean` may remove it.
        """
        return f"{self.allocations}/standing@{allocation_id}"

    def group(self, allocation_id: str) -> str:
        """The file that names the control group of an allocation, where it has one."""
        return f"{self.allocations}/group@{allocation_id}"

    def agent(self, door: Door, token: str, known: MutableMapping[str, Job]) -> Agent:
        """What runs the site's jobs, behind the ``door`` of the host."""
        return Agent(door, self.jobs, self.run_id, token, known)

    @property
    def work(self) -> str:
        """The work directories of all allocations."""
        return (
            f"{self.workdir}/benchspec-{self.run_id}/{self.site}"
            if self.workdir
            else f"{self.state}/work"
        )

    def roots(self) -> tuple[str, ...]:
        """The topmost directories that belong to this site and run alone."""
        return (self.work, self.state) if self.workdir else (self.state,)

    def inner_first(self) -> tuple[str, ...]:
        """All directories, in the order in which they can be removed once they are empty."""
        moved = (self.work.rpartition("/")[0],) if self.workdir else ()
        run = self.state.rpartition("/")[0]
        return (
            self.work,
            *moved,
            self.allocations,
            self.jobs,
            self.state,
            run,
            run.rpartition("/")[0],
        )
