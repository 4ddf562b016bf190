"""HTTP between pods on two nodes through a Service: fortio by its command and over REST, and what
was busy meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.results import Trial, TrialKind, TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.cluster import sharing
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli, write_spec

OURS = "app.kubernetes.io/managed-by=benchspec"
TOKEN = "a-token-that-nobody-may-see"
SIDECARS = [
    {
        "name": "busy",
        "image": "localhost/tools:1",
        "command": ["sh", "-c", "trap exit TERM; while :; do :; done"],
        "cpu": "50m",
        "memory": "32 MiB",
    },
    {
        "name": "mute",
        "image": "localhost/pause:1",
        "cpu": "10m",
        "memory": "32 MiB",
    },  # has no program that could tell what it uses
]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """The shared cluster, for this test alone."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    with sharing.alone() as made:
        yield made


def spec(cluster: Cluster, folder: Path) -> Path:
    through_a_service = {
        "tool": "fortio",
        "path": "pod-to-service",
        "placement": "across-nodes",
        "gates": {"max_steal": "100 %"},
    }
    closed: dict[str, Any] = {"connections": 2, "duration": "1 s"}
    paced = {
        **closed,
        "api": "rest",
        "server": "nginx",
        "qps": "50 1/s",
        "secret_headers": {"X-Token": "${secret:env:HTTP_TEST_TOKEN}"},
    }
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "http",
        "title": "HTTP",
        "targets": {
            "pods": {
                "runner": {
                    "kind": "kubernetes",
                    "image": "localhost/tools:1",
                    "kubeconfig": str(cluster.kubeconfig),
                    "cpu": "250m",
                    "memory": "128 MiB",
                    "roles": {"client": {"sidecars": SIDECARS}},
                }
            }
        },
        "workloads": {
            "closed": {**through_a_service, "with": closed},
            "paced": {**through_a_service, "with": paced},
        },
        "method": {"sessions": 1, "trials": 1, "warmups": 1, "seed": 1},
    }
    return write_spec(folder / "spec.yaml", document)


def test_command_and_rest_through_a_service(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_TEST_TOKEN", TOKEN)
    done = run_cli("run", str(spec(cluster, tmp_path)), "--yes", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "run")
    workloads = {experiment.id: experiment.workload for experiment in run.experiments}
    assert [trial.status for trial in run.trials] == [TrialStatus.VALID] * 4
    measured = {
        workloads[trial.experiment_id]: trial
        for trial in run.trials
        if trial.kind is TrialKind.MEASURED
    }
    for trial in measured.values():
        assert trial.nodes["client"] != trial.nodes["server"]
        check_usage(trial)
    closed, paced = figures(measured["closed"]), figures(measured["paced"])
    assert closed["error.ratio"] == paced["error.ratio"] == 0
    assert paced["samples"] == 50
    assert 0 < paced["latency.p50"] <= paced["latency.p99"]
    page = (tmp_path / "run" / "report" / "page.md").read_text()
    assert (
        page.index("## Load on the nodes")
        < page.index("| pods | closed | server |")
        < page.index("| client | busy |")
    )
    rest = [
        json.loads(path.read_bytes())
        for path in (tmp_path / "run").glob("raw/*/0-file-fortio-started.json")
    ]
    assert [answer["message"] for answer in rest] == [
        "started"
    ] * 2  # the warm-up's answer is kept too, and in no figure
    assert not [
        path
        for path in (tmp_path / "run").rglob("*")
        if path.is_file() and TOKEN.encode() in path.read_bytes()
    ]
    assert cluster.kubectl("get", "jobs,pods,services,leases", "-A", "-l", OURS, "-o", "name") == ""


def figures(trial: Trial) -> dict[str, float]:
    return {measurement.metric: measurement.value for measurement in trial.measurements}


def check_usage(trial: Trial) -> None:
    """Both nodes were watched, and every container that can tell has told; of one that cannot its
    kubelet has told, or it is unknown.
    """
    for role, others, mute in (("client", {"busy"}, {"mute"}), ("server", set[str](), set[str]())):
        seen = trial.usage[role]
        assert {f"host.cpu.{state}" for state in ("busy", "user", "system", "softirq")} | {
            "memory.used"
        } <= seen.keys()
        assert {name.split(".")[1] for name in seen if name.startswith("container.")} == {
            "role"
        } | others | mute
        for name in mute:
            assert (f"container.{name}.cpu" in seen) != (f"container.{name}.unseen" in seen)
        for name in {"role"} | others:
            assert seen[f"container.{name}.cpu"] > 0
            assert seen[f"container.{name}.memory"] > 0
