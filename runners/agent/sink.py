"""Copies of results on the host of the role data-sink: into a directory that `clean` does not
remove, each verified by its hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...engine.model.errors import RunFailed
from .agent import checked_file
from .door import Door, ask
from .scripts import own

BATCH = 32 * 1024 * 1024
"""So many bytes (and one file more) are sent with one script."""

_FILES = 500
_TIMEOUT_S = 900.0


def deposit(door: Door, workdir: str, run_id: str, files: Mapping[str, Path]) -> str:
    """Copy ``files`` (by their name there) below ``workdir`` (or the HOME there); return the
    directory.

    Raises:
        RunFailed: the sha256 of a copy is not that of the file, or there is no room.
    """
    directory = ""
    for batch in _batches(files):
        directory = _copy(door, [workdir, run_id], batch)
    return directory


def _copy(door: Door, arguments: list[str], batch: Sequence[tuple[str, bytes]]) -> str:
    offset = 0
    for name, data in batch:
        arguments += [checked_file(name, "the data sink"), str(offset), str(len(data))]
        offset += len(data)
    given = b"".join(data for _, data in batch)
    said = ask(door, own("deposit"), arguments, given, timeout_s=_TIMEOUT_S)
    directory, *sums = said.decode("utf-8", "replace").split("\n")
    for (name, data), line in zip(batch, [*sums, *[""] * len(batch)], strict=False):
        if line.partition(" ")[0] != hashlib.sha256(data).hexdigest():
            raise RunFailed(
                f"the copy of {name} is not what was sent (its sha256 differs)",
                where=door.at(directory),
                remedy="look at the host's disk; the results are whole in the run directory",
            )
    return directory


def _batches(files: Mapping[str, Path]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for name, path in files.items():
        batch.append((name, path.read_bytes()))
        size += len(batch[-1][1])
        if size >= BATCH or len(batch) >= _FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
