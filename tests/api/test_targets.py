"""Targets brought up, used by runs, kept and taken down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import benchspec
from benchspec.api.notices import KEPT
from benchspec.engine.model.errors import RunFailed, UsageError
from tests.engine.execution.bench import Recorder, spec_document, write_spec


def agree(lines: object) -> bool:
    return True


def document(folder: Path, **changes: Any) -> dict[str, Any]:
    """Target a is a file that a step makes and another removes."""
    made = spec_document(
        folder / "counter", method={"sessions": 1, "trials": 1, "warmups": 0}, **changes
    )
    made["targets"]["a"]["lifecycle"] = {
        "bootstrap": [{"name": "make", "run": ["touch", str(folder / "up")]}],
        "destroy": [{"name": "unmake", "run": ["rm", str(folder / "up")]}],
    }
    return made


def test_what_is_up_is_used_and_taken_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = write_spec(tmp_path / "s.yaml", document(tmp_path))
    runs = tmp_path / "runs"
    with pytest.raises(UsageError, match="nobody agreed"):
        benchspec.up(spec, runs=runs)
    assert not runs.exists()
    kept = benchspec.up(spec, runs=runs, consent=agree)
    assert kept is not None
    assert (tmp_path / "up").exists()
    assert benchspec.up(spec, runs=runs, consent=agree) == kept
    benchspec.run(spec, out=tmp_path / "run", runs=runs, consent=agree)
    assert (tmp_path / "up").exists()
    skipped = benchspec.clean_all(runs).skipped
    assert "left standing on purpose" in skipped[str(kept)]
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "stranger"))
        with pytest.raises(UsageError, match="nobody agreed"):
            benchspec.down(spec, runs=runs)
    (outcome,) = benchspec.down(kept).outcomes
    assert outcome.is_clean, "what was agreed to when it was brought up is not asked for again"
    assert not (tmp_path / "up").exists()
    assert benchspec.down(spec, runs=runs).outcomes == ()


def test_a_run_keeps_its_targets_when_it_is_told_to(tmp_path: Path) -> None:
    spec, runs = write_spec(tmp_path / "s.yaml", document(tmp_path)), tmp_path / "runs"
    watching = Recorder()
    benchspec.run(
        spec, out=tmp_path / "run", runs=runs, keep="always", consent=agree, observer=watching
    )
    (told,) = (event for event in watching.events if event.kind == KEPT)
    assert told.message.startswith("kept standing: a; ")
    benchspec.down(str(told.data["directory"]), consent=agree).require_clean()
    assert not (tmp_path / "up").exists()


def test_a_failed_run_says_what_it_kept(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "s.yaml", document(tmp_path, script="exit 3"))
    with pytest.raises(RunFailed) as failed:
        benchspec.run(
            spec, out=tmp_path / "run", runs=tmp_path / "runs", keep="failed", consent=agree
        )
    assert [note.partition(":")[0] for note in failed.value.__notes__] == [
        "page of what was measured",
        "kept standing",
    ]
    benchspec.down(spec, runs=tmp_path / "runs", consent=agree).require_clean()


def test_a_spec_without_lifecycles_has_nothing_to_bring_up(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "s.yaml", spec_document(tmp_path / "counter"))
    assert benchspec.up(spec, runs=tmp_path / "runs") is None
