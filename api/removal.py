"""A run removed: its directory and its rows in the index."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..engine.importing.import_run import is_imported
from ..engine.lifecycle.kept_targets import remaining_targets
from ..engine.model.errors import BenchspecError, StorageError, UsageError
from ..engine.store.directory import RunDirectory
from ..engine.store.journal import Journal, Record
from ..engine.store.records import CLEANED, RUN_FINISHED, RUN_RESUMED, RUN_STARTED
from .run_names import find_directory
from .settings import File


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was removed; ``unindexed`` says why its rows are still in the index, if they are."""

    path: str
    run_id: str
    unindexed: str | None = None

    def to_json(self) -> dict[str, object]:
        """What `benchspec rm --json` prints."""
        return {"path": self.path, "run_id": self.run_id, "unindexed": self.unindexed}


def rm(run: File, *, consent: Callable[[str], bool] | None = None) -> Removed:
    """Remove ``run``, a run directory or the id of a run in the index, and its rows there.
    ``consent`` gets a line that says what would go; None: agreed. What a run that ended left on its
    sites is for :func:`benchspec.clean` to remove before.

    Raises:
        UsageError: no run directory, one that is still needed to clean up, or nobody agreed.
        Locked: a process writes it.
        IntegrityError: it is not what was written, so nobody knows what it left behind.
        StorageError: it cannot be removed.
    """
    path = find_directory(run)
    if path.is_symlink():
        raise UsageError("this is a link", where=str(path), remedy="name the directory itself")
    if Path.cwd().is_relative_to(path.resolve()):
        raise UsageError("this is where you are", where=str(path), remedy="go elsewhere first")
    directory = RunDirectory.open(path)
    with Journal(directory.journal_path) as journal:
        _require_clean(directory, journal.records)
        trials = f"{directory.run_id}: {path} with everything that was measured"
        if consent is not None and not consent(trials):
            raise UsageError("nobody agreed to remove it", where=str(path))
        aside = path.with_name(f".{path.name}.removed-{os.getpid()}")
        try:
            path.rename(aside)  # gone at once, whatever happens while its files go
            shutil.rmtree(aside)
        except OSError as error:
            raise StorageError(f"cannot be removed: {error.strerror}", where=str(path)) from error
    return Removed(path=str(path), run_id=directory.run_id, unindexed=_forget(directory.run_id))


def _require_clean(directory: RunDirectory, records: Sequence[Record]) -> None:
    """Raises UsageError when only this directory says what has to be removed elsewhere."""
    if not records or is_imported(directory):
        return
    if standing := sorted(remaining_targets(directory)):
        raise UsageError(
            f"{', '.join(standing)} still stands, and only this directory says how it is taken"
            " down",
            where=str(directory.path),
            remedy=f"run `benchspec down {directory.path}` first",
        )
    begun = max((r.n for r in records if r.type in (RUN_STARTED, RUN_RESUMED)), default=0)
    ended = any(
        r.n > begun and (r.type == RUN_FINISHED or (r.type == CLEANED and not r.data.get("left")))
        for r in records
    )
    if not ended:
        raise UsageError(
            "the run was cut short, and only this directory says what it may have left behind",
            where=str(directory.path),
            remedy=f"run `benchspec clean {directory.path}` first, or `benchspec resume`",
        )


def _forget(run_id: str) -> str | None:
    try:
        from ..engine.history.index import RunIndex

        RunIndex().remove(run_id)
    except BenchspecError as error:
        return f"its rows are still in the index: {error.headline}"
    return None
