"""list, show, history, index and rm as programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchspec.engine.history.index import RunIndex
from tests.engine.execution.bench import run_cli, spec_document, write_spec
from tests.engine.history.past import entry

LEVELS = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 150.0]


@pytest.fixture(autouse=True)
def _own_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHSPEC_STORE", f"sqlite:///{tmp_path / 'index.sqlite'}")


def test_a_run_is_listed_shown_and_removed(tmp_path: Path) -> None:
    method = {"sessions": 2, "trials": 1, "warmups": 0}
    spec = write_spec(tmp_path / "spec.yaml", spec_document(tmp_path / "counter", method=method))
    assert "benchspec index runs" in run_cli("list").stdout
    assert run_cli("run", str(spec), "--yes", "--out", str(tmp_path / "run")).returncode == 0
    listed = run_cli("list").stdout
    assert "4 of 4 valid" in listed
    assert str(tmp_path / "run") in listed
    (row,) = json.loads(run_cli("list", "counted", "--json").stdout)["runs"]
    assert row["state"] == "complete"
    shown = run_cli("show", row["run_id"]).stdout
    assert "4 valid" in shown
    assert "count" in shown
    assert json.loads(run_cli("show", str(tmp_path / "run"), "--json").stdout)["complete"] is True
    assert "rate" in run_cli("history", str(spec)).stdout
    refused = run_cli("rm", row["run_id"])
    assert refused.returncode == 2
    assert "no terminal to ask on" in refused.stderr
    assert (tmp_path / "run").is_dir()
    done = run_cli("rm", row["run_id"], "--yes", "--json")
    assert json.loads(done.stdout)["path"] == str(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_history_shows_and_gates_what_changed() -> None:
    levels = [*LEVELS, 151.0, 149.0, 150.5, 149.5]
    RunIndex().put_all(entry(number, (value, 7.0)) for number, value in enumerate(levels))
    shown = run_cli("history", "counted")
    assert shown.returncode == 0
    assert "a, count, rate (1/s)" in shown.stdout
    assert "new level: +50" in shown.stdout
    assert "1 results began a new level" in shown.stdout
    failed = run_cli("history", "counted", "--require-steady")
    assert failed.returncode == 3
    assert "a, count, rate" in failed.stderr
    document = json.loads(run_cli("history", "counted", "--json", "--all").stdout)
    changed, steady = document["lines"]
    assert [point["change"] is not None for point in changed["points"]].index(True) == 6
    assert not any(point["outside"] for point in steady["points"])
    assert run_cli("history", "stranger").returncode == 2


def test_directories_are_loaded(tmp_path: Path) -> None:
    runs = Path(__file__).parents[1] / "data" / "old-runs"
    done = run_cli("index", str(runs))
    assert done.returncode == 0, done.stderr
    assert "runs loaded into sqlite:" in done.stdout
    again = json.loads(run_cli("index", str(runs), "--rebuild", "--json").stdout)
    assert again["count"] == len(json.loads(run_cli("list", "--json").stdout)["runs"])
    assert run_cli("index", str(tmp_path / "none")).returncode == 2
