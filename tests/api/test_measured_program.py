"""The program that is placed beside each command of `bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchspec.api.measured_program import OUTPUT, measure


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    return tmp_path


def test_it_measures_in_the_folder_and_writes_into_the_working_directory(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_n", "a b")
    assert measure(str(here / "work"), "touch '{n}'; exit 4") == 4
    assert [path.name for path in (here / "work").iterdir()] == ["a b"]
    found = json.loads((here / "out" / OUTPUT).read_text())
    assert found["exit_code"] == 4
    assert found["time_s"] > 0
    assert Path.cwd() == here / "out"


def test_a_signal_is_told_as_a_shell_does_and_a_small_peak_is_not_told(here: Path) -> None:
    assert measure(str(here), "kill -9 $$") == 137
    assert "peak_memory_kib" not in json.loads((here / "out" / OUTPUT).read_text())
