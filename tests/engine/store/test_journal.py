"""The journal: durable, ordered, and honest about every byte."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from benchspec.engine.model.errors import IntegrityError, Locked, StorageError
from benchspec.engine.store.journal import Journal, read_records


def write(path: Path, count: int) -> list[bytes]:
    """A journal of ``count`` records; returns its lines."""
    with Journal(path) as journal:
        for number in range(count):
            journal.append("trial.finished", {"text": f"Käse {number}", "value": number / 3})
    return path.read_bytes().splitlines(keepends=True)


def test_records_come_back_in_order_with_their_clocks(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    write(path, 3)
    records, used = read_records(path)
    assert [r.n for r in records] == [1, 2, 3]
    assert [r.data["value"] for r in records] == [0.0, 1 / 3, 2 / 3]
    assert records[0].mono <= records[1].mono <= records[2].mono
    assert records[0].boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert used == path.stat().st_size


def test_reopening_goes_on_with_the_next_number(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    write(path, 2)
    write(path, 2)
    assert [r.n for r in read_records(path)[0]] == [1, 2, 3, 4]


def test_truncation_at_every_byte_loses_at_most_the_last_record(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    lines = write(path, 4)
    whole = b"".join(lines)
    ends = [sum(map(len, lines[: i + 1])) for i in range(len(lines))]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        complete = sum(
            end - 1 <= size for end in ends
        )  # a record without its newline is still whole
        assert len(read_records(path)[0]) == complete
    for size in (0, 1, ends[0] - 1, ends[0], ends[0] + 1, ends[2] - 1, ends[2] + 40):
        path.write_bytes(whole[:size])
        with Journal(path) as journal:
            expected = len(journal.records) + 1
            assert journal.append("after").n == expected
        assert len(read_records(path)[0]) == expected


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    whole = b"".join(write(path, 3))
    last_newline = len(whole) - 1
    for position in range(len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 1
        path.write_bytes(flipped)
        if position == last_newline:
            continue  # the newline behind the last record: its bytes are all there, and verify
        with pytest.raises(IntegrityError):
            read_records(path)


def test_a_missing_record_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    lines = write(path, 3)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(IntegrityError, match="found record 3, expected 2"):
        read_records(path)


def test_another_format_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.ndjson"
    monkeypatch.setattr("benchspec.engine.store.journal.FORMAT_VERSION", 99)
    write(path, 1)
    monkeypatch.undo()
    with pytest.raises(IntegrityError, match="format 99, expected 1"):
        read_records(path)


def test_there_is_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    with Journal(path):
        with pytest.raises(Locked, match="another benchspec process") as caught:
            Journal(path)
        assert f"(pid {os.getpid()})" in str(caught.value) or not is_told(path)
    Journal(path).close()


def is_told(path: Path) -> bool:
    """Whether this machine tells who has locked a file: some file systems have another device
    number there than stat(2) says.
    """
    found = path.stat()
    return (
        f" {os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino} "
        in Path("/proc/locks").read_text()
    )


def test_a_writer_that_was_suspended_is_told_as_one(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    holder = (
        "import fcntl, os, signal, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX);"
        " os.kill(os.getpid(), signal.SIGSTOP)"
    )
    with subprocess.Popen([sys.executable, "-c", holder, str(path)]) as suspended:
        try:
            os.waitid(os.P_PID, suspended.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            with pytest.raises(Locked) as caught:
                Journal(path)
            assert f"(pid {suspended.pid}, which is suspended)" in str(caught.value) or not is_told(
                path
            )
        finally:
            suspended.kill()


def test_opening_a_corrupt_journal_releases_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    path.write_bytes(b"nonsense\n")
    for _ in range(2):
        with pytest.raises(IntegrityError):
            Journal(path)


def test_a_directory_without_a_journal_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot read"):
        read_records(tmp_path / "none")
    with pytest.raises(StorageError, match="cannot open"):
        Journal(tmp_path / "no" / "journal.ndjson")


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from benchspec.engine.model.errors import StorageError
from benchspec.engine.store.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    while True:
        journal.append("x", {"text": "y" * 100})
except StorageError as error:
    print(error)
"""


def test_a_full_file_system_is_a_typed_error_and_loses_nothing(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes the kernel cut the write short, as a full disk does."""
    assert resource.RLIMIT_FSIZE
    path = tmp_path / "journal.ndjson"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    assert "cannot append to the journal" in done.stdout
    records, used = read_records(path)
    assert len(records) >= 3
    assert used == path.stat().st_size
