"""Volumes of every kind a spec can ask for, on a real cluster: of the pod's own, raw, and one that
the provisioner refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from benchspec.engine.model.contract.runner import Allocation, Session
from benchspec.engine.model.contract.values import Demand
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.results import Measurement
from benchspec.engine.model.spec import Experiment, Json, Role, RolePlace, Site
from benchspec.runners.kubernetes import RUNNER
from benchspec.runners.kubernetes.resources import volumes
from benchspec.workloads.fio import workload as fio
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import allocate

Connect = Callable[..., Session]
BLOCK = "raw"
FOLDER = "/opt/local-path-provisioner"


def measure(
    allocation: Allocation, storage: dict[str, Json], **parameters: Json
) -> list[Measurement]:
    """fio as a run would do it, in the allocation."""
    experiment = Experiment(
        id="e",
        title="t",
        workload="w",
        tool="fio",
        target="t",
        point=(),
        parameters={"runtime": "1 s", "ramp_time": "0 s", **parameters},
        roles=(RolePlace(role=Role.CLIENT, site="here"),),
        storage=storage,
    )
    commands = fio.commands(experiment, allocation.surroundings())
    for file in commands.files:
        allocation.put(file.role, file.name, file.data)
    job = allocation.start(commands.clients[0], "fio")
    job.wait(120)
    return list(fio.parse([job.collect()], experiment.parameters))


def facts_of(allocation: Allocation) -> dict[str, object]:
    return {
        fact.name: fact.value for fact in allocation.observe(allocation.surroundings())[Role.CLIENT]
    }


def test_an_ephemeral_volume_is_the_pods_own_and_goes_with_it(
    cluster: Cluster, connect: Connect, site: Site, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where something keeps the provisioner from it, the release is none the worse, and the volume
    is told.
    """
    storage: dict[str, Json] = {"class": "local-path", "size": "64 MiB", "ephemeral": True}
    allocation = allocate(
        connect(), Role.CLIENT, demand=Demand(storage=storage, volumes=(Role.CLIENT,))
    )
    found = measure(allocation, storage, rw="randwrite", bs="4 KiB", size="4 MiB")
    assert next(m.value for m in found if m.metric == "iops.write") > 0
    seen = facts_of(allocation)
    assert (
        seen["storage.ephemeral"],
        seen["storage.mode"],
        seen["storage.class"],
        seen["storage.size"],
    ) == (True, "Filesystem", "local-path", 2**26)
    (claim,) = json.loads(
        cluster.kubectl("get", "pvc", "-l", "app.kubernetes.io/managed-by=benchspec", "-o", "json")
    )["items"]
    assert [one["kind"] for one in claim["metadata"]["ownerReferences"]] == ["Pod"]
    volume = claim["spec"]["volumeName"]
    hold(cluster, volume, ["benchspec.dev/test"])
    try:
        monkeypatch.setattr(volumes, "REMOVAL_S", 0.5)
        allocation.release()
        assert (
            cluster.kubectl(
                "get", "pvc", "-l", "app.kubernetes.io/managed-by=benchspec", "-o", "name"
            )
            == ""
        )
        (left,) = (one for one in RUNNER.leftovers(site, run_id) if one.kind == "volume")
        assert left.name == volume
        assert [one.kind for one in RUNNER.leftovers(site, "run-of-another")] == []
        with pytest.raises(RunFailed, match=f"volume {volume} was not removed by its provisioner"):
            RUNNER.remove(site, left)
    finally:
        hold(cluster, volume, [])
    monkeypatch.setattr(volumes, "REMOVAL_S", 300.0)
    RUNNER.remove(site, left)
    assert "volume" not in {one.kind for one in RUNNER.leftovers(site, run_id)}


def hold(cluster: Cluster, volume: str, finalizers: list[str]) -> None:
    """Let a volume stay when it is removed, or go."""
    said = json.loads(cluster.kubectl("get", "persistentvolume", volume, "-o", "json"))[
        "metadata"
    ].get("finalizers", [])
    kept = [one for one in said if not one.startswith("benchspec.dev/")]
    cluster.kubectl(
        "patch",
        "persistentvolume",
        volume,
        "--type=merge",
        "-p",
        json.dumps({"metadata": {"finalizers": [*kept, *finalizers]}}),
    )


@pytest.fixture
def device(cluster: Cluster) -> Iterator[str]:
    """A block device on the first node, and the volume and class that offer it to pods."""
    node = cluster.nodes[1]
    made = (
        f"truncate -s 32M {FOLDER}/disk && d=$(losetup -f --show {FOLDER}/disk) && mknod -m 0660"
        f" {FOLDER}/raw b 7 ${{d#/dev/loop}} && "
    )
    # devices belong to root and disk wherever udev makes them
    loop = node.run("sh", "-c", f"{made}chgrp disk {FOLDER}/raw && echo $d").strip()
    required = {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [node.name]}
                ]
            }
        ]
    }
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": BLOCK},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": BLOCK},
        "spec": {
            "capacity": {"storage": "32Mi"},
            "volumeMode": "Block",
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": BLOCK,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": f"{FOLDER}/raw"},
            "nodeAffinity": {"required": required},
        },
    }
    cluster.kubectl(
        "create",
        "-f",
        "-",
        given=json.dumps({"apiVersion": "v1", "kind": "List", "items": [storage_class, volume]}),
    )
    yield f"{FOLDER}/disk"
    cluster.kubectl("delete", "pv", BLOCK, "--wait=true", "--timeout=60s")
    cluster.kubectl("delete", "storageclass", BLOCK)
    node.run("sh", "-c", f"losetup -d {loop}; rm -f {FOLDER}/raw {FOLDER}/disk")


def test_a_block_volume_is_measured_raw(cluster: Cluster, connect: Connect, device: str) -> None:
    storage: dict[str, Json] = {"class": BLOCK, "size": "32 MiB", "mode": "Block"}
    allocation = allocate(
        connect(), Role.CLIENT, demand=Demand(storage=storage, volumes=(Role.CLIENT,))
    )
    jobs = [
        {"name": "fill", "rw": "write", "bs": "1 MiB"},
        {"name": "read", "rw": "randread", "bs": "4 KiB"},
    ]
    found = {m.series: m.value for m in measure(allocation, storage, jobs=jobs, size="8 MiB")}
    assert found["iops.write{job=fill}"] > 0
    assert found["iops.read{job=read}"] > 0
    written = cluster.nodes[1].run("sh", "-c", f"tr -d '\\0' <{device} | wc -c")
    assert int(written) > 2**20, "the bytes are on the device"
    seen = facts_of(allocation)
    assert (
        seen["storage.mode"],
        seen["storage.ephemeral"],
        seen["storage.volume"],
        seen["storage.driver"],
    ) == ("Block", False, BLOCK, "local")
    assert seen["storage.size"] == 2**25
    assert "storage.filesystem" not in seen
    allocation.release()


def test_a_provisioner_that_makes_no_block_volumes_is_told_in_its_own_words(
    connect: Connect,
) -> None:
    storage: dict[str, Json] = {"class": "local-path", "size": "64 MiB", "mode": "Block"}
    with pytest.raises(RunFailed, match="does not support block volume provisioning") as caught:
        allocate(connect(), Role.CLIENT, demand=Demand(storage=storage, volumes=(Role.CLIENT,)))
    assert "storage.mode" in str(caught.value.remedy)
