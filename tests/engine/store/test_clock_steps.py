"""Steps of the wall clock, as a journal shows them."""

from __future__ import annotations

from benchspec.engine.store.clock_steps import clock_steps
from benchspec.engine.store.journal import Record


def record(n: int, at: float, mono: float, boot: str = "b") -> Record:
    return Record(n=n, type="facts", at=at, mono=mono, boot=boot, data={})


def test_a_clock_that_runs_makes_no_finding() -> None:
    assert not list(clock_steps([record(1, 100.0, 5.0), record(2, 160.01, 65.0)]))
    slewed = [record(1, 100.0, 5.0), record(2, 100.0 + 36018.0, 36005.0)]
    assert not list(clock_steps(slewed))


def test_steps_forward_and_back_are_told_with_their_size() -> None:
    records = [record(1, 100.0, 5.0), record(2, 3701.0, 6.0), record(3, -3498.0, 7.0)]
    told = [finding.message for finding in clock_steps(records)]
    assert len(told) == 2
    assert "forward by 3600 s between records 1 and 2" in told[0]
    assert "back by 7200 s between records 2 and 3" in told[1]


def test_clocks_of_two_boots_are_not_held_against_each_other() -> None:
    assert not list(clock_steps([record(1, 100.0, 900.0), record(2, 5000.0, 3.0, boot="c")]))
