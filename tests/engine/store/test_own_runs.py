"""Whose run directory it is, and what was agreed to before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.own_runs import (
    has_consent,
    is_own,
    note_own,
    remember_consent,
    state_folder,
)
from tests.engine.execution.bench import make_run, spec_document


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_run_is_its_makers_until_its_manifest_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, spec_document(tmp_path / "counter"))
    assert is_own(run)
    moved = Path(shutil.move(run.path, tmp_path / "moved"))
    assert is_own(RunDirectory.open(moved))
    manifest = json.loads((moved / "manifest.json").read_text())
    (moved / "manifest.json").write_text(json.dumps({**manifest, "seed": 99}))
    assert not is_own(RunDirectory.open(moved))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "stranger"))
    assert not is_own(RunDirectory.open(moved))


def test_a_consent_is_for_one_spec_and_one_list(tmp_path: Path) -> None:
    remember_consent(tmp_path / "s.yaml", "sha256:1")
    assert has_consent(tmp_path / "x" / ".." / "s.yaml", "sha256:1")
    assert not has_consent(tmp_path / "s.yaml", "sha256:2")
    assert not has_consent(tmp_path / "t.yaml", "sha256:1")


def test_notes_are_private(tmp_path: Path, state: Path) -> None:
    remember_consent(tmp_path / "s.yaml", "sha256:1")
    assert state_folder() == state / "benchspec-user"
    modes = {path.stat().st_mode & 0o777 for path in state_folder().rglob("*")}
    assert modes == {0o700, 0o600}


def test_without_a_place_to_write_nothing_is_remembered_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    run = make_run(tmp_path, spec_document(tmp_path / "counter"))
    note_own(run)
    assert not is_own(run)
