"""What may happen to a job, a run and a host: each told for what it is, and nothing run twice or
left behind.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import Allocation, Job, Session
from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.errors import Locked, RunFailed, TransportLost
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.agent import job as jobs_there
from benchspec.runners.registry import get_runner
from benchspec.runners.ssh.failures import ConnectionBroke, HostDiskFull, HostKeyChanged, HostSilent
from benchspec.runners.ssh.hosts import lock
from benchspec.runners.ssh.hosts.lock import Hold
from benchspec.runners.ssh.session import SshSession
from tests import hosts
from tests.conformance.beds import CONTROLLER

RUNNER = get_runner("ssh")
CLIENT = RolePlace(role=Role.CLIENT, site="site")
SERVER = RolePlace(role=Role.SERVER, site="site")
COUNT = "echo run >>counter; echo all >ready; "


def site(
    bed: hosts.Bed, user: str = hosts.Login.PLAIN, host: dict[str, Any] | None = None, **more: Any
) -> Site:
    """Client and server on host2 and host3; ``host`` says more about the client's."""
    made = bed.site((), user, **more)
    made["hosts"] = {
        "client": bed.host("host2").site(user, **(host or {})),
        "server": bed.host("host3").site(user),
    }
    return Site(name="site", runner="ssh", options=made)


@pytest.fixture
def untouched(bed: hosts.Bed) -> Iterator[None]:
    """Sees that a test leaves nothing on its hosts."""
    used = [bed.host("host2"), bed.host("host3")]
    before = [host.traces() for host in used]
    yield
    deadline = time.monotonic() + 30
    while any(
        left := [sorted(host.traces() - seen) for host, seen in zip(used, before, strict=True)]
    ):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.fixture
def session(bed: hosts.Bed, untouched: None) -> Iterator[Session]:
    opened = RUNNER.connect(site(bed), "run-1")
    yield opened
    opened.close()
    assert list(RUNNER.leftovers(site(bed), "run-1")) == []


@pytest.fixture
def allocation(session: Session) -> Iterator[Allocation]:
    made = session.allocate([CLIENT, SERVER], "allocation-1")
    yield made
    made.release()


def sh(script: str, role: Role = Role.CLIENT, **more: Any) -> Command:
    return Command(argv=("sh", "-c", script), role=role, timeout_s=60, fetch=("counter",), **more)


def wait_until_ready(allocation: Allocation) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            allocation.get(Role.CLIENT, "ready")
            return
        except RunFailed:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def wait_aside(job: Job) -> tuple[threading.Thread, list[BaseException]]:
    """Wait for a job in a thread, as the engine does; what it raises is kept."""
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            job.wait(60)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread, errors


def ran_once(job: Job) -> None:
    completed = job.collect()
    assert (completed.exit_code, completed.stdout, completed.files) == (
        42,
        b"late\n",
        {"counter": b"run\n"},
    )


def test_a_connection_cut_under_a_job_costs_nothing(bed: hosts.Bed, allocation: Allocation) -> None:
    job = allocation.start(sh(COUNT + "sleep 1.5; echo late; exit 42"), "cut")
    wait_until_ready(allocation)
    thread, errors = wait_aside(job)
    time.sleep(0.3)
    assert bed.host("host2").cut_connections() > 0
    thread.join(60)
    assert errors == []
    ran_once(job)


def test_sshd_killed_and_started_again_under_a_job(bed: hosts.Bed, allocation: Allocation) -> None:
    host = bed.host("host2")
    job = allocation.start(sh(COUNT + "sleep 1.5; echo late; exit 42"), "no-sshd")
    wait_until_ready(allocation)
    thread, errors = wait_aside(job)
    host.shell("pkill -9 -x sshd; rm -f /run/sshd.pid")
    time.sleep(0.5)
    host.start_sshd()
    thread.join(60)
    assert errors == []
    ran_once(job)


def test_a_host_that_hangs_is_told_and_its_job_is_found_when_it_answers_again(
    bed: hosts.Bed, untouched: None
) -> None:
    where = site(bed, keepalive="2 s", connect_timeout="3 s")
    session = RUNNER.connect(where, "run-hang")
    allocation = session.allocate([CLIENT, SERVER], "hang")
    job = allocation.start(sh(COUNT + "sleep 1; echo late; exit 42"), "hang-1")
    wait_until_ready(allocation)
    bed.host("host2").freeze_sshd()
    try:
        with pytest.raises(TransportLost, match="client"):
            job.wait(60)
        beside = allocation.start(sh("echo fine", Role.SERVER), "beside")
        beside.wait(30)
        assert beside.collect().stdout == b"fine\n", "the other host's work goes on"
    finally:
        bed.host("host2").thaw_sshd()
    job.wait(60)
    ran_once(job)
    allocation.release()
    session.close()
    assert list(RUNNER.leftovers(where, "run-hang")) == []


def test_many_controllers_racing_start_a_job_once(
    bed: hosts.Bed, session: Session, allocation: Allocation
) -> None:
    sessions = [RUNNER.connect(site(bed), "run-1") for _ in range(6)]
    racers = [one.allocate([CLIENT, SERVER], "allocation-1") for one in sessions]
    gate = threading.Barrier(len(racers))
    seen: list[bytes] = []

    def race(racer: Allocation) -> None:
        gate.wait()
        job = racer.start(sh("echo run >>counter; sleep 0.2; echo done"), "race")
        job.wait(60)
        seen.append(job.collect().stdout)

    threads = [threading.Thread(target=race, args=(racer,)) for racer in racers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [b"done\n"] * len(racers)
    assert allocation.get(Role.CLIENT, "counter") == b"run\n"
    for one in sessions:
        one.close()


def test_a_job_that_was_taken_back_is_never_started_by_whoever_is_late(
    bed: hosts.Bed, session: Session, allocation: Allocation
) -> None:
    other = RUNNER.connect(site(bed), "run-1")
    assert other.attach("late") is None
    with pytest.raises(RunFailed, match="taken back"):
        allocation.start(sh(COUNT), "late")
    mine = other.allocate([CLIENT, SERVER], "allocation-1").start(sh("echo mine"), "late")
    mine.wait(30)
    assert mine.collect().stdout == b"mine\n"
    other.close()


def test_another_host_key_between_plan_and_run_is_refused(bed: hosts.Bed) -> None:
    host = bed.host("host3")
    keep = "/root/keys"
    host.shell(f"mkdir {keep} && cp -a /etc/ssh/ssh_host_ed25519_key* {keep}")
    try:
        host.swap_host_key()
        with pytest.raises(HostKeyChanged, match="server"):
            RUNNER.connect(site(bed), "run-swapped")
    finally:
        host.shell(f"mv {keep}/* /etc/ssh && rmdir {keep}")
        host.stop_sshd()
        host.start_sshd()
    RUNNER.connect(site(bed), "run-swapped").close()


def test_a_second_run_is_told_who_has_the_host(bed: hosts.Bed, session: Session) -> None:
    with pytest.raises(Locked, match=r"run run-1 \(.* at .* since 20") as caught:
        RUNNER.connect(site(bed), "run-2")
    assert caught.value.exit_code == 6
    with pytest.raises(Locked, match="run-1"):
        RUNNER.connect(site(bed, hosts.Login.ROOT), "run-3")
    session.close()
    for user in (hosts.Login.PLAIN, hosts.Login.ROOT):
        RUNNER.connect(site(bed, user), "run-2").close()


def test_a_host_belongs_to_a_run_as_long_as_its_jobs_live(bed: hosts.Bed, session: Session) -> None:
    allocation = session.allocate([CLIENT], "lively")
    allocation.start(sh("sleep 60"), "lively-1")
    session.close()
    with pytest.raises(Locked, match="run-1"):
        RUNNER.connect(site(bed), "run-2")
    again = RUNNER.connect(site(bed), "run-1")
    again.allocate([CLIENT], "lively").release()
    again.close()
    RUNNER.connect(site(bed), "run-2").close()


def test_clean_frees_what_a_killed_controller_held(bed: hosts.Bed, untouched: None) -> None:
    where = dataclasses.replace(site(bed), name="here")
    argv = [
        sys.executable,
        str(CONTROLLER),
        "ssh",
        json.dumps(where.options),
        "run-lost",
        "start",
        "lost",
        "lost-1",
        json.dumps(["sleep", "60"]),
    ]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as controller:
        assert controller.stdin is not None
        assert controller.stdout is not None
        controller.stdin.write("go\n")
        controller.stdin.flush()
        assert [controller.stdout.readline() for _ in range(2)] == ["ready\n", "started\n"]
        controller.kill()
    with pytest.raises(Locked, match="run-lost"):
        RUNNER.connect(where, "run-2")
    found = RUNNER.leftovers(where, "run-lost")
    assert {leftover.kind for leftover in found} == {"processes", "directory", "lock"}
    for leftover in found:
        RUNNER.remove(where, leftover)
    assert list(RUNNER.leftovers(where, "run-lost")) == []
    RUNNER.connect(where, "run-2").close()


def test_an_answer_that_comes_late_is_not_taken_for_that_of_another_question(
    bed: hosts.Bed, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(session, SshSession)
    entered, host = session._seat(Role.CLIENT).host, bed.host("host2")
    asked = Hold(entered.connection, "host2", "run-1", privileged=False)
    monkeypatch.setattr(lock, "ANSWER_TIMEOUT_S", 0.5)
    holder = host.shell(
        f"grep -lzxF '{asked.mark}' /proc/[0-9]*/environ | tail -n 1 | cut -d / -f 3"
    ).strip()
    host.shell(f"kill -STOP {holder}")
    with pytest.raises(HostSilent):
        asked.ask("when")
    host.shell(f"kill -CONT {holder}")
    with pytest.raises(ConnectionBroke):
        asked.ask("who")
    lock.unlock(entered, "run-1", asked.mark)


def test_no_room_for_the_run(bed: hosts.Bed) -> None:
    host = bed.host("host2")
    host.small_disk("/var/tmp")
    host.fill_disk("/var/tmp")
    try:
        with pytest.raises(HostDiskFull, match="No space left") as caught:
            RUNNER.connect(site(bed), "run-full")
        assert host.address in str(caught.value)
        assert "what to do: free space" in str(caught.value)
        assert host.shell("ls /var/tmp") == "", "nor is anything left of the attempt"
    finally:
        host.unmount("/var/tmp")


@pytest.mark.parametrize(
    ("workdir", "why"),
    [
        ("/proc/1", "cannot be written"),
        ("/srv/no disk", "/srv/no disk is not there; make it, or mount"),
    ],
)
def test_a_work_directory_that_cannot_be_used_is_told_and_leaves_nothing(
    bed: hosts.Bed, untouched: None, workdir: str, why: str
) -> None:
    """Nor is one made that is not there: a disk that is not mounted would be measured as the one
    below it.
    """
    with pytest.raises(HostDiskFull, match=why):
        RUNNER.connect(site(bed, workdir=workdir), "run-nowhere")


def test_a_disk_that_fills_under_a_job_costs_that_job_alone(
    bed: hosts.Bed, session: Session
) -> None:
    host = bed.host("host2")
    host.shell(f"mkdir -p /var/tmp/benchspec-$(id -u {hosts.Login.PLAIN})")
    allocation = session.allocate([CLIENT, SERVER], "filling")
    first = allocation.start(sh("true"), "first")
    assert isinstance(first, jobs_there.Job)
    jobs = first.directory.rpartition("/")[0]
    host.small_disk(jobs, mode="777")
    try:
        job = allocation.start(sh(COUNT + "sleep 0.5; echo late"), "filled")
        wait_until_ready(allocation)
        host.fill_disk(jobs)
        with pytest.raises(HostDiskFull, match="takes no more bytes"):
            job.wait(30)
        beside = allocation.start(sh("echo fine", Role.SERVER), "beside")
        beside.wait(30)
        assert beside.collect().stdout == b"fine\n"
    finally:
        host.unmount(jobs)
        allocation.release()


def test_a_directory_that_cannot_be_written(bed: hosts.Bed) -> None:
    host = bed.host("host2")
    host.read_only("/var/tmp")
    try:
        with pytest.raises(HostDiskFull, match="Read-only") as caught:
            RUNNER.connect(site(bed), "run-readonly")
        assert host.address in str(caught.value)
    finally:
        host.unmount("/var/tmp")
