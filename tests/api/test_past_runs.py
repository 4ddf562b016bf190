"""Runs that are listed, shown, followed over time, loaded again and removed: with real run
directories, and the index that runs put themselves into.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import benchspec
from benchspec.engine.history.index import RunIndex
from benchspec.engine.model.errors import GateFailed, Locked, StorageError, UsageError
from benchspec.engine.store.journal import Journal
from tests.engine.execution.bench import Recorder, make_run, spec_document, write_spec
from tests.engine.history.past import entry

METHOD = {"sessions": 2, "trials": 1, "warmups": 0}


@pytest.fixture(autouse=True)
def _own_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHSPEC_STORE", f"sqlite:///{tmp_path / 'index' / 'runs.sqlite'}")


def measure(folder: Path, name: str = "one", observer: Recorder | None = None) -> Path:
    spec = write_spec(folder / "spec.yaml", spec_document(folder / "counter", method=METHOD))
    return benchspec.run(
        spec, out=folder / "runs" / name, consent=lambda lines: True, observer=observer
    ).directory


def content() -> object:
    index = RunIndex()
    runs = index.runs()
    series = [index.series(run.name, everything=True) for run in runs]
    return runs, series, [index.comparisons(run.run_id) for run in runs]


def test_a_run_is_in_the_index_when_it_ends(tmp_path: Path) -> None:
    path = measure(tmp_path)
    (one,) = benchspec.list_().runs
    assert (one.run.path, one.run.trials, one.run.valid, one.state) == (str(path), 4, 4, "complete")
    assert benchspec.list_("other").runs == ()
    shown = benchspec.show(one.run.run_id)
    assert shown.directory == path
    assert shown.trials == {"valid": 4}
    assert {row.target for row in shown.answer.rows} == {"a", "b"}
    assert benchspec.show(path).to_json() == shown.to_json()
    found = benchspec.history(tmp_path / "spec.yaml")
    assert [line.target for line in found.found.lines] == ["a", "b"]
    assert found.to_json() == benchspec.history("counted").to_json()
    found.require_steady()


def test_an_index_that_is_lost_is_made_again(tmp_path: Path) -> None:
    measure(tmp_path)
    measure(tmp_path, "two")
    before = content()
    shutil.rmtree(tmp_path / "index")
    (tmp_path / "runs" / "three").mkdir()
    (tmp_path / "runs" / "three" / "manifest.json").write_text("{}")
    done = benchspec.index(tmp_path / "runs")
    assert done.count == 2
    assert list(done.skipped) == [str(tmp_path / "runs" / "three")]
    assert content() == before
    RunIndex().put(entry(1, name="stranger"))
    assert benchspec.index(tmp_path / "runs", rebuild=True).count == 2
    assert content() == before
    with pytest.raises(UsageError, match="no such folder"):
        benchspec.index(tmp_path / "none")


def test_an_index_that_cannot_be_reached_fails_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = f"sqlite:///{tmp_path / 'index' / 'runs.sqlite'}"
    for store in ("postgresql+psycopg://bench:hidden@127.0.0.1:1/none", "nothing"):
        monkeypatch.setenv("BENCHSPEC_STORE", store)
        seen = Recorder()
        path = measure(tmp_path, store[:4], seen)
        (told,) = [event for event in seen.events if event.kind == "run.unindexed"]
        assert f"`benchspec index {path}` loads it later" in told.message
        assert "hidden" not in told.message
        assert seen.kinds()[-1] == "run.reported"
        assert benchspec.load(path).run.complete
    with pytest.raises(UsageError):
        benchspec.list_()
    monkeypatch.setenv("BENCHSPEC_STORE", kept)
    assert benchspec.index(path).count == 1


def test_what_changed_can_fail_a_gate(tmp_path: Path) -> None:
    levels = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 150.0]
    RunIndex().put_all(entry(number, (value,)) for number, value in enumerate(levels))
    found = benchspec.history("counted")
    assert [(line, point.run.run_id) for line, point in found.alarming] == [
        ("a, count, rate", "counted-00006")
    ]
    with pytest.raises(GateFailed, match="a, count, rate"):
        found.require_steady()
    spec = write_spec(tmp_path / "spec.yaml", spec_document(tmp_path / "counter"))
    (tmp_path / "acks.yaml").write_text(
        "acks: [{run: counted-00006, reason: new disks, until: 2999-01-01}]"
    )
    benchspec.history(spec).require_steady()
    with pytest.raises(UsageError, match="no run"):
        benchspec.history("stranger")


def test_a_run_is_removed_with_its_rows(tmp_path: Path) -> None:
    path = measure(tmp_path)
    with pytest.raises(UsageError, match="nobody agreed"):
        benchspec.rm(path, consent=lambda line: str(path) not in line)
    assert path.is_dir()
    assert benchspec.rm(path).unindexed is None
    assert list(path.parent.iterdir()) == []
    assert benchspec.list_().runs == ()


def test_what_is_no_run_or_still_needed_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = measure(tmp_path)
    with Journal(path / "journal.ndjson"), pytest.raises(Locked):
        benchspec.rm(path)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(UsageError, match="link"):
        benchspec.rm(tmp_path / "link")
    with pytest.raises(UsageError, match=r"manifest\.json"):
        benchspec.rm(tmp_path)
    with pytest.raises(UsageError, match="no run of this id"):
        benchspec.rm("counted-none")
    with monkeypatch.context() as there:
        there.chdir(path / "raw")
        with pytest.raises(UsageError, match="where you are"):
            benchspec.rm(path)
    assert path.is_dir()
    fresh = make_run(tmp_path, spec_document(tmp_path / "counter", method=METHOD), "fresh")
    with Journal(fresh.journal_path) as journal:
        journal.append("run.started", {"manifest": fresh.manifest_sha256()})
    with pytest.raises(UsageError, match="cut short"):
        benchspec.rm(fresh.path)
    benchspec.clean(fresh.path)
    benchspec.rm(fresh.path)
    assert not fresh.path.exists()


def test_rows_that_cannot_be_removed_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = measure(tmp_path)
    monkeypatch.setenv("BENCHSPEC_STORE", "postgresql+psycopg://bench@127.0.0.1:1/none")
    told = benchspec.rm(path).unindexed
    assert told is not None
    assert "still in the index" in told
    assert not path.exists()
    with pytest.raises(StorageError):
        benchspec.show("an-id")
