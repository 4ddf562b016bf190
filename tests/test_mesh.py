"""HTTP between two real clusters, with and without Envoy sidecars: the mesh is really there, is
taken down again, and nothing of it stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchspec.engine.model.results import RunData, TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.cluster import cluster as clusters
from tests.cluster import envoy, sharing
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli

SPEC = Path(__file__).resolve().parents[1] / "specs" / "testbed" / "mesh.yaml"
OURS = "app.kubernetes.io/managed-by=benchspec"


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    """The shared cluster, which serves, and one of its own, which loads; both with the image of
    Envoy.
    """
    if (problem := sharing.missing() or envoy.missing()) is not None:
        pytest.skip(problem)
    with sharing.alone() as serve, clusters.up("test-mesh", nodes=1) as load:
        for made in (serve, load):
            envoy.load(made)
        yield serve, load


def left(made: Cluster) -> list[str]:
    kinds = "configmaps,secrets,services,deployments,replicasets,pods,jobs,leases"
    labelled = made.kubectl("get", kinds, "--all-namespaces", "-l", OURS, "-o", "name").split()
    return labelled + [
        name
        for name in made.kubectl("get", "secrets", "--all-namespaces", "-o", "name").split()
        if "envoy" in name
    ]


def test_one_session_with_and_without_the_mesh(
    pair: tuple[Cluster, Cluster], tmp_path: Path
) -> None:
    serve, load = pair
    given = {
        "vars.serve": serve.kubeconfig,
        "vars.load": load.kubeconfig,
        "method.sessions": 1,
        "workloads.paced.gates.min_achieved_ratio": "10 %",  # whatever else the machine does
        **{f"workloads.{name}.with.duration": "1 s" for name in ("paced", "closed")},
        **{f"workloads.{name}.gates.min_duration": "900 ms" for name in ("paced", "closed")},
        **{f"workloads.{name}.gates.max_steal": "100 %" for name in ("paced", "closed")},
    }
    settings = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    done = run_cli("run", str(SPEC), "--yes", "--out", str(tmp_path / "run"), *settings)
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "run")
    assert [trial.status for trial in run.trials] == [TrialStatus.VALID] * 4
    for trial in run.trials:
        assert trial.nodes["server"].startswith(serve.layout.name)
        assert trial.nodes["client"].startswith(load.layout.name)
        figures = {m.metric: m.value for m in trial.measurements}
        assert figures["error.ratio"] == 0
        assert 0 < figures["latency.p50"] <= figures["latency.p99"] < 3
    _check_answers(tmp_path / "run")
    _check_cost(run)
    page = (tmp_path / "run" / "report" / "page.md").read_text()
    assert "| load-envoy | client | envoy |" in page
    assert "| serve | deployment/mesh-echo-envoy | envoy |" in page
    assert "| serve | deployment/mesh-echo | fortio |" in page
    assert "envoy-mtls" in page
    assert "| `kubernetes.version` | 1.35.4 |" in page
    assert left(serve) == []
    assert left(load) == []


def _check_cost(run: RunData) -> None:
    """What the client's proxy used is known where there is one, beside what the load generator
    used; the server's containers, in the other cluster, were looked at, whether or not so short a
    trial shows what they used.
    """
    targets = {experiment.id: experiment.target for experiment in run.experiments}
    for trial in run.trials:
        used = trial.usage["client"].get("container.envoy.cpu")
        assert (used is None) == (targets[trial.experiment_id] == "none")
        assert used is None or 0 < used < 60
        assert trial.usage["client"]["container.role.cpu"] > 0
        assert not [name for name in trial.usage["client"] if "/" in name]
        servers = (
            ["mesh-echo/fortio"]
            if targets[trial.experiment_id] == "none"
            else ["mesh-echo-envoy/fortio", "mesh-echo-envoy/envoy"]
        )
        looked_at = {name.rpartition(".")[0] for name in trial.usage["server"] if "/" in name}
        assert looked_at == {f"container.deployment/{name}" for name in servers}
        for name in looked_at:
            assert (f"{name}.cpu" in trial.usage["server"]) != (
                f"{name}.unseen" in trial.usage["server"]
            )


def _check_answers(run: Path) -> None:
    """Every answer through the mesh came from a proxy, to what was asked for; the load went to the
    proxy in the load generator's own pod.
    """
    urls = set()
    for stored in (run / "raw").glob("*/*-stdout"):
        answer = json.loads(stored.read_bytes())
        urls.add(answer["URL"].removesuffix("/").rpartition(":")[0])
        assert answer["NumThreads"] == 2
        assert set(answer["RetCodes"]) == {"200"}
    assert "http://127.0.0.1" in urls
    assert len(urls) == 2
    proof = next((run / "raw-steps").glob("envoy-mtls-*-refused-*/stdout")).read_text()
    assert "HTTP status and seconds until TLS: 000" in proof
