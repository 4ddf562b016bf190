"""The path through an ingress: what is asked of the cluster, and what is told where nobody runs one. The test bed has no ingress controller."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from benchspec.engine.errors import RunFailed
from benchspec.engine.ports import Command, Demand, Server, Session
from benchspec.engine.spec import Role, TrafficPath
from benchspec.runners.kubernetes import ingress
from benchspec.runners.kubernetes.api import Api
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import BOTH, allocate
from tests.runners.kubernetes.test_paths import LISTENER

Connect = Callable[..., Session]
CLASS = "nobodys"
THROUGH = Demand(path=TrafficPath.INGRESS)


@pytest.fixture
def ingress_class(cluster: Cluster) -> Iterator[str]:
    """A class for which no controller runs."""
    made = {"apiVersion": ingress.GROUP, "kind": "IngressClass", "metadata": {"name": CLASS}, "spec": {"controller": "benchspec.dev/nobody"}}
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
    assert cluster.kubectl("get", "ingress,service,pod", "-l", "app.kubernetes.io/managed-by=benchspec", "-o", "name") == ""


def test_the_address_is_the_endpoint_and_the_server_listens_behind_it(cluster: Cluster, connect: Connect, ingress_class: str) -> None:
    """The address is put into the object by hand, as a controller would: what lies at it is not tested here."""
    session = connect(ingress_class=ingress_class)
    address = cluster.layout.address(1)

    status = {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
    asked = ingress.await_address

    def await_address(api: Api, name: str) -> str:
        cluster.kubectl("patch", "ingress", name, "--subresource=status", "--type=merge", "-p", json.dumps(status))
        return asked(api, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingress, "await_address", await_address)
        allocation = allocate(session, *BOTH, demand=THROUGH)
    endpoint = allocation.surroundings().endpoints[Role.SERVER]
    assert (endpoint.host, endpoint.port) == (address, 80)
    command = Command(argv=("python3", "-c", LISTENER, str(endpoint.port)), role=Role.SERVER, timeout_s=300)
    allocation.serve(Server(command=command, endpoint=endpoint, ready_timeout_s=60), "server")
    (found,) = json.loads(cluster.kubectl("get", "ingress", "-o", "json"))["items"]
    (rule,) = found["spec"]["rules"]
    assert rule["http"]["paths"][0]["backend"]["service"]["port"] == {"number": 80}
    allocation.release()
    assert cluster.kubectl("get", "ingress", "-o", "name") == ""
