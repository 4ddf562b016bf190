"""Controllers that are killed with -9 at seeded random moments of their runs: what they lose, what
they leave, what `benchspec clean` makes of it.

Part of the suite (tests/test_clusters.py), and by hand, with a cluster of its own: ``python -m
tests.cluster.kills --count 200 --seed 1``.

One run goes on beside the other, one per node. A run is killed, cleaned and resumed until all is
measured; then it may come to its end, and the next one begins. When a controller dies is drawn in
two steps, so that no part of its life is spared for being short: a phase, and how far into it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.journal import Record
from benchspec.engine.store.read_run import read_run
from tests.cluster import cluster
from tests.cluster.cluster import Cluster
from tests.engine.execution import bench

MANAGED = "app.kubernetes.io/managed-by"
RUN = "benchspec.dev/run"
_TRIALS = 2
_LONGEST_S = 600.0
_LIKELY = (
    "configmaps",
    "endpoints",
    "jobs",
    "leases",
    "persistentvolumeclaims",
    "pods",
    "services",
    "storageclasses",
)


class Phase(StrEnum):
    """How far a controller has come, by the last record that it wrote."""

    STARTING = "starting"
    CONNECTING = "connecting, looking for tools"
    LOOKING = "looking at nodes"
    ALLOCATING = "making pods"
    MEASURING = "measuring"
    RELEASING = "releasing"
    LEAVING = "looking again, leaving"


_PHASES = {
    "run.started": Phase.CONNECTING,
    "run.resumed": Phase.CONNECTING,
    "tools": Phase.LOOKING,
    "allocation.started": Phase.ALLOCATING,
    "trial.started": Phase.MEASURING,
    "trial.finished": Phase.RELEASING,
    "allocation.released": Phase.LEAVING,
    "run.finished": Phase.LEAVING,
}


def phase_of(records: Sequence[Record]) -> Phase:
    """The phase of a controller that wrote these records."""
    found = next(
        (_PHASES[record.type] for record in reversed(records) if record.type in _PHASES),
        Phase.STARTING,
    )
    measured = any(record.type == "trial.started" for record in records)
    return (
        found if measured or found is not Phase.LEAVING else Phase.ALLOCATING
    )  # what was released was only looked at before measuring


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One kill: when it came, what was left until `clean`, what `clean` says it removed, and how
    many trials the journal had before and after.
    """

    number: int
    verb: str
    phase: Phase
    after_s: float
    left: Mapping[str, int]
    removed: Mapping[str, int]
    trials: int
    problems: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """``ok``, or what is wrong."""
        return "; ".join(self.problems) or "ok"


def workloads(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """In turns: pods alone, pods behind a Service, a volume of a class that the run makes itself;
    with what the target says of its storage.
    """
    gates = {"max_steal": "100 %"}
    match number % 3:
        case 0:
            command = {
                "run": ["sh", "-c", "echo 42"],
                "extract": {"answer": {"regex": "([0-9]+)", "unit": "1/s", "direction": "higher"}},
            }
            return {"told": {"tool": "command", "with": command, "gates": gates}}, {}
        case 1:
            return {
                "served": {
                    "tool": "iperf3",
                    "path": "pod-to-service",
                    "with": {"duration": "1 s"},
                    "gates": gates,
                }
            }, {}
        case _:
            job = {
                "rw": "randread",
                "bs": "4 KiB",
                "size": "1 MiB",
                "runtime": "1 s",
                "engine": "libaio",
                "direct": True,
            }
            storage = {
                "class": f"bs-kills-{number}",
                "create": True,
                "provisioner": "rancher.io/local-path",
                "size": "16 MiB",
            }
            return {"stored": {"tool": "fio", "with": job, "gates": gates}}, {"storage": storage}


def spec(made: Cluster, node: str, number: int) -> dict[str, Any]:
    """A run of two trials on one node."""
    runner = {
        "kind": "kubernetes",
        "image": "localhost/tools:1",
        "kubeconfig": str(made.kubeconfig),
        "cpu": "100m",
        "memory": "64 MiB",
    }
    chosen, storage = workloads(number)
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "kills",
        "title": "Kills",
        "targets": {
            "pods": {
                "runner": {**runner, "node_selector": {"kubernetes.io/hostname": node}},
                **storage,
            }
        },
        "workloads": chosen,
        "method": {"sessions": 1, "trials": _TRIALS, "warmups": 0, "seed": 1},
    }


def others(run_id: str) -> list[dict[str, Any]]:
    """Things of somebody else that look like those of a run: by their names, by the run's own
    label, by who manages them; never by all of it.
    """
    name = f"bs-client-{run_id}-x"
    like = {
        MANAGED: "helm",
        RUN: run_id,
        "benchspec.dev/site": "pods",
        "benchspec.dev/role": "client",
    }
    unowned = {key: value for key, value in like.items() if key != MANAGED}
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"nobody": "has-it"},
        "containers": [{"name": "role", "image": "localhost/tools:1"}],
    }
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local-path",
        "resources": {"requests": {"storage": "1Mi"}},
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"bs-steps-{run_id}-x", "labels": like},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": unowned},
            "spec": pod,
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{name}-s", "labels": {**like, MANAGED: "benchspec-operator"}},
            "spec": {"ports": [{"port": 80}]},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"{name}-v", "labels": unowned},
            "spec": claim,
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "labels": {**like, MANAGED: "Benchspec"}},
            "spec": {"suspend": True, "template": {"metadata": {"labels": like}, "spec": pod}},
        },
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": f"benchspec-{run_id}-x", "labels": unowned},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": f"bs-kills-{run_id}-x", "labels": unowned},
            "provisioner": "rancher.io/local-path",
        },
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything with a run's label, of whatever kind: ``ours`` by kind, and the others as they
    are.
    """

    ours: Mapping[str, int]
    others: Mapping[str, str]


class Kinds:
    """Every kind of object that the cluster can list, in namespaces and outside."""

    def __init__(self, made: Cluster) -> None:
        self._made = made
        self._all = tuple(
            sorted(
                {
                    kind
                    for kind in made.kubectl("api-resources", "--verbs=list", "-o", "name").split()
                    if "event" not in kind
                }
            )
        )

    def look(self, selector: str, kinds: Sequence[str] = ()) -> Look:
        """What carries these labels, of ``kinds`` or of all but the events, which tell of
        everything for an hour.
        """
        found = json.loads(
            self._made.kubectl(
                "get",
                ",".join(kinds or self._all),
                "--all-namespaces",
                f"--selector={selector}",
                "-o",
                "json",
            )
        )["items"]
        ours = Counter(
            one["kind"] for one in found if one["metadata"]["labels"].get(MANAGED) == "benchspec"
        )
        foreign = [one for one in found if one["metadata"]["labels"].get(MANAGED) != "benchspec"]
        return Look(
            ours=ours,
            others={f"{one['kind']} {one['metadata']['name']}": _identity(one) for one in foreign},
        )

    def ours(self) -> dict[str, int]:
        """What of any run there is, by kind."""
        return dict(self.look(f"{MANAGED}=benchspec").ours)


def _identity(found: Mapping[str, Any]) -> str:
    """Who an object is and whether it is to stay."""
    metadata = found["metadata"]
    return (
        f"{metadata['uid']} {sorted(metadata['labels'].items())}"
        f" {metadata.get('deletionTimestamp', '')}"
    )


@dataclass(slots=True, kw_only=True)
class Lane:
    """One node, and the runs on it, one after the other. ``lasted``: how long each phase took when
    it was last seen, in s; ``guarded``: runs beside which others' objects are.
    """

    made: Cluster
    node: str
    kinds: Kinds
    folder: Path
    seed: int
    chain: Iterator[int]
    run: Path | None = None
    lasted: dict[Phase, float] = field(default_factory=dict)
    guarded: set[Path] = field(default_factory=set)

    def kill(self, number: int) -> Kill:
        """Kill one controller. Runs that end before their moment comes are followed by others, with
        another moment.
        """
        dice = random.Random(f"{self.seed}-{number}")
        while True:
            verb = "run" if self.run is None else "resume"
            if (
                killed := self._kill(number, verb, dice.choice(list(Phase)), dice.random())
            ) is not None:
                if killed.trials == _TRIALS:  # a life with nothing to measure has few phases
                    self.close()
                return killed

    def _kill(self, number: int, verb: str, wanted: Phase, fraction: float) -> Kill | None:
        run = self.run or self._next_run()
        known = len(bench.records(run)) if (run / "journal.ndjson").exists() else 0
        arguments = (
            ["run", str(run.with_suffix(".yaml")), "--out", str(run)]
            if verb == "run"
            else ["resume", str(run)]
        )
        told_to = run.with_suffix(".told")
        with told_to.open("a") as told:
            controller = bench.start_cli(
                *arguments, "--yes", "--json-lines", stdout=told, stderr=subprocess.STDOUT
            )
            began = time.monotonic()
            self._await(controller, run, known, wanted, fraction)
            controller.kill()
            ended = controller.wait() != -9
            after_s = time.monotonic() - began
        if ended:
            self._see_the_end(run, controller.returncode)
            return None
        died = Kill(
            number=number,
            verb=verb,
            phase=Phase.STARTING,
            after_s=after_s,
            left={},
            removed={},
            trials=0,
            problems=(),
        )
        if not (run / "manifest.json").exists():  # nothing was made yet, not even the run
            return died
        self.run = run
        records = bench.records(run) if (run / "journal.ndjson").exists() else []
        return self._clean(run, replace(died, phase=phase_of(records[known:])))

    def _next_run(self) -> Path:
        number = next(self.chain)
        path = self.folder / f"run{number}"
        bench.write_spec(path.with_suffix(".yaml"), spec(self.made, self.node, number))
        return path

    def _await(
        self,
        controller: subprocess.Popen[str],
        run: Path,
        known: int,
        wanted: Phase,
        fraction: float,
    ) -> None:
        """Wait for the drawn moment, or for the controller's end."""
        deadline, entered, now, size = (
            time.monotonic() + _LONGEST_S,
            time.monotonic(),
            Phase.STARTING,
            -1,
        )
        while controller.poll() is None and time.monotonic() < deadline:
            grown, size = (
                bench.count(run / "journal.ndjson") != size,
                bench.count(run / "journal.ndjson"),
            )
            if grown and size and (seen := phase_of(bench.records(run)[known:])) is not now:
                self.lasted[now], entered, now = time.monotonic() - entered, time.monotonic(), seen
            if now is wanted and time.monotonic() - entered >= fraction * self.lasted.get(now, 1.0):
                return
            if now is Phase.LEAVING and wanted is not now:
                # what was wanted comes no more: the moment is one of this phase
                wanted = now
            time.sleep(0.03)

    def _see_the_end(self, run: Path, code: int) -> None:
        """A run that came to its end has measured everything and left nothing, however often it was
        killed before.
        """
        self.run = None
        assert code == 0, f"{run}: exit code {code}: {run.with_suffix('.told').read_text()[-2000:]}"
        trials = [trial for trial in read_run(run).trials if trial.status is TrialStatus.VALID]
        assert len(trials) == _TRIALS, f"{run}: {len(trials)} valid trials, expected {_TRIALS}"
        look = self.kinds.look(f"{RUN}={RunDirectory.open(run).run_id}")
        assert not look.ours, f"{run}: left after its end: {dict(look.ours)}"
        self._remove_others(run)

    def _clean(self, run: Path, killed: Kill) -> Kill:
        run_id = RunDirectory.open(run).run_id
        if run not in self.guarded:
            self.made.control_plane.apply(others(run_id))
            self.guarded.add(run)
        before, journalled = self.kinds.look(f"{RUN}={run_id}", _LIKELY), bench.finished(run)
        cleaned = bench.run_cli("clean", str(run), "--yes", "--json")
        after = self.kinds.look(f"{RUN}={run_id}")
        problems = []
        if cleaned.returncode != 0:
            problems.append(
                f"clean ended with {cleaned.returncode}: {cleaned.stdout[-500:]}"
                f" {cleaned.stderr[-500:]}"
            )
        if after.ours:
            problems.append(f"still there after clean: {dict(after.ours)}")
        if (
            len(before.others) < len(others(run_id))
            or not before.others.items() <= after.others.items()
        ):
            problems.append(
                f"others' objects changed: {sorted(before.others.items() ^ after.others.items())}"
            )
        if bench.finished(run) != journalled:
            problems.append("clean changed what the journal says of trials")
        if missing := _told(run) - {trial.sequence for trial in journalled}:
            problems.append(f"told as finished and not in the journal: {sorted(missing)}")
        removed = Counter(
            name.rsplit(" ", 1)[0]
            for one in json.loads(cleaned.stdout)["runs"]
            for name in one["removed"]
        )
        return replace(
            killed,
            left=before.ours,
            removed=removed,
            trials=len(journalled),
            problems=tuple(problems),
        )

    def close(self) -> None:
        """Let the run at hand come to its end."""
        if self.run is not None:
            run, done = self.run, bench.run_cli("resume", str(self.run), "--yes", "--quiet")
            run.with_suffix(".told").write_text(done.stderr)
            self._see_the_end(run, done.returncode)

    def _remove_others(self, run: Path) -> None:
        run_id = RunDirectory.open(run).run_id
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": others(run_id)})
        self.made.kubectl(
            "delete",
            "--ignore-not-found",
            "--wait=false",
            "--grace-period=0",
            "-f",
            "-",
            given=given,
        )


def _told(run: Path) -> set[int]:
    """The trials that controllers said have finished."""
    lines = (
        json.loads(line)
        for line in run.with_suffix(".told").read_text().splitlines()
        if line.startswith("{") and line.endswith("}")
    )
    return {line["sequence"] for line in lines if line["event"] == "trial.finished"}


def carry_out(made: Cluster, folder: Path, count: int, seed: int) -> Iterator[Kill]:
    """Kill ``count`` controllers, and let all their runs end. Raises AssertionError when a run that
    was killed ends otherwise than others.
    """
    kinds, chain, numbers, kills = (
        Kinds(made),
        itertools.count(),
        iter(range(1, count + 1)),
        SimpleQueue[Kill | None](),
    )

    def work(node: str) -> None:
        lane = Lane(made=made, node=node, kinds=kinds, folder=folder, seed=seed, chain=chain)
        try:
            for number in numbers:
                kills.put(lane.kill(number))
            lane.close()
        finally:
            kills.put(None)

    with ThreadPoolExecutor(len(made.nodes)) as pool:
        lanes = [pool.submit(work, node.name) for node in made.nodes.values()]
        for _ in lanes:
            yield from iter(kills.get, None)
        for lane in lanes:
            lane.result()
    left = kinds.ours()
    assert not left, f"left at the end: {left}"


def _words(found: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in sorted(found.items())) or "nothing"


def summary(kills: Sequence[Kill]) -> str:
    """A table by phase, in Markdown."""
    lines = [
        (
            "| killed while | kills | left before `clean` | removed by `clean` | trials journalled"
            " | lost or left |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for phase in Phase:
        chosen = [one for one in kills if one.phase is phase]
        left, removed = Counter[str](), Counter[str]()
        for one in chosen:
            left.update(one.left)
            removed.update(one.removed)
        bad = sum(bool(one.problems) for one in chosen)
        lines.append(
            f"| {phase} | {len(chosen)} | {_words(left)} | {_words(removed)} |"
            f" {sum(one.trials for one in chosen)} | {bad or 'none'} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Make a cluster, kill, tell, remove the cluster; 0 if nothing was lost or left."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--name", default="kills", help="the cluster's name (kills)")
    parser.add_argument(
        "--nodes", type=int, default=2, help="so many runs go on beside each other (2)"
    )
    told = parser.parse_args()
    kills: list[Kill] = []
    with (
        cluster.up(told.name, nodes=told.nodes) as made,
        tempfile.TemporaryDirectory(prefix="benchspec-kills-") as folder,
    ):
        print(
            f"seed {told.seed}\n\n| kill | verb | killed while | after s | left before clean |"
            " removed by clean | trials journalled | verdict |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for one in carry_out(made, Path(folder), told.count, told.seed):
            kills.append(one)
            row = (
                one.number,
                one.verb,
                one.phase,
                f"{one.after_s:.1f}",
                _words(one.left),
                _words(one.removed),
                one.trials,
                one.verdict,
            )
            print(f"| {' | '.join(map(str, row))} |", flush=True)
    print(f"\n{summary(kills)}")
    return int(any(one.problems for one in kills))


if __name__ == "__main__":
    sys.exit(main())
