"""Copies of results on the host of the role data-sink: into a directory that `clean` does not remove, each verified by its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...engine.errors import RunFailed
from .host import Host
from .places import Places, checked_file

BATCH = 32 * 1024 * 1024
"""So many bytes (and one file more) are sent with one script."""

_FILES = 500
_TIMEOUT_S = 900.0

# $1 the directory to make things in ("": the user's home), $2 run id, then for each file: name, offset, size. The bytes of all come on standard
# input. They are put aside first, since only from a file can every `head` take a part without reading on. Prints the directory, then a sha256 per
# file
DEPOSIT_SCRIPT = r"""
umask 077
top=${1:-$HOME}/benchspec-results/$2
shift 2
mkdir -p -- "$top" && cd "$top" || exit 73
top=$(pwd -P)
cat >.incoming || { rm -f .incoming; exit 73; }
printf '%s\n' "$top"
while [ "$#" -gt 2 ]; do
    case $1 in */*) mkdir -p -- "./${1%/*}" || exit 73 ;; esac
    { tail -c "+$(($2 + 1))" .incoming | head -c "$3" >"./$1"; } 2>/dev/null
    sha256sum <"./$1" || exit 73
    shift 3
done
rm -f .incoming
"""


def deposit(host: Host, places: Places, files: Mapping[str, Path]) -> str:
    """Copy ``files`` (by their name there) to ``host``; return the directory.

    Raises:
        RunFailed: the sha256 of a copy is not that of the file, or there is no room.
    """
    directory = ""
    for batch in _batches(files):
        directory = _copy(host, places, batch)
    return directory


def _copy(host: Host, places: Places, batch: Sequence[tuple[str, bytes]]) -> str:
    arguments, offset = [places.workdir, places.run_id], 0
    for name, data in batch:
        arguments += [checked_file(name, "the data sink"), str(offset), str(len(data))]
        offset += len(data)
    said = host.ask(DEPOSIT_SCRIPT, arguments, b"".join(data for _, data in batch), timeout_s=_TIMEOUT_S).decode("utf-8", "replace")
    directory, *sums = said.split("\n")
    for (name, data), line in zip(batch, [*sums, *[""] * len(batch)], strict=False):
        if line.partition(" ")[0] != hashlib.sha256(data).hexdigest():
            raise RunFailed(
                f"the copy of {name} is not what was sent (its sha256 differs)",
                where=f"host {host.name}: {directory}",
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
