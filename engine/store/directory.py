"""The directory of a run: manifest, spec, plan, journal and raw bytes. What is written here is
durable before it is relied upon.

manifest.json   what this run is (format, versions, seed, overrides)      resolved.json  the spec
after variables and --set
spec.yaml       the spec's own bytes                                       plan.json
experiments and order
page.md.j2      the spec's page template, if it names one                  scripts/       the script
files of its lifecycle steps
journal.ndjson  every record (engine/store/journal.py)                           raw/NNNNNN/    what
trial NNNNNN printed, and trial.json about it
raw-steps/      what each try of a lifecycle step printed
known_hosts     the keys of hosts that were taken on faith (--accept-new-host-keys): they bind when
the run goes on or is cleaned
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any

from ..model.errors import IntegrityError, StorageError, UsageError
from ..model.results import RawFile
from . import journal
from .manifest import FORMAT, MANIFEST, PLAN, RESOLVED, SCRIPTS, SPEC, TEMPLATE, add_sums
from .regular import read_regular

RAW, RAW_STEPS, KNOWN_HOSTS = "raw", "raw-steps", "known_hosts"
DESCRIPTION, MONITOR = "trial.json", "monitor.json"
OWN_RAW = frozenset({DESCRIPTION, MONITOR})
"""Files of a trial that benchspec wrote; the others are what its programs wrote."""
_MOST_AT_ONCE = 8


def _storage_error(action: str, path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot {action}: {error.strerror or error}",
        where=str(path),
        remedy="free some space or choose a directory you may write to with --out",
    )


def _fsync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_file(path: Path, data: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` into ``directory`` and make them durable, their names included.

    All are synced at the same time, so that they share the file system's commits: one after the
    other takes two to five times as long.
    """
    with contextlib.ExitStack() as stack:
        unsynced = []
        for name, data in files.items():
            stream = stack.enter_context((directory / name).open("wb"))
            stream.write(data)
            stream.flush()
            if data:  # an empty file is no more than its name, which the directory keeps
                unsynced.append(stream.fileno())
        names = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, names)
        synced = [_syncers().submit(os.fsync, descriptor) for descriptor in unsynced]
        try:
            os.fsync(names)
        finally:
            wait(synced)  # before anything is closed
        for one in synced:
            one.result()


@cache
def _syncers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="sync")


def write_durably(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` whole or not at all: temporary file, fsync, rename.

    Raises:
        StorageError: full disk, missing rights.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        _write_file(temporary, data)
        temporary.rename(path)
        _fsync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise _storage_error("write", path, error) from error


def to_json(value: object) -> bytes:
    """Readable, stable JSON: sorted keys, two spaces, UTF-8, newline at the end."""
    return (
        json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()


class RunDirectory:
    """One run directory. Creating it writes its fixed files; opening it checks that it is one."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        manifest: Mapping[str, Any],
        spec: bytes,
        resolved: Mapping[str, Any],
        plan: Mapping[str, Any],
        template: bytes | None = None,
        scripts: Mapping[str, bytes] | None = None,
    ) -> RunDirectory:
        """Make the directory and its fixed files; the manifest comes last, so a directory with a
        manifest is whole.

        ``scripts`` are those of lifecycle steps by their path beside the spec; the manifest gets
        the sums of all but the template.

        Raises:
            UsageError: something is there already.
            StorageError: it cannot be written.
        """
        try:
            path.mkdir(parents=True)
            (path / RAW).mkdir()
            for name in scripts or {}:
                (path / SCRIPTS / name).parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise UsageError(
                "the run directory exists already",
                where=str(path),
                remedy="name another with --out, or use `benchspec resume`",
            ) from error
        except OSError as error:
            raise _storage_error("create the run directory", path, error) from error
        fixed = {
            SPEC: spec,
            RESOLVED: to_json(resolved),
            PLAN: to_json(plan),
            **({} if template is None else {TEMPLATE: template}),
            **{f"{SCRIPTS}/{name}": data for name, data in (scripts or {}).items()},
        }
        whole = add_sums(manifest, fixed)
        try:
            for name, data in {**fixed, MANIFEST: to_json(whole)}.items():
                write_durably(path / name, data)
        except StorageError:
            shutil.rmtree(
                path, ignore_errors=True
            )  # half a run directory could be neither run nor resumed
            raise
        return cls(path, whole)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open an existing run directory.

        Raises:
            UsageError: this is no run directory.
            IntegrityError: its manifest does not read, or the spec beside it is not the one that
                was run.
        """
        if not os.path.isfile(path / MANIFEST):
            raise UsageError(
                "found no manifest.json",
                where=str(path),
                remedy="name a directory that `benchspec run` made",
            )
        manifest = _read_json(path / MANIFEST)
        if manifest.get("format") != FORMAT or not isinstance(manifest.get("run_id"), str):
            raise IntegrityError(
                f"found run format {manifest.get('format')!r}, expected {FORMAT!r} and a run id",
                where=str(path / MANIFEST),
            )
        if "spec_sha256" in manifest:
            _verified(path / SPEC, manifest["spec_sha256"])
        return cls(path, manifest)

    def exists(self) -> bool:
        """Whether it is still there: a run may be deleted while it is carried out."""
        return os.path.isfile(self.path / MANIFEST)

    def manifest_sha256(self) -> str:
        """The sum of the manifest's bytes. It is the journal's first word, and the manifest has the
        sums of the other fixed files.
        """
        return hashlib.sha256((self.path / MANIFEST).read_bytes()).hexdigest()

    @property
    def run_id(self) -> str:
        """The run's id."""
        return str(self.manifest["run_id"])

    @property
    def is_upkeep(self) -> bool:
        """Whether it keeps what `up` or `run --keep` brought up, and measures nothing."""
        return self.manifest.get("purpose") == "up"

    @property
    def journal_path(self) -> Path:
        """Where the journal is."""
        return self.path / journal.NAME

    @property
    def known_hosts_path(self) -> Path:
        """Where host keys that were taken on faith are kept."""
        return self.path / KNOWN_HOSTS

    def resolved(self) -> Mapping[str, Any]:
        """The resolved spec."""
        return _read_json(self.path / RESOLVED, self.manifest.get("sha256", {}).get(RESOLVED))

    def plan(self) -> Mapping[str, Any]:
        """The plan as JSON."""
        return _read_json(self.path / PLAN, self.manifest.get("sha256", {}).get(PLAN))

    @property
    def template(self) -> Path | None:
        """The page template that the spec named when the run was made; None when it named none."""
        path = self.path / TEMPLATE
        return path if path.is_file() else None

    def script(self, name: str) -> bytes:
        """The script ``name`` as it was when the run was made. Raises IntegrityError when it is
        gone or not what was written.
        """
        path = self.path / SCRIPTS / name
        return _verified(path, self.manifest.get("sha256", {}).get(f"{SCRIPTS}/{name}"))

    def raw_directory(self, sequence: int) -> Path:
        """Where trial ``sequence`` keeps its raw files."""
        return self.path / RAW / f"{sequence:06d}"

    def has_raw(self) -> bool:
        """Whether any trial left raw files, whatever the journal says."""
        raw = self.path / RAW
        return raw.is_dir() and any(raw.iterdir())

    def store_raw(self, sequence: int, files: Mapping[str, bytes]) -> tuple[RawFile, ...]:
        """Write a trial's raw files durably, all or none, and return their sizes and sums. What an
        earlier attempt left half-written goes.

        Raises:
            StorageError: full disk, missing rights.
        """
        return _store(self.raw_directory(sequence), files)

    def store_step(self, name: str, files: Mapping[str, bytes]) -> tuple[RawFile, ...]:
        """Write what one try of a lifecycle step printed, as :meth:`store_raw` does. Raises
        StorageError.
        """
        try:
            (self.path / RAW_STEPS).mkdir(exist_ok=True)
        except OSError as error:
            raise _storage_error("store raw output", self.path / RAW_STEPS, error) from error
        return _store(self.path / RAW_STEPS / name, files)

    def load_raw(self, sequence: int) -> dict[str, bytes]:
        """Read a trial's raw files back; empty when there are none. Raises IntegrityError when they
        cannot be read.
        """
        directory = self.raw_directory(sequence)
        if not directory.is_dir():
            return {}
        return {entry.name: _verified(entry, None) for entry in sorted(directory.iterdir())}

    def verify_raw(self, file: RawFile) -> None:
        """Check one raw file against its record.

        Raises:
            IntegrityError: it is missing, no regular file of this directory, or a byte differs.
        """
        path = self.path / file.path
        try:
            resolved = path.resolve()
            if not resolved.is_relative_to(self.path.resolve()) or (
                resolved.exists() and not resolved.is_file()
            ):
                raise IntegrityError(
                    f"found {file.path!r}, expected a regular file of this directory",
                    where=str(self.path),
                    remedy="restore the journal and the raw files from a copy",
                )
            data = read_regular(resolved)
        except OSError as error:
            raise IntegrityError(
                f"a raw file cannot be read: {error.strerror}",
                where=str(path),
                remedy="restore it from a copy",
            ) from error
        found = hashlib.sha256(data).hexdigest()
        if found != file.sha256:
            raise IntegrityError(
                f"found sha256 {found}, expected {file.sha256}: the file is not what was measured",
                where=str(path),
                remedy="restore it from a copy",
            )


def _store(final: Path, files: Mapping[str, bytes]) -> tuple[RawFile, ...]:
    """Write ``files`` into the directory ``final`` of a run, all or none."""
    temporary = final.with_name(f".{final.name}.tmp")
    try:
        for stale in (temporary, final):
            if stale.exists():
                shutil.rmtree(stale)
        temporary.mkdir()
        _write_files(temporary, files)
        temporary.rename(final)
        _fsync_directory(final.parent)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise _storage_error("store raw output", final, error) from error
    return tuple(
        _describe(f"{final.parent.name}/{final.name}/{name}", data)
        for name, data in sorted(files.items())
    )


def _describe(path: str, data: bytes) -> RawFile:
    return RawFile(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())


def _verified(path: Path, sha256: str | None) -> bytes:
    """The bytes of a fixed file. Raises IntegrityError when they are not those that were
    written.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise IntegrityError(
            f"cannot be read: {error}", where=str(path), remedy="restore it from a copy"
        ) from error
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise IntegrityError(
            "the file is not what was written (its sha256 differs)",
            where=str(path),
            remedy="restore it from a copy",
        )
    return data


def _read_json(path: Path, sha256: str | None = None) -> Mapping[str, Any]:
    data = _verified(path, sha256)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(
            f"cannot be read: {error}", where=str(path), remedy="restore it from a copy"
        ) from error
    if not isinstance(value, dict):
        raise IntegrityError("found no JSON object", where=str(path))
    return value
