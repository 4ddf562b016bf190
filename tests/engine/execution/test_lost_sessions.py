"""Which sessions lost a pair."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from benchspec.engine.execution.lost_sessions import lost_sessions
from benchspec.engine.model.failures import FailureClass
from benchspec.engine.model.results import Trial, TrialKind, TrialStatus
from benchspec.engine.store.read_run import read_plan
from tests.engine.execution.bench import make_run, spec_document


def test_a_session_is_lost_where_one_side_failed_from_outside_and_the_last_one_is_whole(
    tmp_path: Path,
) -> None:
    plan = read_plan(make_run(tmp_path, spec_document(tmp_path / "counter")))
    a, b = plan.experiments

    def trial(sequence: int, experiment: str, session: int) -> Trial:
        return Trial(
            sequence=sequence,
            experiment_id=experiment,
            session=session,
            kind=TrialKind.MEASURED,
            index=1,
            job_id="j",
            status=TrialStatus.VALID,
            started_at=0.0,
            duration_s=1.0,
        )

    whole = [
        trial(2 * n + k, one.id, n) for n in (1, 2, 3) for k, one in enumerate(plan.experiments)
    ]
    assert lost_sessions(plan.experiments, whole, 3) == {}

    def failing(failure: FailureClass, session: int) -> list[Trial]:
        return [
            dataclasses.replace(t, status=TrialStatus.FAILED, failure=failure)
            if (t.experiment_id, t.session) == (a.id, session)
            else t
            for t in whole
        ]

    outside, own = FailureClass.INFRASTRUCTURE, FailureClass.WORKLOAD
    assert lost_sessions(plan.experiments, failing(outside, 1), 3) == {1: (a.id, b.id)}
    assert lost_sessions(plan.experiments, failing(own, 1), 3) == {}
    assert lost_sessions(plan.experiments, failing(outside, 3), 3) == {}  # it still fails
