"""`up`, `down` and `run --keep` on this host: what stands is used, kept and taken down as it is
told.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchspec.engine.model.results import TrialStatus
from tests.engine.execution.bench import (
    count,
    finished,
    records,
    run_cli,
    spec_document,
    start_cli,
    write_spec,
)

ONCE: Mapping[str, Any] = {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1}


def lifecycle(tmp_path: Path, name: str, **more: Any) -> dict[str, Any]:
    up = f'printf "{name} up\\n" >>"$0"; test ! -e "{tmp_path}/{name}-broken"'
    return {
        "bootstrap": [{"name": "up", "run": ["sh", "-c", up, str(tmp_path / "log")]} | more],
        "destroy": [
            {
                "name": "down",
                "run": ["sh", "-c", f'printf "{name} down\\n" >>"$0"', str(tmp_path / "log")],
            }
        ],
    }


def make_spec(tmp_path: Path, *, script: str = "echo rate: 1", **changes: Any) -> Path:
    document = spec_document(tmp_path / "counter", script=script, **{"method": ONCE, **changes})
    for name in ("a", "b"):
        document["targets"][name] = {"runner": "local", "lifecycle": lifecycle(tmp_path, name)}
    return write_spec(tmp_path / "spec.yaml", document)


def log(tmp_path: Path) -> list[str]:
    path = tmp_path / "log"
    return path.read_text().splitlines() if path.exists() else []


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_resume_uses_what_stands_and_brings_up_itself_what_stands_no_more(tmp_path: Path) -> None:
    spec = make_spec(
        tmp_path,
        script=(
            'printf x >>"$COUNTER"; test "$(wc -c <"$COUNTER")" -gt 2 || sleep 60; echo "rate: 1"'
        ),
    )
    assert run_cli("up", str(spec), "--yes", cwd=tmp_path).returncode == 0
    for times in (1, 2):
        verb = ("run", str(spec), "--out", "run") if times == 1 else ("resume", "run")
        with start_cli(
            *verb, "--yes", "--quiet", cwd=tmp_path, stderr=subprocess.DEVNULL
        ) as process:
            wait_until(lambda times=times: count(tmp_path / "counter") == times)  # type: ignore[misc]
            if times == 1:
                busy = run_cli("down", str(spec), "--yes", cwd=tmp_path)
                assert (busy.returncode, "another benchspec process" in busy.stderr) == (
                    6,
                    True,
                ), busy.stderr
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
    assert log(tmp_path) == ["a up", "b up"]
    assert run_cli("down", str(spec), "--yes", cwd=tmp_path).returncode == 0
    done = run_cli("resume", "run", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no longer standing, so brought up and destroyed by this run: " in done.stderr
    assert sorted(log(tmp_path)) == sorted(["a up", "b up", "b down", "a down"] * 2)
    assert [trial.status for trial in finished(tmp_path / "run")] == [TrialStatus.VALID] * 2


def test_a_target_that_does_not_come_up_is_destroyed_and_up_again_tries_it_alone(
    tmp_path: Path,
) -> None:
    spec = make_spec(tmp_path)
    (tmp_path / "b-broken").touch()
    failed = run_cli("up", str(spec), "--yes", cwd=tmp_path)
    assert (
        failed.returncode,
        "target b: not measured: bootstrap step up failed: exit code 1" in failed.stderr,
    ) == (4, True), failed.stderr
    assert log(tmp_path) == ["a up", "b up", "b down"]
    (tmp_path / "b-broken").unlink()
    again = run_cli("up", str(spec), "--yes", "--json-lines", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    *events, last = [json.loads(line) for line in again.stdout.splitlines()]
    assert [
        (event["event"], event["target"])
        for event in events
        if event["event"] == "lifecycle.stands"
    ] == [("lifecycle.stands", "a")]
    assert run_cli("down", last["directory"], "--yes", cwd=tmp_path).returncode == 0
    assert log(tmp_path) == ["a up", "b up", "b down", "b up", "b down", "a down"]


def test_a_signal_while_targets_come_up_takes_down_what_came_up(tmp_path: Path) -> None:
    document = json.loads(make_spec(tmp_path).read_text())
    document["targets"]["b"]["lifecycle"]["ready"] = [
        {"name": "rest", "wait": {"seconds": "60 s"}, "timeout": "2 min"}
    ]
    spec = write_spec(tmp_path / "spec.yaml", document)
    with start_cli(
        "up", str(spec), "--yes", "--quiet", "--out", "stands", cwd=tmp_path, stderr=subprocess.PIPE
    ) as process:
        wait_until(
            lambda: (
                (tmp_path / "stands" / "journal.ndjson").exists()
                and any(r.data.get("step") == "rest" for r in records(tmp_path / "stands"))
            )
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert log(tmp_path) == ["a up", "b up", "b down", "a down"]


def test_what_comes_with_every_session_is_left_to_the_runs(tmp_path: Path) -> None:
    document = json.loads(make_spec(tmp_path).read_text())
    for name in ("a", "b"):
        document["targets"][name]["lifecycle"]["per"] = "session"
    spec = write_spec(tmp_path / "spec.yaml", document)
    done = run_cli("up", str(spec), "--yes", cwd=tmp_path)
    assert (done.returncode, "nothing to bring up" in done.stderr, log(tmp_path)) == (0, True, [])
    assert not (tmp_path / "runs").exists()


def test_what_is_left_standing_is_told_with_the_command_that_takes_it_down(tmp_path: Path) -> None:
    stuck = tmp_path / "stuck"
    stuck.touch()
    document = json.loads(make_spec(tmp_path).read_text())
    document["targets"]["a"]["lifecycle"]["destroy"][0]["run"] = ["test", "!", "-e", str(stuck)]
    spec = write_spec(tmp_path / "spec.yaml", document)
    done = run_cli(
        "run", str(spec), "--yes", "--quiet", "--keep", "failed", "--out", "run", cwd=tmp_path
    )
    (kept,) = (tmp_path / "runs").iterdir()
    assert (done.returncode, f"run `benchspec down runs/{kept.name}`" in done.stderr) == (
        4,
        True,
    ), done.stderr
    wrong = run_cli("down", "run", cwd=tmp_path)
    assert (wrong.returncode, "`benchspec down SPEC` takes down" in wrong.stderr) == (
        2,
        True,
    ), wrong.stderr
    again = run_cli("down", str(spec), "--yes", cwd=tmp_path)
    assert (
        again.returncode,
        "run the same command again" in again.stderr,
        "(`benchspec down` tries again)" in again.stderr,
    ) == (4, True, True)
    assert "benchspec clean" not in done.stderr + again.stderr
    stuck.unlink()
    assert run_cli("down", f"runs/{kept.name}", "--yes", cwd=tmp_path).returncode == 0


def test_clean_all_tells_what_it_leaves_alone_and_goes_on(tmp_path: Path) -> None:
    spec = make_spec(tmp_path)
    assert run_cli("up", str(spec), "--yes", "--only", "target=a", cwd=tmp_path).returncode == 0
    assert run_cli("run", str(spec), "--yes", "--quiet", cwd=tmp_path).returncode == 0
    assert log(tmp_path) == ["a up", "b up", "b down"]
    (tmp_path / "runs" / "torn").mkdir()
    (tmp_path / "runs" / "torn" / "manifest.json").write_text("{")
    done = run_cli("clean", "--all", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [(run["clean"], run["destroyed"], run["left"]) for run in told["runs"]] == [
        (True, [], [])
    ]
    assert [
        ("on purpose" in skipped["why"], "cannot be read" in skipped["why"])
        for skipped in told["skipped"]
    ] == [(True, False), (False, True)]
    assert run_cli("down", str(spec), "--yes", cwd=tmp_path).returncode == 0
    assert log(tmp_path)[-1] == "a down"
