"""A run of one tool on this host as a user starts it: ``benchspec run`` with a spec of two
sessions, read back from its directory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchspec.engine.model.results import RunData, TrialStatus
from benchspec.engine.model.spec import Json
from benchspec.engine.store.read_run import read_run
from tests.workloads.tool_goldens import by_series

SESSIONS = 2
_GATES = {"max_steal": "100 %"}
"""What other guests of this host's machine do is not looked at."""


def run_tool(
    tool: str, parameters: Mapping[str, Json], folder: Path, env: Mapping[str, str] | None = None
) -> tuple[RunData, list[dict[str, float]]]:
    """The run, and the figures of each session by series; every trial is valid."""
    run = start(tool, parameters, folder, env)
    assert [trial.status for trial in run.trials] == [TrialStatus.VALID] * SESSIONS, [
        (trial.error, trial.gates) for trial in run.trials
    ]
    return run, [by_series(trial.measurements) for trial in run.trials]


def start(
    tool: str, parameters: Mapping[str, Json], folder: Path, env: Mapping[str, str] | None = None
) -> RunData:
    """The run, whatever became of its trials. Nothing of it is left behind."""
    spec, out = folder / "spec.yaml", folder / "run"
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "one-tool",
        "title": "One tool",
        "targets": {"here": {"runner": "local"}},
        "workloads": {"load": {"tool": tool, "with": parameters, "gates": _GATES}},
        "method": {"sessions": SESSIONS, "trials": 1, "warmups": 0, "seed": 1},
    }
    spec.write_text(json.dumps(document))  # JSON is YAML
    told = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), **(env or {})}
    argv = (sys.executable, "-m", "benchspec.cli", "run", str(spec), "--yes", "--out", str(out))
    done = subprocess.run(
        argv, cwd=folder, env=told, capture_output=True, text=True, timeout=180, check=False
    )
    assert out.exists(), done.stderr
    left = [*(folder / "state").rglob("allocations/*"), *(folder / "state").rglob("work/*")]
    assert left == [], "work directories are left behind"
    return read_run(out)
