"""Directories of strangers are checked again before their run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import benchspec
from benchspec.engine.model.errors import IntegrityError
from tests.engine.execution.bench import make_run, spec_document

EVIL = "evil.lua"


def tampered(folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """A run of sysbench whose spec or plan was changed, with all sums made anew."""
    document = spec_document(folder / "counter")
    document["workloads"] = {"cpu": {"tool": "sysbench", "with": {"test": "cpu"}}}
    path = make_run(folder, document).path
    spec, plan = (json.loads((path / f"{name}.json").read_text()) for name in ("resolved", "plan"))
    change(spec, plan)
    manifest = json.loads((path / "manifest.json").read_text())
    for name, found in (("resolved.json", spec), ("plan.json", plan)):
        data = json.dumps(found).encode()
        (path / name).write_bytes(data)
        manifest["sha256"][name] = hashlib.sha256(data).hexdigest()
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def in_spec(spec: dict[str, Any], plan: dict[str, Any]) -> None:
    spec["workloads"]["cpu"]["with"]["test"] = EVIL


def in_plan(spec: dict[str, Any], plan: dict[str, Any]) -> None:
    for experiment in plan["experiments"]:
        experiment["parameters"]["test"] = EVIL


@pytest.mark.parametrize(
    ("change", "said"), [(in_spec, "with.test: found"), (in_plan, "is not what the spec says")]
)
def test_a_changed_spec_or_plan_is_refused_whatever_was_agreed_to(
    change: Callable[[dict[str, Any], dict[str, Any]], None], said: str, tmp_path: Path
) -> None:
    path = tampered(tmp_path, change)
    with pytest.raises(IntegrityError, match=said):
        benchspec.resume(path, consent=lambda asked: True)
    assert not (path / "raw").exists() or not list((path / "raw").iterdir())
