"""Whole runs on a real cluster: the page says what was observed, and a killed controller loses and leaves nothing."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.readback import read_run
from benchspec.engine.results import TrialStatus
from tests.cluster import sharing
from tests.cluster.cluster import Cluster
from tests.execute.bench import finished, run_cli, start_cli, write_spec

KILLS = int(os.environ.get("BENCHSPEC_CLUSTER_KILLS", "4"))
OURS = "app.kubernetes.io/managed-by=benchspec"
THEIRS = {
    "apiVersion": "v1", "kind": "ConfigMap",
    "metadata": {"name": "bs-client-of-somebody-else", "labels": {"app.kubernetes.io/managed-by": "helm", "benchspec.dev/run": "run-1"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """The shared cluster, for this module alone."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    with sharing.alone() as made:
        yield made


def spec(cluster: Cluster, workloads: dict[str, Any], **method: Any) -> dict[str, Any]:
    runner = {"kind": "kubernetes", "kubeconfig": str(cluster.kubeconfig), "cpu": "250m", "memory": "128 MiB"}
    target = {
        "runner": runner,
        "kubernetes": {"version": "1.35.4"},
        "cni": {"mtu": 1500},
        "storage": {"class": "local-path", "provisioner": "rancher.io/local-path", "size": "64 MiB"},
    }
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "clusters",
        "title": "Pods",
        "targets": {"pods": target},
        "workloads": {name: {"gates": {"max_steal": "100 %"}, **one} for name, one in workloads.items()},
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1, **method},
    }


def listed(cluster: Cluster) -> list[str]:
    """Everything of every kind there is that carries our label, and volumes that nobody claims any more."""
    namespaced = cluster.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name").split()
    found = cluster.kubectl("get", ",".join(namespaced), "--all-namespaces", "-l", OURS, "-o", "name").split()
    wide = cluster.kubectl("get", "storageclasses,namespaces,clusterroles,clusterrolebindings", "-l", OURS, "-o", "name").split()
    return [name for name in found + wide if not name.startswith("event")]


def test_network_and_storage_are_measured_and_what_is_claimed_is_confirmed(cluster: Cluster, tmp_path: Path) -> None:
    workloads = {
        "network": {
            "tool": "iperf3",
            "placement": "across-nodes",
            "path": "pod-to-service",
            "with": {"duration": "1 s"},
            "matrix": {"protocol": ["tcp", "udp"]},
        },
        "storage": {
            "tool": "fio",
            "with": {"rw": "randread", "bs": "4 KiB", "size": "4 MiB", "runtime": "1 s", "engine": "libaio", "direct": True},
        },
    }
    path = write_spec(tmp_path / "spec.yaml", spec(cluster, workloads))
    done = run_cli("run", str(path), "--yes", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "run")
    assert [trial.status for trial in run.trials] == [TrialStatus.VALID] * 3
    assert {check.fact: check.state.value for check in run.claims if check.state.value != "unknown"} | {
        "cni.mtu": "match", "kubernetes.version": "match", "storage.class": "match", "storage.provisioner": "match",
    } == {check.fact: "match" for check in run.claims if check.state.value != "unknown"}  # fmt: skip
    network = [trial for trial in run.trials if "server" in trial.nodes]
    assert len(network) == 2
    assert all(trial.nodes["client"] != trial.nodes["server"] for trial in network)
    assert all({"client", "server"} <= trial.usage.keys() and "cpu.softirq" in trial.usage["client"] for trial in network)
    page = (tmp_path / "run" / "report" / "page.md").read_text()
    assert "| `storage.class` | local-path |" in page
    assert "| `kubernetes.version` | 1.35.4 |" in page
    assert listed(cluster) == []


def test_kills_at_seeded_random_moments_lose_and_leave_nothing(cluster: Cluster, tmp_path: Path) -> None:
    cluster.control_plane.apply([THEIRS])
    command = {"run": ["sh", "-c", "sleep 0.5; echo 42"], "extract": {"answer": {"regex": "([0-9]+)", "unit": "1/s", "direction": "higher"}}}
    workloads = {"counted": {"tool": "command", "with": command}}
    path = write_spec(tmp_path / "spec.yaml", spec(cluster, workloads, sessions=3, trials=2))
    run, moments = tmp_path / "run", random.Random(20230320)
    verb = ["run", str(path), "--out", str(run)]
    for _ in range(KILLS):
        controller = start_cli(*verb, "--yes", "--quiet", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(1, 20))
        controller.kill()
        controller.wait()
        if not (run / "journal.ndjson").exists():
            continue
        before = finished(run)
        cleaned = run_cli("clean", str(run), "--yes")
        assert cleaned.returncode == 0, cleaned.stderr
        assert listed(cluster) == []
        assert finished(run) == before
        verb = ["resume", str(run)]
    done = run_cli(*verb, "--yes", "--quiet")
    assert done.returncode == 0, done.stderr
    assert listed(cluster) == []
    trials = [trial for trial in read_run(run).trials if trial.status is TrialStatus.VALID]
    assert len(trials) == 6
    assert cluster.kubectl("get", "configmap", "bs-client-of-somebody-else", "-o", "name").strip() == "configmap/bs-client-of-somebody-else"
    cluster.kubectl("delete", "configmap", "bs-client-of-somebody-else")
