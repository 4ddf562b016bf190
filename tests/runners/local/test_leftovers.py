"""What a dead controller left: told apart from what only looks like it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.agent.record import Record
from benchspec.runners.local import allocation as allocations
from benchspec.runners.local import leftovers, record
from benchspec.runners.local.state import places
from benchspec.runners.registry import get_runner

HERE = Site(name="here", runner="local")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own that is none of ours."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield child
    child.kill()
    child.wait()


def pretend(directory: Path, stat: str, boot_id: str) -> None:
    """A job directory whose pid file names the stranger."""
    directory.mkdir(parents=True)
    what = Record(argv=("x",), workdir=str(directory), fetch=(), allocation="a", started_at=0.0)
    record.write(directory, what)
    (directory / "pid").write_text(f"{boot_id} {stat}")


@pytest.mark.parametrize("case", ["another boot", "another start time"])
def test_a_stranger_with_the_number_of_a_job_is_left_alone(
    stranger: subprocess.Popen[bytes], case: str
) -> None:
    where = places(HERE, "run")
    stat = Path(f"/proc/{stranger.pid}/stat").read_text()
    fields = stat.split()
    if case == "another start time":
        fields[21] = str(int(fields[21]) - 100)
    pretend(
        where.jobs / "j",
        " ".join(fields),
        "another-boot" if case == "another boot" else record.boot_id(),
    )
    assert [leftover.kind for leftover in leftovers.find(HERE, "run")] == ["directory"]


def test_a_job_without_its_mark_is_known_by_its_pid_file(stranger: subprocess.Popen[bytes]) -> None:
    where = places(HERE, "run")
    pretend(where.jobs / "j", Path(f"/proc/{stranger.pid}/stat").read_text(), record.boot_id())
    (leftover, _) = leftovers.find(HERE, "run")
    assert leftover.kind == "processes"
    get_runner("local").remove(HERE, leftover)
    assert stranger.wait(5) == -15


def test_release_leaves_half_made_jobs_to_the_clean_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = get_runner("local").connect(HERE, "run")
    made = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "a")
    half = places(HERE, "run").jobs / "half"
    half.mkdir()
    made.release()
    session.close()
    assert half.exists()
    for leftover in leftovers.find(HERE, "run"):
        leftovers.remove(HERE, leftover)
    assert leftovers.find(HERE, "run") == []


def test_an_allocation_of_a_controller_that_died_while_making_it_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = get_runner("local").connect(HERE, "run")
    (places(HERE, "run").work / "a" / "client").mkdir(parents=True)
    (places(HERE, "run").work / "a" / "client" / "old").touch()
    made = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "a")
    assert os.listdir(made.surroundings().workdirs[Role.CLIENT]) == []


def test_a_release_that_leaves_something_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = get_runner("local").connect(HERE, "run")
    made = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "a")
    made.start(Command(argv=("true",), role=Role.CLIENT, timeout_s=9), "j").wait(60)
    with monkeypatch.context() as patch:
        patch.setattr(allocations, "remove_tree", lambda _: None)
        with pytest.raises(RunFailed, match=r"still has .*work/a"):
            made.release()
    made.release()
