"""The cluster and its nodes as the API shows them: machine types and zones from labels, versions,
network plug-in, mesh and storage.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ....engine.facts.catalogue import fact_kinds
from ....engine.model.results import Fact
from ....engine.model.spec import Json
from ..client.api import Api
from ..client.api_reads import Look
from ..failures import Refused
from ..names import Object
from .meshes import read_mesh
from .networks import Network, proxy_mode

_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"

_DISTRIBUTIONS = {"eks": "eks", "gke": "gke", "k3s": "k3s", "rke2": "rke2", "vmware": "tkg"}
_LABELS = {
    "kubernetes.azure.com/cluster": "aks",
    "eks.amazonaws.com/nodegroup": "eks",
    "cloud.google.com/gke-nodepool": "gke",
}


def list_nodes(api: Api) -> list[Object]:
    """Every node; empty where we may not ask."""
    try:
        return api.items("/api/v1/nodes")
    except Refused:
        return []


def identity(node: Object) -> str | None:
    """What the fact ``machine.id`` would say on the node itself."""
    machine_id = node["status"]["nodeInfo"].get("machineID")
    return (
        hashlib.sha256(f"benchspec\n{machine_id}\n".encode()).hexdigest()[:16]
        if machine_id
        else None
    )


def node_facts(node: Object) -> list[Fact]:
    """What the API says of a node, over what its pods would say: theirs is another root file system
    and another network.
    """
    labels, info = node["metadata"].get("labels", {}), node["status"]["nodeInfo"]
    provider = str(node["spec"].get("providerID", "")).partition("://")[0]
    values: Mapping[str, tuple[Json, str]] = {
        "machine.type": (
            next((labels[key] for key in _TYPES if key in labels), None),
            f"node label {_TYPES[0]}",
        ),
        "cloud.zone": (labels.get(_ZONE), f"node label {_ZONE}"),
        "cloud.region": (labels.get(_REGION), f"node label {_REGION}"),
        "machine.id": (identity(node), "a salted sha256 of the node's status.nodeInfo.machineID"),
        "host.name": (node["metadata"]["name"], "the node's name"),
        "kubernetes.kubelet": (
            info.get("kubeletVersion"),
            "the node's status.nodeInfo.kubeletVersion",
        ),
        "kubernetes.node_image": (info.get("osImage"), "the node's status.nodeInfo.osImage"),
        "kubernetes.container_runtime": (
            info.get("containerRuntimeVersion"),
            "the node's status.nodeInfo.containerRuntimeVersion",
        ),
        **(
            {
                "cloud.provider": (
                    {"gce": "gcp"}.get(provider, provider),
                    "the node's spec.providerID",
                )
            }
            if provider
            else {}
        ),
    }
    return [Fact(name=name, value=value, source=source) for name, (value, source) in values.items()]


def cluster_facts(api: Api, found: Sequence[Object]) -> list[Fact]:
    """Version, distribution, network plug-in, mesh and storage, by the objects each leaves; None
    where there is nothing to see.

    ``kubernetes.unseen`` names what could not be looked at.
    """
    look = Look(api)
    version = str(api.get("/version").get("gitVersion", "")).removeprefix("v")
    groups = {group["name"] for group in api.get("/apis").get("groups", [])}
    listed = look.every("/apis/apps/v1/daemonsets")
    daemons = None if listed is None else {one["metadata"]["name"]: one for one in listed}
    if not found:
        look.tell("nodes", "no right to list nodes, or there are none")
    values: dict[str, tuple[Json, str]] = {
        "kubernetes.version": (version.partition("-")[0].partition("+")[0] or None, "GET /version"),
        "kubernetes.distribution": (
            _distribution(version, found),
            "the version's suffix, or labels of the nodes",
        ),
        "nodes.count": (len(found) or None, "the list of nodes"),
        "kubernetes.proxy_mode": proxy_mode(look, daemons),
        **Network(look, groups, daemons, found).read(),
        **read_mesh(look, groups, daemons, api.namespace),
        "storage.classes": (
            _listed(look, "storageclasses", "provisioner"),
            "the list of storage classes",
        ),
        "storage.drivers": (_listed(look, "csidrivers"), "the list of CSIDrivers"),
    }
    values["kubernetes.unseen"] = (
        ", ".join(look.unseen) or "none",
        "what the API server refused, and what the objects above leave open",
    )
    return [
        Fact(name=name, value=value, source=source, unit=fact_kinds()[name].unit)
        for name, (value, source) in values.items()
    ]


def protocol_fact(api: Api, selector: str) -> Fact:
    """Which protocols the Services of ``selector`` say they speak (``appProtocol``): what a mesh
    does with requests depends on it.
    """
    ports = [
        port
        for service in api.items(api.namespaced("services"), labelSelector=selector)
        for port in service["spec"].get("ports") or []
    ]
    said = sorted({str(port["appProtocol"]) for port in ports if port.get("appProtocol")})
    return Fact(
        name="mesh.protocol",
        value=", ".join(said) or None,
        source="appProtocol of the Services that were made",
    )


def _distribution(version: str, found: Sequence[Object]) -> str | None:
    suffix = version.partition("-")[2] + version.partition("+")[2]
    for word, name in _DISTRIBUTIONS.items():
        if word in suffix:
            return name
    return next(
        (
            name
            for label, name in _LABELS.items()
            if any(label in node["metadata"].get("labels", {}) for node in found)
        ),
        None,
    )


def _listed(look: Look, kind: str, detail: str | None = None) -> str | None:
    """The objects of a kind of storage by name, each with one word about it."""
    found = look.every(f"/apis/storage.k8s.io/v1/{kind}")
    if found is None:
        return None
    return (
        ", ".join(
            sorted(
                one["metadata"]["name"] + (f" ({one[detail]})" if detail else "") for one in found
            )
        )
        or "none"
    )
