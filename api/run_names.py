"""A run by its directory, or by its id where the index knows it."""

from __future__ import annotations

from pathlib import Path

from ..engine.model.errors import UsageError
from .settings import File


def find_directory(run: File) -> Path:
    """The directory of ``run``: the path itself if anything is there, else where the index says
    that the run of this id is.

    Raises:
        UsageError: neither.
        StorageError: the index cannot be used.
    """
    path = Path(run)
    if path.exists() or path.is_symlink() or len(path.parts) != 1:
        return path
    from ..engine.history.index import RunIndex

    store = RunIndex()
    found = [one.path for one in store.runs() if one.run_id == str(run)]
    if not found:
        raise UsageError(
            "found no such directory, and no run of this id in the index",
            where=str(run),
            remedy="`benchspec list` shows the runs that the index has",
        )
    return Path(found[0])
