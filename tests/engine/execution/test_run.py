"""Whole runs on this host, with programs that count how often they were really started."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import cast

import pytest

from benchspec.engine.execution.run import Catalogue, Options, Run
from benchspec.engine.language.load import build_spec
from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.errors import (
    DriftError,
    GateFailed,
    Incomplete,
    Interrupted,
    MissingTool,
    RunFailed,
)
from benchspec.engine.model.failures import FailureClass
from benchspec.engine.model.results import TrialKind, TrialStatus
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.read_run import read_plan, read_run
from benchspec.runners.registry import get_runner
from benchspec.workloads.registry import get_workload
from tests.engine.execution.bench import (
    Recorder,
    count,
    execute,
    finished,
    make_run,
    records,
    run_cli,
    spec_document,
    start_cli,
    write_spec,
)


def test_every_planned_trial_is_started_once_and_recorded_in_plan_order(tmp_path: Path) -> None:
    counter, recorder = tmp_path / "counter", Recorder()
    directory = make_run(tmp_path, spec_document(counter))
    trials = execute(directory.path, observer=recorder)
    assert len(trials) == 2 * 3 * (1 + 2) == count(counter)
    assert [t.sequence for t in trials] == list(range(1, 19))
    planned = [
        a.experiment_id for a in read_plan(directory).order for _ in range(a.warmups + a.trials)
    ]
    assert [t.experiment_id for t in trials] == planned
    assert {t.status for t in trials} == {TrialStatus.VALID}
    assert all(m.value == 42.5 for t in trials for m in t.measurements if m.metric == "rate")
    assert recorder.kinds().count("trial.finished") == 18


def test_the_run_directory_reads_back_as_it_was(tmp_path: Path) -> None:
    directory = make_run(tmp_path, spec_document(tmp_path / "counter"))
    trials = execute(directory.path)
    run = read_run(directory.path)
    assert run.trials == trials
    assert run.complete
    assert run.resumed == 0
    assert {f.when for f in run.facts} == {"before", "after"}
    assert {f.target for f in run.facts} == {"a", "b"}
    (claim,) = run.claims
    assert (claim.target, claim.fact, claim.state) == ("b", "os.id", "match")
    assert b"rate: 42.5" in (directory.path / "raw" / "000001" / "0-stdout").read_bytes()


def test_nothing_is_left_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    directory = make_run(tmp_path, spec_document(tmp_path / "counter"))
    execute(directory.path)
    left = [*(tmp_path / "state" / "benchspec").rglob("*")]
    assert left == []
    assert (
        subprocess.run(["pgrep", "-f", directory.run_id], capture_output=True, check=False).stdout
        == b""
    )


def test_a_finished_run_has_nothing_left_to_do(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    directory = make_run(tmp_path, spec_document(counter))
    first = execute(directory.path)
    assert execute(directory.path) == first
    assert count(counter) == len(first), (
        "18, and one more for each trial that a busy neighbour made invalid"
    )


def test_an_invalid_trial_is_kept_shown_and_replaced(tmp_path: Path) -> None:
    script = (
        'printf x >> "$COUNTER"; n=$(wc -c < "$COUNTER"); echo "rate: $n"; echo "duration: $n"; ['
        ' "$n" -ne 2 ] || exec sleep 0; sleep 1.2'
    )
    document = spec_document(
        tmp_path / "counter",
        script=script,
        method={"sessions": 1, "trials": 2, "warmups": 0, "seed": 1},
    )
    document["workloads"]["count"]["with"]["duration"] = "2 s"
    document["workloads"]["count"]["gates"] = {"min_duration": "1 s", "max_steal": "100 %"}
    trials = execute(make_run(tmp_path, document).path)
    invalid = [t for t in trials if t.status is TrialStatus.INVALID]
    assert [t.sequence for t in invalid] == [2]
    assert [g.name for g in invalid[0].gates if not g.passed] == ["min_duration"]
    assert [t.replaces for t in trials if t.replaces is not None] == [2]
    assert len(trials) == 5


def test_when_every_trial_is_invalid_the_run_fails_its_gates(tmp_path: Path) -> None:
    document = spec_document(
        tmp_path / "counter", method={"sessions": 1, "trials": 1, "warmups": 0, "replacements": 0}
    )
    document["workloads"]["count"]["with"]["duration"] = "2 h"
    document["workloads"]["count"]["gates"] = {"min_duration": "1 h", "max_steal": "100 %"}
    with pytest.raises(GateFailed, match="min_duration"):
        execute(make_run(tmp_path, document).path)
    assert all(t.status is TrialStatus.INVALID for t in finished(tmp_path / "run"))


def test_a_program_that_prints_no_figure_fails_its_trials_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    script = (
        'printf x >> "$COUNTER"; n=$(wc -c < "$COUNTER"); [ "$n" -eq 1 ] && { echo oops >&2; exit'
        ' 42; }; echo "rate: 1"'
    )
    document = spec_document(
        tmp_path / "counter", script=script, method={"sessions": 1, "trials": 3, "warmups": 0}
    )
    with pytest.raises(Incomplete, match=r"1 of 6 planned .* 1 workload"):
        execute(make_run(tmp_path, document).path)
    trials = finished(tmp_path / "run")
    assert [t.status for t in trials] == [TrialStatus.FAILED] + [TrialStatus.VALID] * 5
    assert trials[0].failure is FailureClass.WORKLOAD
    assert (trials[0].exit_code, trials[0].error_kind, trials[0].measurements) == (42, "exit", ())
    assert (tmp_path / "run" / "raw" / "000001" / "0-stderr").read_bytes() == b"oops\n"


def test_when_nothing_can_be_parsed_the_run_fails_with_the_reason(tmp_path: Path) -> None:
    document = spec_document(
        tmp_path / "counter",
        script="echo nothing",
        method={"sessions": 1, "trials": 1, "warmups": 0},
    )
    with pytest.raises(RunFailed, match="no trial gave a valid result"):
        execute(make_run(tmp_path, document).path)


def test_a_hanging_program_times_out_and_its_group_is_killed(tmp_path: Path) -> None:
    document = spec_document(
        tmp_path / "counter",
        script="sleep 4711 & sleep 4711",
        method={"sessions": 1, "trials": 1, "warmups": 0},
    )
    document["workloads"]["count"]["with"]["timeout"] = "500 ms"
    with pytest.raises(RunFailed):
        execute(make_run(tmp_path, document).path)
    assert {t.error_kind for t in finished(tmp_path / "run")} == {"timeout"}
    assert (
        subprocess.run(["pgrep", "-f", "sleep 4711"], capture_output=True, check=False).stdout
        == b""
    )


def test_a_missing_program_is_told_and_the_rest_is_measured(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "counter")
    document["workloads"]["absent"] = {
        "tool": "command",
        "with": {"run": ["no-such-program-x"], "duration": "1 s"},
    }
    recorder = Recorder()
    directory = make_run(tmp_path, document)
    trials = execute(directory.path, observer=recorder)
    assert len(trials) == 18
    assert any("no-such-program-x not found" in e.message for e in recorder.events)
    assert len(read_run(directory.path).skipped) == 2
    document["workloads"].pop("count")
    with pytest.raises(MissingTool, match="no-such-program-x"):
        execute(make_run(tmp_path, document, "second").path)


def test_a_contradicted_claim_stops_the_run_before_the_first_trial(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    document = spec_document(counter, method={"sessions": 1, "trials": 1, "warmups": 0})
    document["targets"]["b"]["facts"] = {"os.id": "plan9"}
    directory = make_run(tmp_path, document)
    with pytest.raises(DriftError, match="plan9"):
        execute(directory.path)
    assert count(counter) == 0
    trials = execute(directory.path, Options(allow_drift=True))
    assert len(trials) == 2
    assert any(f.code == "F101" for f in read_run(directory.path).findings)


def test_a_signal_stops_cleans_and_resume_completes(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    spec = write_spec(tmp_path / "spec.yaml", spec_document(counter, seconds=0.2))
    for name, number, code in (("int", signal.SIGINT, 130), ("term", signal.SIGTERM, 143)):
        out = tmp_path / name
        process = start_cli(
            "run",
            str(spec),
            "--yes",
            "--out",
            str(out),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        before = count(counter)
        while count(counter) < before + 4:
            time.sleep(0.02)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == code, errors
        assert "benchspec resume" in errors
        run_id = RunDirectory.open(out).run_id
        assert (
            subprocess.run(["pgrep", "-f", run_id], capture_output=True, check=False).stdout == b""
        )
        done = finished(out)
        resumed = run_cli("resume", str(out), "--yes")
        assert resumed.returncode == 0, resumed.stderr
        trials = finished(out)
        planned = [t for t in trials if t.sequence <= 18]
        assert trials[: len(done)] == done
        assert sorted(t.sequence for t in planned) == list(range(1, 19))
        lost = sum(r.type == "trial.lost" for r in records(out))
        assert lost <= 1
        assert count(counter) - before == len(trials) + lost
        assert all(
            t.kind is TrialKind.WARMUP or t.replaces is not None for t in trials if t.sequence > 18
        ), "warm-ups, or for steal"


def test_interrupted_is_raised_in_process_too(tmp_path: Path) -> None:
    directory = make_run(tmp_path, spec_document(tmp_path / "counter", seconds=5.0))
    alarm = subprocess.Popen(["sh", "-c", f"sleep 1; kill -INT {__import__('os').getpid()}"])
    with pytest.raises(Interrupted):
        execute(directory.path)
    alarm.wait()
    assert records(directory.path)[-1].type == "run.stopped"


def test_two_stage_runs_add_the_sessions_the_precision_takes(tmp_path: Path) -> None:
    script = 'printf x >> "$COUNTER"; n=$(wc -c < "$COUNTER"); echo "rate: $((100 + n % 3))"'
    method = {
        "sessions": 4,
        "trials": 1,
        "warmups": 0,
        "precision": {"half_width": "0.2 %", "max_sessions": 6},
    }
    directory = make_run(
        tmp_path, spec_document(tmp_path / "counter", script=script, method=method)
    )
    trials = execute(directory.path)
    assert {t.session for t in trials} == {1, 2, 3, 4, 5, 6}
    assert [t.sequence for t in trials] == list(range(1, 13))
    assert execute(directory.path) == trials


def test_a_secret_reaches_the_program_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "canary-4711")
    script = 'printf x >> "$COUNTER"; echo "token is $TOKEN"; echo "rate: $${#TOKEN}"'
    document = spec_document(
        tmp_path / "counter", script=script, method={"sessions": 1, "trials": 1, "warmups": 0}
    )
    document["workloads"]["count"]["with"]["env"]["TOKEN"] = "${secret:env:TEST_TOKEN}"
    trials = execute(make_run(tmp_path, document).path)
    assert {m.value for t in trials for m in t.measurements if m.metric == "rate"} == {11.0}
    files = [p for p in (tmp_path / "run").rglob("*") if p.is_file()]
    assert files
    assert not [p for p in files if b"canary-4711" in p.read_bytes()]
    assert b"token is [redacted]" in (tmp_path / "run" / "raw" / "000001" / "0-stdout").read_bytes()


def test_the_journal_is_plain_ndjson(tmp_path: Path) -> None:
    directory = make_run(
        tmp_path,
        spec_document(tmp_path / "counter", method={"sessions": 1, "trials": 1, "warmups": 0}),
    )
    execute(directory.path)
    lines = directory.journal_path.read_text().splitlines()
    types = [json.loads(line)["type"] for line in lines]
    assert types[0] == "run.started"
    assert types[-1] == "run.finished"
    begun = types.index("allocation.started")
    assert types[begun : begun + 5] == [
        "allocation.started",
        "experiment.commands",
        "trial.started",
        "trial.finished",
        "allocation.released",
    ]
    assert types.count("allocation.started") == types.count("allocation.released") == 2


class Broken:
    """The `command` workload with a parser that has a bug."""

    def __getattr__(self, name: str) -> object:
        return getattr(get_workload("command"), name)

    def parse(self, completed: object, parameters: object) -> object:
        raise ZeroDivisionError("in the parser")


def test_a_bug_in_a_parser_costs_the_trial_and_neither_its_bytes_nor_the_run(
    tmp_path: Path,
) -> None:
    directory = make_run(
        tmp_path,
        spec_document(tmp_path / "counter", method={"sessions": 1, "trials": 1, "warmups": 0}),
    )
    catalogue = Catalogue(runner=get_runner, workload=lambda name: cast(Workload, Broken()))
    run = Run(
        directory,
        build_spec(directory.resolved()),
        read_plan(directory),
        catalogue,
        Recorder(),
        Options(),
    )
    with pytest.raises(RunFailed, match="parser of command failed"):
        run.execute()
    trials = finished(directory.path)
    assert [(t.status, t.error_kind) for t in trials] == [(TrialStatus.FAILED, "parse")] * 2
    assert all("ZeroDivisionError: in the parser" in (t.error or "") for t in trials)
    assert (directory.path / "raw" / "000001" / "0-stdout").read_bytes().startswith(b"rate: 42.5")
