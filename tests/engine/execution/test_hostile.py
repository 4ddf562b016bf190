"""Programs and users that do their worst: no secret is kept, nothing cut short passes for a
measurement, nothing measured is lost.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.diagnostics import InvalidSpec
from benchspec.engine.model.errors import IntegrityError, RunFailed, StorageError
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.journal import format_record
from benchspec.engine.store.read_run import read_run
from tests.engine.execution.bench import (
    count,
    execute,
    finished,
    make_run,
    records,
    run_cli,
    spec_document,
    start_cli,
)

ONE = {"sessions": 1, "trials": 1, "warmups": 0}


def single(counter: Path, script: str, **changes: Any) -> dict[str, Any]:
    """A spec of one target whose one trial runs ``script``."""
    document = spec_document(counter, script=script, method=ONE, **changes)
    document["targets"].pop("b")
    document.pop("compare")
    return document


def start_one(directory: RunDirectory, counter: Path) -> subprocess.Popen[str]:
    """A controller whose first trial has begun."""
    controller = start_cli(
        "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.DEVNULL
    )
    while count(counter) < 1:
        assert controller.poll() is None, "it ended before its first trial began"
        time.sleep(0.01)
    return controller


def test_what_a_job_printed_is_redacted_also_when_another_controller_collects_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORT_TOKEN", "canary-4711")
    monkeypatch.setenv("LONG_TOKEN", "canary-4711-and-more")
    script = 'echo "$SHORT and $LONG"; printf x >> "$COUNTER"; sleep 2; echo "rate: 1"'
    document = single(tmp_path / "counter", script)
    document["workloads"]["count"]["with"]["env"] |= {
        "SHORT": "${secret:env:SHORT_TOKEN}",
        "LONG": "${secret:env:LONG_TOKEN}",
    }
    directory = make_run(tmp_path, document)
    controller = start_one(directory, tmp_path / "counter")
    controller.kill()
    controller.wait()
    (trial,) = execute(directory.path)
    assert trial.reattached
    stdout = (directory.path / "raw" / "000001" / "0-stdout").read_bytes()
    assert stdout == b"[redacted] and [redacted]\nrate: 1\n"


def test_a_secret_that_cannot_be_had_stops_the_run_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    document = single(tmp_path / "counter", "printf x >> $COUNTER; echo rate: 1")
    document["workloads"]["count"]["with"]["env"]["TOKEN"] = "${secret:env:NO_SUCH_TOKEN}"
    directory = make_run(tmp_path, document)
    with pytest.raises(RunFailed, match="NO_SUCH_TOKEN"):
        execute(directory.path)
    assert not directory.journal_path.exists()
    assert count(tmp_path / "counter") == 0


def test_what_a_program_says_when_it_is_stopped_is_never_a_measurement(tmp_path: Path) -> None:
    """Like fio, which prints what it has and ends well on SIGTERM. The controller is killed while
    it waits for that.
    """
    counter = tmp_path / "counter"
    script = """trap 'sleep 1; echo "rate: 99"; exit 0' TERM; printf x >> "$COUNTER"; while test ! -e "$COUNTER.go"; do sleep 0.05; done; echo rate: 1"""
    directory = make_run(tmp_path, single(counter, script))
    controller = start_one(directory, counter)
    controller.send_signal(signal.SIGINT)
    time.sleep(0.4)
    controller.kill()
    controller.wait()
    (tmp_path / "counter.go").touch()
    time.sleep(1.2)
    (trial,) = execute(directory.path)
    assert [m.value for m in trial.measurements if m.metric == "rate"] == [1.0]
    assert any(r.type == "trial.lost" for r in records(directory.path))


def test_a_job_that_outlived_its_deadline_without_a_controller_timed_out(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    document = single(counter, 'printf x >> "$COUNTER"; sleep 2; echo rate: 1')
    document["workloads"]["count"]["with"]["timeout"] = "1 s"
    directory = make_run(tmp_path, document)
    controller = start_one(directory, counter)
    controller.kill()
    controller.wait()
    time.sleep(2.2)
    with pytest.raises(RunFailed, match="longer than it may"):
        execute(directory.path)
    assert [t.error_kind for t in finished(directory.path)] == ["timeout"]


@pytest.mark.parametrize("key", ["run", "files"])
def test_a_secret_outside_the_environment_is_refused(tmp_path: Path, key: str) -> None:
    document = single(tmp_path / "counter", "echo rate: 1")
    document["workloads"]["count"]["with"] |= (
        {"run": ["echo", "rate: 1", "${secret:env:TEST_TOKEN}"]}
        if key == "run"
        else {"files": {"token": "${secret:env:TEST_TOKEN}"}}
    )
    with pytest.raises(InvalidSpec, match="BS303"):
        make_run(tmp_path, document)


def test_a_file_fetched_from_a_folder_is_kept(tmp_path: Path) -> None:
    document = single(tmp_path / "counter", "mkdir -p out/deep; echo rate: 3 > out/deep/result")
    document["workloads"]["count"]["with"]["extract"]["rate"]["from"] = "out/deep/result"
    directory = make_run(tmp_path, document)
    (trial,) = execute(directory.path)
    assert trial.measurements[0].value == 3.0
    assert (
        directory.path / "raw" / "000001" / "0-file-out,deep,result"
    ).read_bytes() == b"rate: 3\n"
    directory.journal_path.unlink()
    (again,) = execute(directory.path)
    assert again.measurements == trial.measurements


def test_a_reader_that_goes_away_does_not_end_a_run(tmp_path: Path) -> None:
    directory = make_run(tmp_path, spec_document(tmp_path / "counter"))
    controller = start_cli(
        "resume",
        str(directory.path),
        "--yes",
        "--json-lines",
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert controller.stdout is not None
    controller.stdout.readline()
    controller.stdout.close()
    assert controller.wait() == 0
    assert records(directory.path)[-1].type == "run.finished"
    assert (directory.path / "report" / "page.md").exists()


def test_a_closed_terminal_stops_and_cleans_unless_nohup_asked_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    counter = tmp_path / "counter"
    directory = make_run(
        tmp_path, single(counter, 'printf x >> "$COUNTER"; sleep 1.5; echo rate: 1')
    )
    controller = start_one(directory, counter)
    controller.send_signal(signal.SIGHUP)
    assert controller.wait() == 128 + signal.SIGHUP
    assert not [*(tmp_path / "state" / "benchspec").rglob("*")]
    counter.unlink()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        controller = start_one(directory, counter)
    finally:
        signal.signal(signal.SIGHUP, before)
    controller.send_signal(signal.SIGHUP)
    assert controller.wait() == 0


def test_a_run_that_another_process_writes_gets_no_page_from_this_one(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    directory = make_run(
        tmp_path,
        spec_document(counter, seconds=1.0, method={"sessions": 1, "trials": 2, "warmups": 0}),
    )
    controller = start_one(directory, counter)
    while not finished(directory.path):
        time.sleep(0.05)
    assert run_cli("resume", str(directory.path), "--yes").returncode == 6
    assert not (directory.path / "report").exists()
    assert controller.wait() == 0


def delete_once_begun(directory: RunDirectory, counter: Path) -> subprocess.Popen[str]:
    controller = start_one(directory, counter)
    for name in ("journal.ndjson", "manifest.json"):
        (directory.path / name).unlink()
    return controller


def test_a_run_directory_that_is_deleted_ends_the_run_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    counter = tmp_path / "counter"
    directory = make_run(tmp_path, spec_document(counter, seconds=0.5))
    assert delete_once_begun(directory, counter).wait() == 4
    assert count(counter) == 1, "nothing was measured into the void"
    assert not [*(tmp_path / "state" / "benchspec").rglob("*")]


def test_what_cannot_be_written_leaves_no_half_run_directory(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(full)],
            capture_output=True,
            check=False,
        ).returncode
    ):
        pytest.skip("a file system to fill needs root and mount(8)")
    try:
        (full / "ballast").write_bytes(bytes(12 << 10))
        with pytest.raises(StorageError, match="No space left"):
            make_run(full, single(tmp_path / "counter", "echo rate: 1"), "../full/run")
        assert [p.name for p in full.iterdir() if p.name != "run.yaml"] == ["ballast"]
    finally:
        subprocess.run(["umount", "-l", str(full)], check=True)


@pytest.mark.parametrize("name", ["spec.yaml", "manifest.json"])
def test_a_fixed_file_that_was_edited_is_exit_9_and_named(tmp_path: Path, name: str) -> None:
    directory = make_run(tmp_path, single(tmp_path / "counter", "echo rate: 1"))
    execute(directory.path)
    path = directory.path / name
    path.write_bytes(path.read_bytes().replace(b"counted", b"counter"))
    for verb in ("report", "resume"):
        done = run_cli(verb, str(directory.path), *(["--yes"] if verb == "resume" else []))
        assert done.returncode == 9, done.stderr
        assert name in done.stderr


@pytest.mark.parametrize("damage", ["garbage", "missing", "folder"])
def test_raw_files_that_lost_their_record_and_were_damaged_are_exit_9(
    tmp_path: Path, damage: str
) -> None:
    directory = make_run(
        tmp_path, single(tmp_path / "counter", "printf x >> $COUNTER; echo rate: 1")
    )
    execute(directory.path)
    directory.journal_path.unlink()
    raw = directory.path / "raw" / "000001"
    match damage:
        case "garbage":
            (raw / "trial.json").write_text("garbage")
        case "missing":
            (raw / "0-stdout").unlink()
        case _:
            (raw / "folder").mkdir()
    with pytest.raises(IntegrityError):
        execute(directory.path)
    assert count(tmp_path / "counter") == 1


def test_going_on_where_the_facts_are_others_is_a_finding(tmp_path: Path) -> None:
    """The journal of a run that began on a host with another kernel."""
    directory = make_run(tmp_path, single(tmp_path / "counter", "echo rate: 1"))
    execute(directory.path)
    known = records(directory.path)
    for record in known:
        for fact in record.data.get("facts", ()):
            if fact["name"] == "kernel.release":
                fact["value"] = "1.2.13"
    until = next(i for i, r in enumerate(known) if r.type == "trial.finished")
    directory.journal_path.write_bytes(b"".join(map(format_record, known[: until + 1])))
    execute(directory.path)
    run = read_run(directory.path)
    assert any(
        f.code == "F102" and "kernel.release" in f.message and "1.2.13" in f.message
        for f in run.findings
    )
    assert {f.when for f in run.facts} == {"before", "resumed", "after"}


def test_a_signal_is_obeyed_also_while_no_server_ever_comes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "iperf3").write_text(
        '#!/bin/sh\ncase "$*" in *-s*) echo x >> "$HOME/counter"; sleep 1; exit 1;; *) echo "iperf'
        ' 3.12";; esac\n'
    )
    (tools / "iperf3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setenv("HOME", str(tmp_path))
    document = single(tmp_path / "counter", "")
    document["workloads"] = {"net": {"tool": "iperf3", "with": {"duration": "1 s"}}}
    directory = make_run(
        tmp_path, document | {"method": {"sessions": 20, "trials": 1, "warmups": 0}}
    )
    controller = start_one(directory, tmp_path / "counter")
    controller.send_signal(signal.SIGTERM)
    assert controller.wait() == 143
    assert len(finished(directory.path)) <= 1
