"""Lifecycle steps on a real cluster: objects of manifests are made, awaited, used and removed;
programs of the controller reach the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import ObjectKeeper
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.model.spec import Json, Site
from benchspec.engine.store.read_run import read_run
from benchspec.runners.kubernetes.runner import KubernetesRunner
from tests.cluster import sharing
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli, write_spec

OURS = "app.kubernetes.io/managed-by=benchspec"
MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: steps-note}
data: {said: "${output:greet.word}", plain: "$${output:greet.word}"}
---
apiVersion: v1
kind: Service
metadata: {name: steps-echo}
spec:
  type: NodePort
  selector: {app: steps-echo}
  ports: [{port: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: steps-echo}
spec:
  selector: {matchLabels: {app: steps-echo}}
  template:
    metadata: {labels: {app: steps-echo}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: echo
          image: localhost/tools:1
          command: [fortio, server, -http-port, "8080", -grpc-port, disabled, -tcp-port, disabled, -udp-port, disabled, -redirect-port, disabled]
          readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """The shared cluster, for this module alone."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    with sharing.alone() as made:
        yield made


def spec(cluster: Cluster, folder: Path, ready: list[dict[str, Any]], text: str = MANIFEST) -> Path:
    """One target: a step on the controller, a manifest, what is awaited, and a run of fortio
    against the manifest's Service.
    """
    (folder / "echo.yaml").write_text(text)
    lifecycle = {
        "per": "session",
        "bootstrap": [
            {
                "name": "greet",
                "run": ["kubectl", "get", "namespace", "default", "-o", "name"],
                "capture": {"word": {"stdout": True}},
            },
            {
                "name": "echo",
                "manifest": "echo.yaml",
                "capture": {"port": {"jsonpath": "$.items[1].spec.ports[0].nodePort"}},
            },
        ],
        "ready": ready,
        "destroy": [
            {
                "name": "look",
                "run": ["kubectl", "get", "configmap,deployment", "-l", OURS, "-o", "name"],
            }
        ],
    }
    address = cluster.layout.address(1)
    parameters = {
        "url": f"http://{address}:${{output:echo.port}}/",
        "qps": "50 1/s",
        "connections": 2,
        "duration": "1 s",
    }
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "steps",
        "title": "Steps",
        "targets": {
            "pods": {
                "runner": {
                    "kind": "kubernetes",
                    "image": "localhost/tools:1",
                    "kubeconfig": str(cluster.kubeconfig),
                    "cpu": "250m",
                    "memory": "128 MiB",
                },
                "lifecycle": lifecycle,
            }
        },
        "workloads": {
            "http": {"tool": "fortio", "with": parameters, "gates": {"max_steal": "100 %"}}
        },
        "method": {"sessions": 1, "trials": 1, "warmups": 1, "seed": 1},
    }
    return write_spec(folder / "spec.yaml", document)


def left(cluster: Cluster) -> list[str]:
    return cluster.kubectl(
        "get",
        "configmaps,services,deployments,replicasets,pods,jobs",
        "-A",
        "-l",
        OURS,
        "-o",
        "name",
    ).split()


def test_objects_of_a_manifest_are_made_awaited_loaded_and_removed(
    cluster: Cluster, tmp_path: Path
) -> None:
    ready: list[dict[str, Any]] = [
        {
            "name": "available",
            "wait": {"condition": "deployment/steps-echo condition=Available"},
            "timeout": "2 min",
            "capture": {"replicas": {"jsonpath": "$.status.readyReplicas"}},
        },
        {
            "name": "counted",
            "wait": {"condition": "deploy/steps-echo jsonpath={.status.readyReplicas}=1"},
            "timeout": "1 min",
        },
        {"name": "note", "run": ["kubectl", "get", "configmap", "steps-note", "-o", "json"]},
    ]
    path = spec(cluster, tmp_path, ready)
    run = tmp_path / "run"
    done = run_cli("run", str(path), "--yes", "--out", str(run))
    assert done.returncode == 0, done.stderr
    warmup, trial = read_run(run).trials
    assert (warmup.status, trial.status) == (TrialStatus.VALID, TrialStatus.VALID)
    figures = {m.metric: m.value for m in trial.measurements}
    assert (figures["error.ratio"], figures["samples"]) == (0, 50)
    printed = {
        path.parent.name: path.read_bytes() for path in (run / "raw-steps").glob("**/*stdout*")
    }
    note = next(json.loads(data) for name, data in printed.items() if "-note-" in name)
    assert note["data"] == {"said": "namespace/default", "plain": "${output:greet.word}"}
    assert note["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "benchspec"
    look = next(data for name, data in printed.items() if "-look-" in name).decode()
    assert {"deployment.apps/steps-echo", "configmap/steps-note"} <= set(
        look.split()
    )  # removed after the destroy steps
    assert left(cluster) == []


def test_a_condition_that_does_not_come_true_says_why_and_leaves_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    ready = [
        {
            "name": "available",
            "wait": {"condition": "deployment/steps-echo condition=Available"},
            "timeout": "5 s",
        }
    ]
    path = spec(cluster, tmp_path, ready, MANIFEST.replace("localhost/tools:1", "localhost/none:1"))
    done = run_cli("run", str(path), "--yes", "--out", str(tmp_path / "run"))
    assert done.returncode == 4, done.stderr
    assert (
        "deployment/steps-echo condition=Available was not so within 5 s: Available is False"
        in done.stderr
    )
    assert "ImagePull" in done.stderr or "ContainerCreating" in done.stderr
    assert left(cluster) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}},
            "there is a ConfigMap theirs already in namespace default",
        ),
        (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}},
            "belongs to the whole cluster",
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "a", "namespace": "kube-system"},
            },
            "in namespace kube-system, expected",
        ),
        (
            {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}},
            "no kind Thing of apiVersion example.org/v1",
        ),
    ],
)
def test_objects_that_must_not_be_made_are_refused(
    cluster: Cluster, given: dict[str, Any], told: str
) -> None:
    site = Site(
        name="pods",
        runner="kubernetes",
        options={"kind": "kubernetes", "kubeconfig": str(cluster.kubeconfig)},
    )
    cluster.kubectl("create", "configmap", "theirs")
    session = KubernetesRunner().connect(site, "run-of-steps")
    try:
        assert isinstance(session, ObjectKeeper)
        with pytest.raises(RunFailed, match=told):
            session.apply([given], "allocation")
        session.withdraw("allocation")
        assert cluster.kubectl("get", "configmaps", "theirs", "-o", "name")
    finally:
        session.close()
        cluster.kubectl("delete", "configmap", "theirs")
    assert left(cluster) == []


def test_two_targets_that_are_up_at_once_do_not_share_objects(cluster: Cluster) -> None:
    site = Site(
        name="pods",
        runner="kubernetes",
        options={"kind": "kubernetes", "kubeconfig": str(cluster.kubeconfig)},
    )
    given: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "steps-shared"},
    }
    session = KubernetesRunner().connect(site, "run-of-steps")
    try:
        assert isinstance(session, ObjectKeeper)
        session.apply([given], "first")
        session.apply([given], "first")
        with pytest.raises(RunFailed, match="which belongs to something else"):
            session.apply([given], "second")
        session.withdraw("second")
        assert cluster.kubectl("get", "configmaps", "steps-shared", "-o", "name")
        session.withdraw("first")
    finally:
        session.close()
    assert left(cluster) == []


def test_a_secret_is_made_and_not_kept(cluster: Cluster) -> None:
    site = Site(
        name="pods",
        runner="kubernetes",
        options={"kind": "kubernetes", "kubeconfig": str(cluster.kubeconfig)},
    )
    session = KubernetesRunner().connect(site, "run-of-steps")
    try:
        assert isinstance(session, ObjectKeeper)
        made = session.apply(
            [
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": "steps"},
                    "stringData": {"key": "open sesame"},
                }
            ],
            "allocation",
        )
        assert b"open" not in made
        assert b"b3Blbi" not in made
        assert b"b3Blbi" not in session.await_condition("secret/steps create", 10)
        assert "b3BlbiBzZXNhbWU=" in cluster.kubectl("get", "secret", "steps", "-o", "json")
        session.withdraw("allocation")
        assert session.await_condition("secret/steps delete", 10) == b""
    finally:
        session.close()
