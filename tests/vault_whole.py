"""The Vault choreography, whole, on a cluster of its own. Not part of the suite, since Vault takes
minutes to build and four nodes are many: ``python -m pytest tests/vault_whole.py``.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.cluster import cluster as clusters
from tests.cluster import sharing, vault
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import records, run_cli, start_cli

SPEC = Path(__file__).resolve().parents[1] / "specs" / "testbed" / "vault.yaml"
NAMESPACES = ("vault-one", "vault-three")
SHORT = {
    "method.sessions": 1,
    "workloads.transit.with.duration": "1 s",
    "workloads.transit.gates.min_duration": "900 ms",
    "workloads.transit.gates.max_steal": "100 %",
}
WAIT_S = 900


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Four nodes: three for Vault, one for the load."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    with clusters.up("test-vault", nodes=4) as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(made.tools), prepend=os.pathsep)  # the steps use kubectl
        made.load(vault.IMAGE, vault.archive())
        *servers, load = (made.layout.node(number) for number in made.layout.numbers)
        made.kubectl("label", "--overwrite", "nodes", *servers, "bench=vault")
        made.kubectl("label", "--overwrite", "nodes", load, "bench=load")
        yield made


def arguments(cluster: Cluster, run: Path, **changes: object) -> list[str]:
    given = {"vars.kubeconfig": cluster.kubeconfig, **SHORT, **changes}
    return [
        "run",
        str(SPEC),
        "--yes",
        "--out",
        str(run),
        *(word for key, value in given.items() for word in ("--set", f"{key}={value}")),
    ]


class Watch:
    """Collects, while it lasts, what the cluster's Secrets hold and the arguments of every process
    of this machine.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.secrets: set[bytes] = set()
        self.arguments: set[bytes] = set()
        self._cluster, self._over = cluster, threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(look,))
            for look in (self._look_at_secrets, self._look_at_arguments)
        ]

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, look: Callable[[], None]) -> None:
        while not self._over.wait(0.1):
            look()

    def _look_at_secrets(self) -> None:
        with contextlib.suppress(RuntimeError):  # a busy API server
            self.secrets |= {
                value for namespace in NAMESPACES for value in held(self._cluster, namespace)
            }
        self._over.wait(2)

    def _look_at_arguments(self) -> None:
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):  # it ended
                self.arguments.add(Path("/proc", name, "cmdline").read_bytes())


def held(cluster: Cluster, namespace: str) -> set[bytes]:
    """Every unseal key, token and line of a private key in the namespace's Secrets."""
    found: set[bytes] = set()
    for secret in json.loads(
        cluster.kubectl("get", "secrets", f"--namespace={namespace}", "--output=json")
    )["items"]:
        for name, value in (secret.get("data") or {}).items():
            lines = base64.b64decode(value).splitlines()
            if name in ("root-token", "unseal-keys"):
                found.update(lines)
            elif name == "token.conf":
                found.update(line.split(b'"')[1] for line in lines)
            elif name == "tls.key":
                found.update(line for line in lines if b"-----" not in line and len(line) > 40)
    return found


def left(cluster: Cluster) -> list[str]:
    """Namespaces and volumes that should have gone; volumes go a moment after their claims."""
    deadline = time.monotonic() + 180
    while True:
        names = cluster.kubectl("get", "namespaces,persistentvolumes", "--output=name").split()
        found = [
            name
            for name in names
            if name.removeprefix("namespace/") in NAMESPACES or name.startswith("persistentvolume/")
        ]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(1)


def test_one_session_with_one_server_and_with_three(cluster: Cluster, tmp_path: Path) -> None:
    with Watch(cluster) as watch:
        done = run_cli(*arguments(cluster, tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "run")
    assert [trial.status for trial in run.trials] == [
        TrialStatus.VALID
    ] * 16  # two targets, four kinds of requests, a warm-up and a measured one
    assert {trial.nodes["client"] for trial in run.trials} == {cluster.layout.node(4)}
    for stored in (tmp_path / "run" / "raw").glob("*/*-stdout"):
        assert set(json.loads(stored.read_bytes())["RetCodes"]) == {"200"}
    page = (tmp_path / "run" / "report" / "page.md").read_text()
    assert "Tool: `fortio`" in page
    assert "HashiCorp's vault-benchmark was not run" in page
    proof = sorted(
        path.read_text()
        for path in (tmp_path / "run" / "raw-steps").glob("three-*-placement-*/stdout")
    )[-1]
    assert proof.startswith(
        "nodes of Vault:\n" + "".join(f"{cluster.layout.node(number)}\n" for number in (1, 2, 3))
    )
    assert proof.count('"voter": true') == 3

    assert left(cluster) == []
    cleaned = run_cli("clean", str(tmp_path / "run"))
    assert (cleaned.returncode, "nothing of this run is left" in cleaned.stdout) == (0, True), (
        cleaned
    )
    assert len(watch.secrets) >= 2 * (
        3 + 1 + 1 + 1
    )  # unseal keys, root token, token of the load, key of the certificate
    for step in (b"operator\0init", b"write\0sys/unseal", b"token\0create"):
        assert any(step in words for words in watch.arguments), step
    assert not any(secret in words for words in watch.arguments for secret in watch.secrets)
    told = [
        done.stdout.encode(),
        done.stderr.encode(),
        *(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()),
    ]
    assert not any(secret in data for data in told for secret in watch.secrets)


def test_a_load_that_is_aimed_at_standbys_measures_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    only = ("--only", "target=three", "--only", "request=encrypt")
    done = run_cli(
        *arguments(cluster, tmp_path / "run", **{"vars.service": "vault-standby"}), *only
    )
    assert done.returncode == 4, done
    for trial in read_run(tmp_path / "run").trials:
        assert trial.status is TrialStatus.FAILED
        assert "307" in str(trial.error)
    assert left(cluster) == []


def test_a_vault_that_is_sealed_during_a_trial_voids_it(cluster: Cluster, tmp_path: Path) -> None:
    only = ("--only", "target=three", "--only", "request=encrypt")
    changes = {"method.warmups": 0, "workloads.transit.with.duration": "15 s"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start_cli(*arguments(cluster, tmp_path / "run", **changes), *only, **pipes) as running:
        await_trial(tmp_path / "run")
        time.sleep(3)  # the load goes on by then
        seal(cluster, NAMESPACES[1])
        stdout, stderr = running.communicate(timeout=WAIT_S)
    assert running.returncode == 4, stdout + stderr
    first, *_ = read_run(tmp_path / "run").trials
    assert first.status is TrialStatus.INVALID, first
    assert {gate.name: gate.passed for gate in first.gates}["max_error_ratio"] is False
    assert left(cluster) == []


def await_trial(run: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not (
        (run / "journal.ndjson").exists()
        and any(record.type == "trial.started" for record in records(run))
    ):
        assert time.monotonic() < deadline, "no trial has begun"
        time.sleep(0.2)


def seal(cluster: Cluster, namespace: str) -> None:
    """Seal the active server, as an operator does who sees an intruder."""
    pod = cluster.kubectl(
        "get", "pods", f"--namespace={namespace}", "--selector=vault-active=true", "--output=name"
    ).strip()
    secret = json.loads(
        cluster.kubectl("get", "secret", "vault-init", f"--namespace={namespace}", "--output=json")
    )
    token = base64.b64decode(secret["data"]["root-token"]).decode()
    script = "read -r VAULT_TOKEN; export VAULT_TOKEN; exec vault operator seal"
    cluster.kubectl(
        "exec", "--stdin", f"--namespace={namespace}", pod, "--", "sh", "-c", script, given=token
    )
