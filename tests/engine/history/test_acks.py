"""acks.yaml, and the lines that it is about."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from benchspec.engine.history.acks import Ack, read_acks
from benchspec.engine.history.lines import OTHER_MEANING, make_lines
from benchspec.engine.model.errors import SpecError
from tests.engine.history.past import entry

TODAY = date(2026, 11, 23)
LEVELS = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 150.0, 151.0, 149.0, 150.5, 149.5, 150.2]
ENTRIES = [entry(number, (value, 100.0)) for number, value in enumerate(LEVELS)]
RUNS = [one.run for one in ENTRIES]
ROWS = [row for one in ENTRIES for row in one.series]


def test_acks_are_read(tmp_path: Path) -> None:
    assert read_acks(tmp_path) == ()
    (tmp_path / "acks.yaml").write_text(
        "acks:\n- {run: counted-00006, target: a, reason: new disks, until: 2027-01-31}\n"
    )
    (ack,) = read_acks(tmp_path)
    assert ack == Ack(run="counted-00006", target="a", reason="new disks", until=date(2027, 1, 31))
    assert ack.covers("a", "count", "rate")
    assert not ack.covers("b", "count", "rate")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- {run: x}", "the one key `acks`"),
        ("acks: {run: x}", "the one key `acks`"),
        ("acks: []\nmore: 1", "the one key `acks`"),
        ("acks: [x]", "a mapping with run"),
        ("acks: [{reason: x, until: 2027-01-31}]", "a text `run`"),
        ("acks: [{run: x, reason: '', until: 2027-01-31}]", "a text `reason`"),
        ("acks: [{run: x, reason: y}]", "a day `until`"),
        ("acks: [{run: x, reason: y, until: 2027-01-31T10:00:00}]", "a day `until`"),
        ("acks: [{run: x, reason: y, until: 2027-01-31, tarket: a}]", "not tarket"),
        ("acks: [{run: x, reason: y, until: 2027-01-31, cell: 1}]", "a pattern `cell`"),
        ("acks: [", "no YAML"),
        ("a: !!python/object/apply:os.system [true]", "no YAML"),
    ],
)
def test_other_files_are_refused(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "acks.yaml").write_text(text)
    with pytest.raises(SpecError, match=expected):
        read_acks(tmp_path)


def test_a_known_change_is_no_alarm_until_its_day() -> None:
    ack = Ack(run="counted-00006", reason="new disks", until=TODAY, target="a")
    changed, steady = make_lines(RUNS, ROWS, (), TODAY).lines
    assert [p.run.run_id for p in changed.points if p.mark.alarming] == ["counted-00006"]
    assert not any(point.mark.alarming for point in steady.points)
    known = make_lines(RUNS, ROWS, (ack,), TODAY)
    assert not any(point.mark.alarming for line in known.lines for point in line.points)
    assert known.lines[0].points[6].mark.acknowledged == "new disks"
    late = make_lines(RUNS, ROWS, (ack,), date(2026, 11, 24))
    assert late.expired == (ack,)
    assert any(point.mark.alarming for point in late.lines[0].points)
    lost = Ack(run="gone", reason="x", until=TODAY)
    assert make_lines(RUNS, ROWS, (lost,), TODAY).unused == (lost,)


def test_an_experiment_that_means_something_else_begins_anew() -> None:
    from dataclasses import replace

    rows = [
        replace(row, experiment_id="f" * 64) if row.run_id >= "counted-00006" else row
        for row in ROWS
    ]
    changed, _ = make_lines(RUNS, rows, (), TODAY).lines
    assert changed.points[6].mark.acknowledged == OTHER_MEANING
    assert not any(point.mark.alarming for point in changed.points)
