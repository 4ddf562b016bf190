"""Paths, placement, volumes and facts on a real cluster: what an allocation promises is looked at
from inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.contract.values import Command, Demand, Server, Tool
from benchspec.engine.model.spec import Placement, Role, RolePlace, Site, TrafficPath
from benchspec.runners.kubernetes import allocation as allocations
from benchspec.runners.kubernetes.client.api import Api
from benchspec.runners.kubernetes.names import Ownership
from benchspec.runners.kubernetes.options import read_options
from benchspec.runners.kubernetes.resources import volumes
from benchspec.runners.kubernetes.resources.role_objects import Place
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import BOTH, allocate

Connect = Callable[..., Session]
LISTENER = (
    "import socket, sys\ns = socket.create_server(('', int(sys.argv[1])))\nwhile True:\n c, _ ="
    " s.accept(); c.sendall(b'hello'); c.close()"
)


@pytest.mark.parametrize(
    ("path", "placement"),
    [
        (TrafficPath.POD_TO_POD, Placement.ACROSS_NODES),
        (TrafficPath.POD_TO_POD, Placement.SAME_NODE),
        (TrafficPath.POD_TO_SERVICE, Placement.ACROSS_NODES),
        (TrafficPath.POD_TO_HOST, Placement.ACROSS_NODES),
        (TrafficPath.HOST_TO_HOST, Placement.ACROSS_NODES),
        (TrafficPath.HOST_TO_SERVICE, Placement.SAME_NODE),
        (TrafficPath.NODE_PORT, Placement.ACROSS_NODES),
    ],
)
def test_a_path_is_what_it_says(
    cluster: Cluster, connect: Connect, path: TrafficPath, placement: Placement
) -> None:
    allocation = allocate(connect(), *BOTH, demand=Demand(path=path, placement=placement))
    endpoint = allocation.surroundings().endpoints[Role.SERVER]
    command = Command(
        argv=("python3", "-c", LISTENER, str(endpoint.port)), role=Role.SERVER, timeout_s=300
    )
    allocation.serve(Server(command=command, endpoint=endpoint, ready_timeout_s=60), "server")
    allocation.reach(Role.CLIENT, endpoint, 60)
    argv = ("bash", "-c", f"exec 3<>/dev/tcp/{endpoint.host}/{endpoint.port}; cat <&3")
    job = allocation.start(Command(argv=argv, role=Role.CLIENT, timeout_s=60), "client")
    job.wait(60)
    assert job.collect().stdout == b"hello"
    nodes = {role: node.name for role, node in allocation.nodes().items()}
    assert (nodes[Role.CLIENT] == nodes[Role.SERVER]) is (placement is Placement.SAME_NODE)
    addresses = {cluster.layout.address(i) for i in cluster.layout.numbers}
    on_host = path in (TrafficPath.POD_TO_HOST, TrafficPath.HOST_TO_HOST, TrafficPath.NODE_PORT)
    assert (endpoint.host in addresses) is on_host
    in_services = endpoint.host.split(".")[:2] == cluster.layout.first_service.split(".")[:2]
    assert in_services is (path in (TrafficPath.POD_TO_SERVICE, TrafficPath.HOST_TO_SERVICE))
    allocation.release()


def test_roles_that_another_run_keeps_off_its_nodes_come_up_when_it_goes(
    connect: Connect, site: Site
) -> None:
    """At once, and not only when the scheduler tries everything again, every five minutes.
    Allocations of two runs are never called the same.
    """
    apart, options = Demand(placement=Placement.ACROSS_NODES), read_options(site)
    other = Place(
        api=Api(options, "site here"),
        options=options,
        ownership=Ownership(run_id="run-of-another", site="here", extra={}),
    )
    first = allocate(connect(), *BOTH, demand=apart)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            allocations.allocate,
            other,
            [RolePlace(role=role, site="here") for role in BOTH],
            "a-2",
            apart,
            {},
            {},
        )
        try:
            deadline = time.monotonic() + 60
            while len(kept_off(other)) < len(BOTH):
                assert time.monotonic() < deadline, "the scheduler keeps no pod off"
                time.sleep(0.1)
        finally:
            first.release()
        waiting.result().release()


def kept_off(place: Place) -> list[str]:
    """The run's pods of which the scheduler has said that they fit nowhere."""
    found = place.api.items(place.api.namespaced("pods"), labelSelector=place.ownership.selector())
    conditions = [
        (pod["metadata"]["name"], one)
        for pod in found
        for one in pod["status"].get("conditions", [])
    ]
    return [
        name
        for name, one in conditions
        if (one["type"], one["status"]) == ("PodScheduled", "False")
    ]


def test_a_volume_is_where_the_work_is_done_and_is_read_back(
    cluster: Cluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volumes, "REMOVAL_S", 300.0)
    storage = {"class": "local-path", "size": "96 MiB"}
    allocation = allocate(
        connect(), Role.CLIENT, demand=Demand(storage=storage, volumes=(Role.CLIENT,))
    )
    workdir = allocation.surroundings().workdirs[Role.CLIENT]
    fio = (
        "fio",
        "--name=x",
        "--rw=randwrite",
        "--size=4m",
        "--direct=1",
        "--ioengine=libaio",
        f"--directory={workdir}",
        "--output-format=json",
    )
    job = allocation.start(Command(argv=fio, role=Role.CLIENT, timeout_s=60), "fio")
    job.wait(60)
    assert job.collect().exit_code == 0
    seen = {
        fact.name: fact.value for fact in allocation.observe(allocation.surroundings())[Role.CLIENT]
    }
    assert (seen["storage.class"], seen["storage.provisioner"], seen["storage.size"]) == (
        "local-path",
        "rancher.io/local-path",
        96 * 2**20,
    )
    assert (seen["storage.parameters"], seen["storage.binding"]) == ("none", "WaitForFirstConsumer")
    assert str(seen["storage.volume"]).startswith("pvc-")
    assert seen["storage.filesystem"] is not None
    allocation.release()
    left = cluster.kubectl(
        "get", "persistentvolume", str(seen["storage.volume"]), "--ignore-not-found", "-o", "name"
    )
    assert left == "", "nothing is erased any more when the next allocation is made"


def test_the_path_is_measured_and_the_image_recorded(cluster: Cluster, connect: Connect) -> None:
    allocation = allocate(
        connect(),
        *BOTH,
        demand=Demand(path=TrafficPath.POD_TO_SERVICE, placement=Placement.ACROSS_NODES),
    )
    seen = {
        fact.name: fact.value for fact in allocation.observe(allocation.surroundings())[Role.CLIENT]
    }
    assert seen["path.mtu"] == cluster.layout.pod_mtu
    assert str(seen["image.digest"]).startswith("sha256:")
    assert seen["clock.offset"] == pytest.approx(0, abs=0.5)
    allocation.release()


def test_nodes_tell_their_facts_and_who_they_are_and_pods_have_their_share_guaranteed(
    cluster: Cluster, connect: Connect, run_id: str
) -> None:
    session = connect()
    by_node = session.facts()
    names = [cluster.layout.node(i) for i in cluster.layout.numbers]
    assert sorted(by_node) == ["", *names]
    assert {fact.name: fact.value for fact in by_node[""]}["kubernetes.version"] == "1.35.4"
    seen = {name: {fact.name: fact.value for fact in by_node[name]} for name in names}
    assert {seen[name]["host.name"] for name in names} == set(names)
    assert len({seen[name]["machine.id"] for name in names}) == len(names)
    assert all(seen[name]["machine.type"] == "namespace" for name in names)
    allocation = allocate(session, Role.CLIENT)
    node = allocation.nodes()[Role.CLIENT]
    assert node.identity == seen[node.name]["machine.id"]
    pods = ("get", "pods", "-l", f"benchspec.dev/run={run_id}", "-o")
    assert cluster.kubectl(*pods, "jsonpath={.items[*].status.qosClass}") == "Guaranteed"
    allocation.release()
    assert cluster.kubectl(*pods, "name") == ""


def test_tools_are_looked_for_in_the_image_that_an_experiment_names(connect: Connect) -> None:
    session = connect()
    tools = [Tool(executable="fio", package="fio", version_argv=("fio", "--version"))]
    (own,) = session.find_tools(Role.CLIENT, tools)
    assert own.path is not None
    assert str(own.version).startswith("3.")
    (found,) = session.find_tools(Role.CLIENT, tools, "localhost/pause:1")
    assert found.path is None
