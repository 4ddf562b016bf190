"""Specs with `command` workloads whose programs count themselves, and a driver that runs them in
this process or in one of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import benchspec
from benchspec.api.new_runs import make_directory
from benchspec.engine.control.events import Event
from benchspec.engine.execution.run import Catalogue, Options, Run
from benchspec.engine.language.load import load_spec
from benchspec.engine.model.codec import decode
from benchspec.engine.model.results import Trial
from benchspec.engine.planning.plan import plan
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.journal import Record, read_records
from benchspec.runners.registry import get_runner
from benchspec.workloads.registry import WORKLOADS, get_workload

CATALOGUE = Catalogue(runner=get_runner, workload=get_workload)

COUNTING = """
printf x >> "$COUNTER"; sleep "$SECONDS_TO_SLEEP"; echo "rate: 42.5"; printf y >> "$COUNTER.done"
"""


class Recorder:
    """An observer that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def spec_document(
    counter: Path, *, seconds: float = 0.0, script: str = COUNTING, **changes: Any
) -> dict[str, Any]:
    """A spec of two targets and one `command` workload that appends one byte to ``counter`` per
    start, and one to ``counter.done`` at its end.
    """
    document: dict[str, Any] = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "counted",
        "title": "Counted",
        "targets": {
            "a": {"runner": "local"},
            "b": {"runner": "local", "facts": {"os.id": "debian"}},
        },
        "workloads": {
            "count": {
                "tool": "command",
                "with": {
                    "run": ["sh", "-c", script],
                    "env": {"COUNTER": str(counter), "SECONDS_TO_SLEEP": str(seconds)},
                    "extract": {
                        "rate": {"regex": r"rate: ([0-9.]+)", "unit": "1/s", "direction": "higher"}
                    },
                    "duration": f"{max(seconds, 0.1)} s",
                },
                "gates": {
                    "max_steal": "100 %"
                },  # a neighbour's load must not add a replacement to what the counters are held against
            }
        },
        "method": {"sessions": 3, "trials": 2, "warmups": 1, "seed": 7},
        "compare": {"baseline": "a"},
    }
    return document | changes


def write_spec(path: Path, document: Mapping[str, Any]) -> Path:
    """JSON is YAML."""
    path.write_text(json.dumps(document))
    return path


def make_run(tmp_path: Path, document: Mapping[str, Any], name: str = "run") -> RunDirectory:
    """A new run directory for ``document``, with nothing measured yet."""
    loaded = load_spec(write_spec(tmp_path / f"{name}.yaml", document))
    return make_directory(loaded, plan(loaded, WORKLOADS), tmp_path / name)


def execute(
    path: Path, options: Options | None = None, observer: Recorder | None = None
) -> tuple[Trial, ...]:
    """Run, or go on with, the run directory ``path`` in this process."""
    from benchspec.engine.language.load import build_spec
    from benchspec.engine.store.read_run import read_plan

    directory = RunDirectory.open(path)
    run = Run(
        directory,
        build_spec(directory.resolved()),
        read_plan(directory),
        CATALOGUE,
        observer or Recorder(),
        options or Options(),
    )
    return run.execute()


def start_cli(*arguments: str, **keywords: Any) -> subprocess.Popen[str]:
    """The real program, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchspec.cli", *arguments],
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment(),
        **keywords,
    )


def run_cli(*arguments: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
    """The real program, until it ends."""
    return subprocess.run(
        [sys.executable, "-m", "benchspec.cli", *arguments],
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        check=False,
        **keywords,
    )


def environment() -> dict[str, str]:
    """This process's environment, in which a child finds the same benchspec."""
    parent = str(Path(benchspec.__file__).resolve().parent.parent)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), parent])),
    }


def finished(path: Path) -> list[Trial]:
    """The trials that the journal in ``path`` records, in journal order."""
    return [
        decode(Trial, record.data) for record in records(path) if record.type == "trial.finished"
    ]


def records(path: Path) -> list[Record]:
    """The journal's records."""
    return read_records(path / "journal.ndjson")[0]


def count(path: Path) -> int:
    """How many bytes a counter has."""
    return path.stat().st_size if path.exists() else 0


def digest_tree(path: Path) -> dict[str, str]:
    """Every file below ``path`` with its sha256."""
    return {
        str(p.relative_to(path)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(path.rglob("*"))
        if p.is_file()
    }
