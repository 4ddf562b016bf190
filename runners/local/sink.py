"""This host as a data sink: copies of a run's results, in a directory that no clean-up touches.

``$XDG_STATE_HOME/benchspec-results/RUN_ID`` or ``/var/tmp/benchspec-UID-results/RUN_ID``; with the
site's option ``workdir`` ``WORKDIR/benchspec-results/RUN_ID``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ...engine.model.errors import RunFailed
from ...engine.model.spec import Site
from .state import inside, make_private, state_root, storing


def sink_directory(site: Site, run_id: str) -> Path:
    """Where the results of ``run_id`` are kept."""
    workdir = site.options.get("workdir")
    root = (
        Path(workdir) / "benchspec-results"
        if isinstance(workdir, str)
        else state_root().with_name(f"{state_root().name}-results")
    )
    return root / run_id


def deposit(directory: Path, files: Mapping[str, Path]) -> None:
    """Copy ``files`` below ``directory``, each whole or not at all, and read the copies again.

    Raises:
        RunFailed: a copy is not what was copied.
        StorageError: there is no room, or the directory is not private.
    """
    make_private(directory.parent)
    make_private(directory)
    for name, source in files.items():
        path = inside(directory, name)
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_name(f".{path.name}.new")
            shutil.copyfile(source, new)
            with new.open("rb") as copied:
                os.fsync(copied.fileno())
            new.rename(path)
        if _sum(path) != _sum(source):
            raise RunFailed(
                "the copy is not what was copied (its sha256 differs)",
                where=str(path),
                remedy="look at the disk",
            )


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
