"""Whole runs on a real cluster: the page says what was observed, and a killed controller loses and
leaves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.execution.checks.occupancy import overlaps
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.cluster import kills, neighbours, sharing
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli, write_spec
from tests.repeats import repeats

KILLS = repeats("CLUSTER_KILLS", 6, whole=20)
EXPERIMENTS = int(os.environ.get("BENCHSPEC_CLUSTER_EXPERIMENTS", "4"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """The shared cluster, for this module alone."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    with sharing.alone() as made:
        yield made


def spec(cluster: Cluster, workloads: dict[str, Any], **method: Any) -> dict[str, Any]:
    runner = {
        "kind": "kubernetes",
        "image": "localhost/tools:1",
        "kubeconfig": str(cluster.kubeconfig),
        "cpu": "250m",
        "memory": "128 MiB",
    }
    target = {
        "runner": runner,
        "kubernetes": {"version": "1.35.4"},
        "cni": {"mtu": 1500},
        "storage": {
            "class": "local-path",
            "provisioner": "rancher.io/local-path",
            "size": "64 MiB",
        },
    }
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "clusters",
        "title": "Pods",
        "targets": {"pods": target},
        "workloads": {
            name: {"gates": {"max_steal": "100 %"}, **one} for name, one in workloads.items()
        },
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1, **method},
    }


def test_network_and_storage_are_measured_and_what_is_claimed_is_confirmed(
    cluster: Cluster, tmp_path: Path
) -> None:
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
            "with": {
                "rw": "randread",
                "bs": "4 KiB",
                "size": "4 MiB",
                "runtime": "1 s",
                "engine": "libaio",
                "direct": True,
            },
        },
    }
    path = write_spec(tmp_path / "spec.yaml", spec(cluster, workloads))
    done = run_cli("run", str(path), "--yes", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "run")
    assert [trial.status for trial in run.trials] == [TrialStatus.VALID] * 3
    assert {
        check.fact: check.state.value for check in run.claims if check.state.value != "unknown"
    } | {
        "cni.mtu": "match",
        "kubernetes.version": "match",
        "storage.class": "match",
        "storage.provisioner": "match",
    } == {check.fact: "match" for check in run.claims if check.state.value != "unknown"}
    network = [trial for trial in run.trials if "server" in trial.nodes]
    assert len(network) == 2
    assert all(trial.nodes["client"] != trial.nodes["server"] for trial in network)
    assert all(
        {"client", "server"} <= trial.usage.keys() and "cpu.softirq" in trial.usage["client"]
        for trial in network
    )
    page = (tmp_path / "run" / "report" / "page.md").read_text()
    assert "| `storage.class` | local-path |" in page
    assert "| `kubernetes.version` | 1.35.4 |" in page
    assert kills.Kinds(cluster).ours() == {}


def test_kills_at_seeded_random_moments_lose_and_leave_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    died = list(kills.carry_out(cluster, tmp_path, KILLS, seed=20230320))
    assert [one for one in died if one.problems] == [], kills.summary(died)
    assert len(died) == KILLS
    if KILLS >= 20:
        assert len({one.phase for one in died}) >= 4, "they came at all stages of a run"


def test_controllers_beside_each_other_never_have_one_node_at_the_same_time(
    cluster: Cluster, tmp_path: Path
) -> None:
    runs, refusals = neighbours.carry_out(cluster, tmp_path, EXPERIMENTS)
    everything = [one for run in runs for one in run]
    assert len(everything) == EXPERIMENTS
    held = max(runs[0], key=lambda one: one.ended_at - one.began_at)
    assert {one.node for one in runs[1]} == {held.node}, (
        "the second run wanted the very node that the first had meanwhile"
    )
    assert refusals >= 1
    assert overlaps(everything) == []
    first = runs[0][0]
    doctored = replace(
        runs[1][0], node=first.node, began_at=first.began_at + 0.1, ended_at=first.began_at + 0.2
    )
    assert len(overlaps([*everything, doctored])) == 1, "it would have been seen"
