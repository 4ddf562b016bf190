"""The path through an ingress: what is asked of the cluster, and what is told where nobody runs one
or requests go astray.

No controller runs here (with_ingress.py has one): the address is put into the object by hand, as a
controller would.
"""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.contract.values import Command, Demand, Server
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Role, TrafficPath
from benchspec.runners.kubernetes.allocation import PodAllocation
from benchspec.runners.kubernetes.client.api import Api
from benchspec.runners.kubernetes.pods.container import Container
from benchspec.runners.kubernetes.resources import ingress
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import BOTH, allocate

Connect = Callable[..., Session]
CLASS = "nobodys"
MANAGED = "app.kubernetes.io/managed-by=benchspec"
THROUGH = Demand(path=TrafficPath.INGRESS)


@pytest.fixture
def ingress_class(cluster: Cluster) -> Iterator[str]:
    """A class for which no controller runs."""
    made = {
        "apiVersion": ingress.GROUP,
        "kind": "IngressClass",
        "metadata": {"name": CLASS},
        "spec": {"controller": "benchspec.dev/nobody"},
    }
    cluster.kubectl("create", "-f", "-", given=json.dumps(made))
    yield CLASS
    cluster.kubectl("delete", "ingressclass", CLASS)


def test_a_class_that_there_is_not_is_refused_before_anything_is_made(connect: Connect) -> None:
    with pytest.raises(RunFailed, match="there is no ingress class absent; there are none"):
        allocate(connect(ingress_class="absent"), *BOTH, demand=THROUGH)
    with pytest.raises(RunFailed, match="none is the cluster's default"):
        allocate(connect(), *BOTH, demand=THROUGH)


def test_an_ingress_that_gets_no_address_is_told_and_removed(
    cluster: Cluster, connect: Connect, ingress_class: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingress, "ADDRESS_S", 1.0)
    with pytest.raises(RunFailed, match="of class nobodys has no address after 1 s"):
        allocate(connect(ingress_class=ingress_class), *BOTH, demand=THROUGH)
    assert cluster.kubectl("get", "ingress,service,pod", "-l", MANAGED, "-o", "name") == ""


@contextmanager
def somebody(address: str) -> Iterator[int]:
    """A web server that is not the run's; its port."""
    with http.server.ThreadingHTTPServer(
        (address, 0), http.server.BaseHTTPRequestHandler
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def problem(client: Container, server: Container, host: str, port: int) -> str:
    """What is told of an address at which requests do not arrive."""
    with pytest.raises(RunFailed) as caught:
        ingress.await_route(client, server, host, port)
    return str(caught.value)


def test_a_server_is_there_when_requests_to_the_address_arrive_at_it(
    cluster: Cluster, connect: Connect, ingress_class: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is that of the Service, which passes requests on as a controller does."""
    asked = ingress.await_address

    def await_address(api: Api, name: str) -> str:
        address = cluster.kubectl(
            "get", "service", f"{name.removesuffix('-i')}-s", "-o", "jsonpath={.spec.clusterIP}"
        )
        status = {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
        cluster.kubectl(
            "patch",
            "ingress",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            json.dumps(status),
        )
        return asked(api, name)

    monkeypatch.setattr(ingress, "await_address", await_address)
    allocation = allocate(connect(ingress_class=ingress_class), *BOTH, demand=THROUGH)
    assert isinstance(allocation, PodAllocation)
    endpoint = allocation.surroundings().endpoints[Role.SERVER]
    (service,) = json.loads(cluster.kubectl("get", "service", "-l", MANAGED, "-o", "json"))["items"]
    assert (endpoint.host, endpoint.port) == (service["spec"]["clusterIP"], 80)
    assert [(port["protocol"], port["port"]) for port in service["spec"]["ports"]] == [("TCP", 80)]
    (found,) = json.loads(cluster.kubectl("get", "ingress", "-o", "json"))["items"]
    (rule,) = found["spec"]["rules"]
    assert rule["http"]["paths"][0]["backend"]["service"] == {
        "name": service["metadata"]["name"],
        "port": {"number": 80},
    }
    command = Command(argv=("python3", "-m", "http.server", "80"), role=Role.SERVER, timeout_s=300)
    allocation.serve(Server(command=command, endpoint=endpoint, ready_timeout_s=60), "server")

    monkeypatch.setattr(ingress, "ROUTE_S", 0.0)
    client, server = (allocation.share(role).container for role in BOTH)
    assert f"the ingress at {endpoint.host} port 81 answers no HTTP request" in problem(
        client, server, endpoint.host, 81
    )
    with somebody(cluster.layout.host) as port:
        deadline, astray = (
            time.monotonic() + 60,
            "answers 501, but requests do not arrive at the server's pod",
        )
        while astray not in (
            said := problem(client, server, cluster.layout.host, port)
        ):  # one answer of the many may be late
            assert time.monotonic() < deadline, said
    allocation.release()
    assert cluster.kubectl("get", "ingress", "-o", "name") == ""
