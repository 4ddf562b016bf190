"""Dataclasses to JSON and back."""

from __future__ import annotations

import json

import pytest

from benchspec.engine.model.codec import decode, encode
from benchspec.engine.model.errors import IntegrityError
from benchspec.engine.model.results import (
    Finding,
    FindingLevel,
    GateResult,
    Measurement,
    Trial,
    TrialKind,
    TrialStatus,
)
from benchspec.engine.model.spec import Experiment, Role, RolePlace, TrafficPath


def make_trial() -> Trial:
    return Trial(
        sequence=7,
        experiment_id="e" * 64,
        session=2,
        kind=TrialKind.MEASURED,
        index=1,
        job_id="j",
        status=TrialStatus.INVALID,
        started_at=1.5,
        duration_s=2.25,
        exit_code=0,
        measurements=(Measurement(metric="a", value=0.1, unit="s", labels={"job": "x"}),),
        gates=(GateResult(name="min_duration", bound=3.0, observed=None, passed=False),),
        usage={"client": {"cpu.user": 0.5}},
        replaces=3,
    )


def make_experiment() -> Experiment:
    roles = (
        RolePlace(role=Role.CLIENT, site="s", cpus=(0, 1)),
        RolePlace(role=Role.SERVER, site="s"),
    )
    return Experiment(
        id="f" * 64,
        target="t",
        workload="w",
        title="W",
        point=(("rw", "randread"),),
        tool="fio",
        roles=roles,
        path=TrafficPath.LOOPBACK,
        parameters={"size": "1 GiB", "jobs": [{"name": "a", "direct": True, "n": None}]},
        gates={"min_duration": 1.0},
        primary="iops.read",
    )


@pytest.mark.parametrize(
    "value",
    [make_trial(), make_experiment(), Finding(code="F101", level=FindingLevel.NOTE, message="ü")],
)
def test_what_is_encoded_is_decoded_to_the_same_value(value: object) -> None:
    through_json = json.loads(json.dumps(encode(value)))
    assert decode(type(value), through_json) == value


def test_defaults_are_left_out() -> None:
    assert set(encode(Measurement(metric="a", value=0.0, unit="s"))) == {"metric", "value", "unit"}


@pytest.mark.parametrize(
    "broken", [{"metric": "a"}, {"metric": "a", "value": 1, "unit": "s", "extra": 1}, None, 3, []]
)
def test_another_shape_is_an_integrity_error(broken: object) -> None:
    with pytest.raises(IntegrityError, match="expected a Measurement"):
        decode(Measurement, broken)


def test_an_unknown_word_is_an_integrity_error() -> None:
    with pytest.raises(IntegrityError):
        decode(Finding, {"code": "F1", "level": "shout", "message": "x" * 500})


def test_a_tuple_of_fixed_length_keeps_its_length() -> None:
    with pytest.raises(IntegrityError):
        decode(Experiment, encode(make_experiment()) | {"point": [["rw"]]})
