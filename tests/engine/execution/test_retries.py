"""Failures from outside are measured again, those of the workload never."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.errors import Incomplete
from benchspec.engine.model.failures import FailureClass
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.engine.execution.bench import (
    Recorder,
    count,
    execute,
    finished,
    make_run,
    records,
    spec_document,
)

KILLED_ONCE = """
printf x >> "$COUNTER"
[ "$(wc -c < "$COUNTER")" -ne 2 ] || kill -9 $PPID $$
echo "rate: 42.5"
"""
"""The second start kills its wrapper and itself, as somebody from outside would."""

SIGKILLED = """
printf x >> "$COUNTER"
[ "$(wc -c < "$COUNTER")" -gt "$TIMES" ] || kill -9 $$
echo "rate: 42.5"
"""


def document(tmp_path: Path, script: str, times: int = 0, **method: Any) -> dict[str, Any]:
    method = {"sessions": 2, "trials": 2, "warmups": 0, "seed": 7} | method
    found = spec_document(tmp_path / "counter", script=script, method=method)
    found["workloads"]["count"]["with"]["env"]["TIMES"] = str(times)
    return found


def test_a_job_that_somebody_killed_is_measured_again_in_a_fresh_allocation(
    tmp_path: Path,
) -> None:
    recorder = Recorder()
    run = make_run(tmp_path, document(tmp_path, KILLED_ONCE))
    trials = execute(run.path, observer=recorder)
    assert count(tmp_path / "counter") == len(trials) == 2 * 2 * 2 + 1
    failed = [t for t in trials if t.status is TrialStatus.FAILED]
    assert [t.failure for t in failed] == [FailureClass.INFRASTRUCTURE]
    again = next(t for t in trials if t.replaces == failed[0].sequence)
    assert again.status is TrialStatus.VALID
    assert again.allocation == failed[0].allocation + 1
    assert recorder.kinds().count("trials.repeated") == 1
    told = [r.data for r in records(run.path) if r.type == "trials.repeated"]
    assert [(one["session"], one["retry"]) for one in told] == [(failed[0].session, 1)]


def test_a_program_that_a_signal_ended_is_no_parse_failure(tmp_path: Path) -> None:
    trials = execute(make_run(tmp_path, document(tmp_path, SIGKILLED, times=1)).path)
    assert (trials[0].error_kind, trials[0].exit_code) == ("killed", 137)
    assert trials[0].failure is FailureClass.INFRASTRUCTURE
    assert sum(t.status is TrialStatus.VALID for t in trials) == 8


def test_a_target_has_so_many_retries_and_resume_measures_the_rest(tmp_path: Path) -> None:
    wanted = document(tmp_path, SIGKILLED, times=1, retries=0)
    del wanted["compare"]  # no pair to make up for
    run = make_run(tmp_path, wanted)
    with pytest.raises(Incomplete, match="of 8 planned trials gave no result") as caught:
        execute(run.path)
    assert caught.value.exit_code == 10
    assert "resume" in str(caught.value)
    before = len(finished(run.path))
    trials = execute(run.path)
    assert len(trials) > before
    replaced = {t.replaces for t in trials}
    assert all(t.status is TrialStatus.VALID for t in trials if t.sequence not in replaced)


def test_no_retries_are_no_retries_and_a_failure_of_the_workload_is_never_repeated(
    tmp_path: Path,
) -> None:
    script = 'printf x >> "$COUNTER"; [ "$(wc -c < "$COUNTER")" -gt 1 ] || exit 3; echo "rate: 1"'
    run = make_run(tmp_path, document(tmp_path, script))
    with pytest.raises(Incomplete, match=r"1 of 8 planned .* 1 workload"):
        execute(run.path)
    with pytest.raises(Incomplete):  # resume has nothing to measure again
        execute(run.path)
    assert count(tmp_path / "counter") == 8
    assert {t.error_kind for t in finished(run.path)} == {None, "exit"}


def test_a_session_that_lost_its_pair_is_made_up_for(tmp_path: Path) -> None:
    wanted = document(tmp_path, SIGKILLED, times=1, sessions=3, trials=1, retries=1)
    script = """
printf x >> "$COUNTER"
[ "$(wc -c < "$COUNTER")" -gt 2 ] || kill -9 $$
echo "rate: 42.5"
"""
    wanted["workloads"]["count"]["with"]["run"] = ["sh", "-c", script]
    run = make_run(tmp_path, wanted)
    trials = execute(run.path)
    added = [r.data for r in records(run.path) if r.type == "session.added"]
    assert [(one["session"], one["makes_up_for"]) for one in added] == [(4, 1)]
    by_target: dict[str, list[int]] = {}
    for trial in trials:
        if trial.status is TrialStatus.VALID:
            by_target.setdefault(trial.experiment_id, []).append(trial.session)
    assert sorted(map(sorted, by_target.values())) == [[1, 2, 3, 4], [2, 3, 4]]
    assert read_run(run.path).complete
