"""Findings of the analysis: limits with their causes, noise, order, tests that disagree."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.findings import FLAG_CODES
from benchspec.engine.analysis.model import Contrast
from benchspec.engine.analysis.reasons import FailuresDiffer, Void
from benchspec.engine.model.failures import FailureClass
from benchspec.engine.model.results import Finding, FindingLevel, GateResult, RunData, TrialStatus
from benchspec.engine.model.spec import Layer, Limit, Method, Order, Precision
from tests.engine.analysis import synthetic
from tests.engine.analysis.synthetic import LATENCY, METRICS, RATE, RETRANSMITS

RNG = np.random.Generator(np.random.PCG64(5))
QUIET = np.exp(RNG.normal(0, 0.01, (2, 10, 3)))


def _findings(run: RunData) -> list[Finding]:
    return list(analyse(run, METRICS).findings)


def _capped(sustained: float, burst: float) -> tuple[Limit, ...]:
    return (
        Limit(
            metric="storage.iops",
            sustained=sustained,
            burst=burst,
            unit="1/s",
            layer=Layer.GOODPUT,
            applies_to="disk",
            source="https://example.org",
            as_of="2023-03-20",
        ),
    )


@pytest.mark.parametrize(
    ("sustained", "burst", "code", "level"),
    [
        (1.0, 1.0, "F401", FindingLevel.NOTE),
        (0.85, 1.0, "F402", FindingLevel.NOTE),
        (0.4, 0.5, "F403", FindingLevel.WARNING),
        (2.0, 2.0, None, None),
    ],
)
def test_limits(
    sustained: float, burst: float, code: str | None, level: FindingLevel | None
) -> None:
    found = [
        f
        for f in _findings(
            synthetic.comparison(QUIET[0], QUIET[1], limits={"b": _capped(sustained, burst)})
        )
        if f.code.startswith("F4")
    ]
    assert [(f.code, f.level, f.target) for f in found] == ([(code, level, "b")] if code else [])
    if code == "F403":
        assert "possible causes: a cache in the path" in found[0].message
    if code:
        assert "of the documented storage.iops of the disk" in found[0].message
        assert "https://example.org, 2023-03-20" in found[0].message


def test_a_sequential_order_is_confounded() -> None:
    found = _findings(
        synthetic.comparison(QUIET[0], QUIET[1], method=Method(order=Order.SEQUENTIAL))
    )
    assert [f.code for f in found] == ["F510"]
    assert not _findings(synthetic.comparison(QUIET[0], QUIET[1]))


def test_clients_that_began_apart_and_roles_that_moved_are_told_once_per_experiment() -> None:
    run = synthetic.comparison(QUIET[0], QUIET[1])
    gate = GateResult(name="placement", bound=2.0, observed=3.0, passed=False)
    slow = [
        replace(trial, start_skew_s=0.05 * number) for number, trial in enumerate(run.trials[:8])
    ]  # 50 to 350 ms; the first two are tolerated
    moved = [
        replace(trial, status=TrialStatus.INVALID, gates=(gate,), start_skew_s=9.0)
        for trial in run.trials[8:10]
    ]
    found = _findings(replace(run, trials=(*slow, *moved, *run.trials[10:])))
    (skew,) = [f for f in found if f.code == "F301"]
    numbers = ", ".join(str(trial.sequence) for trial in slow[3:])
    assert f": trials {numbers}: the clients began up to 350 ms apart" in skew.message
    (place,) = [f for f in found if f.code == "F202"]
    assert "the roles were on 3 machines, expected 2" in place.message
    assert place.level is FindingLevel.ERROR


def test_an_outlier_comes_with_its_candidate_cause() -> None:
    spiked = QUIET[1].copy()
    spiked[3] *= 2
    run = synthetic.comparison(QUIET[0], spiked)
    stolen = tuple(
        replace(t, usage={"client": {"cpu.steal": 0.3 if t.session == 4 else 0.0}})
        for t in run.trials
    )
    plain, caused = (
        [f for f in _findings(each) if f.code == "F502"]
        for each in (run, replace(run, trials=stolen))
    )
    assert "outliers: session 4" in plain[0].message
    assert re.search(r"without these sessions [\d.]+ instead of [\d.]+ \S+$", plain[0].message), (
        plain[0].message
    )
    assert "steal" not in plain[0].message
    assert caused[0].message.endswith("; CPU steal reached 30.0 % there")


def test_full_cpus_are_told_where_something_else_is_measured() -> None:
    run = synthetic.comparison(QUIET[0], QUIET[1])
    used = [
        {"client": {"cpu.busy": 0.9, "cpu.steal": 0.08}, "server": {"cpu.busy": 0.9}},
        {"client": {"cpu.busy": 0.94}},
        {},
    ]
    full, half, unseen = (
        replace(run, trials=tuple(replace(t, usage=u) for t in run.trials)) for u in used
    )
    told = [f for f in _findings(full) if f.code == "F522"]
    assert len(told) == len(run.experiments)
    assert all(
        "the CPUs of the client were full in" in f.message and "98 %" in f.message for f in told
    )
    assert [f.code for f in (*_findings(half), *_findings(unseen)) if f.code == "F522"] == []
    of_cpus = synthetic.comparison(
        QUIET[0], QUIET[1], LATENCY
    )  # one role, and a metric that no disk and no link bounds
    assert (
        _findings(replace(of_cpus, trials=tuple(replace(t, usage=used[0]) for t in of_cpus.trials)))
        == []
    )
    some = tuple(
        replace(t, usage=used[0] if number % 2 else {}) for number, t in enumerate(run.trials)
    )
    assert [f.code for f in _findings(replace(run, trials=some)) if f.code == "F522"] == []


def test_every_flag_has_a_code() -> None:
    drifting = QUIET[0] * np.linspace(1, 2, 10)[:, None]
    assert {"F501", "F504", "F505"} <= {
        f.code for f in _findings(synthetic.comparison(QUIET[0], drifting))
    }
    assert [f.code for f in _findings(synthetic.comparison(QUIET[0][:1], QUIET[1][:1]))] == [
        "F507",
        "F507",
    ]
    assert {
        f.code
        for f in _findings(synthetic.comparison(np.zeros((10, 1)), np.zeros((10, 1)), RETRANSMITS))
    } == {"F506", "F508"}
    assert {
        f.code
        for f in _findings(synthetic.comparison(QUIET[0], QUIET[1] + 5 * (np.arange(3) == 1)))
    } >= {"F503"}
    assert len(set(FLAG_CODES.values())) == len(FLAG_CODES)


def test_tests_that_disagree_are_named() -> None:
    a = np.ones((10, 1))
    b = np.array([1.01, 1.02, 1.03, 1.02, 1.01, 1.02, 1.03, 1.04, 1.02, 3.0])[:, None]
    found = [f for f in _findings(synthetic.comparison(a, b, RATE)) if f.code == "F511"]
    assert len(found) == 1
    assert "the t test and the rank test disagree" in found[0].message


def test_a_precision_that_was_not_reached_is_told() -> None:
    def told(half_width: float) -> list[str]:
        method = Method(precision=Precision(half_width=half_width, max_sessions=10))
        run = synthetic.comparison(QUIET[0], QUIET[1], method=method)
        return [f.message for f in _findings(run) if f.code == "F590"]

    assert told(0.2) == []
    assert len(told(0.0001)) == 2
    assert "0.01 % were wished, after 10 sessions" in told(0.0001)[0]


def test_targets_that_lost_different_shares_are_told_and_beyond_the_budget_void() -> None:
    run = synthetic.comparison(QUIET[0], QUIET[1])
    mine = [t for t in run.trials if t.experiment_id == run.experiments[1].id]

    def losing(number: int) -> RunData:
        lost = mine[:: len(mine) // number][:number]
        return replace(
            run,
            trials=tuple(
                replace(
                    t,
                    status=TrialStatus.FAILED,
                    failure=FailureClass.WORKLOAD,
                    measurements=(),
                    error="no answer",
                    error_kind="exit",
                )
                if t in lost
                else t
                for t in run.trials
            ),
        )

    def primary(run: RunData) -> Contrast:
        return next(c for c in analyse(run, METRICS).contrasts if c.primary)

    assert "F514" not in {f.code for f in _findings(run)}
    told = [f.message for f in _findings(losing(3)) if f.code == "F514"]
    assert len(told) == 1
    assert "3 of 30 (3 workload)" in told[0]
    few, many = primary(losing(3)).verdict, primary(losing(10)).verdict
    assert few is not None
    assert few.reason is None
    assert many is not None
    assert isinstance(many.reason, FailuresDiffer)
    assert many.reason.void is Void.INVALID
