"""Controllers beside each other on one cluster, and a look through their journals: do two trials
ever have one node at the same time?

Part of the suite (tests/test_clusters.py), and by hand, with a cluster of its own: ``python -m
tests.cluster.neighbours --experiments 100``.

One run may use every node. Another names the one on which a trial of the first goes on: its Lease
is another one, so nothing but the scheduler keeps them apart. A third wants what the first has, and
is refused until that is over. The first's trial goes on until both have been seen to be kept off.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchspec.engine.execution.checks.occupancy import Occupation, occupations, overlaps
from benchspec.engine.store.directory import RunDirectory
from benchspec.runners.kubernetes.names import ALLOCATION, RUN, label_value
from tests.cluster import cluster
from tests.cluster.cluster import Cluster
from tests.engine.execution import bench

HELD, GO = "held", "/benchspec/go"
"""The workload that is held, until there is this file in its pod."""
WITHIN_S = 300


def spec(
    made: Cluster, experiments: int, node: str | None, *, held: bool = False
) -> dict[str, Any]:
    """So many experiments of one trial that takes half a second, or (``held``, one of them) until
    it is told to go on, on one node or on any.
    """
    command = {
        "run": ["sh", "-c", "sleep 0.5; echo 42"],
        "extract": {"answer": {"regex": "([0-9]+)", "unit": "1/s", "direction": "higher"}},
    }
    waiting = {
        **command,
        "run": ["sh", "-c", f"until [ -e {GO} ]; do sleep 0.1; done; echo 42"],
        "timeout": "10 min",
    }
    programs = {f"w{number:03d}": command for number in range(experiments - held)} | (
        {HELD: waiting} if held else {}
    )
    runner = {
        "kind": "kubernetes",
        "image": "localhost/tools:1",
        "kubeconfig": str(made.kubeconfig),
        "cpu": "100m",
        "memory": "64 MiB",
    }
    chosen = {"node_selector": {"kubernetes.io/hostname": node}} if node else {}
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "neighbours",
        "title": "Neighbours",
        "targets": {"pods": {"runner": {**runner, **chosen}}},
        "workloads": {
            name: {"tool": "command", "with": program, "gates": {"max_steal": "100 %"}}
            for name, program in programs.items()
        },
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1},
    }


def carry_out(made: Cluster, folder: Path, experiments: int) -> tuple[list[list[Occupation]], int]:
    """What each of three runs occupied, and how often the third was refused, which is once at
    least.

    Raises AssertionError when a run is not kept off a taken node, or ends otherwise than well.
    """
    some = max(1, experiments // 4)
    bench.write_spec(folder / "anywhere.yaml", spec(made, experiments - some - 1, None, held=True))
    bench.write_spec(folder / "refused.yaml", spec(made, 1, None))
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(_started(folder, "anywhere"))
        node, pod = _await_held(made, folder / "anywhere", first)
        bench.write_spec(folder / "on-one-node.yaml", spec(made, some, node))
        second = stack.enter_context(_started(folder, "on-one-node"))
        _await_kept_off(made, folder / "on-one-node", second)
        refused = bench.run_cli(
            "run",
            str(folder / "refused.yaml"),
            "--out",
            str(folder / "refused"),
            "--yes",
            "--quiet",
        )
        assert (refused.returncode, "uses its nodes" in refused.stderr) == (6, True), refused
        made.kubectl("exec", pod, "--", "touch", GO)
        refusals = 1 + _insist(folder, first)
        for name, controller in (("anywhere", first), ("on-one-node", second)):
            said = controller.communicate()[1]
            assert controller.returncode == 0, f"{name}: {said}"
    return [_occupied(folder / name) for name in ("anywhere", "on-one-node", "refused")], refusals


@contextlib.contextmanager
def _started(folder: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """A run that goes on, and is stopped with us."""
    arguments = (
        "run",
        str(folder / f"{name}.yaml"),
        "--out",
        str(folder / name),
        "--yes",
        "--quiet",
    )
    with bench.start_cli(
        *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as controller:
        try:
            yield controller
        finally:
            controller.terminate()


def _await_held(made: Cluster, run: Path, controller: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the trial that is held; its node and its pod."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        assert controller.poll() is None, controller.communicate()[1]
        assert time.monotonic() < deadline, "no trial of the first run began"
        for intent in _intents(run):
            if intent["slot"]["experiment_id"] in _ids(run, HELD):
                selector = f"--selector={ALLOCATION}={label_value(intent['allocation_id'])}"
                (pod,) = made.kubectl("get", "pods", selector, "--output=name").split()
                return intent["nodes"]["client"]["name"], pod
        time.sleep(0.1)


def _await_kept_off(made: Cluster, run: Path, controller: subprocess.Popen[str]) -> None:
    """Wait until the scheduler says that a pod of the run would share its node with another
    run's.
    """
    deadline = time.monotonic() + WITHIN_S
    while not _is_kept_off(made, run):
        assert controller.poll() is None, controller.communicate()[1]
        assert not _intents(run), "a trial was started on a node on which another run's goes on"
        assert time.monotonic() < deadline, "no pod of the second run was kept off the first's node"
        time.sleep(0.2)


def _is_kept_off(made: Cluster, run: Path) -> bool:
    listed = []
    if (run / "manifest.json").exists():
        with contextlib.suppress(RuntimeError):  # a busy API server
            selector = f"--selector={RUN}={label_value(RunDirectory.open(run).run_id)}"
            listed = json.loads(made.kubectl("get", "pods", selector, "--output=json"))["items"]
    conditions = [one for pod in listed for one in pod["status"].get("conditions", [])]
    return any(
        one["type"] == "PodScheduled" and "anti-affinity" in one.get("message", "")
        for one in conditions
    )


def _intents(run: Path) -> list[dict[str, Any]]:
    return (
        [one.data for one in bench.records(run) if one.type == "trial.started"]
        if (run / "journal.ndjson").exists()
        else []
    )


def _ids(run: Path, workload: str) -> list[str]:
    return [
        one["id"]
        for one in RunDirectory.open(run).plan()["experiments"]
        if one["workload"] == workload
    ]


def _insist(folder: Path, first: subprocess.Popen[str]) -> int:
    """Try the third run until it is let in, which must not be before the first has ended; how often
    it was not.
    """
    refusals = 0
    while True:
        before = first.poll()
        done = bench.run_cli("resume", str(folder / "refused"), "--yes", "--quiet")
        if done.returncode == 0:
            return refusals
        assert "uses its nodes" in done.stderr, done.stderr
        assert before is None, f"the first run is over, and the third is refused: {done.stderr}"
        refusals += 1
        time.sleep(1)


def _occupied(run: Path) -> list[Occupation]:
    return occupations(RunDirectory.open(run).run_id, bench.records(run))


def beside(one: Sequence[Occupation], other: Sequence[Occupation]) -> int:
    """How many trials of one went on while one of the other did, wherever that was: without any
    there was nothing to keep apart.
    """
    return sum(any(a.began_at < b.ended_at and b.began_at < a.ended_at for b in other) for a in one)


def main() -> int:
    """Make a cluster, let them run, tell, remove the cluster; 0 if no two trials shared a node."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.neighbours", description=__doc__)
    parser.add_argument(
        "--experiments", type=int, default=100, help="in all three runs together (100)"
    )
    parser.add_argument("--name", default="neighbours", help="the cluster's name (neighbours)")
    told = parser.parse_args()
    with (
        cluster.up(told.name) as made,
        tempfile.TemporaryDirectory(prefix="benchspec-neighbours-") as folder,
    ):
        runs, refusals = carry_out(made, Path(folder), told.experiments)
    everything = [one for run in runs for one in run]
    nodes = {
        node: sum(one.node == node for one in everything)
        for node in sorted({one.node for one in everything})
    }
    print(
        f"{len(everything)} trials in runs of {', '.join(str(len(run)) for run in runs)}; by node:"
        f" {nodes}"
    )
    print(
        f"the third run was refused {refusals} times; {beside(runs[1], runs[0])} trials of the"
        " second went on while one of the first did"
    )
    found = overlaps(everything)
    print("\n".join(map(str, found)) or "no two trials shared a node")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
