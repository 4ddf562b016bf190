"""The image of images/Containerfile on a real cluster. Not part of the suite, since it is built
meanwhile, which takes minutes:

python -m pytest tests/runners/kubernetes/with_image.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.model.spec import Role
from benchspec.engine.store.read_run import read_run
from tests.cluster import cluster as clusters
from tests.cluster import containerfile, sharing
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli, write_spec
from tests.runners.kubernetes.test_image import tools

NAMESPACE = "restricted"
HERE = {"image": containerfile.IMAGE, "namespace": NAMESPACE}
PING = {"name": "net.ipv4.ping_group_range", "value": "0 2147483647"}
"""As the runner sets it."""

WORKLOADS: dict[str, dict[str, Any]] = {
    "fio": {"with": {"size": "16 MiB", "runtime": "1 s", "bs": "4 KiB", "rw": "randread"}},
    "fortio": {
        "with": {
            "server": "nginx",
            "api": "rest",
            "qps": "50 1/s",
            "connections": 2,
            "duration": "1 s",
        },
        "path": "pod-to-service",
    },
    "iperf3": {"with": {"duration": "1 s"}, "path": "pod-to-pod"},
    "netperf": {"with": {"duration": "1 s"}, "path": "pod-to-pod"},
    "openssl-speed": {"with": {"algorithm": "aes-256-gcm", "seconds": "1 s"}},
    "sockperf": {"with": {"duration": "1 s"}, "path": "pod-to-pod"},
    "stress-ng": {"with": {"stressors": [{"name": "cpu"}], "duration": "1 s"}},
    "sysbench": {"with": {"test": "cpu", "duration": "1 s"}},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of its own, with the image and a namespace that admits nothing but what is
    restricted.
    """
    if (problem := sharing.missing() or containerfile.missing()) is not None:
        pytest.skip(problem)
    archive = containerfile.archive()
    with clusters.up("test-image") as made:
        made.load(containerfile.IMAGE, archive)
        made.kubectl("create", "namespace", NAMESPACE)
        made.kubectl(
            "label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted"
        )
        with pytest.raises(RuntimeError, match="violates PodSecurity"):
            made.kubectl(
                "run", "open", f"--image={containerfile.IMAGE}", f"--namespace={NAMESPACE}"
            )
        yield made


def test_every_tool_is_found_and_says_its_version(connect: Callable[..., Session]) -> None:
    found = connect(**HERE).find_tools(Role.CLIENT, tools())
    print(
        *(f"{status.tool.executable}: {status.path}, {status.version}" for status in found),
        sep="\n",
    )
    assert [
        status.tool.executable for status in found if status.path is None or status.version is None
    ] == []


def test_by_itself_it_is_not_root_and_has_what_the_runner_asks_with(cluster: Cluster) -> None:
    """Nobody says which user it runs as: the cluster takes an image's word only for a number."""
    programs = "base64 bash ethtool ip ping ps python3 setsid taskset tc"
    asked = (
        f"id -u; for p in {programs}; do command -v $p >/dev/null || echo no $p; done; ping -c 1"
        " 127.0.0.1 >/dev/null || echo no answer"
    )
    security = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "tools",
        "image": containerfile.IMAGE,
        "command": ["sh", "-c", asked],
        "securityContext": security,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tools", "namespace": NAMESPACE},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "securityContext": {"sysctls": [PING]},
        },
    }
    cluster.kubectl("apply", "-f", "-", given=json.dumps(pod))
    where = ("tools", f"--namespace={NAMESPACE}")
    cluster.kubectl(
        "wait", "pod", *where, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=120s"
    )
    assert cluster.kubectl("logs", *where).splitlines() == ["1000"]


def test_every_tool_measures(cluster: Cluster, tmp_path: Path) -> None:
    runner = {
        "kind": "kubernetes",
        "kubeconfig": str(cluster.kubeconfig),
        "cpu": "250m",
        "memory": "256 MiB",
        **HERE,
    }
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "image",
        "title": "The tool image",
        "targets": {
            "pods": {"runner": runner, "storage": {"class": "local-path", "size": "64 MiB"}}
        },
        "workloads": {
            tool: {"tool": tool, **rest, "gates": {"max_steal": "100 %"}}
            for tool, rest in WORKLOADS.items()
        },
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1},
    }
    path, run = write_spec(tmp_path / "spec.yaml", document), tmp_path / "run"
    done = run_cli("run", str(path), "--yes", "--out", str(run))
    assert done.returncode == 0, done.stderr
    read = read_run(run)
    assert {
        fact.value for facts in read.facts for fact in facts.facts if fact.name == "path.mtu"
    } == {cluster.layout.pod_mtu}, "ping found nothing"
    assert sorted(experiment.tool for experiment in read.experiments) == sorted(WORKLOADS)
    assert [trial.status for trial in read.trials] == [TrialStatus.VALID] * len(WORKLOADS), [
        trial.error for trial in read.trials
    ]
