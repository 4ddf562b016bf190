"""The append-only journal of a run: NDJSON, one fsync per record, one writer.

Each line is a JSON object that begins with ``"sum"``: the first 16 hex digits of the sha256 of the
rest of the line, so that a flipped byte anywhere is found. ``n`` counts from 1 without gaps, ``v``
is the format version, ``at`` is Unix time, ``mono`` the monotonic clock of boot ``boot``. A last
line that is only the beginning of a record is a torn write and is dropped; anything else that does
not read is corruption.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..model.codec import encode
from ..model.errors import IntegrityError, Locked, StorageError
from .regular import read_regular

FORMAT_VERSION = 1
NAME = "journal.ndjson"
_PREFIX = b'{"sum":"'
_SUM_DIGITS = 16
_BODY_AT = len(_PREFIX) + _SUM_DIGITS + len(b'",')
_FIELDS: dict[str, tuple[type, ...]] = {
    "n": (int,),
    "type": (str,),
    "at": (int, float),
    "mono": (int, float),
    "boot": (str,),
    "data": (dict,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One journal record: its number, type, clocks and payload."""

    n: int
    type: str
    at: float
    mono: float
    boot: str
    data: dict[str, Any]


def read_boot_id() -> str:
    """The kernel's boot id, or ``unknown`` where it cannot be read: monotonic times are comparable
    within one boot only.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:_SUM_DIGITS].encode()


def format_record(record: Record) -> bytes:
    """The line of ``record``, newline included."""
    fields = {
        "n": record.n,
        "v": FORMAT_VERSION,
        "type": record.type,
        "at": record.at,
        "mono": record.mono,
        "boot": record.boot,
        "data": record.data,
    }
    body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()[
        1:
    ]
    return _PREFIX + _sum(body) + b'",' + body + b"\n"


def parse_line(line: bytes, *, where: str) -> Record:
    """Read one line (without its newline).

    Raises:
        IntegrityError: not a record, a wrong sum, or a format version this program does not know.
    """
    body = line[_BODY_AT:]
    if (
        not line.startswith(_PREFIX)
        or line[_BODY_AT - 2 : _BODY_AT] != b'",'
        or line[len(_PREFIX) : _BODY_AT - 2] != _sum(body)
    ):
        raise IntegrityError(
            "the record's bytes are not those that were written (its sum differs)",
            where=where,
            remedy="restore the file from a copy",
        )
    try:
        fields = json.loads(b"{" + body)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(
            f"the record does not read: {error}", where=where, remedy="restore the file from a copy"
        ) from error
    if "v" not in fields:
        raise _wrong_field("v", where)
    if fields["v"] != FORMAT_VERSION:
        raise IntegrityError(
            f"found journal format {fields['v']}, expected {FORMAT_VERSION}",
            where=where,
            remedy="use the benchspec version that wrote this run",
        )
    for name, types in _FIELDS.items():
        value = fields.get(name)
        if type(value) not in types or (float in types and not _is_finite(value)):
            raise _wrong_field(name, where)
    return Record(
        n=fields["n"],
        type=fields["type"],
        at=fields["at"],
        mono=fields["mono"],
        boot=fields["boot"],
        data=fields["data"],
    )


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


def _wrong_field(name: str, where: str) -> IntegrityError:
    return IntegrityError(
        f"the record's field {name!r} is missing or of another type",
        where=where,
        remedy="restore the file from a copy",
    )


def read_records(path: Path) -> tuple[list[Record], int]:
    """All records of the journal at ``path``, and how many bytes of the file they take (a torn tail
    lies behind).

    Raises:
        IntegrityError: a record in the middle does not read, numbers are missing, or this is no
            regular file.
        StorageError: the file cannot be read.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise StorageError(
            f"cannot read the journal: {error.strerror}",
            where=str(path),
            remedy="name a run directory",
        ) from error
    records: list[Record] = []
    used = 0
    for number, line, whole in _lines(content):
        where = f"{path}:{number}"
        if not whole and not _is_complete(line):
            break
        record = parse_line(line, where=where)
        if record.n != number:
            raise IntegrityError(
                f"found record {record.n}, expected {number}",
                where=where,
                remedy="restore the file from a copy",
            )
        records.append(record)
        used += len(line) + whole
    return records, used


def _lines(content: bytes) -> Iterator[tuple[int, bytes, bool]]:
    parts = content.split(b"\n")
    for number, line in enumerate(parts[:-1], start=1):
        yield number, line, True
    if parts[-1]:
        yield len(parts), parts[-1], False


def _is_complete(line: bytes) -> bool:
    """Whether an unterminated last line holds a whole JSON object (then it must verify), or is only
    the beginning of one.
    """
    try:
        json.JSONDecoder().raw_decode(line.decode(errors="surrogateescape"))
    except (ValueError, RecursionError):
        return False
    return True


class Journal:
    """The one writer of a run's journal. Holds an exclusive lock on the file for as long as it is
    open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = _open_locked(path)
        try:
            self._resume_at_last_record()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._boot = read_boot_id()

    def _resume_at_last_record(self) -> None:
        self.records, used = read_records(self.path)
        self._next = len(self.records) + 1
        size = os.fstat(self._descriptor).st_size
        if size > used:
            os.ftruncate(self._descriptor, used)
        if used and os.pread(self._descriptor, 1, used - 1) != b"\n":
            self._write(b"\n")

    def append(self, type_: str, payload: object = None) -> Record:
        """Write one record durably and return it.

        Raises:
            StorageError: the disk is full or the file cannot be written; the journal is as it was
                before.
        """
        data = {} if payload is None else encode(payload)
        record = Record(
            n=self._next,
            type=type_,
            at=time.time(),
            mono=time.monotonic(),
            boot=self._boot,
            data=data,
        )
        self._write(format_record(record))
        self._next += 1
        return record

    def _write(self, line: bytes) -> None:
        found = os.fstat(self._descriptor)
        before = found.st_size
        try:
            if not found.st_nlink:  # writing goes well, and nobody will ever read it
                raise OSError(errno.ENOENT, "it was removed while the run went on")
            if os.write(self._descriptor, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, before)
            raise StorageError(
                f"cannot append to the journal: {error.strerror}",
                where=str(self.path),
                remedy="free some space, then run `benchspec resume` on this directory",
            ) from error

    def close(self) -> None:
        """Release the lock (idempotent)."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _open_locked(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(
            f"cannot open the journal: {error.strerror}",
            where=str(path),
            remedy="choose a directory you may write to",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = _describe_holder(descriptor)
        os.close(descriptor)
        remedy = (
            "wait for it to end, or end"
            f" it{'; `kill -CONT PID` lets it go on' if 'suspended' in holder else ''}"
        )
        raise Locked(
            f"another benchspec process{holder} is writing this run", where=str(path), remedy=remedy
        ) from error
    return descriptor


def _describe_holder(descriptor: int) -> str:
    """Who holds the file's lock, and whether it was suspended; "" where this machine does not tell.
    Format: proc_locks(5), proc_pid_stat(5).
    """
    found = os.fstat(descriptor)
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        locks = [
            line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()
        ]
        pid = next(words[4] for words in locks if words[1] == "FLOCK" and words[5] == place)
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, StopIteration):
        return ""
    return f" (pid {pid}{', which is suspended' if state == b'T' else ''})"
