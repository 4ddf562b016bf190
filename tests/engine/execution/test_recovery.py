"""Kill -9 at any moment, truncation at any byte: at most the running trial is lost, and an
independent counter agrees.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from benchspec.engine.execution.history import History
from benchspec.engine.model.errors import IntegrityError
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.journal import parse_line, read_records
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
from tests.repeats import repeats

KILLS = repeats("KILLS", 24, whole=100)
TRUNCATIONS = repeats("TRUNCATIONS", 4, whole=12)
LANES = 2
"""So many runs go on beside each other, each with kills of its own."""
TRIALS = 2 * 3 * (1 + 2)


def kill_controllers(tmp_path: Path, lane: int, kills: int) -> None:
    """Kill so many controllers of one run after the other."""
    moments, number = random.Random(20230320 + lane), 0
    while kills > 0:
        number += 1
        kills -= kill_until_finished(tmp_path, f"{lane}-{number}", moments, kills)


def kill_until_finished(tmp_path: Path, number: str, moments: random.Random, left: int) -> int:
    """One run whose controller is killed again and again, at most ``left`` times; returns how
    often. Checks the counters at the end.
    """
    counter = tmp_path / f"counter-{number}"
    directory = make_run(tmp_path, spec_document(counter, seconds=0.03), f"run-{number}")
    kills = 0
    while kills < min(left, 15):
        controller = start_cli(
            "resume",
            str(directory.path),
            "--yes",
            "--quiet",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            controller.wait(moments.uniform(0.2, 1.6))
            break
        except subprocess.TimeoutExpired:
            controller.kill()
            controller.wait()
            kills += 1
    done = run_cli("resume", str(directory.path), "--yes", "--quiet")
    assert done.returncode == 0, done.stderr
    check_counters(directory, counter)
    return kills


def check_counters(directory: RunDirectory, counter: Path) -> None:
    """Every planned trial is recorded once; what was started beyond the records was journalled as
    lost.
    """
    trials = finished(directory.path)
    assert sorted(t.sequence for t in trials if t.sequence <= TRIALS) == list(range(1, TRIALS + 1))
    assert len({t.sequence for t in trials}) == len(trials)
    lost = sum(r.type == "trial.lost" for r in records(directory.path))
    assert len(trials) <= count(counter) <= len(trials) + lost
    run = read_run(directory.path)
    assert run.complete
    for target in ("a", "b"):
        experiment = next(e.id for e in run.experiments if e.target == target)
        measured = [t for t in run.trials if t.experiment_id == experiment and t.sequence <= TRIALS]
        assert [t.sequence for t in measured] == sorted(t.sequence for t in measured)


def test_kills_at_seeded_random_moments_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shares = [len(range(lane, KILLS, LANES)) for lane in range(LANES)]
    with ThreadPoolExecutor(LANES) as lanes:
        list(lanes.map(kill_controllers, [tmp_path] * LANES, range(LANES), shares))
    left = [*(tmp_path / "state" / "benchspec").rglob("*")]
    assert left == []


def test_a_job_that_outlives_its_controller_is_collected_not_started_again(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    document = spec_document(
        counter, seconds=3.0, method={"sessions": 1, "trials": 1, "warmups": 0}
    )
    directory = make_run(tmp_path, document)
    controller = start_cli("resume", str(directory.path), "--yes", "--quiet")
    while count(counter) < 1:
        time.sleep(0.02)
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    trials = execute(directory.path)
    assert count(counter) == 2
    assert [t.reattached for t in trials] == [True, False]
    assert trials[0].duration_s == pytest.approx(3.0, abs=0.5)
    assert read_run(directory.path).resumed >= 1


def test_truncation_at_every_byte_of_a_journal_loses_at_most_the_running_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = spec_document(
        tmp_path / "counter", method={"sessions": 2, "trials": 2, "warmups": 1}
    )
    document["targets"].pop("b")
    document.pop("compare")
    directory = make_run(tmp_path, document)
    execute(directory.path)
    whole = directory.journal_path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    everything = finished(directory.path)
    assert len(everything) == 6
    known = -1
    monkeypatch.setattr(
        "benchspec.engine.store.journal.parse_line", cache(parse_line)
    )  # a whole line says the same whatever comes behind it
    with directory.journal_path.open("wb", buffering=0) as growing:
        for size in range(len(whole)):
            found, _ = read_records(directory.journal_path)
            assert len(found) == sum(end - 1 <= size for end in ends)
            growing.write(whole[size : size + 1])
            if len(found) == known:
                continue
            known = len(found)
            history = History(found, directory.run_id)
            assert list(history.trials.values()) == everything[: len(history.trials)]
            assert len(history.unfinished()) <= 1


def test_a_truncated_journal_is_completed_from_the_raw_files_without_measuring_again(
    tmp_path: Path,
) -> None:
    counter = tmp_path / "counter"
    directory = make_run(tmp_path, spec_document(counter))
    execute(directory.path)
    started, everything = count(counter), finished(directory.path)
    whole = directory.journal_path.read_bytes()
    moments = random.Random(1)
    for number in range(TRUNCATIONS):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(directory.path, copy)
        (copy / "journal.ndjson").write_bytes(whole[: moments.randrange(len(whole))])
        trials = execute(copy)
        assert count(counter) == started, "nothing was measured again"
        assert [(t.sequence, t.measurements, t.status) for t in trials] == [
            (t.sequence, t.measurements, t.status) for t in everything
        ]


def test_a_flipped_byte_in_a_raw_file_is_exit_9_and_names_the_file(tmp_path: Path) -> None:
    directory = make_run(
        tmp_path,
        spec_document(tmp_path / "counter", method={"sessions": 1, "trials": 1, "warmups": 0}),
    )
    execute(directory.path)
    raw = directory.path / "raw" / "000001" / "0-stdout"
    raw.write_bytes(raw.read_bytes().replace(b"42.5", b"42.6"))
    with pytest.raises(IntegrityError, match="0-stdout"):
        read_run(directory.path)
    done = run_cli("report", str(directory.path))
    assert done.returncode == 9
    assert "0-stdout" in done.stderr


def test_a_flipped_byte_in_the_journal_is_exit_9(tmp_path: Path) -> None:
    directory = make_run(
        tmp_path,
        spec_document(tmp_path / "counter", method={"sessions": 1, "trials": 1, "warmups": 0}),
    )
    execute(directory.path)
    content = bytearray(directory.journal_path.read_bytes())
    content[len(content) // 2] ^= 1
    directory.journal_path.write_bytes(content)
    for verb in ("report", "resume"):
        assert (
            run_cli(verb, str(directory.path), *(["--yes"] if verb == "resume" else [])).returncode
            == 9
        )
