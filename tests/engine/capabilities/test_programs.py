"""Programs of `command` workloads and of lifecycle steps."""

from __future__ import annotations

from pathlib import Path

from benchspec.api.planning import plan
from benchspec.engine.capabilities.model import Kind
from benchspec.engine.capabilities.programs import command_workloads
from tests.engine.execution.bench import spec_document, write_spec


def test_a_changed_file_of_a_command_is_another_capability(tmp_path: Path) -> None:
    sums = []
    for text in ("echo 1", "echo 2"):
        document = spec_document(tmp_path / "c", targets={"a": {"runner": "local"}})
        document.pop("compare")
        document["workloads"]["count"]["with"] |= {"files": {"x.sh": text}, "version": ["sh", "-V"]}
        spec = write_spec(tmp_path / "s.yaml", document)
        run, version = command_workloads(plan(spec).plan.experiments)
        assert (run.kind, version.kind) == (Kind.EXECUTES, Kind.EXECUTES)
        assert run.what.endswith("(beside the spec's files x.sh)")
        assert version.what == "a: sh -V  (for its version)"
        sums.append(run.sha256)
    assert None not in sums
    assert sums[0] != sums[1]


def test_a_step_is_told_with_the_sum_of_its_file(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "c", targets={"a": {"runner": "local"}})
    document.pop("compare")
    steps = {
        "bootstrap": [{"name": "up", "script": "up.sh"}],
        "ready": [{"name": "port", "wait": {"http": "http://example.org/"}}],
        "destroy": [{"name": "down", "run": ["rm", "-f", "x"]}],
    }
    document["targets"]["a"]["lifecycle"] = steps
    digests = []
    for text in ("echo 1", "echo 2"):
        (tmp_path / "up.sh").write_text(text)
        asked = plan(write_spec(tmp_path / "s.yaml", document)).capabilities()
        digests.append(asked.digest)
        assert [line.partition(" on ")[0] for line in asked] == [
            next(line for line in asked if "printf" in line).partition(" on ")[0],
            "a: bootstrap up",
            "a: destroy down",
            "a: ready port",
        ]
        assert asked.capabilities[-1].kind is Kind.LOADS
    assert digests[0] != digests[1]
