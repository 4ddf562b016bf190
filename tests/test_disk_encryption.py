"""The test bed's comparison of disks with and without encryption, run for real: gocryptfs over FUSE
beside the same disk without it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from benchspec.engine.model.codec import decode
from benchspec.engine.model.results import ClaimCheck, ClaimState, TrialStatus
from tests.engine.execution.bench import finished, records, run_cli, start_cli

SPEC = Path(__file__).resolve().parents[1] / "specs" / "testbed" / "disk-encryption.yaml"
MISSING = [tool for tool in ("fio", "gocryptfs", "fusermount3") if shutil.which(tool) is None] + (
    [] if Path("/dev/fuse").exists() else ["/dev/fuse"]
)
DEADLINE_S = 120

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")


def arguments(place: Path, out: Path, *options: str) -> list[str]:
    """One session of half a second per fio."""
    variables = {
        "place": place,
        "size": "4 MiB",
        "runtime": "500 ms",
        "at-least": "400 ms",
        "ramp": "100 ms",
        "mebibytes": "16",
    }
    sets = [f"--set=vars.{name}={value}" for name, value in variables.items()]
    sets += [
        f"--set=workloads.{name}.gates.max_steal=100 %" for name in ("throughput", "iops", "file")
    ]  # whatever else the machine does
    return ["run", str(SPEC), "--yes", f"--out={out}", "--set=method.sessions=1", *sets, *options]


def mounts(place: Path) -> list[str]:
    return [
        line for line in Path("/proc/self/mounts").read_text().splitlines() if str(place) in line
    ]


def claims(out: Path) -> set[tuple[str, str, str, ClaimState]]:
    found = [decode(ClaimCheck, record.data) for record in records(out) if record.type == "claim"]
    return {
        (claim.target, str(claim.declared), str(claim.observed), claim.state)
        for claim in found
        if claim.fact == "storage.encryption"
    }


def test_encryption_is_observed_measured_and_removed(tmp_path: Path) -> None:
    place, out = tmp_path / "place", tmp_path / "run"
    done = run_cli(*arguments(place, out))
    assert done.returncode == 0, done.stderr
    seen = claims(out)
    assert {
        ("plain", "none", "none", ClaimState.MATCH),
        ("gocryptfs", "gocryptfs", "gocryptfs", ClaimState.MATCH),
    } <= seen
    assert ClaimState.MISMATCH not in {claim[3] for claim in seen}
    page = (out / "report" / "page.md").read_text()
    confirmed = "| gocryptfs | `storage.encryption` | gocryptfs | gocryptfs | confirmed |"
    for text in (confirmed, "Write operations per second", "CPU time of writing and encrypting"):
        assert text in page
    assert {trial.status for trial in finished(out)} <= {TrialStatus.VALID, TrialStatus.INVALID}
    assert (mounts(place), place.exists()) == ([], False)


def test_a_disk_that_is_not_encrypted_as_claimed_is_not_measured(tmp_path: Path) -> None:
    place, out = tmp_path / "place", tmp_path / "run"
    done = run_cli(*arguments(place, out, "--set=vars.encryption=none"))
    assert done.returncode == 5, done.stderr
    assert "storage.encryption: declared 'gocryptfs', observed 'none'" in done.stderr
    assert ("gocryptfs", "gocryptfs", "none", ClaimState.MISMATCH) in claims(out)
    assert not place.exists()


def test_a_directory_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    place, out = tmp_path / "place", tmp_path / "run"
    (place / "plain").mkdir(parents=True)
    (place / "plain" / "mine").write_text("kept")
    done = run_cli(*arguments(place, out, "--only=target=plain", "--only=workload=file"))
    assert done.returncode != 0
    assert "bootstrap step up failed" in done.stderr + done.stdout
    assert (place / "plain" / "mine").exists()


def test_clean_unmounts_what_a_killed_controller_left(tmp_path: Path) -> None:
    place, out = tmp_path / "place", tmp_path / "run"
    controller = start_cli(
        *arguments(place, out, "--set=vars.runtime=60 s"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + DEADLINE_S
    while not mounts(place) and time.monotonic() < deadline and controller.poll() is None:
        time.sleep(0.1)
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait()
    assert mounts(place)
    done = run_cli("clean", str(out), "--yes")
    assert done.returncode == 0, done.stderr
    assert (mounts(place), place.exists()) == ([], False)
