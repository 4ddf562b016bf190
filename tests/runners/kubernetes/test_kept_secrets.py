"""Secrets that the cluster keeps: read when a program needs them, and in nothing that is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchspec.engine.model.contract.runner import SecretKeeper, Session
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli, write_spec

TOKEN = "a-token-of-the-cluster-alone"
MANIFEST = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "kept"},
    "stringData": {"token": f"{TOKEN}\n", "bytes": "x"},
}


def test_a_program_gets_it_and_nothing_that_is_kept_has_it(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The Secret is made by the target's own lifecycle: before the run there is none."""
    (tmp_path / "kept.sh").write_text(
        f"kubectl create secret generic kept-by-run --from-literal=token={TOKEN} >/dev/null\n"
    )
    command = {
        "run": ["sh", "-c", 'printf "length %s token %s\\n" "$${#TOKEN}" "$TOKEN"'],
        "env": {"TOKEN": "${secret:kubernetes:default/kept-by-run/token}"},
        "duration": "0.1 s",
        "extract": {"length": {"regex": "length ([0-9]+)", "unit": "1/s", "direction": "higher"}},
    }
    steps = {
        "bootstrap": [{"name": "make", "on": "controller", "script": "kept.sh"}],
        "destroy": [
            {
                "name": "remove",
                "on": "controller",
                "run": ["kubectl", "delete", "secret", "kept-by-run"],
            }
        ],
    }
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "kept",
        "title": "Kept",
        "targets": {
            "pods": {
                "runner": {
                    "kind": "kubernetes",
                    "image": "localhost/tools:1",
                    "kubeconfig": str(cluster.kubeconfig),
                    "cpu": "100m",
                    "memory": "64 MiB",
                },
                "lifecycle": {"per": "run", **steps},
            }
        },
        "workloads": {"asks": {"tool": "command", "with": command}},
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1},
    }
    done = run_cli(
        "run",
        str(write_spec(tmp_path / "spec.yaml", document)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    assert done.returncode == 0, done.stderr
    (trial,) = read_run(tmp_path / "run").trials
    assert trial.status is TrialStatus.VALID
    assert {one.metric: one.value for one in trial.measurements}["length"] == len(TOKEN)
    kept = [
        path
        for path in (tmp_path / "run").rglob("*")
        if path.is_file() and path.name != "kept.sh" and TOKEN.encode() in path.read_bytes()
    ]
    assert kept == []
    assert any(
        b"[redacted]" in path.read_bytes()
        for path in (tmp_path / "run").glob("raw/**/*")
        if path.is_file()
    )


def test_what_cannot_be_had_is_told(cluster: Cluster, connect: Callable[..., Session]) -> None:
    session = connect()
    assert isinstance(session, SecretKeeper)
    cluster.kubectl("apply", "-f", "-", given=json.dumps(MANIFEST))
    try:
        assert session.read_secret("default/kept/token") == TOKEN
        for name, told in {
            "default/kept/none": "has no key none, only bytes, token",
            "default/nobody/token": "no Secret nobody in namespace default",
            "../kept/token": "expected NAMESPACE/NAME/KEY",
            "default/kept?watch=1/token": "expected NAMESPACE/NAME/KEY",
        }.items():
            with pytest.raises(RunFailed, match=told):
                session.read_secret(name)
    finally:
        cluster.kubectl("delete", "secret", "kept")
