"""What a controller that never comes back left on a host: ended there by the host itself when the
site's ttl is over, removed by the next run.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import Allocation
from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.errors import JobTimeout
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.agent.job import Job
from benchspec.runners.agent.scripts import here
from benchspec.runners.registry import get_runner
from benchspec.runners.ssh import hosts as rooms
from tests import hosts
from tests.runners.ssh.conftest import until

RUNNER = get_runner("ssh")
CLIENT = RolePlace(role=Role.CLIENT, site="site")
TTL = "86417 s"
SWEEP = here(rooms.__file__, "sweep")
ASLEEP = "pgrep -x -f 'sleep 86417' || :"


def site(bed: hosts.Bed, ttl: str, **more: Any) -> Site:
    options = {**bed.site((), **more), "hosts": {"client": bed.host("host2").site()}, "ttl": ttl}
    return Site(name="site", runner="ssh", options=options)


def start(
    allocation: Allocation,
    job_id: str,
    script: str,
    lasting: bool = False,
    not_before: float | None = None,
) -> Job:
    command = Command(argv=("sh", "-c", script), role=Role.CLIENT, timeout_s=60, lasting=lasting)
    job = allocation.start(command, job_id, not_before=not_before)
    assert isinstance(job, Job)
    return job


def user_id(bed: hosts.Bed) -> str:
    return bed.host("host2").shell(f"id -u {hosts.Login.PLAIN}").strip()


def test_a_host_ends_a_job_that_nobody_comes_back_for_and_is_free(bed: hosts.Bed) -> None:
    """Also one that sends signals to its group, in which are those that watch over the time."""
    host, where = bed.host("host2"), site(bed, "6 s")
    family = (
        "sleep 511 & (trap '' TERM; sh -c 'sleep 512; :') & env -i sleep 513 & setsid sleep 514 &"
        " wait"
    )
    session = RUNNER.connect(where, "run-orphan")
    start(
        session.allocate([CLIENT], "orphan"),
        "orphan-1",
        f"trap : HUP TERM; kill -HUP 0; kill -TERM 0; trap - HUP TERM; echo begun; {family}",
    )
    session.close()
    lock = f"/var/tmp/benchspec.lock-{user_id(bed)}"
    until(
        lambda: (
            host.shell(f"[ ! -e {lock} ] || {{ exec 9<{lock} && flock -n 9; }} && echo free || :")
            == "free\n"
        ),
        "the lock's end",
    )
    assert host.shell("pgrep -x -f 'sleep 51[1234]' || :") == ""
    again = RUNNER.connect(where, "run-orphan")
    job = again.attach("orphan-1")
    assert job is not None
    job.wait(30)
    completed = job.collect()
    assert (completed.exit_code, completed.stdout) == (143, b"begun\n")
    assert completed.stderr == b"benchspec: ended by its host, 6 s after its start (ttl)\n"
    assert completed.duration_s > 4
    again.allocate([CLIENT], "orphan").release()
    again.close()
    assert list(RUNNER.leftovers(where, "run-orphan")) == []


def test_nothing_that_watches_over_the_time_outlives_the_job(bed: hosts.Bed) -> None:
    host = bed.host("host2")
    session = RUNNER.connect(site(bed, TTL), "run-watched")
    allocation = session.allocate([CLIENT], "watched")
    ended = start(allocation, "ended", "sleep 521 & echo done")
    ended.wait(60)
    assert host.shell(f"{ASLEEP}; pgrep -x -f 'sleep 521' || :") == ""
    assert (ended.collect().exit_code, ended.collect().stderr) == (0, b"")
    for name, not_before in (("cancelled", None), ("waiting", time.time() + 600)):
        job = start(allocation, name, "sleep 522", not_before=not_before)
        until(lambda: len(host.shell(ASLEEP).split()) == 1, "the watch over the time")
        job.cancel()
        assert host.shell(ASLEEP) == "", name
        assert (job.collect().exit_code, job.collect().stderr) == (143, b""), name
    late = start(allocation, "late", "sleep 522")
    with pytest.raises(JobTimeout):
        late.wait(0.1)
    assert host.shell(ASLEEP) == ""
    killed = start(allocation, "killed", "sleep 522")
    until(lambda: host.shell(ASLEEP), "the watch over the time")
    host.shell(f"kill -9 $(cut -d ' ' -f 2 {killed.directory}/pid)")
    allocation.release()
    assert host.shell(f"{ASLEEP}; pgrep -x -f 'sleep 522' || :") == ""
    session.close()


def test_what_is_overdue_is_removed_by_the_next_run_and_nothing_else(bed: hosts.Bed) -> None:
    host, state, disk = bed.host("host2"), f"/var/tmp/benchspec-{user_id(bed)}", "/mnt/ttl"
    where = site(bed, "1 h", workdir=disk)
    host.shell(f"mkdir -m 1777 {disk}")
    sessions, alive = [], ""
    try:
        for name in (
            "old",
            "standing",
            "alive",
            "young",
        ):  # the last one's controller leaves two hours after the others
            sessions.append(RUNNER.connect(where, f"run-{name}"))
            allocation = sessions[-1].allocate([CLIENT], name)
            allocation.put(Role.CLIENT, "file", b"theirs")
            start(allocation, f"{name}-1", "echo done", lasting=name == "standing").wait(60)
            if name != "young":
                sessions[-1].close()
        host.shell(f"mkdir -p {state}/else/where/jobs")
        alive = host.shell(
            "env BENCHSPEC_RUN=run-alive sleep 531 >/dev/null 2>&1 & echo $!",
            user=hosts.Login.PLAIN,
        ).strip()
        host.shell(f"find {state} {disk} -exec touch -d '2 hours ago' {{}} +")
        sessions[-1].close()
        until(lambda: host.shell("pgrep -x -f 'sleep 531' || :").strip() == alive, "what lives")
        RUNNER.connect(
            dataclasses.replace(where, options={**where.options, "ttl": "1 s"}), "run-next"
        ).close()
        left = {"run-standing", "run-alive", "run-young"}
        assert set(host.shell(f"ls {state}").split()) == {*left, "else"}
        assert set(host.shell(f"ls {disk}").split()) == {f"benchspec-{run}" for run in left}
        assert len(host.shell(f"find {disk} -name file").split()) == len(left)
    finally:
        host.shell(f"rm -rf {state} {disk}; kill {alive} || :")


def test_a_sweep_that_takes_too_long_is_cut_short_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """In a shell of this machine, with an rm that is slow for as long as there is the file."""
    state, disk, held, programs = (tmp_path / name for name in ("state", "disk", "held", "bin"))
    works = {
        "run-here": state / "run-here" / "site" / "work",
        "run-there": disk / "benchspec-run-there" / "site",
    }
    for name, work in works.items():
        site = state / name / "site"
        for each in (work / "a" / "client", site / "jobs" / "a-1", site / "allocations"):
            each.mkdir(parents=True)
        (work / "a" / "client" / "file").write_text("theirs")
        (site / "ttl").write_text(f"3600 {work}\n")
    for path in state.glob("**/*"):
        os.utime(path, (time.time() - 7200,) * 2)
    programs.mkdir()
    (programs / "rm").write_text(
        f'#!/bin/sh\n[ ! -e "{held}" ] || exec sleep 541\nexec /bin/rm "$@"\n'
    )
    (programs / "rm").chmod(0o755)

    def sweep(script: str) -> None:
        argv = ["/bin/sh", "-c", f'state="{state}" run=run-next\n{script}']
        subprocess.run(
            argv, env={"PATH": f"{programs}:{os.environ['PATH']}"}, timeout=300, check=True
        )

    held.touch()
    sweep(SWEEP.replace("sweep_s=60\n", "sweep_s=1\n"))
    assert {path.name for path in state.iterdir()} == works.keys()
    assert all((state / name / "site" / "ttl").exists() for name in works)
    held.unlink()
    sweep(SWEEP)
    assert [*state.iterdir(), *disk.iterdir()] == []


def test_a_run_that_comes_back_and_ends_does_not_hide_what_a_sweep_has_left_of_it(
    tmp_path: Path,
) -> None:
    site = tmp_path / "run" / "site"
    inner_first = [site / "work", site / "allocations", site / "jobs", site, site.parent]
    waiting = site / "overdue" / "a-1"
    for each in (*inner_first, waiting):
        each.mkdir(parents=True, exist_ok=True)
    (site / "ttl").write_text(f"3600 {site}/work\n")

    def leave() -> None:
        subprocess.run(
            [
                "/bin/sh",
                "-c",
                here(rooms.__file__, "leave"),
                "sh",
                "token",
                *map(str, inner_first),
            ],
            timeout=300,
            check=True,
        )

    leave()
    assert {path.name for path in site.iterdir()} == {"overdue", "ttl"}, "sweeps find it by its ttl"
    waiting.rmdir()
    waiting.parent.rmdir()
    leave()
    assert not site.parent.exists()
