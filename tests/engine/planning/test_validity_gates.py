"""Validity gates."""

from __future__ import annotations

import pytest

from benchspec.engine.model.results import Measurement
from benchspec.engine.planning.validity_gates import describe, evaluate


def measured(metric: str, value: float) -> Measurement:
    return Measurement(metric=metric, value=value, unit="ratio")


@pytest.mark.parametrize(
    ("name", "metric", "bound", "good", "bad"),
    [
        ("min_duration", "duration", 10.0, 10.0, 9.99),
        ("max_error_ratio", "error.ratio", 0.001, 0.001, 0.0011),
        ("min_achieved_ratio", "achieved.ratio", 0.98, 0.99, 0.9),
        ("max_loss_ratio", "loss.ratio", 0.01, 0.0, 0.5),
        ("max_retransmit_ratio", "retransmit.ratio", 0.01, 0.0, 0.5),
        ("min_samples", "samples", 100.0, 100.0, 99.0),
    ],
)
def test_a_gate_bounds_its_measurement(
    name: str, metric: str, bound: float, good: float, bad: float
) -> None:
    for value, expected in ((good, True), (bad, False)):
        (result,) = evaluate({name: bound}, frozenset(), [measured(metric, value)], {})
        assert (result.passed, result.observed) == (expected, value)


def test_of_several_series_the_worst_counts() -> None:
    (result,) = evaluate(
        {"max_error_ratio": 0.1},
        frozenset(),
        [measured("error.ratio", 0.0), measured("error.ratio", 0.2)],
        {},
    )
    assert result.observed == 0.2
    (result,) = evaluate(
        {"min_duration": 1}, frozenset(), [measured("duration", 5.0), measured("duration", 0.2)], {}
    )
    assert result.observed == 0.2


def test_steal_is_bounded_by_default_and_taken_from_the_monitors() -> None:
    (result,) = evaluate(
        {}, frozenset(), [], {"client": {"cpu.steal": 0.01}, "server": {"cpu.steal": 0.03}}
    )
    assert (result.name, result.observed, result.passed) == ("max_steal", 0.03, False)
    assert evaluate({"max_steal": 0.05}, frozenset(), [], {"client": {"cpu.steal": 0.03}})[0].passed


def test_a_gate_without_its_figure_fails_only_if_the_spec_asks_for_it() -> None:
    assert evaluate({"min_samples": 5}, frozenset(), [], {}) == ()
    (result,) = evaluate({"min_samples": 5}, frozenset({"min_samples"}), [], {})
    assert (result.observed, result.passed) == (None, False)
    assert describe(result) == "min_samples: observed not measured, expected at least 5"


def test_a_gate_that_nothing_can_fail_needs_no_figure() -> None:
    assert evaluate({"max_steal": 1.0}, frozenset({"max_steal"}), [], {}) == ()
    assert not evaluate({"max_steal": 0.99}, frozenset({"max_steal"}), [], {})[0].passed


def test_a_failed_gate_is_described_with_both_figures() -> None:
    (result,) = evaluate({"max_loss_ratio": 0.01}, frozenset(), [measured("loss.ratio", 0.5)], {})
    assert describe(result) == "max_loss_ratio: observed 0.5, expected at most 0.01"
