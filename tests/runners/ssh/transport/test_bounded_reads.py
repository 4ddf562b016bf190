"""Files that a spec names are read when they are small and regular."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchspec.runners.ssh.transport.bounded_reads import LARGEST, read_small


def test_a_regular_file_is_read_whole_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"abc\0")
    assert read_small(path) == b"abc\0"
    with path.open("wb") as file:
        file.truncate(LARGEST)
    assert len(read_small(path)) == LARGEST


def test_what_is_larger_is_refused_with_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(OSError, match="larger than 16 MiB") as refused:
        read_small(path)
    assert refused.value.filename == str(path)


def test_pipes_and_devices_are_refused_without_waiting_for_them(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(OSError, match="no regular file"):
            read_small(path)


def test_the_null_device_is_an_empty_file() -> None:
    assert read_small(Path(os.devnull)) == b""
