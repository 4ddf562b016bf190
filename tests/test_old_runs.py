"""Run directories of an earlier state of the project are gone on with, used and cleaned. What is
rendered of them is held by tests/test_golden.py.

They carry their run ids, by which processes and directories of a run are found on a host: two tests
never use one of them at the same time.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.old_runs import OLD_RUNS, copy
from tests.golden.program import Done, benchspec_in, journal_types

LOCKS = Path("/var/tmp")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with copies of the old runs, used by nobody else on this machine."""
    with (LOCKS / "benchspec-tests-old-runs.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in ("finished", "interrupted", "standing"):
            copy(name, tmp_path)
        yield tmp_path


def succeed(folder: Path, *arguments: str) -> Done:
    done = benchspec_in(folder, *arguments)
    assert done.exit_code == 0, done.transcript()
    return done


def remains(folder: Path) -> list[Path]:
    """What is left in the directory in which the local runner keeps jobs and work directories."""
    return list((folder / "state" / "benchspec").glob("*"))


def test_a_run_that_was_killed_is_resumed_to_its_end(folder: Path) -> None:
    run = folder / "interrupted"
    before = (run / "journal.ndjson").read_bytes()
    succeed(folder, "resume", "interrupted", "--yes", "--quiet")
    assert (run / "journal.ndjson").read_bytes().startswith(before), "a journal only grows"
    added = journal_types(run)[before.count(b"\n") :]
    assert added[:2] == ["run.resumed", "trial.lost"]
    assert (added.count("trial.finished"), added.count("lifecycle.destroyed"), added[-1]) == (
        16,
        2,
        "run.finished",
    )
    trials = [
        json.loads(line)["data"]
        for line in (run / "journal.ndjson").read_text("utf-8").splitlines()
        if '"type":"trial.finished"' in line
    ]
    assert [trial["sequence"] for trial in trials] == list(range(1, 25))
    assert {trial["status"] for trial in trials} == {"valid"}
    assert (
        b"Not measured"
        not in succeed(folder, "report", "interrupted", "--format", "summary").stdout
    )
    succeed(folder, "clean", "interrupted")
    assert remains(folder) == []


def test_a_run_that_was_killed_is_cleaned(folder: Path) -> None:
    done = succeed(folder, "clean", "interrupted", "--yes", "--json")
    (cleaned,) = json.loads(done.stdout)["runs"]
    assert (cleaned["clean"], cleaned["destroyed"], cleaned["left"]) == (True, ["prepared"], [])
    assert (
        json.loads(succeed(folder, "clean", "interrupted", "--json").stdout)["runs"][0]["destroyed"]
        == []
    )


def test_a_finished_run_has_nothing_to_go_on_with_and_nothing_to_clean(folder: Path) -> None:
    trials = journal_types(folder / "finished").count("trial.finished")
    done = benchspec_in(folder, "resume", "finished", "--yes", "--quiet")
    assert done.exit_code == 10, done.transcript()  # two of its programs had failed by themselves
    assert journal_types(folder / "finished").count("trial.finished") == trials
    assert (
        b"nothing of this run is left on its sites" in succeed(folder, "clean", "finished").stdout
    )


def test_standing_targets_are_used_by_a_run_and_taken_down(folder: Path) -> None:
    shutil.copy(OLD_RUNS / "standing" / "spec.yaml", folder / "spec.yaml")
    shutil.copytree(OLD_RUNS / "standing" / "scripts" / "scripts", folder / "scripts")
    succeed(folder, "run", "spec.yaml", "--up", "standing", "--yes", "--quiet", "--out", "run")
    assert journal_types(folder / "run").count("lifecycle.adopted") == 2
    assert "lifecycle.started" not in journal_types(folder / "run")
    down = succeed(folder, "down", "standing", "--yes")
    assert down.stdout.splitlines()[:2] == [
        b"standing: destroyed target first",
        b"standing: destroyed target second",
    ]
    gone = sorted((folder / "standing" / "raw-steps").glob("*-gone-*/stdout"))
    assert [path.read_bytes() for path in gone] == [b"gone: 127.0.0.1\n", b"gone: hello\n"]
    assert remains(folder) == []
