"""Charts of lifecycle steps with a real Helm on a real cluster. Not part of the suite, since Helm
takes minutes to build:

python -m pytest tests/runners/kubernetes/with_helm.py
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.cluster import helm
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli, write_spec

CHART = Path(__file__).parents[2] / "data" / "echo-chart"


@pytest.fixture(autouse=True)
def helm_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{helm.program().parent}:{os.environ['PATH']}")


def spec(cluster: Cluster, folder: Path, **changed: Any) -> Path:
    """A run of fortio against the server of a chart beside the spec, whose values come from a step
    before.
    """
    shutil.copytree(CHART, folder / "charts" / "echo", dirs_exist_ok=True)
    chart = {
        "name": "./charts/echo",
        "release": "chart-echo",
        "values": {"greeting": "${output:greet.word}"},
        **changed,
    }
    address = cluster.layout.address(1)
    port = ["kubectl", "get", "service", "chart-echo", "-o", "json"]
    lifecycle = {
        "per": "session",
        "bootstrap": [
            {
                "name": "greet",
                "run": ["kubectl", "get", "namespace", "default", "-o", "name"],
                "capture": {"word": {"stdout": True}},
            },
            {"name": "install", "chart": chart, "timeout": "3 min"},
            {
                "name": "port",
                "run": port,
                "capture": {"number": {"jsonpath": "$.spec.ports[0].nodePort"}},
            },
        ],
        "ready": [
            {"name": "note", "run": ["kubectl", "get", "deployment", "chart-echo", "-o", "json"]}
        ],
    }
    parameters = {
        "url": f"http://{address}:${{output:port.number}}/",
        "qps": "50 1/s",
        "connections": 2,
        "duration": "1 s",
    }
    runner = {
        "kind": "kubernetes",
        "image": "localhost/tools:1",
        "kubeconfig": str(cluster.kubeconfig),
        "cpu": "250m",
        "memory": "128 MiB",
    }
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "charts",
        "title": "Charts",
        "targets": {"pods": {"runner": runner, "lifecycle": lifecycle}},
        "workloads": {
            "http": {"tool": "fortio", "with": parameters, "gates": {"max_steal": "100 %"}}
        },
        "method": {"sessions": 1, "trials": 1, "warmups": 1, "seed": 1},
    }
    return write_spec(folder / "spec.yaml", document)


def releases(cluster: Cluster) -> list[str]:
    """What Helm keeps of releases, and what the chart makes."""
    kept = cluster.kubectl("get", "secrets", "-A", "-l", "owner=helm", "-o", "name").split()
    return kept + [
        name
        for name in cluster.kubectl("get", "deployments,services", "-o", "name").split()
        if name.endswith("/chart-echo")
    ]


def test_a_chart_is_installed_loaded_and_removed(cluster: Cluster, tmp_path: Path) -> None:
    path, run = spec(cluster, tmp_path), tmp_path / "run"
    done = run_cli("run", str(path), "--yes", "--out", str(run))
    assert done.returncode == 0, done.stderr
    trials = read_run(run).trials
    assert [trial.status for trial in trials] == [TrialStatus.VALID] * 2
    for trial in (
        trials
    ):  # the chart's pod was looked at, although so short a trial may not show what it used
        assert {name.rpartition(".")[0] for name in trial.usage["server"] if "/" in name} == {
            "container.deployment/chart-echo/echo"
        }
    note = next(
        json.loads(file.read_bytes())
        for file in (run / "raw-steps").glob("**/*stdout*")
        if "-note-" in file.parent.name
    )
    assert note["metadata"]["annotations"]["greeting"] == "namespace/default"
    assert releases(cluster) == []


def test_a_release_of_somebody_else_is_neither_changed_nor_removed(
    cluster: Cluster, tmp_path: Path
) -> None:
    program = [str(helm.program()), f"--kubeconfig={cluster.kubeconfig}", "--namespace=default"]
    subprocess.run(
        [*program, "install", "chart-echo", str(CHART), "--set", "greeting=mine"],
        check=True,
        capture_output=True,
    )
    try:
        done = run_cli("run", str(spec(cluster, tmp_path)), "--yes", "--out", str(tmp_path / "run"))
        assert done.returncode == 4
        assert "there is a release chart-echo already in namespace default" in done.stderr
        found = json.loads(cluster.kubectl("get", "deployment", "chart-echo", "-o", "json"))
        assert found["metadata"]["annotations"]["greeting"] == "mine"
    finally:
        subprocess.run(
            [*program, "uninstall", "chart-echo", "--wait"], check=True, capture_output=True
        )
    assert releases(cluster) == []


def test_what_a_killed_controller_left_installed_goes_with_clean(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The image cannot be had, so Helm waits; the controller dies meanwhile."""
    path, run = spec(cluster, tmp_path, values={"image": "localhost/no-such:1"}), tmp_path / "run"
    argv = [sys.executable, "-m", "benchspec.cli", "run", str(path), "--yes", "--out", str(run)]
    controller = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not releases(cluster) and time.monotonic() < deadline:
        time.sleep(0.2)
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    assert releases(cluster)
    done = run_cli("clean", str(run), "--yes")
    assert done.returncode == 0, done.stderr
    assert releases(cluster) == []
