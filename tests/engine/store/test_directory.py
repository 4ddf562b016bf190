"""The run directory: whole or not there, and every byte checked."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from benchspec.engine.model.errors import IntegrityError, StorageError, UsageError
from benchspec.engine.store.directory import RunDirectory, to_json, write_durably


def create(path: Path) -> RunDirectory:
    return RunDirectory.create(
        path,
        manifest={"run_id": "r-1"},
        spec=b"name: x\n",
        resolved={"name": "x"},
        plan={"order": []},
    )


def test_what_is_created_can_be_opened(tmp_path: Path) -> None:
    create(tmp_path / "a" / "run")
    directory = RunDirectory.open(tmp_path / "a" / "run")
    assert directory.run_id == "r-1"
    assert directory.resolved() == {"name": "x"}
    assert directory.plan() == {"order": []}
    assert (directory.path / "spec.yaml").read_bytes() == b"name: x\n"


def test_an_existing_directory_is_never_written_into(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        create(tmp_path)


def test_a_directory_without_manifest_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"manifest\.json"):
        RunDirectory.open(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"format": "other"}'])
def test_a_broken_manifest_is_an_integrity_error(tmp_path: Path, content: bytes) -> None:
    create(tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_bytes(content)
    with pytest.raises(IntegrityError):
        RunDirectory.open(tmp_path / "run")


def test_a_changed_plan_is_found(tmp_path: Path) -> None:
    directory = create(tmp_path / "run")
    (directory.path / "plan.json").write_bytes(to_json({"order": [1]}))
    with pytest.raises(IntegrityError, match="sha256 differs"):
        directory.plan()


def test_raw_files_come_back_byte_by_byte(tmp_path: Path) -> None:
    directory = create(tmp_path / "run")
    files = {"0-stdout": bytes(range(256)), "0-stderr": b""}
    described = directory.store_raw(3, files)
    assert directory.load_raw(3) == files
    assert [(f.path, f.size) for f in described] == [
        ("raw/000003/0-stderr", 0),
        ("raw/000003/0-stdout", 256),
    ]
    for file in described:
        directory.verify_raw(file)
    assert directory.load_raw(4) == {}


def test_a_flipped_or_missing_raw_byte_is_found(tmp_path: Path) -> None:
    directory = create(tmp_path / "run")
    (file,) = directory.store_raw(1, {"0-stdout": b"abc"})
    (directory.path / file.path).write_bytes(b"abd")
    with pytest.raises(IntegrityError, match="is not what was measured"):
        directory.verify_raw(file)
    (directory.path / file.path).unlink()
    with pytest.raises(IntegrityError, match="cannot be read"):
        directory.verify_raw(file)


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "raw/zero", "raw/pipe", "raw"])
def test_a_raw_file_is_a_regular_one_of_the_directory(path: str, tmp_path: Path) -> None:
    directory = create(tmp_path / "run")
    (file,) = directory.store_raw(1, {"0-stdout": b"abc"})
    (tmp_path / "secret").write_bytes(b"abc")
    (directory.path / "raw" / "zero").symlink_to("/dev/zero")
    os.mkfifo(directory.path / "raw" / "pipe")
    with pytest.raises(IntegrityError, match="expected a regular file of this directory"):
        directory.verify_raw(dataclasses.replace(file, path=path))


def test_half_written_raw_files_of_an_earlier_attempt_are_replaced(tmp_path: Path) -> None:
    directory = create(tmp_path / "run")
    (directory.path / "raw" / ".000001.tmp").mkdir()
    directory.store_raw(1, {"0-stdout": b"first"})
    directory.store_raw(1, {"0-stdout": b"second"})
    assert directory.load_raw(1) == {"0-stdout": b"second"}


def test_what_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    with pytest.raises(StorageError, match="cannot create"):
        create(blocked / "run")
    with pytest.raises(StorageError, match="cannot write"):
        write_durably(blocked / "x", b"")
    directory = create(tmp_path / "run")
    (directory.path / "raw").rmdir()
    with pytest.raises(StorageError, match="cannot store raw output"):
        directory.store_raw(1, {"a": b""})


def test_json_is_stable() -> None:
    assert to_json({"b": 1, "a": "ü"}) == '{\n  "a": "ü",\n  "b": 1\n}\n'.encode()
