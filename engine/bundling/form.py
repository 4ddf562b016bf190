"""The form of a bundle: a tar archive, compressed with gzip, of the same bytes for the same files.

Every file is a gzip member of its own, so that a damaged byte belongs to one file; ``gzip -d`` and
``tar xzf`` read them one after the other (RFC 1952, 2.2). The first is bundle.json: size and sum of
each file, and of its member. It and the end of the archive are stored and not compressed, so that
each of their bytes is known. Nothing of a bundle is parsed but bundle.json: what follows has to be
what it says.
"""

from __future__ import annotations

import hashlib
import json
import struct
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from ..model.errors import IntegrityError, UsageError

FORMAT = "benchspec-bundle/v1"
INDEX = "bundle.json"
SUFFIX = ".tar.gz"
HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""A gzip member's head: deflate, no name, no time, no system."""
MOST_FILES = 200_000
MOST_BYTES = 4 << 30
_LONGEST_INDEX = 64 << 20
_BLOCK, _STORED = 512, 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A file of a bundle: its path in the run directory, size and sum, and those of its gzip
    member.
    """

    path: str
    size: int
    sha256: str
    packed_size: int
    packed_sha256: str


def tar_head(path: str, size: int) -> bytes:
    """The head of a file in the archive: owned by nobody in particular, and of no time.

    Raises:
        UsageError: the path is too long for tar (256 bytes).
    """
    info = tarfile.TarInfo(path)
    info.size, info.mode = size, 0o644
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise UsageError(f"cannot be bundled: {error}", where=path) from error


def padding(size: int) -> bytes:
    """What follows a file of ``size`` in a tar archive."""
    return bytes(-size % _BLOCK)


def store(data: bytes) -> bytes:
    """``data`` as a gzip member that is not compressed."""
    blocks = []
    for at in range(0, max(len(data), 1), _STORED):
        part = data[at : at + _STORED]
        last = at + _STORED >= len(data)
        blocks.append(struct.pack("<BHH", last, len(part), len(part) ^ 0xFFFF) + part)
    return HEAD + b"".join(blocks) + struct.pack("<II", zlib.crc32(data), len(data))


END = store(bytes(2 * _BLOCK))
"""The end of the archive."""


def encode_index(run_id: str, files: Sequence[Packed]) -> bytes:
    """bundle.json as the first member of the bundle."""
    document = {"format": FORMAT, "run_id": run_id, "files": [asdict(file) for file in files]}
    data = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    return store(tar_head(INDEX, len(data)) + data + padding(len(data)))


def decode_index(content: bytes) -> tuple[Packed, ...]:
    """The files that bundle.json, with its tar head, names.

    Raises:
        IntegrityError: it is not what :func:`encode_index` writes, names a path outside of the run
            directory, or a file twice.
        UsageError: it names more than may be unpacked.
    """
    try:
        document = json.loads(content[_BLOCK:].rstrip(b"\0"))
        files = tuple(_packed(row) for row in document["files"])
        run_id = document["run_id"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged() from error
    if len(files) > MOST_FILES or sum(file.size for file in files) > MOST_BYTES:
        raise UsageError(
            f"found more than {MOST_FILES} files or {MOST_BYTES >> 30} GiB in it",
            remedy="if you trust it, unpack it yourself with `tar xzf` and name the directory",
        )
    paths = [file.path for file in files]
    if paths != sorted(set(paths)) or not all(map(_is_inside, paths)):
        raise _damaged()
    if not isinstance(run_id, str) or encode_index(run_id, files) != store(content):
        raise _damaged()
    return files


def first_member(head: bytes) -> int | None:
    """How long the stored member that ``head`` begins with is; None where it goes on beyond it."""
    at, last = len(HEAD), False
    while not last:
        if at + 5 > len(head):
            return None
        last, size = bool(head[at] & 1), int.from_bytes(head[at + 1 : at + 3], "little")
        at += 5 + size
    return at + 8


def read_stored(member: bytes) -> bytes:
    """What a stored member holds. Raises IntegrityError."""
    try:
        data = zlib.decompressobj(wbits=31).decompress(member, _LONGEST_INDEX)
    except zlib.error as error:
        raise _damaged() from error
    if store(data) != member:
        raise _damaged()
    return data


def sum_of(data: bytes) -> str:
    """The sha256 of ``data`` in hex."""
    return hashlib.sha256(data).hexdigest()


def _packed(row: Mapping[str, object]) -> Packed:
    file = Packed(**row)  # type: ignore[arg-type]
    texts, sizes = (file.path, file.sha256, file.packed_sha256), (file.size, file.packed_size)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise TypeError
    return file


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    plain = path.isprintable() and "\\" not in path and str(pure) == path
    return plain and not pure.is_absolute() and ".." not in pure.parts and path not in ("", ".")


def _damaged() -> IntegrityError:
    return IntegrityError(
        "found no list of files as benchspec writes it",
        where=INDEX,
        remedy="get the bundle again from where it was made",
    )
