"""What `benchspec history` costs over 500 runs, from SQLite and from PostgreSQL.

    python -m benchmarks.history [--runs 500] [--rounds 5]

Goal: the whole program, start and output included, in under 1 s from each. Each run has 2 targets
and 4 workloads. PostgreSQL is Debian's, started for this alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.timing import machine, run, use_bytecode
from benchspec.engine.history.entry import Entry
from benchspec.engine.history.index import VARIABLE, RunIndex
from tests.engine.history.past import entry
from tests.postgresql import server

WORKLOADS = ("read", "write", "network", "requests")


def fill(url: str, runs: int) -> float:
    """Load ``runs`` runs, one after the other as they end; return the seconds for one."""
    noise = np.random.default_rng(1)
    began = time.perf_counter()
    for number in range(runs):
        RunIndex(url).put(_entry(number, noise))
    return (time.perf_counter() - began) / runs


def _entry(number: int, noise: np.random.Generator) -> Entry:
    made = entry(number, (100.0, 120.0))
    rows = (
        replace(
            row,
            cell=cell,
            experiment_id=f"{row.target}{cell}",
            centre=row.centre * float(np.exp(0.02 * noise.normal())),
        )
        for cell in WORKLOADS
        for row in made.series
    )
    return replace(made, series=tuple(rows))


def measure(name: str, url: str, runs: int, rounds: int) -> None:
    one = fill(url, runs)
    os.environ[VARIABLE] = url
    program = [sys.executable, "-m", "benchspec"]
    for verb in (["history", "counted"], ["history", "counted", "--json"], ["list"]):
        run([*program, *verb])
        costs = [run([*program, *verb]) for _ in range(rounds)]
        wall, cpu = (
            statistics.median(c) for c in zip(*((c.wall_s, c.cpu_s) for c in costs), strict=True)
        )
        print(f"| `benchspec {' '.join(verb)}` | {name} | {1e3 * wall:.0f} | {1e3 * cpu:.0f} |")
    print(f"| a run put into the index | {name} | {1e3 * one:.0f} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    use_bytecode()
    print(f"{given.runs} runs; {machine()}\n")
    print("| command | index | wall ms | CPU ms |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, server() as url:
        measure("SQLite", f"sqlite:///{Path(folder, 'index.sqlite')}", given.runs, given.rounds)
        measure("PostgreSQL", url, given.runs, given.rounds)


if __name__ == "__main__":
    main()
