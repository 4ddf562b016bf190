"""Bundles written, checked and unpacked. A bundle is from anybody: what is unpacked is regular
files below one private directory, of bounded size, each the one that bundle.json names.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..model.errors import IntegrityError, Locked, StorageError, UsageError
from ..store.directory import RunDirectory
from ..store.journal import NAME as JOURNAL
from .form import (
    END,
    HEAD,
    INDEX,
    SUFFIX,
    Packed,
    decode_index,
    encode_index,
    first_member,
    padding,
    read_stored,
    tar_head,
)

REPORT = "report"
"""Pages: made of the rest at any time, and not bundled."""
_CHUNK = 1 << 20
_LONGEST_HEAD = 64 << 20


def write_bundle(directory: RunDirectory, out: Path) -> int:
    """Write ``directory`` into the file ``out``, whole or not at all; return how many files are in
    it. The same files give the same bytes (with the same version of zlib).

    Raises:
        UsageError: ``out`` is there already, or lies in the directory.
        Locked: a process writes the run.
        IntegrityError: there is something else than files and folders in it.
        StorageError: it cannot be read or written.
    """
    if out.exists():
        raise UsageError("this file exists already", where=str(out), remedy="name another: --out")
    if out.resolve().is_relative_to(directory.path.resolve()):
        raise UsageError("this lies in the run directory", where=str(out), remedy="name another")
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with _quiet(directory), tempfile.TemporaryFile(dir=out.parent) as members:
            files = [_pack(directory.path, name, members) for name in _names(directory.path)]
            members.seek(0)
            with aside.open("xb") as bundle:
                bundle.write(encode_index(directory.run_id, files))
                while chunk := members.read(_CHUNK):
                    bundle.write(chunk)
                bundle.write(END)
                bundle.flush()
                os.fsync(bundle.fileno())
        aside.rename(out)
    except OSError as error:
        raise StorageError(
            f"cannot be bundled: {error.strerror}", where=error.filename or str(out)
        ) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()
    return len(files)


@contextmanager
def unpacked(bundle: Path) -> Generator[Path, None, None]:
    """The run directory that ``bundle`` holds, in a private directory that goes afterwards. Every
    sum is checked.

    Raises:
        UsageError: it holds more than may be unpacked.
        IntegrityError: a byte is not what was bundled; the file is named.
        StorageError: it cannot be read, or not unpacked.
    """
    with tempfile.TemporaryDirectory(prefix="benchspec-bundle-") as folder:
        # the name stands on pages and in messages
        target = Path(folder, bundle.name.removesuffix(SUFFIX) or "run")
        try:
            target.mkdir()
            _read(bundle, target)
        except OSError as error:
            said = f"cannot be unpacked: {error.strerror}"
            raise StorageError(said, where=str(bundle)) from error
        yield target


def check_bundle(bundle: Path) -> int:
    """Check every byte of ``bundle`` and write nothing; return how many files are in it. Raises as
    :func:`unpacked`.
    """
    try:
        return _read(bundle, None)
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror}", where=str(bundle)) from error


@contextmanager
def _quiet(directory: RunDirectory) -> Iterator[None]:
    """While nobody writes the run. Raises Locked."""
    try:
        descriptor = os.open(directory.journal_path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Locked(
            "another benchspec process is writing this run",
            where=str(directory.path / JOURNAL),
            remedy="wait for it to end",
        ) from error
    finally:
        os.close(descriptor)


def _names(root: Path) -> list[str]:
    """The files of a run directory, sorted; pages and what a write left half-done are none."""
    found = []
    for folder, folders, files in os.walk(root):
        below = Path(folder).relative_to(root)
        kept = [one for one in folders if not one.startswith(".")]
        folders[:] = [one for one in kept if below / one != Path(REPORT)]
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink() or (name in files and not path.is_file()):
                raise IntegrityError("found something else than a file", where=str(path))
        found += [str(below / name) for name in files if not name.startswith(".")]
    return sorted(name for name in found if name != INDEX)


def _pack(root: Path, name: str, members: IO[bytes]) -> Packed:
    """Write the member of one file."""
    path, begin = root / name, members.tell()
    size, own, packed = path.stat().st_size, hashlib.sha256(), hashlib.sha256()
    crc, length = 0, 0
    press = zlib.compressobj(9, zlib.DEFLATED, -15)

    def put(data: bytes) -> None:
        packed.update(data)
        members.write(data)

    put(HEAD)
    for part in _tarred(path, name, size, own):
        crc, length = zlib.crc32(part, crc), length + len(part)
        put(press.compress(part))
    put(press.flush() + crc.to_bytes(4, "little") + (length & 0xFFFFFFFF).to_bytes(4, "little"))
    return Packed(
        path=name,
        size=size,
        sha256=own.hexdigest(),
        packed_size=members.tell() - begin,
        packed_sha256=packed.hexdigest(),
    )


def _tarred(path: Path, name: str, size: int, own: hashlib._Hash) -> Iterator[bytes]:
    yield tar_head(name, size)
    left = size
    with path.open("rb") as stream:
        while chunk := stream.read(min(_CHUNK, left)):
            own.update(chunk)
            left -= len(chunk)
            yield chunk
    if left:
        raise IntegrityError("the file became shorter while it was read", where=str(path))
    yield padding(size)


def _read(bundle: Path, target: Path | None) -> int:
    """Check everything, and write files below ``target``. Returns how many there are."""
    with bundle.open("rb") as stream:
        files = decode_index(read_stored(_first(stream, bundle)))
        for file in files:
            _read_one(stream, file, bundle, None if target is None else target / file.path)
        if stream.read(len(END) + 1) != END:
            raise _differs(bundle, "the end of the archive")
    return len(files)


def _first(stream: IO[bytes], bundle: Path) -> bytes:
    head = b""
    while (length := first_member(head)) is None or length > len(head):
        chunk = stream.read(_CHUNK)
        head += chunk
        if not chunk or not head.startswith(HEAD) or len(head) > _LONGEST_HEAD:
            raise IntegrityError(
                "found no bundle that `benchspec bundle` wrote, or its list of files is damaged",
                where=f"{bundle}: {INDEX}",
                remedy="name a run directory or a bundle of one",
            )
    stream.seek(length)
    return head[:length]


def _read_one(stream: IO[bytes], file: Packed, bundle: Path, target: Path | None) -> None:
    """Check one file, and write it to ``target``. Raises IntegrityError."""
    begin, left, packed = stream.tell(), file.packed_size, hashlib.sha256()
    while left and (chunk := stream.read(min(_CHUNK, left))):
        packed.update(chunk)
        left -= len(chunk)
    if left or packed.hexdigest() != file.packed_sha256:
        raise _differs(bundle, file.path)
    stream.seek(begin)
    own, size = hashlib.sha256(), 0
    with contextlib.ExitStack() as stack:
        out = None
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            out = stack.enter_context(target.open("xb"))
        for part in _content(stream, file, bundle):
            own.update(part)
            size += len(part)
            if out is not None:
                out.write(part)
    if size != file.size or own.hexdigest() != file.sha256:
        raise _differs(bundle, file.path)


def _content(stream: IO[bytes], file: Packed, bundle: Path) -> Iterator[bytes]:
    """What the file holds, between its tar head and its padding, which must be as they are
    written.
    """
    head, tail = tar_head(file.path, file.size), padding(file.size)
    left, before, content = file.packed_size, b"", file.size
    press = zlib.decompressobj(wbits=31)
    rest = b""
    while not press.eof:
        if not rest and left:
            rest = stream.read(min(_CHUNK, left))
            left -= len(rest)
        try:
            part = press.decompress(rest, _CHUNK)
        except zlib.error as error:
            raise _differs(bundle, file.path) from error
        if not part and not press.unconsumed_tail and not left:
            break
        rest = press.unconsumed_tail
        if len(before) < len(head):
            before, part = (before + part)[: len(head)], (before + part)[len(head) :]
            if not head.startswith(before):
                raise _differs(bundle, file.path)
        own, part = part[:content], part[content:]
        content -= len(own)
        if not tail.startswith(part):
            raise _differs(bundle, file.path)
        tail = tail[len(part) :]
        yield own
    if before != head or tail or left or rest or press.unused_data or not press.eof:
        raise _differs(bundle, file.path)


def _differs(bundle: Path, name: str) -> IntegrityError:
    return IntegrityError(
        "the file is not what was bundled (its sha256 differs)",
        where=f"{bundle}: {name}",
        remedy="get the bundle again from where it was made",
    )
