"""A run in one file: bundled, checked, and read like a run directory."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..engine.bundling.bundle import check_bundle, unpacked, write_bundle
from ..engine.bundling.form import SUFFIX
from ..engine.model.errors import UsageError
from ..engine.store.directory import RunDirectory
from ..engine.store.manifest import SCRIPTS
from ..engine.store.read_run import read_run
from .run_names import find_directory
from .settings import File


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A run whose every byte is what was written: a directory, or a bundle with ``files`` files."""

    path: Path
    run_id: str
    files: int

    def to_json(self) -> dict[str, object]:
        """What `benchspec verify --json` prints."""
        return {"path": str(self.path), "run_id": self.run_id, "files": self.files}


def bundle(run: File, out: File | None = None) -> Path:
    """Write ``run``, a run directory or the id of a run in the index, into one file: ``out``, or
    its name with .tar.gz in the working directory. The same run gives the same bytes. Every sum is
    checked before.

    Raises:
        UsageError: no run directory, the file is there already, or its name is no bundle's.
        Locked: a process writes the run.
        IntegrityError: a stored byte is not what was written.
        StorageError: it cannot be read or written.
    """
    path = find_directory(run)
    read_run(path)
    target = Path(f"{path.resolve().name}{SUFFIX}") if out is None else Path(out)
    if not target.name.endswith(SUFFIX):
        raise UsageError(
            f"found the name {target.name!r}, expected one that ends with {SUFFIX}",
            remedy="other verbs know bundles by it",
        )
    write_bundle(RunDirectory.open(path), target)
    return target


def verify(run: File) -> Verified:
    """Check every sum of ``run``: a run directory, a bundle, or the id of a run in the index.

    Raises:
        UsageError: none of these.
        IntegrityError: a byte is not what was written; the file is named.
        StorageError: it cannot be read.
    """
    path = find_directory(run)
    files = check_bundle(path) if path.is_file() else 0
    with opened(path) as directory:
        data = read_run(directory)
        _check_scripts(directory)
        files = files or sum(one.is_file() for one in directory.rglob("*"))
    return Verified(path=path, run_id=data.run_id, files=files)


@contextmanager
def opened(run: File) -> Generator[Path, None, None]:
    """The directory of ``run``: itself, or that of a bundle, which goes afterwards. Raises as
    :func:`verify`.
    """
    path = Path(run)
    if not path.is_file():
        yield path
        return
    if not path.name.endswith(SUFFIX):
        raise UsageError(
            "found a file that is no bundle", where=str(path), remedy=f"bundles end with {SUFFIX}"
        )
    with unpacked(path) as directory:
        yield directory


def pages_of(run: File) -> Path:
    """Where the pages of ``run`` are written: ``report`` in its directory, ``NAME-report`` beside a
    bundle.
    """
    path = Path(run)
    if path.is_file():
        return path.with_name(f"{path.name.removesuffix(SUFFIX)}-report")
    return path / "report"


def _check_scripts(path: Path) -> None:
    """The files that reading a run does not need: scripts of steps. Raises IntegrityError."""
    directory = RunDirectory.open(path)
    for name in directory.manifest.get("sha256", {}):
        if name.startswith(f"{SCRIPTS}/"):
            directory.script(name.removeprefix(f"{SCRIPTS}/"))
