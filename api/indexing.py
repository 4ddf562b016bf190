"""The index of runs, filled from run directories. Everything is in the directories: an index can be
thrown away and made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..engine.history.entry import Entry, make_entry
from ..engine.model.errors import BenchspecError, UsageError
from ..engine.store.directory import RunDirectory
from ..engine.store.manifest import MANIFEST
from ..engine.store.read_run import read_run
from .reporting import analyse_run
from .settings import RUNS, File


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """How many runs were loaded into which index, and the directories that were left out, with the
    reason.
    """

    count: int
    place: str
    skipped: Mapping[str, str]

    def to_json(self) -> dict[str, object]:
        """What `benchspec index --json` prints."""
        return {"count": self.count, "index": self.place, "skipped": dict(self.skipped)}


def index(*directories: File, rebuild: bool = False) -> Indexed:
    """Load run directories, or all in folders of such, into the index; none: those in ``runs``. A
    run that is there already is loaded anew. ``rebuild``: what else is in the index goes.

    The index is in the user's state directory, or where BENCHSPEC_STORE says.

    Raises:
        UsageError: no such folder, or BENCHSPEC_STORE names no database.
        StorageError: the index cannot be used; nothing in it was changed.
    """
    from ..engine.history.index import RunIndex

    paths = list(dict.fromkeys(p for one in directories or (RUNS,) for p in _found(Path(one))))
    skipped: dict[str, str] = {}
    store = RunIndex()
    count = store.put_all(_entries(paths, skipped), alone=rebuild)
    return Indexed(count=count, place=store.place, skipped=skipped)


def index_run(run: Path) -> str | None:
    """Load a run that has ended. Where the index cannot be used nothing happens: the results are
    safe in the directory, and what is returned says how they are loaded later.
    """
    try:
        from ..engine.history.index import RunIndex

        RunIndex().put(_entry(run))
    except (BenchspecError, ImportError) as error:  # a Python that was built without SQLite
        said = error.headline if isinstance(error, BenchspecError) else error
        return (
            f"the run is not in the index ({said}); its results are safe, and"
            f" `benchspec index {run}` loads it later"
        )
    return None


def _found(given: Path) -> list[Path]:
    if (given / MANIFEST).is_file():
        return [given]
    if not given.is_dir():
        raise UsageError(
            "found no such folder",
            where=str(given),
            remedy="name run directories, or the folder that holds them",
        )
    return sorted(manifest.parent for manifest in given.glob(f"*/{MANIFEST}"))


def _entries(paths: list[Path], skipped: dict[str, str]) -> Iterator[Entry]:
    for path in paths:
        try:
            if not RunDirectory.open(path).is_upkeep:
                yield _entry(path)
        except BenchspecError as error:
            skipped[str(path)] = error.message


def _entry(path: Path) -> Entry:
    run = read_run(path, verify=False)  # reports and `verify` check the raw files' sums
    return make_entry(path, run, analyse_run(run))
