"""Changes of a level: how often they are seen where there is none, and where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from benchspec.engine.history.changes import ALARM, CONTEXT, find_changes, judge

SERIES = 1000


def three_sigma(rate: float, count: int) -> float:
    return rate + 3 * float(np.sqrt(rate * (1 - rate) / count))


@pytest.mark.parametrize("kind", ["normal", "lognormal", "t(2)"])
@pytest.mark.parametrize("runs", [12, 30])
def test_false_alarms_of_changes_are_at_most_what_is_said(kind: str, runs: int) -> None:
    noise = np.random.default_rng(runs)
    rows = {
        "normal": noise.normal(size=(SERIES, runs)),
        "lognormal": noise.lognormal(sigma=1.0, size=(SERIES, runs)),
        "t(2)": noise.standard_t(2, size=(SERIES, runs)),
    }[kind]
    alarms = sum(bool(find_changes(row)) for row in rows)
    assert alarms / SERIES <= three_sigma(ALARM, SERIES)


def test_false_alarms_of_single_results_are_what_is_said() -> None:
    noise = np.random.default_rng(3)
    judged = outside = 0
    for _ in range(600):
        values = (100 * np.exp(0.02 * noise.normal(size=20))).tolist()
        for mark in judge(values, geometric=True):
            judged += mark.expected is not None
            outside += mark.outside
    assert judged > 0.98 * 600 * (20 - CONTEXT)  # less where a change was seen by chance
    assert ALARM / 2 < outside / judged < three_sigma(ALARM, judged)


def test_a_rule_of_two_deviations_would_alarm_in_most_series() -> None:
    noise = np.random.default_rng(4)
    rows = noise.normal(size=(500, 30))
    alarms = sum(
        any(abs(row[at] - row[:at].mean()) > 2 * row[:at].std(ddof=1) for at in range(CONTEXT, 30))
        for row in rows
    )
    assert alarms / 500 > 0.6


def test_changes_are_found_where_they_are() -> None:
    noise = np.random.default_rng(5)
    exact = 0
    for _ in range(100):
        values = noise.normal(size=30) + 5.0 * (np.arange(30) >= 14) - 8.0 * (np.arange(30) >= 22)
        found = find_changes(values)
        exact += found == [14, 22]
    assert exact >= 90


def test_too_few_results_say_nothing() -> None:
    assert find_changes(np.array([1.0] * 4 + [9.0] * 5)) == []
    assert all(mark.expected is None for mark in judge([1.0, 9.0, 1.0, 9.0, 2.0], geometric=True))
    marks = judge([1.0, 1.1, 0.9, 1.0, 1.05, 5.0], geometric=True)
    assert [mark.outside for mark in marks] == [False] * 5 + [True]
    assert marks[-1].alarming


def test_the_size_of_a_change_is_a_ratio_or_a_difference() -> None:
    values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 200.0, 201.0, 199.0, 200.5, 199.5, 200.0]
    (begin,) = [mark for mark in judge(values, geometric=True) if mark.change is not None]
    assert begin.change == pytest.approx(2.0, rel=1e-3)
    assert begin.is_ratio
    (begin,) = [m for m in judge([v - 150 for v in values], geometric=True) if m.change is not None]
    assert begin.change == pytest.approx(100.0, rel=1e-3)
    assert not begin.is_ratio


def test_a_level_that_is_known_begins_anew() -> None:
    values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 200.0, 201.0, 199.0, 200.5, 199.5, 200.0]
    marks = judge(values, geometric=True, restarts={6: "new disks"})
    assert not any(mark.alarming for mark in marks)
    assert marks[6].acknowledged == "new disks"
    assert [mark.expected is None for mark in marks] == [True] * 5 + [False] + [True] * 5 + [False]


def test_equal_results_are_no_change() -> None:
    assert not any(mark.alarming for mark in judge([5.01] * 30, geometric=True))
    assert judge([5.01] * 9 + [5.02], geometric=True)[-1].outside
