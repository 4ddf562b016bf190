"""Three failures in a row that read the same end an experiment, and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

import benchspec
from benchspec.engine.execution.same_failures import SameFailures
from benchspec.engine.model.errors import Incomplete, RunFailed
from benchspec.engine.model.spec import Experiment
from tests.engine.execution.bench import Recorder, count, finished, spec_document, write_spec

EXPERIMENT = Experiment(
    id="0" * 64,
    target="t",
    workload="w",
    title="W",
    point=(),
    tool="command",
    parameters={},
    roles=(),
)


def test_it_is_told_once_and_figures_do_not_make_a_difference() -> None:
    failures = SameFailures()
    told = [
        failures.take(EXPERIMENT, f"no answer after {n}.5 s, job 0123456789ab{n}") for n in range(5)
    ]
    assert [each is not None for each in told] == [False, False, True, False, False]
    assert failures.is_stopped(EXPERIMENT.id)
    assert told[2] is not None
    assert (told[2].code, told[2].experiment_id) == ("F523", EXPERIMENT.id)


@pytest.mark.parametrize("between", [None, "another reason"])
def test_a_trial_that_succeeds_or_fails_otherwise_starts_the_count_anew(
    between: str | None,
) -> None:
    failures = SameFailures()
    for error in ("refused", "refused", between, "refused", "refused"):
        assert failures.take(EXPERIMENT, error) is None
    assert not failures.is_stopped(EXPERIMENT.id)
    assert failures.take(EXPERIMENT, "refused") is not None


def test_the_rest_is_not_tried_the_others_are_measured_and_resume_tries_again(
    tmp_path: Path,
) -> None:
    """Thirty trials once failed one after the other for one missing file."""
    method = {"sessions": 5, "trials": 2, "warmups": 1, "seed": 1}
    document = spec_document(tmp_path / "counter", method=method)
    document["targets"].pop("b")
    document.pop("compare")
    mended = f'test -e {tmp_path}/mended && echo "rate: 1" && exit'
    broken = copy.deepcopy(document["workloads"]["count"])
    broken["with"]["run"] = [
        "sh",
        "-c",
        f"{mended}; printf x >> {tmp_path}/tries; exit 3",
    ]
    document["workloads"]["broken"] = broken
    watching = Recorder()
    spec = write_spec(tmp_path / "s.yaml", document)
    with pytest.raises(RunFailed):
        benchspec.run(spec, out=tmp_path / "run", consent=lambda lines: True, observer=watching)
    assert count(tmp_path / "tries") == 3
    assert count(tmp_path / "counter") == 15, "the other experiment has all its trials"
    told = [event.message for event in watching.events if "F523" in event.message]
    assert len(told) == 1
    assert "broken on a failed 3 times in a row" in told[0]
    assert "F523" in (tmp_path / "run" / "report" / "page.md").read_text()
    (tmp_path / "mended").touch()
    with pytest.raises(Incomplete):  # what failed by itself is not measured again
        benchspec.resume(tmp_path / "run", consent=lambda lines: True)
    assert len(finished(tmp_path / "run")) == 30, "three of them failed"
    assert count(tmp_path / "tries") == 3
