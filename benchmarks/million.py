"""What ``benchspec report`` costs on a run of a million measurements, as a process of its own:
reading, verifying, analysing and rendering.

The run directory is written by the classes that a run writes it with (run directory, raw files,
journal), with figures drawn from a generator.

    python -m benchmarks.million [MEASUREMENTS]

The goal is under 30 s.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchspec.api.new_runs import make_directory
from benchspec.engine.language.load import load_spec
from benchspec.engine.model.results import Measurement, Trial, TrialKind, TrialStatus
from benchspec.engine.model.spec import Experiment
from benchspec.engine.planning.plan import Plan, plan
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.journal import Journal
from benchspec.workloads.registry import WORKLOADS

SERIES, CELLS, SESSIONS = 100, 12, 30
FORMATS = ("markdown", "html", "json", "csv", "summary")


def spec(trials: int) -> str:
    """Two targets, CELLS cells, SERIES metrics, as a spec in YAML (of which JSON is a part)."""
    extract = {
        f"m{i}": {"jsonpath": f"$.m{i}", "unit": "1/s", "direction": "higher"}
        for i in range(SERIES)
    }
    workload = {
        "tool": "command",
        "with": {"run": ["cat", "figures.json"], "duration": "1 s", "extract": extract},
        "matrix": {"cell": [{"name": f"c{i}", "env": {"CELL": str(i)}} for i in range(CELLS)]},
    }
    whole = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "million",
        "title": "A million measurements",
        "targets": {
            "a": {"runner": "local"},
            "b": {"runner": "local", "facts": {"kernel.release": "6.1.0"}},
        },
        "workloads": {"w": workload},
        "method": {"sessions": SESSIONS, "trials": trials, "warmups": 0, "seed": 1},
        "compare": {"baseline": "a", "equivalence": "2 %"},
    }
    return json.dumps(whole)


def build(folder: Path, measurements: int) -> tuple[Path, int]:
    """Write the run directory; return its path and how many measurements it holds."""
    trials = -(-measurements // (SERIES * SESSIONS * 2 * CELLS))
    path = folder / "million.yaml"
    path.write_text(spec(trials))
    loaded = load_spec(path)
    made = plan(loaded, WORKLOADS)
    directory = make_directory(loaded, made, folder / "run")
    with Journal(directory.journal_path) as journal:
        journal.append("run.started", {"run_id": directory.run_id, "time": 1.7e9})
        count = fill(directory, journal, made)
        journal.append("run.finished", {"trials": count})
    return directory.path, count * SERIES


def fill(directory: RunDirectory, journal: Journal, made: Plan) -> int:
    """One trial after the other, raw files first, then the record; return how many."""
    experiments = {experiment.id: experiment for experiment in made.experiments}
    noise = np.random.Generator(np.random.PCG64(1))
    sequence = 0
    for allocation in made.order:
        level = noise.normal(1000.0, 20.0, SERIES)
        for index in range(1, allocation.trials + 1):
            sequence += 1
            values = noise.normal(level, 5.0).tolist()
            journal.append(
                "trial.finished",
                record(
                    directory,
                    experiments[allocation.experiment_id],
                    allocation.session,
                    sequence,
                    index,
                    values,
                ),
            )
    return sequence


def record(
    directory: RunDirectory,
    experiment: Experiment,
    session: int,
    sequence: int,
    index: int,
    values: list[float],
) -> Trial:
    """Store what the trial printed and return its record."""
    printed = {f"m{i}": value for i, value in enumerate(values)}
    raw = directory.store_raw(
        sequence, {"0-stdout": json.dumps(printed).encode(), "0-stderr": b"", "trial.json": b"{}"}
    )
    return Trial(
        sequence=sequence,
        experiment_id=experiment.id,
        session=session,
        kind=TrialKind.MEASURED,
        index=index,
        job_id=f"j{sequence}",
        status=TrialStatus.VALID,
        started_at=1.7e9 + sequence,
        duration_s=1.0,
        exit_code=0,
        raw=raw,
        measurements=tuple(
            Measurement(metric=name, value=value, unit="1/s") for name, value in printed.items()
        ),
    )


def main() -> None:
    """Build the run, render it in every format, print seconds and the peak memory of the largest
    process (MB of 10^6 B).
    """
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        begin = time.perf_counter()
        path, count = build(Path(folder), wanted)
        print(
            f"{count} measurements written in {time.perf_counter() - begin:.1f} s (not part of the"
            " goal)"
        )
        for format_ in FORMATS:
            begin = time.perf_counter()
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "benchspec.cli",
                    "report",
                    str(path),
                    "--format",
                    format_,
                    "--out",
                    str(Path(folder) / format_),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
                cwd=os.path.dirname(folder),
            )
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
            print(
                f"report --format {format_:9} {time.perf_counter() - begin:6.2f} s, peak so far"
                f" {peak:.0f} MB"
            )


if __name__ == "__main__":
    main()
