"""Two clusters at once: a client in one before a server in the other, and nothing left of
either.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.cluster import cluster, network, sharing
from tests.cluster.cluster import Cluster
from tests.cluster.layout import Layout
from tests.engine.execution.bench import run_cli, write_spec


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    """Two clusters of one node each, with networks of their own."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    names = [f"pair{os.getpid()}{end}" for end in "ab"]
    with (
        cluster.up(names[0], nodes=1) as one,
        cluster.up(names[1], nodes=1, overlay="vxlan", pod_mtu=1450) as other,
    ):
        yield one, other
    assert [made.leftovers() for made in (one, other)] == [[], []]


def route(*arguments: str) -> str:
    """What the kernel would do with a packet."""
    done = subprocess.run(
        ["ip", "route", "get", *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def unreachable() -> frozenset[str]:
    """The prefixes to which nothing goes from this machine."""
    done = subprocess.run(
        ["ip", "route", "show", "type", "unreachable"], check=True, capture_output=True, text=True
    )
    return frozenset(line.split()[1] for line in done.stdout.splitlines())


def test_the_routes_of_one_cluster_go_with_it_and_leave_those_of_others(
    pair: tuple[Cluster, Cluster],
) -> None:
    others = {prefix for made in pair for prefix in (made.layout.services, made.layout.all_pods)}
    third = Layout(
        name="third", slot=40 + os.getpid() % 10, nodes=0
    )  # a number that no cluster has
    own = {third.services, third.all_pods}
    network.make(third)
    network.make(third)
    assert others | own <= unreachable()
    network.remove(third)
    assert (own & unreachable(), others <= unreachable(), network.leftovers(third)) == (
        set(),
        True,
        [],
    )
    network.remove(third)


def test_nothing_meant_for_a_cluster_leaves_this_machine_by_its_default_route(
    pair: tuple[Cluster, Cluster],
) -> None:
    for made in pair:
        layout = made.layout
        node, service, no_pod = (
            layout.address(1),
            layout.services.replace(".0.0/16", ".200.7"),
            layout.all_pods.replace(".0.0/16", ".200.7"),
        )
        assert "No route to host" in route(layout.first_service), (
            "where an API server calls its webhooks"
        )
        for nobody in (service, no_pod):
            assert "No route to host" in route(nobody)
            assert "No route to host" in route(nobody, "from", node, "iif", layout.bridge), (
                "what a node hands on"
            )
            with pytest.raises(OSError, match=os.strerror(errno.EHOSTUNREACH)):
                socket.create_connection((nobody, 443), timeout=30)
        pod = layout.pods(1).replace(".0/24", ".9")
        assert f"{pod} via {node} dev {layout.bridge}" in route(pod), "pods are reached as before"


def site(made: Cluster) -> dict[str, Any]:
    return {
        "kind": "kubernetes",
        "image": "localhost/tools:1",
        "kubeconfig": str(made.kubeconfig),
        "cpu": "250m",
        "memory": "128 MiB",
    }


def test_a_client_in_one_cluster_reaches_a_server_in_the_other(
    pair: tuple[Cluster, Cluster], tmp_path: Path
) -> None:
    workload = {
        "tool": "iperf3",
        "path": "node-port",
        "placement": "across-sites",
        "with": {"duration": "1 s"},
        "gates": {"max_steal": "100 %"},
    }
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
    done = run_cli(
        "run",
        str(write_spec(tmp_path / "spec.yaml", spec)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    assert done.returncode == 0, done.stderr
    (trial,) = read_run(tmp_path / "run").trials
    assert trial.status is TrialStatus.VALID
    assert trial.nodes == {"server": pair[0].layout.node(1), "client": pair[1].layout.node(1)}
    for made in pair:
        left = made.kubectl(
            "get",
            "jobs,pods,services,leases",
            "--all-namespaces",
            "-l",
            "app.kubernetes.io/managed-by=benchspec",
            "-o",
            "name",
        )
        assert left == ""
