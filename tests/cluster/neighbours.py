"""Controllers beside each other on one cluster, and a look through their journals: do two trials ever have one node at the same time?

Part of the suite (tests/test_clusters.py), and by hand, with a cluster of its own: ``python -m tests.cluster.neighbours --experiments 100``.

One run may use every node. Another names one of them: its Lease is another one, so nothing but the scheduler keeps them apart. A third wants what the
first has, and is refused until that is over.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchspec.engine.execute.occupancy import Occupation, occupations, overlaps
from benchspec.engine.rundir import RunDirectory
from tests.cluster import cluster
from tests.cluster.cluster import Cluster
from tests.execute import bench


def spec(made: Cluster, experiments: int, node: str | None) -> dict[str, Any]:
    """So many experiments of one trial that takes half a second, on one node or on any."""
    command = {"run": ["sh", "-c", "sleep 0.5; echo 42"], "extract": {"answer": {"regex": "([0-9]+)", "unit": "1/s", "direction": "higher"}}}
    runner = {"kind": "kubernetes", "kubeconfig": str(made.kubeconfig), "cpu": "100m", "memory": "64 MiB"}
    chosen = {"node_selector": {"kubernetes.io/hostname": node}} if node else {}
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "neighbours",
        "title": "Neighbours",
        "targets": {"pods": {"runner": {**runner, **chosen}}},
        "workloads": {f"w{n:03d}": {"tool": "command", "with": command, "gates": {"max_steal": "100 %"}} for n in range(experiments)},
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1},
    }


def carry_out(made: Cluster, folder: Path, experiments: int) -> tuple[list[list[Occupation]], int]:
    """What each of three runs occupied, and how often the third was refused. Raises AssertionError when a run ends otherwise than well."""
    some = max(1, experiments // 4)
    plans = {"anywhere": (experiments - some - 1, None), "on-one-node": (some, made.layout.node(1)), "refused": (1, None)}
    for name, (count, node) in plans.items():
        bench.write_spec(folder / f"{name}.yaml", spec(made, count, node))
    first = _start(folder, "anywhere")
    _await_trial(folder / "anywhere", first)
    second = _start(folder, "on-one-node")
    refusals = _insist(folder, first)
    for name, controller in (("anywhere", first), ("on-one-node", second)):
        said = controller.communicate()[1]
        assert controller.returncode == 0, f"{name}: {said}"
    return [_occupied(folder / name) for name in plans], refusals


def _start(folder: Path, name: str) -> subprocess.Popen[str]:
    arguments = ("run", str(folder / f"{name}.yaml"), "--out", str(folder / name), "--yes", "--quiet")
    return bench.start_cli(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _await_trial(run: Path, controller: subprocess.Popen[str]) -> None:
    while not (run / "journal.ndjson").exists() or not bench.finished(run):
        assert controller.poll() is None, controller.communicate()[1]
        time.sleep(0.1)


def _insist(folder: Path, first: subprocess.Popen[str]) -> int:
    """Try the third run until it is let in, which must not be before the first has ended; how often it was not."""
    verb: Sequence[str] = ("run", str(folder / "refused.yaml"), "--out", str(folder / "refused"))
    refusals = 0
    while True:
        before = first.poll()
        done = bench.run_cli(*verb, "--yes", "--quiet")
        if done.returncode == 0:
            return refusals
        assert "uses its nodes" in done.stderr, done.stderr
        assert before is None, f"the first run is over, and the third is refused: {done.stderr}"
        refusals, verb = refusals + 1, ("resume", str(folder / "refused"))
        time.sleep(1)


def _occupied(run: Path) -> list[Occupation]:
    return occupations(RunDirectory.open(run).run_id, bench.records(run))


def beside(one: Sequence[Occupation], other: Sequence[Occupation]) -> int:
    """How many trials of one went on while one of the other did, wherever that was: without any there was nothing to keep apart."""
    return sum(any(a.began_at < b.ended_at and b.began_at < a.ended_at for b in other) for a in one)


def main() -> int:
    """Make a cluster, let them run, tell, remove the cluster; 0 if no two trials shared a node."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.neighbours", description=__doc__)
    parser.add_argument("--experiments", type=int, default=100, help="in all three runs together (100)")
    parser.add_argument("--name", default="neighbours", help="the cluster's name (neighbours)")
    told = parser.parse_args()
    with cluster.up(told.name) as made, tempfile.TemporaryDirectory(prefix="benchspec-neighbours-") as folder:
        runs, refusals = carry_out(made, Path(folder), told.experiments)
    everything = [one for run in runs for one in run]
    nodes = {node: sum(one.node == node for one in everything) for node in sorted({one.node for one in everything})}
    print(f"{len(everything)} trials in runs of {', '.join(str(len(run)) for run in runs)}; by node: {nodes}")
    print(f"the third run was refused {refusals} times; {beside(runs[1], runs[0])} trials of the second went on while one of the first did")
    found = overlaps(everything)
    print("\n".join(map(str, found)) or "no two trials shared a node")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
