"""What is no regular file is refused at once, and a journal's record decodes or is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from benchspec.engine.model.errors import IntegrityError
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.journal import parse_line
from benchspec.engine.store.read_run import read_run
from benchspec.engine.store.regular import read_regular

OLD_RUN = Path(__file__).parents[2] / "data" / "old-runs" / "finished"


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
@pytest.mark.parametrize("name", ["spec.yaml", "resolved.json", "plan.json", "journal.ndjson"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, name: str, kind: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(OLD_RUN, run)
    file = run / name
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(IntegrityError) as refused:
        read_run(run)
    assert refused.value.where == str(file)


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a\x00b" * 100_000)
    assert read_regular(file) == b"a\x00b" * 100_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"}",
        b'"n":1}',
        b'"x":' + b"[" * 200_000,
        b'"x":' + b"9" * 10_000 + b"}",
        b'"x":"\xff"}',
        b'"n":"1","v":1,"type":"a","at":0,"mono":0,"boot":"b","data":{}}',
        b'"n":1,"v":1,"type":[],"at":0,"mono":0,"boot":"b","data":{}}',
        b'"n":1,"v":1,"type":"a","at":"0","mono":0,"boot":"b","data":{}}',
        b'"n":1,"v":1,"type":"a","at":NaN,"mono":0,"boot":"b","data":{}}',
        b'"n":1,"v":1,"type":"a","at":1' + b"0" * 400 + b',"mono":0,"boot":"b","data":{}}',
        b'"n":1,"v":1,"type":"a","at":0,"mono":0,"boot":"b","data":[]}',
    ],
)
def test_a_well_summed_line_that_is_no_record_is_refused(body: bytes) -> None:
    digits = hashlib.sha256(body).hexdigest()[:16].encode()
    with pytest.raises(IntegrityError):
        parse_line(b'{"sum":"' + digits + b'",' + body, where="journal:1")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"format":' + "9" * 10_000 + "}"])
def test_a_manifest_that_cannot_be_decoded_is_refused(tmp_path: Path, text: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(OLD_RUN, run)
    (run / "manifest.json").write_text(text)
    with pytest.raises(IntegrityError):
        RunDirectory.open(run)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("name", None),
        ("targets", {"a": {"runner": 7}}),
        ("workloads", {"one": {"title": "no tool"}}),
        ("workloads", {"one": {"tool": "fio", "path": "nowhere"}}),
    ],
)
def test_a_document_that_is_no_resolved_spec_is_refused(
    tmp_path: Path, part: str, value: object
) -> None:
    run = shutil.copytree(OLD_RUN, tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    document = json.loads((run / "resolved.json").read_text())
    if value is None:
        del document[part]
    else:
        document[part] = value
    data = json.dumps(document).encode()
    (run / "resolved.json").write_bytes(data)
    manifest["sha256"]["resolved.json"] = hashlib.sha256(data).hexdigest()
    (run / "manifest.json").write_text(json.dumps(manifest))
    journal = (run / "journal.ndjson").read_bytes().splitlines(keepends=True)
    begun = json.loads(journal[0])
    begun["data"]["manifest"] = hashlib.sha256((run / "manifest.json").read_bytes()).hexdigest()
    del begun["sum"]
    body = json.dumps(begun).encode()[1:]
    journal[0] = b'{"sum":"' + hashlib.sha256(body).hexdigest()[:16].encode() + b'",' + body + b"\n"
    (run / "journal.ndjson").write_bytes(b"".join(journal))
    with pytest.raises(IntegrityError) as refused:
        read_run(run, verify=False)
    assert refused.value.where == str(run / "resolved.json")
