"""Cleaning: what was done, and what could not be."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchspec
from benchspec.engine.model.errors import Locked, UsageError
from benchspec.engine.store.journal import Journal


def test_a_finished_run_is_clean(finished: Path) -> None:
    cleanup = benchspec.clean(finished)
    assert cleanup.is_clean
    cleanup.require_clean()
    assert [outcome.path for outcome in cleanup.outcomes] == [str(finished)]


def test_a_run_that_is_held_is_not_cleaned(finished: Path) -> None:
    with Journal(finished / "journal.ndjson"):
        cleanup = benchspec.clean(finished)
        assert str(finished) in benchspec.clean_all(finished.parent).skipped
    assert not cleanup.is_clean
    assert cleanup.outcomes[0].problems == (str(cleanup.outcomes[0].error),)
    with pytest.raises(Locked):
        cleanup.require_clean()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        benchspec.clean_all(tmp_path / "none")
