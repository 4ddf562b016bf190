"""Planned trials without a result."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchspec.engine.execution.checks.completeness import require_complete
from benchspec.engine.execution.slots import number_slots
from benchspec.engine.model.errors import Incomplete
from benchspec.engine.model.failures import FailureClass
from benchspec.engine.model.results import Trial, TrialStatus
from benchspec.engine.store.read_run import read_plan
from tests.engine.execution.bench import make_run, spec_document


def test_each_planned_trial_needs_a_result_of_its_own_or_of_one_in_its_place(
    tmp_path: Path,
) -> None:
    plan = read_plan(make_run(tmp_path, spec_document(tmp_path / "counter")))
    slots = [slot for round_ in number_slots(plan.order) for slot in round_.slots]
    experiments = {one.id: one for one in plan.experiments}
    trials = [
        Trial(
            sequence=slot.sequence,
            experiment_id=slot.experiment_id,
            session=slot.session,
            kind=slot.kind,
            index=slot.index,
            job_id="j",
            status=TrialStatus.VALID,
            started_at=0.0,
            duration_s=1.0,
        )
        for slot in slots
    ]
    require_complete(slots, trials, experiments)
    last = trials[-1]
    lost = dataclasses.replace(last, status=TrialStatus.FAILED, failure=FailureClass.INFRASTRUCTURE)
    with pytest.raises(Incomplete, match=r"1 of 12 planned .*1 infrastructure.*\n.*resume"):
        require_complete(slots, [*trials[:-1], lost], experiments)
    again = dataclasses.replace(last, sequence=99, replaces=last.sequence)
    require_complete(slots, [*trials[:-1], lost, again], experiments)
    invalid = dataclasses.replace(last, status=TrialStatus.INVALID, failure=FailureClass.INVALID)
    require_complete(slots, [*trials[:-1], invalid], experiments)  # it has figures
    absent = [t for t in trials if t.experiment_id == last.experiment_id]
    with pytest.raises(Incomplete, match="6 of 12"):
        require_complete(slots, absent, experiments)
    others = {t.experiment_id for t in trials} - {last.experiment_id}
    require_complete(slots, absent, experiments, left_out=others)
