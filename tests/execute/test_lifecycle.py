"""Lifecycles on this host, with programs that write down what was really carried out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.errors import DriftError, IntegrityError, Interrupted, RunFailed
from benchspec.engine.execute.run import find_problems
from benchspec.engine.load import load_spec
from benchspec.engine.plan import plan
from benchspec.engine.readback import read_run
from benchspec.engine.results import TrialStatus
from benchspec.engine.rundir import RunDirectory
from benchspec.workloads.registry import WORKLOADS
from tests.execute.bench import CATALOGUE, Recorder, count, execute, make_run, records, run_cli, spec_document, start_cli, write_spec

ONCE: Mapping[str, Any] = {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1}


def note(log: Path, text: str) -> list[str]:
    """The argv of a program that appends a line to ``log``."""
    return ["sh", "-c", 'echo "$1" >> "$0"', str(log), text]


def step(log: Path, name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "run": note(log, name)} | more


def document_with(tmp_path: Path, lifecycle: Mapping[str, Any], *, only_a: bool = True, **changes: Any) -> dict[str, Any]:
    """A spec whose target ``a`` has ``lifecycle``, and whose trials write ``trial`` into the same log."""
    script = 'echo "trial $TARGET" >> "$LOG"; printf x >> "$COUNTER"; echo "rate: 42.5"'
    document = spec_document(tmp_path / "counter", script=script, **{"method": ONCE, **changes})
    document["workloads"]["count"]["with"]["env"] |= {"LOG": str(tmp_path / "log"), "TARGET": "x"}
    document["targets"]["a"]["lifecycle"] = dict(lifecycle)
    if only_a:
        document["targets"].pop("b")
        document.pop("compare")
    return document


def lines(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


def step_results(path: Path) -> list[dict[str, Any]]:
    return [record.data for record in records(path) if record.type == "step.finished"]


def test_components_come_first_then_the_target_then_ready_and_down_again_the_other_way(tmp_path: Path) -> None:
    log = tmp_path / "log"
    own = {"bootstrap": [step(log, "own-1"), step(log, "own-2")], "ready": [step(log, "own-up")], "destroy": [step(log, "own-down")]}
    document = document_with(tmp_path, own)
    document["targets"]["a"]["components"] = [
        {"name": name, "lifecycle": {"bootstrap": [step(log, name)], "ready": [step(log, f"{name}-up")], "destroy": [step(log, f"{name}-down")]}}
        for name in ("first", "second")
    ]
    execute(make_run(tmp_path, document).path)
    assert lines(tmp_path) == [
        *("first", "second", "own-1", "own-2", "first-up", "second-up", "own-up"),
        "trial x",
        *("own-down", "second-down", "first-down"),
    ]
    types = [r.type for r in records(tmp_path / "run") if r.type.startswith(("lifecycle", "step", "trial"))]
    assert types[0] == "lifecycle.started"
    assert types.index("step.started") < types.index("step.finished") < types.index("lifecycle.ready") < types.index("trial.started")
    assert types[-1] == "lifecycle.destroyed"


def test_per_session_brings_up_and_destroys_in_every_session(tmp_path: Path) -> None:
    log = tmp_path / "log"
    document = document_with(tmp_path, {}, only_a=False, method={**ONCE, "sessions": 3, "trials": 2})
    for name in ("a", "b"):
        document["targets"][name]["lifecycle"] = {
            "per": "session" if name == "a" else "run",
            "bootstrap": [step(log, f"{name}-up")],
            "destroy": [step(log, f"{name}-down")],
        }
    execute(make_run(tmp_path, document).path)
    found = [line for line in lines(tmp_path) if line != "trial x"]
    assert (found.count("a-up"), found.count("a-down"), found.count("b-up"), found.count("b-down")) == (3, 3, 1, 1)
    assert found[-1] == "b-down"
    up = False
    for line in found:
        if line.startswith("a-"):
            assert up is (line == "a-down")
            up = line == "a-up"
    assert {r["session"] for r in step_results(tmp_path / "run") if r["target"] == "a"} == {1, 2, 3}
    assert lines(tmp_path).count("trial x") == 12


def test_what_a_step_captures_goes_into_parameters_and_later_steps_as_it_is(tmp_path: Path) -> None:
    hostile = "a b; touch /tmp/owned-$(id -u) `id` 'q' \"z\" $HOME *"
    document = document_with(
        tmp_path,
        {
            "bootstrap": [
                {"name": "say", "run": ["printf", "address: %s\nport=81\n", hostile], "capture": {"address": {"regex": "address: (.+)"}, "all": {"stdout": True}}},
                {"name": "json", "run": ["printf", '{"a": [{"b": 7}]}'], "capture": {"b": {"jsonpath": "$.a[0].b"}}},
                {"name": "use", "run": note(tmp_path / "log", "<${output:say.address}> ${output:json.b} $${output:json.b}")},
                {"name": "env", "run": ["sh", "-c", 'echo "$X" >> "$0"', str(tmp_path / "log")], "env": {"X": "is ${output:say.address}"}},
            ]
        },
    )
    document["workloads"]["count"]["with"]["env"]["TARGET"] = "${output:say.address}-${output:json.b}"
    (trial,) = execute(make_run(tmp_path, document).path)
    assert trial.status is TrialStatus.VALID
    assert lines(tmp_path) == [f"<{hostile}> 7 ${{output:json.b}}", f"is {hostile}", f"trial {hostile}-7"]
    said = step_results(tmp_path / "run")[0]
    assert said["outputs"] == {"address": hostile, "all": f"address: {hostile}\nport=81"}
    assert (said["exit_code"], "error" in said) == (0, False)
    assert (tmp_path / "run" / said["raw"][1]["path"]).read_bytes() == f"address: {hostile}\nport=81\n".encode()
