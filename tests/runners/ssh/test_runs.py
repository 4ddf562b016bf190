"""Whole runs by the command line: hosts that are taken, a controller that is killed in the
middle.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.spec import Site
from benchspec.runners.registry import get_runner
from tests import hosts
from tests.engine.execution.bench import records, run_cli, spec_document, start_cli, write_spec

COUNTER = "/var/tmp/counter"


@pytest.fixture
def counted(bed: hosts.Bed) -> Iterator[hosts.Host]:
    """The host on which every start leaves a byte, and what was there before is there again
    afterwards.
    """
    host = bed.host("host2")
    before = host.traces()
    yield host
    host.shell(f"rm -f {COUNTER} {COUNTER}.done")
    deadline = time.monotonic() + 30
    while left := sorted(host.traces() - before):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def document(bed: hosts.Bed, seconds: float = 0.0) -> dict[str, Any]:
    site = {**bed.site(()), "hosts": {"client": bed.host("host2").site()}}
    method = {"sessions": 1, "trials": 2, "warmups": 0, "seed": 7}
    made = spec_document(
        Path(COUNTER), seconds=seconds, targets={"a": {"runner": site}}, method=method
    )
    return {key: value for key, value in made.items() if key != "compare"}


def test_a_host_that_is_taken_ends_a_run_before_it_begins(
    bed: hosts.Bed, tmp_path: Path, counted: hosts.Host
) -> None:
    made = document(bed)
    holder = get_runner("ssh").connect(
        Site(name="a", runner="ssh", options=made["targets"]["a"]["runner"]), "run-of-somebody"
    )
    refused = run_cli(
        "run",
        str(write_spec(tmp_path / "spec.yaml", made)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    holder.close()
    assert refused.returncode == 6
    assert "is used by run run-of-somebody" in refused.stderr
    assert counted.shell(f"cat {COUNTER}", check=False) == ""


def test_a_host_that_was_never_entered_is_told_once(
    bed: hosts.Bed, tmp_path: Path, counted: hosts.Host
) -> None:
    made = document(bed)
    made["targets"]["a"]["runner"]["hosts"]["client"]["port"] = 9
    refused = run_cli(
        "run",
        str(write_spec(tmp_path / "spec.yaml", made)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    assert refused.returncode == 4
    assert refused.stderr.count("nothing listens at") == 1, (
        "and not that something may be left there"
    )


def test_a_missing_program_is_told_with_the_host_that_lacks_it(
    bed: hosts.Bed, tmp_path: Path, counted: hosts.Host
) -> None:
    made = document(bed)
    made["workloads"] = {
        "absent": {"tool": "command", "with": {"run": ["no-such-program-x"], "duration": "1 s"}}
    }
    refused = run_cli(
        "run",
        str(write_spec(tmp_path / "spec.yaml", made)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    assert refused.returncode == 4
    assert f"no-such-program-x not found on {counted.address}" in refused.stderr


def test_killed_in_the_middle_and_resumed_each_trial_ran_once(
    bed: hosts.Bed, tmp_path: Path, counted: hosts.Host
) -> None:
    spec = write_spec(tmp_path / "spec.yaml", document(bed, seconds=2.0))
    running = start_cli("run", str(spec), "--yes", "--out", str(tmp_path / "run"))
    deadline = time.monotonic() + 120
    while counted.shell(f"cat {COUNTER}", check=False) != "x":
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    resumed = run_cli("resume", str(tmp_path / "run"), "--yes")
    assert resumed.returncode == 0, resumed.stderr
    assert counted.shell(f"cat {COUNTER} {COUNTER}.done") == "xxyy", (
        "each was started once, and each ended"
    )
    trials = [
        record.data for record in records(tmp_path / "run") if record.type == "trial.finished"
    ]
    assert [trial["status"] for trial in trials] == ["valid", "valid"]
