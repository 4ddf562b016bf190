"""Bad input and refusals: the error has the object, the cluster's reason and what to do, and
nothing that was created stays.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.contract.values import Demand
from benchspec.engine.model.errors import Locked, RunFailed
from benchspec.engine.model.spec import Json, Placement, Role, Site
from benchspec.runners.kubernetes import RUNNER
from benchspec.runners.kubernetes.client.api import Api
from benchspec.runners.kubernetes.failures import Denied, refusal
from benchspec.runners.kubernetes.names import Ownership
from benchspec.runners.kubernetes.options import read_options
from benchspec.runners.kubernetes.pods import pod as pods
from benchspec.runners.kubernetes.resources import lease
from benchspec.runners.kubernetes.resources.role_objects import Place, remove
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import BOTH, allocate, sh

Connect = Callable[..., Session]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "SCHEDULING_S", 5.0)
    monkeypatch.setattr(pods, "_TOLERATED_PULLS_S", 1.0)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace with a quota, and the strictest pod security."""
    name = "strict"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": name},
        "spec": {"hard": {"limits.cpu": "1"}},
    }
    cluster.control_plane.apply(
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}},
            quota,
        ]
    )
    yield name
    cluster.kubectl("delete", "namespace", name)


def test_an_image_that_cannot_be_pulled(
    connect: Connect, hasty: None, site: Site, run_id: str
) -> None:
    session = connect(image="registry.invalid/none:1")
    with pytest.raises(
        RunFailed, match=r"(ErrImagePull|ImagePullBackOff) of image registry\.invalid/none:1"
    ):
        allocate(session, Role.CLIENT)
    assert [leftover.kind for leftover in RUNNER.leftovers(site, run_id)] == ["lease"]


def test_a_placement_that_is_impossible(connect: Connect, hasty: None) -> None:
    with pytest.raises(RunFailed, match="placement: no node takes pod"):
        allocate(
            connect(roles={"client": {"node": "shared-n1"}, "server": {"node": "shared-n1"}}),
            *BOTH,
            demand=Demand(placement=Placement.ACROSS_NODES),
        )


def test_more_than_any_node_has(connect: Connect, hasty: None) -> None:
    with pytest.raises(RunFailed, match="Insufficient cpu"):
        allocate(connect(cpu=64), Role.CLIENT)


def test_a_storage_class_that_is_not_there(connect: Connect) -> None:
    demand = Demand(storage={"class": "no-such-class"}, volumes=(Role.CLIENT,))
    with pytest.raises(RunFailed, match="no storage class no-such-class; there are local-path"):
        allocate(connect(), Role.CLIENT, demand=demand)


def test_a_quota(connect: Connect, namespace: str) -> None:
    with pytest.raises(RunFailed, match="exceeded quota: small"):
        allocate(connect(namespace=namespace, cpu=2), Role.CLIENT)


def test_pod_security(connect: Connect, namespace: str) -> None:
    with pytest.raises(RunFailed, match="violates PodSecurity") as caught:
        allocate(connect(namespace=namespace, host_network=True), Role.CLIENT)
    assert "pod-security.kubernetes.io/enforce" in str(caught.value)


def test_a_namespace_that_is_not_there(connect: Connect) -> None:
    with pytest.raises(RunFailed, match="no namespace nowhere"):
        connect(namespace="nowhere")


def test_another_run_waits_or_is_told_whose_turn_it_is(
    site: Site, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect()
    with pytest.raises(Locked, match=r"run run-\d+ of \w+@"):
        RUNNER.connect(site, "run-of-another")
    assert list(RUNNER.leftovers(site, "run-of-another")) == []


def test_sites_of_a_run_share_the_lock_until_the_last_is_closed(
    site: Site, connect: Connect, run_id: str
) -> None:
    first, second = connect(), RUNNER.connect(dataclasses.replace(site, name="there"), run_id)
    first.close()
    with pytest.raises(Locked, match=f"run {run_id} of"):
        RUNNER.connect(site, "run-of-another")
    second.close()
    assert list(RUNNER.leftovers(site, run_id)) == []
    RUNNER.connect(site, "run-of-another").close()


def test_a_dead_controller_s_pods_keep_its_lock(
    site: Site, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "DURATION_S", 1)
    monkeypatch.setattr(lease, "RENEW_EVERY_S", 1000.0)  # as if its controller were dead
    allocation = allocate(connect(), Role.CLIENT)
    allocation.start(sh("sleep 60"), "measuring")
    time.sleep(1.1)
    with pytest.raises(Locked, match="its pods are there"):
        RUNNER.connect(site, "run-of-another")
    allocation.release()
    RUNNER.connect(site, "run-of-another").close()


def test_a_lock_that_another_run_took_is_not_renewed(
    site: Site, connect: Connect, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its controller was stopped for so long that it seemed dead."""
    monkeypatch.setattr(lease, "RENEW_EVERY_S", 0.2)
    connect()
    (name,) = cluster.kubectl(
        "get", "leases", "-l", "app.kubernetes.io/managed-by=benchspec", "-o", "name"
    ).split()
    (renewing,) = [thread for thread in threading.enumerate() if thread.name == "benchspec-lease"]
    taken = {"spec": {"holderIdentity": "run-of-another"}}
    cluster.kubectl("patch", name, "--type=merge", "-p", json.dumps(taken))
    renewing.join(60)
    assert not renewing.is_alive()
    cluster.kubectl("delete", name)


def test_a_class_is_made_for_the_run_and_removed(cluster: Cluster, connect: Connect) -> None:
    session = connect()
    storage: dict[str, Json] = {
        "class": "made",
        "create": True,
        "provisioner": "rancher.io/local-path",
        "size": "64 MiB",
    }
    allocation = allocate(
        session, Role.CLIENT, demand=Demand(storage=storage, volumes=(Role.CLIENT,))
    )
    seen = {
        fact.name: fact.value for fact in allocation.observe(allocation.surroundings())[Role.CLIENT]
    }
    assert (seen["storage.class"], seen["storage.provisioner"]) == ("made", "rancher.io/local-path")
    assert (seen["storage.binding"], seen["storage.size"]) == ("WaitForFirstConsumer", 64 * 2**20)
    allocation.release()
    session.close()
    assert "made" not in cluster.kubectl("get", "storageclasses", "-o", "name")


def test_an_ingress_that_stays_is_told_every_time(
    cluster: Cluster, site: Site, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Service is gone, as it is when somebody tries again."""
    monkeypatch.setattr(pods, "REMOVAL_S", 0.5)
    options, ownership = read_options(site), Ownership(run_id=run_id, site=site.name, extra={})
    place = Place(api=Api(options, "here"), options=options, ownership=ownership)
    metadata = {
        "name": "stuck",
        "labels": ownership.labels("a-1"),
        "finalizers": ["benchspec.dev/test"],
    }
    backend = {"service": {"name": "gone", "port": {"number": 80}}}
    made = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata,
        "spec": {"defaultBackend": backend},
    }
    cluster.kubectl("create", "-f", "-", given=json.dumps(made))
    try:
        with pytest.raises(RunFailed, match="stuck does not go away"):
            remove(place, ownership.selector("a-1"))
    finally:
        cluster.kubectl(
            "patch", "ingress", "stuck", "--type=merge", "-p", '{"metadata": {"finalizers": null}}'
        )
    remove(place, ownership.selector("a-1"))
    assert cluster.kubectl("get", "ingress", "-o", "name") == ""


def said(message: str, reason: str) -> bytes:
    return json.dumps({"kind": "Status", "message": message, "reason": reason}).encode()


def test_every_missing_right_is_named() -> None:
    message = (
        'pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace'
        ' "bench"'
    )
    error = refusal(403, said(message, "Forbidden"), "list pods", "site here")
    assert isinstance(error, Denied)
    assert "the right to list pods is missing" in str(error)
    assert "benchspec rbac" in str(error)


def test_expired_credentials_say_so() -> None:
    assert "does not accept the credentials" in str(
        refusal(401, said("Unauthorized", "Unauthorized"), "get /version", "site here")
    )


def test_a_webhook_is_named() -> None:
    message = 'admission webhook "policy.example" denied the request: no'
    assert "policy.example" in str(
        refusal(400, said(message, "BadRequest"), "create jobs", "site here")
    )
