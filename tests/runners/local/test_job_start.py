"""The moments between `mkdir` and the program: what a controller's death leaves there, and that
nothing runs twice.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.errors import RunFailed, StorageError
from benchspec.engine.model.spec import Role
from benchspec.runners.agent.record import Record
from benchspec.runners.local import job, launch, record

MARKERS = {"BENCHSPEC_RUN": "run-start", "BENCHSPEC_JOB": "j"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "j"


def count(directory: Path) -> Command:
    return Command(argv=("sh", "-c", "echo run >>counter"), role=Role.CLIENT, timeout_s=10)


def begin(directory: Path, command: Command | None = None) -> job.LocalJob:
    return job.start(
        directory, command or count(directory), directory.parent / "work", "a", (), MARKERS
    )


def runs(directory: Path) -> int:
    counter = directory.parent / "work" / "counter"
    return len(counter.read_text().splitlines()) if counter.exists() else 0


def test_a_controller_died_after_mkdir(directory: Path) -> None:
    directory.mkdir()
    assert job.attach(directory, MARKERS) is None
    assert not directory.exists()
    begin(directory).wait(10)
    assert runs(directory) == 1


def test_start_finishes_what_a_dead_controller_began(directory: Path) -> None:
    directory.mkdir()
    (directory / "job.99999").write_text('{"argv": [')  # cut short while it was written
    (directory / "stdout").touch()
    started = begin(directory)
    started.wait(10)
    assert runs(directory) == 1
    assert started.exit_code() == 0


def wrapped(directory: Path, script: str, group: str = "") -> list[str]:
    argv = ("/bin/sh", "-c", script)
    return launch.wrapped(argv, directory.parent / "work", os.environ["PATH"], group=group)


def slow_wrapper(directory: Path) -> subprocess.Popen[bytes]:
    """A wrapper whose controller died and which the system lets run late."""
    argv = wrapped(directory, "echo run >>counter")
    argv[2] = f"sleep 0.4\n{argv[2]}"
    return subprocess.Popen(argv, cwd=directory, start_new_session=True)


def test_a_wrapper_that_comes_late_finds_its_job_taken(directory: Path) -> None:
    directory.mkdir()
    late = slow_wrapper(directory)
    what = Record(
        argv=("true",),
        workdir=str(directory.parent / "work"),
        fetch=(),
        allocation="a",
        started_at=time.time(),
    )
    record.write(directory, what)
    env = launch.environment(count(directory), MARKERS)
    launch.spawn(
        ["/bin/sh", "-c", "echo run >>counter"], directory, directory.parent / "work", env, ()
    ).wait()
    assert late.wait(10) == 125
    assert runs(directory) == 1


def test_a_wrapper_that_comes_late_finds_its_job_withdrawn(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_TAKEN_WITHIN_S", 0.0)
    directory.mkdir()
    late = slow_wrapper(directory)
    assert job.attach(directory, MARKERS) is None
    directory.mkdir()  # the same id again: another directory, although of the same name
    assert late.wait(10) == 125
    assert runs(directory) == 0
    assert not (directory / "pid").exists()


def test_attach_waits_for_a_wrapper_on_its_way(directory: Path) -> None:
    directory.mkdir()
    what = Record(
        argv=("sh",),
        workdir=str(directory.parent / "work"),
        fetch=(),
        allocation="a",
        started_at=time.time(),
    )
    record.write(directory, what)
    slow_wrapper(directory)
    found = job.attach(directory, MARKERS)
    assert found is not None
    found.wait(10)
    assert runs(directory) == 1


def test_the_winner_of_a_race_is_waited_for(directory: Path) -> None:
    directory.mkdir()
    winner = subprocess.Popen(
        wrapped(directory, "sleep 0.3; exit 5"),
        cwd=directory,
        start_new_session=True,
    )
    while not (directory / "pid").exists():
        time.sleep(0.001)
    what = Record(
        argv=("sh",),
        workdir=str(directory.parent / "work"),
        fetch=(),
        allocation="a",
        started_at=time.time(),
    )
    record.write(directory, what)
    loser = launch.spawn(
        ["/bin/true"],
        directory,
        directory.parent / "work",
        launch.environment(count(directory), MARKERS),
        (),
    )
    started = job.LocalJob(directory, what, MARKERS, loser, time.monotonic())
    started.wait(10)
    assert started.exit_code() == 5
    assert winner.wait(10) == 0


@pytest.mark.parametrize("set_by_s", [0.0, 3600.0, -3600.0])
def test_a_clock_that_is_set_does_not_change_how_long_a_job_took_that_nobody_watched(
    directory: Path, set_by_s: float
) -> None:
    command = Command(argv=("sleep", "0.5"), role=Role.CLIENT, timeout_s=30)
    job.start(directory, command, directory.parent / "work", "a", (), MARKERS).wait(30)
    ended = (directory / "rc").stat().st_mtime + set_by_s
    os.utime(directory / "rc", (ended, ended))
    found = job.attach(directory, MARKERS)
    assert found is not None
    found.wait(1)
    assert 0.45 <= found.collect().duration_s < 30


def test_a_pid_from_before_a_restart_is_nobody(directory: Path) -> None:
    directory.mkdir()
    what = Record(
        argv=("sleep",),
        workdir=str(directory.parent),
        fetch=(),
        allocation="a",
        started_at=0.0,
    )
    record.write(directory, what)
    (directory / "pid").write_text(
        f"another-start-of-the-host {Path('/proc/self/stat').read_text()}"
    )  # this very process: alive, but not the job's
    found = job.attach(directory, MARKERS)
    assert found is not None
    with pytest.raises(RunFailed, match="restarted"):
        found.wait(1)


def test_a_pid_that_was_given_to_another_process_is_nobody(directory: Path) -> None:
    begin(
        directory,
        Command(argv=("sh", "-c", "kill -9 $PPID; sleep 0.2"), role=Role.CLIENT, timeout_s=9),
    )
    time.sleep(0.3)
    stat = (directory / "pid").read_text().split()
    ours = Path("/proc/self/stat").read_text().split()
    (directory / "pid").write_text(
        " ".join([stat[0], ours[0], *stat[2:]]) + "\n"
    )  # our number with the dead wrapper's start time
    found = job.attach(directory, MARKERS)
    assert found is not None
    with pytest.raises(RunFailed, match="without leaving an exit code"):
        found.wait(1)
    found.cancel()  # and we are still here
    assert found.exit_code() is None


def test_an_unreadable_record_is_told(directory: Path) -> None:
    begin(directory).wait(10)
    (directory / "job").write_text("{}")
    with pytest.raises(RunFailed, match="no readable record"):
        job.attach(directory, MARKERS)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (Command(argv=(), role=Role.CLIENT, timeout_s=1), "empty"),
        (Command(argv=("",), role=Role.CLIENT, timeout_s=1), "empty"),
        (Command(argv=("echo", "a\0b"), role=Role.CLIENT, timeout_s=1), "NUL"),
        (Command(argv=("echo",), env={"A": "\0"}, role=Role.CLIENT, timeout_s=1), "NUL"),
        (Command(argv=("echo",), env={"A-B": "x"}, role=Role.CLIENT, timeout_s=1), "A-B"),
        (Command(argv=("echo",), secrets={"1A": "x"}, role=Role.CLIENT, timeout_s=1), "1A"),
        (Command(argv=("echo", "x" * 200_000), role=Role.CLIENT, timeout_s=1), "too long"),
    ],
)
def test_what_no_kernel_can_run_is_refused_and_leaves_nothing(
    directory: Path, command: Command, complaint: str
) -> None:
    with pytest.raises(RunFailed, match=complaint):
        begin(directory, command)
    assert not directory.exists()


def test_a_work_directory_that_vanished_is_told_by_the_job(directory: Path) -> None:
    (directory.parent / "work").rmdir()
    started = begin(directory)
    started.wait(10)
    assert started.exit_code() == 126
    assert b"is gone" in started.collect().stderr


def test_a_relative_program_is_taken_from_the_work_directory(directory: Path) -> None:
    script = directory.parent / "work" / "tool"
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    started = begin(directory, Command(argv=("./tool",), role=Role.CLIENT, timeout_s=9))
    started.wait(10)
    assert started.collect().stdout == b"here\n"


def test_a_full_disk_is_told_before_and_during_a_job(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(mount)], check=True)
    try:
        (mount / "work").mkdir()
        script = "head -c 1000000 /dev/zero; cat >filler </dev/zero; exit 0"
        filling = begin(
            mount / "j", Command(argv=("sh", "-c", script), role=Role.CLIENT, timeout_s=9)
        )
        with pytest.raises(StorageError, match="takes no more bytes"):
            filling.wait(10)
        with pytest.raises(StorageError) as caught:
            begin(mount / "k")
        assert "free space" in str(caught.value)
    finally:
        subprocess.run(["umount", "--lazy", str(mount)], check=True)


def test_withdrawing(directory: Path) -> None:
    assert record.withdraw(directory), "what is not there cannot run"
    begin(directory).wait(10)
    assert not record.withdraw(directory)
    assert directory.exists()


def test_a_pid_file_that_was_never_finished_is_nobody_s(directory: Path) -> None:
    directory.mkdir()
    what = Record(
        argv=("sh",),
        workdir=str(directory),
        fetch=(),
        allocation="a",
        started_at=time.time(),
    )
    record.write(directory, what)
    (directory / "pid").touch()
    found = job.attach(directory, MARKERS)
    assert found is not None
    with pytest.raises(StorageError):
        found.wait(1)


def test_erasing_takes_what_else_lies_there(directory: Path) -> None:
    directory.mkdir()
    (directory / "job.123").touch()
    record.erase(directory)
    assert not directory.exists()
    record.erase(directory)


def test_an_exit_code_without_its_newline_is_not_read_yet(directory: Path) -> None:
    directory.mkdir()
    (directory / "rc").write_text("4")
    assert record.read_ending(directory) is None
    for whole in ("42\n", "42 17.50\n", "42 - 100 - 200\n"):
        (directory / "rc").write_text(whole)
        ending = record.read_ending(directory)
        assert ending is not None
        assert ending.exit_code == 42


def waits(pid: int) -> bool:
    """Whether the process ``pid`` sleeps in the kernel (proc(5), ``stat``)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def test_a_job_is_taken_by_who_is_in_its_group(directory: Path, tmp_path: Path) -> None:
    """Otherwise a release between the two would find the group empty and nobody there."""
    directory.mkdir()
    os.mkfifo(tmp_path / "cgroup.procs")  # entered when it is read
    argv = wrapped(directory, "echo run >>counter", str(tmp_path))
    wrapper = subprocess.Popen(argv, cwd=directory, start_new_session=True)
    while not waits(wrapper.pid):
        time.sleep(0.001)
    assert not (directory / "pid").exists()
    (tmp_path / "cgroup.procs").read_text()
    assert wrapper.wait(10) == 0
    assert runs(directory) == 1


def test_a_wrapper_that_comes_late_finds_its_group_removed(directory: Path, tmp_path: Path) -> None:
    directory.mkdir()
    argv = wrapped(directory, "echo run >>counter", str(tmp_path / "removed"))
    assert subprocess.run(argv, cwd=directory, check=False).returncode == 125
    assert runs(directory) == 0
    assert not (directory / "pid").exists()
