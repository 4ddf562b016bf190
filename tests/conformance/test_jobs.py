"""What becomes of a job: once per id, whatever happens to its controller; ended with all it
started.
"""

from __future__ import annotations

import dataclasses
import json
import random
import signal
import time

import pytest

from benchspec.engine.model.contract.runner import Allocation, Job, Session, StepRunner
from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.errors import JobTimeout, RunFailed
from benchspec.engine.model.spec import Role, RolePlace
from tests.conformance.beds import OURS, Bed

COUNT = "echo run >>counter; echo done"
FAMILY = (
    # a child in the background, a grandchild that ignores SIGTERM, one that clears its environment,
    # and one in a session of its own
    f"sleep {OURS + 301} & (trap '' TERM; sh -c 'sleep {OURS + 302}; :') & "
    f"env -i sleep {OURS + 303} & setsid sleep {OURS + 304} & echo all >ready; wait"
)


def sh(script: str, timeout_s: float = 60) -> Command:
    return Command(
        argv=("sh", "-c", script), role=Role.CLIENT, timeout_s=timeout_s, fetch=("counter",)
    )


def finish(job: Job) -> bytes:
    job.wait(60)
    return job.collect().stdout


def wait_until_ready(allocation: Allocation) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            allocation.get(Role.CLIENT, "ready")
        except RunFailed:
            time.sleep(0.02)
        else:
            return
    raise TimeoutError("the program never said that it is ready")


def sleepers(bed: Bed, *seconds: int) -> list[str]:
    return bed.shell(
        f"pgrep -x -f 'sleep ({'|'.join(str(OURS + each) for each in seconds)})'"
    ).split()


def test_a_second_start_attaches(allocation: Allocation) -> None:
    first = allocation.start(sh(COUNT), "once")
    second = allocation.start(sh(COUNT), "once")
    assert finish(first) == finish(second) == b"done\n"
    third = allocation.start(sh(COUNT), "once")
    assert finish(third) == b"done\n"
    assert allocation.get(Role.CLIENT, "counter") == b"run\n"


def test_another_session_attaches_while_it_runs_and_after_it_ended(
    bed: Bed, session: Session, allocation: Allocation
) -> None:
    allocation.start(sh("sleep 0.3; " + COUNT), "other")
    for _ in range(2):
        other = bed.connect()
        job = other.attach("other")
        assert job is not None
        assert finish(job) == b"done\n"
        assert job.collect().files == {"counter": b"run\n"}
        assert job.collect().exit_code == 0


def test_what_never_was_cannot_be_attached_to(session: Session, allocation: Allocation) -> None:
    assert session.attach("never") is None


def test_two_controllers_racing_start_it_once(bed: Bed, allocation: Allocation) -> None:
    for i in range(5):
        argv = json.dumps(["sh", "-c", f"echo run >>counter-{i}; echo done"])
        racers = [bed.controller("run", "allocation-1", f"race-{i}", argv) for _ in range(2)]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        assert [racer.communicate(timeout=30)[0] for racer in racers] == ['[0, "done\\n"]\n'] * 2
        assert allocation.get(Role.CLIENT, f"counter-{i}") == b"run\n"


def test_a_killed_controller_loses_nothing(
    bed: Bed, session: Session, allocation: Allocation
) -> None:
    controller = bed.controller(
        "start",
        "allocation-1",
        "survivor",
        json.dumps(["sh", "-c", "sleep 0.5; echo run >>counter; echo late; exit 42"]),
    )
    assert controller.stdout is not None
    assert controller.stdin is not None
    controller.stdin.write("go\n")
    controller.stdin.flush()
    assert [controller.stdout.readline() for _ in range(2)] == ["ready\n", "started\n"]
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    job = session.attach("survivor")
    assert job is not None
    assert finish(job) == b"late\n"
    completed = job.collect()
    assert (completed.exit_code, completed.files) == (42, {"counter": b"run\n"})
    assert completed.duration_s >= 0.4


def test_killed_at_any_moment_it_runs_once(
    bed: Bed, session: Session, allocation: Allocation
) -> None:
    dice = random.Random(7)
    seen = set()
    for i in range(12):
        script = f"echo run >>counter-{i}; echo done"
        controller = bed.controller(
            "start", "allocation-1", f"chaos-{i}", json.dumps(["sh", "-c", script])
        )
        assert controller.stdout is not None
        assert controller.stdin is not None
        assert controller.stdout.readline() == "ready\n"
        controller.stdin.write("go\n")
        controller.stdin.flush()
        time.sleep(dice.uniform(0, 0.006))
        controller.send_signal(signal.SIGKILL)
        controller.wait()
        job = session.attach(f"chaos-{i}")
        seen.add(job is None)
        assert finish(job or allocation.start(sh(script), f"chaos-{i}")) == b"done\n"
        assert allocation.get(Role.CLIENT, f"counter-{i}") == b"run\n"


def test_a_timeout_kills_the_whole_process_group(bed: Bed, allocation: Allocation) -> None:
    job = allocation.start(sh("echo early; " + FAMILY), "late")
    wait_until_ready(allocation)
    deadline = time.monotonic() + 60
    while (
        len(sleepers(bed, 301, 302, 303, 304)) < 4
    ):  # "ready" is written before the last of them has become a sleep
        assert time.monotonic() < deadline
    with pytest.raises(JobTimeout, match="within"):
        job.wait(0.1)
    assert sleepers(bed, 301, 302, 303, 304) == []
    completed = job.collect()
    assert completed.stdout == b"early\n"
    assert completed.exit_code in (128 + 15, 128 + 9)


def test_cancel_is_kind_first(allocation: Allocation) -> None:
    job = allocation.start(
        sh("trap 'echo closing; exit 7' TERM; echo all >ready; while :; do sleep 0.05; done"),
        "kind",
    )
    wait_until_ready(allocation)
    job.cancel()
    job.cancel()
    completed = job.collect()
    assert (completed.stdout, completed.exit_code) == (b"closing\n", 7)


def test_cancel_by_a_later_controller(bed: Bed, allocation: Allocation) -> None:
    allocation.start(sh(FAMILY), "orphan")
    wait_until_ready(allocation)
    job = bed.connect().attach("orphan")
    assert job is not None
    job.cancel()
    assert sleepers(bed, 301, 302, 303, 304) == []


def test_what_a_program_leaves_in_its_group_ends_with_it(bed: Bed, allocation: Allocation) -> None:
    job = allocation.start(
        sh(f"sleep {OURS + 305} & env -i sleep {OURS + 306} & echo done"), "stragglers"
    )
    assert finish(job) == b"done\n"
    assert sleepers(bed, 305, 306) == []


def test_cancel_after_the_end_changes_nothing(allocation: Allocation) -> None:
    job = allocation.start(sh("exit 3"), "ended")
    job.wait(60)
    job.cancel()
    assert job.collect().exit_code == 3


def test_nothing_can_be_collected_while_it_runs(allocation: Allocation) -> None:
    job = allocation.start(sh("sleep 30"), "running")
    with pytest.raises(RunFailed, match="collect"):
        job.collect()
    with pytest.raises(RunFailed, match="runs"):
        job.discard()
    job.cancel()


def test_discard_removes_its_files_and_can_be_repeated(bed: Bed, allocation: Allocation) -> None:
    before = bed.shell(f'find "{bed.state}"')
    job = allocation.start(sh("echo x"), "gone")
    job.wait(60)
    assert bed.shell(f'find "{bed.state}"') != before
    job.discard()
    job.discard()
    assert bed.shell(f'find "{bed.state}"') == before


def test_a_job_killed_from_outside_is_an_error_and_is_not_run_again(
    bed: Bed, session: Session, allocation: Allocation
) -> None:
    job = allocation.start(sh("echo run >>counter; echo all >ready; sleep 300"), "shot")
    wait_until_ready(allocation)
    for line in bed.marked("BENCHSPEC_JOB=shot"):
        bed.shell(f"kill -9 {line.split()[0]}")
    for _ in range(2):
        with pytest.raises(RunFailed, match="without leaving an exit code"):
            job.wait(5)  # pods tell of ends, not of deaths: those are seen when the wait is over
    job.cancel()
    with pytest.raises(RunFailed):
        job.collect()
    again = (
        bed.connect()
        .allocate([RolePlace(role=Role.CLIENT, site="here")], "allocation-1")
        .start(sh(COUNT), "shot")
    )
    with pytest.raises(RunFailed):
        again.wait(5)
    assert allocation.get(Role.CLIENT, "counter") == b"run\n"


def test_jobs_run_beside_each_other(allocation: Allocation) -> None:
    # each waits for the other: in sequence neither would end
    first = allocation.start(sh("echo >a; while ! [ -e b ]; do sleep 0.01; done"), "first")
    second = allocation.start(sh("echo >b; while ! [ -e a ]; do sleep 0.01; done"), "second")
    for job in (first, second):
        job.wait(60)
        assert job.collect().exit_code == 0


def test_who_ignores_sigterm_is_killed_and_recorded_so(allocation: Allocation) -> None:
    job = allocation.start(
        sh("trap '' TERM; echo all >ready; while :; do sleep 0.05; done"), "stubborn"
    )
    wait_until_ready(allocation)
    with pytest.raises(JobTimeout):
        job.wait(0.05)
    assert job.collect().exit_code == 128 + 9


def test_a_session_hands_out_the_job_it_knows(session: Session, allocation: Allocation) -> None:
    job = allocation.start(sh("true"), "known")
    assert session.attach("known") is job
    job.wait(60)
    job.discard()
    assert session.attach("known") is None


@pytest.mark.usefixtures("fresh")
def test_what_a_lasting_command_leaves_running_ends_with_its_allocation(
    bed: Bed, allocation: Allocation
) -> None:
    if not isinstance(bed.runner, StepRunner):
        pytest.skip("this runner carries out no lifecycle steps")
    command = dataclasses.replace(
        sh(f"sleep {OURS + 305} & sleep {OURS + 306} >/dev/null 2>&1 & echo started"), lasting=True
    )
    assert finish(allocation.start(command, "lasting")) == b"started\n"
    assert len(sleepers(bed, 305, 306)) == 2
    allocation.release()
    assert sleepers(bed, 305, 306) == []
