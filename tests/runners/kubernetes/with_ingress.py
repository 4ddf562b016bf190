"""Load through a real ingress controller on a real cluster. Not part of the suite, since its
program is large to fetch:

python -m pytest tests/runners/kubernetes/with_ingress.py
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import Allocation, Session
from benchspec.engine.model.contract.values import Command, Demand, Endpoint, Server
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.results import Trial, TrialStatus
from benchspec.engine.model.spec import Role, TrafficPath
from benchspec.engine.store.read_run import read_run
from benchspec.runners import kubernetes
from benchspec.runners.agent.scripts import here
from benchspec.runners.kubernetes.allocation import PodAllocation
from benchspec.runners.kubernetes.resources import ingress as way
from tests.cluster import cluster as clusters
from tests.cluster import ingress, sharing
from tests.cluster.cluster import Cluster
from tests.engine.execution.bench import run_cli, write_spec
from tests.runners.kubernetes.conftest import BOTH, allocate

SERVE = (
    "fortio",
    "server",
    "-http-port",
    "80",
    *(
        word
        for name in ("grpc", "tcp", "udp", "redirect")
        for word in (f"-{name}-port", "disabled")
    ),
)

THROUGH = Demand(path=TrafficPath.INGRESS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of its own, with Traefik."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    with clusters.up("test-ingress") as made:
        ingress.start(made)
        yield made


def spec(cluster: Cluster, folder: Path) -> Path:
    """fortio straight to a Service, and through an ingress."""
    runner = {
        "kind": "kubernetes",
        "image": "localhost/tools:1",
        "kubeconfig": str(cluster.kubeconfig),
        "cpu": "250m",
        "memory": "128 MiB",
        "ingress_class": ingress.NAME,
    }
    http = {
        "tool": "fortio",
        "placement": "across-nodes",
        "matrix": {"path": ["pod-to-service", "ingress"]},
        "with": {"qps": "50 1/s", "connections": 2, "duration": "2 s"},
        "gates": {"max_steal": "100 %"},
    }
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "ingress",
        "title": "Through an ingress",
        "targets": {"traefik": {"runner": runner}},
        "workloads": {"http": http},
        "method": {"sessions": 1, "trials": 2, "warmups": 1, "seed": 1},
    }
    return write_spec(folder / "spec.yaml", document)


def told(run: Path, trial: Trial) -> dict[str, Any]:
    """What fortio wrote in a trial."""
    (stdout,) = (run / file.path for file in trial.raw if file.path.endswith("stdout"))
    answer: dict[str, Any] = json.loads(stdout.read_bytes())
    return answer


def left(cluster: Cluster) -> str:
    return cluster.kubectl(
        "get",
        "ingresses,services,jobs,pods,leases",
        "-A",
        "-l",
        "app.kubernetes.io/managed-by=benchspec",
        "-o",
        "name",
    )


def test_what_fortio_sent_is_what_the_controller_passed_on(
    cluster: Cluster, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = run_cli("run", str(spec(cluster, tmp_path)), "--yes", "--out", str(run))
    assert done.returncode == 0, done.stderr
    read = read_run(run)
    assert [trial.status for trial in read.trials] == [TrialStatus.VALID] * 6
    through = {
        experiment.id for experiment in read.experiments if experiment.path is TrafficPath.INGRESS
    }
    sent = 0
    for trial in read.trials:
        answer = told(run, trial)
        assert set(answer["RetCodes"]) == {"200"}
        assert (answer["URL"] == f"http://{cluster.layout.address(1)}:80/") is (
            trial.experiment_id in through
        )
        if trial.experiment_id in through:
            sent += (
                answer["DurationHistogram"]["Count"] + answer["NumThreads"]
            )  # each connection asks once before the clock runs

    asked = sorted(ingress.accesses(cluster), key=lambda one: str(one["StartUTC"]))
    agents = [str(one.get("request_User-Agent")).partition("/")[0] for one in asked]
    passed = [one for one, agent in zip(asked, agents, strict=True) if agent == "fortio.org"]
    assert len(passed) == sent > 200
    assert {one["DownstreamStatus"] for one in passed} == {200}
    assert len({one["ServiceAddr"] for one in passed}) == 1
    assert set(agents) == {"curl", "fortio.org"}
    assert agents == sorted(agents), "requests to see the way come first"
    page = (run / "report" / "page.md").read_text()
    assert all(
        f"http&#91;path={path}&#93;, traefik: " in page for path in ("pod-to-service", "ingress")
    )
    assert left(cluster) == ""
    cleaned = run_cli("clean", str(run))
    assert (cleaned.returncode, "nothing of this run is left" in cleaned.stdout) == (0, True), (
        cleaned
    )


@pytest.fixture
def other(cluster: Cluster) -> Iterator[Callable[[], None]]:
    """Somebody's Ingress of the same class, which takes every request; the function removes it."""
    labels = {"app": "other"}
    server = {"name": "server", "image": "localhost/tools:1", "command": [*SERVE]}
    rule = {
        "http": {
            "paths": [
                {
                    "path": "/",
                    "pathType": "Prefix",
                    "backend": {"service": {"name": "other", "port": {"number": 80}}},
                }
            ]
        }
    }
    objects = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "other", "labels": labels},
            "spec": {"containers": [server]},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "other"},
            "spec": {"selector": labels, "ports": [{"port": 80}]},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "spec": {"ingressClassName": ingress.NAME, "rules": [rule]},
            "metadata": {
                "name": "other",
                "annotations": {"traefik.ingress.kubernetes.io/router.priority": "1000"},
            },
        },
    ]
    cluster.kubectl(
        "apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    cluster.kubectl("wait", "pod/other", "--for=condition=Ready", "--timeout=120s")
    yield lambda: print(cluster.kubectl("delete", "ingress", "other"))
    cluster.kubectl(
        "delete", "ingress,service,pod", "other", "--ignore-not-found", "--grace-period=1"
    )


def serving(allocation: Allocation) -> Server:
    command = Command(argv=SERVE, role=Role.SERVER, timeout_s=300)
    return Server(
        command=command,
        endpoint=allocation.surroundings().endpoints[Role.SERVER],
        ready_timeout_s=60,
    )


def await_answers(allocation: PodAllocation, endpoint: Endpoint) -> None:
    """Until the controller passes requests to the address on to somebody."""
    client, deadline = allocation.share(Role.CLIENT).container, time.monotonic() + 120
    asked = here(kubernetes.__file__, "request"), (endpoint.host, str(endpoint.port), "1")
    while (said := client.ask(*asked)) != b"200\n":
        assert time.monotonic() < deadline, said
        time.sleep(0.5)


def test_requests_that_another_ingress_takes_are_not_measured(
    connect: Callable[..., Session], other: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    allocation = allocate(connect(ingress_class=ingress.NAME), *BOTH, demand=THROUGH)
    assert isinstance(allocation, PodAllocation)
    server = serving(allocation)
    await_answers(allocation, server.endpoint)
    with monkeypatch.context() as patch:
        patch.setattr(way, "ROUTE_S", 20.0)
        with pytest.raises(
            RunFailed,
            match="answers 200, but requests do not arrive at the server's pod after 20 s",
        ):
            allocation.serve(server, "first")
    other()
    allocation.serve(server, "second")
    allocation.reach(Role.CLIENT, server.endpoint, 60)
    allocation.release()


def test_a_controller_that_is_away_is_waited_for(
    cluster: Cluster, connect: Callable[..., Session]
) -> None:
    allocation = allocate(connect(ingress_class=ingress.NAME), *BOTH, demand=THROUGH)
    here = (f"--namespace={ingress.NAME}",)
    cluster.kubectl("scale", "deployment", ingress.NAME, *here, "--replicas=0")
    cluster.kubectl(
        "wait", "pod", f"--selector=app={ingress.NAME}", *here, "--for=delete", "--timeout=120s"
    )
    back = threading.Timer(
        5, cluster.kubectl, ("scale", "deployment", ingress.NAME, *here, "--replicas=1")
    )
    back.start()
    allocation.serve(serving(allocation), "server")
    back.join()
    assert [one["DownstreamStatus"] for one in ingress.accesses(cluster)][-20:] == [200] * 20
    allocation.release()
