"""Two clusters at once: a client in one before a server in the other, and nothing left of either."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.readback import read_run
from benchspec.engine.results import TrialStatus
from tests.cluster import cluster, sharing
from tests.cluster.cluster import Cluster
from tests.execute.bench import run_cli, write_spec


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    """Two clusters of one node each, with networks of their own."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    names = [f"pair{os.getpid()}{end}" for end in "ab"]
    with cluster.up(names[0], nodes=1) as one, cluster.up(names[1], nodes=1, overlay="vxlan", pod_mtu=1450) as other:
        yield one, other
    assert [made.leftovers() for made in (one, other)] == [[], []]


def site(made: Cluster) -> dict[str, Any]:
    return {"kind": "kubernetes", "kubeconfig": str(made.kubeconfig), "cpu": "250m", "memory": "128 MiB"}


def test_a_client_in_one_cluster_reaches_a_server_in_the_other(pair: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    workload = {"tool": "iperf3", "path": "node-port", "placement": "across-sites", "with": {"duration": "1 s"}, "gates": {"max_steal": "100 %"}}
    spec = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "two-clusters",
        "title": "Two clusters",
        "sites": {"one": site(pair[0]), "other": site(pair[1])},
        "targets": {"both": {"sites": {"server": "one", "client": "other"}}},
        "workloads": {"network": workload},
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1},
    }
    done = run_cli("run", str(write_spec(tmp_path / "spec.yaml", spec)), "--yes", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    (trial,) = read_run(tmp_path / "run").trials
    assert trial.status is TrialStatus.VALID
    assert trial.nodes == {"server": pair[0].layout.node(1), "client": pair[1].layout.node(1)}
    for made in pair:
        left = made.kubectl("get", "jobs,pods,services,leases", "--all-namespaces", "-l", "app.kubernetes.io/managed-by=benchspec", "-o", "name")
        assert left == ""
