"""The cluster and its nodes as the API shows them: machine types and zones from labels, versions, and which network plug-in left which traces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ...engine.results import Fact
from ...engine.spec import Json
from .api import Api
from .failures import Refused
from .names import Object

_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"

# API groups are shown to every user; a network plug-in that has objects of its own has a group of its own
_CNI_GROUPS = {"cilium.io": "cilium", "crd.projectcalico.org": "calico", "projectcalico.org": "calico", "crd.antrea.io": "antrea",
               "vpcresources.k8s.aws": "aws-vpc-cni", "acn.azure.com": "azure-cni"}  # fmt: skip
_CNI_DAEMONS = {"cilium": "cilium", "calico-node": "calico", "kube-flannel-ds": "flannel", "antrea-agent": "antrea", "weave-net": "weave",
                "aws-node": "aws-vpc-cni", "azure-cns": "azure-cni", "kindnet": "kindnet"}  # fmt: skip
_MESH_GROUPS = {"networking.istio.io": "istio", "linkerd.io": "linkerd", "kuma.io": "kuma", "networkservicemesh.io": "nsm"}
_DISTRIBUTIONS = {"eks": "eks", "gke": "gke", "k3s": "k3s", "rke2": "rke2", "vmware": "tkg"}
_LABELS = {"kubernetes.azure.com/cluster": "aks", "eks.amazonaws.com/nodegroup": "eks", "cloud.google.com/gke-nodepool": "gke"}


def list_nodes(api: Api) -> list[Object]:
    """Every node; empty where we may not ask."""
    try:
        return api.items("/api/v1/nodes")
    except Refused:
        return []


def identity(node: Object) -> str | None:
    """What the fact ``machine.id`` would say on the node itself."""
    machine_id = node["status"]["nodeInfo"].get("machineID")
    return hashlib.sha256(f"benchspec\n{machine_id}\n".encode()).hexdigest()[:16] if machine_id else None


def node_facts(node: Object) -> list[Fact]:
    """What the API says of a node, over what its pods would say: theirs is another root file system and another network."""
    labels, info = node["metadata"].get("labels", {}), node["status"]["nodeInfo"]
    provider = str(node["spec"].get("providerID", "")).partition("://")[0]
    values: Mapping[str, tuple[Json, str]] = {
        "machine.type": (next((labels[key] for key in _TYPES if key in labels), None), f"node label {_TYPES[0]}"),
        "cloud.zone": (labels.get(_ZONE), f"node label {_ZONE}"),
        "cloud.region": (labels.get(_REGION), f"node label {_REGION}"),
        "machine.id": (identity(node), "a salted sha256 of the node's status.nodeInfo.machineID"),
        "host.name": (node["metadata"]["name"], "the node's name"),
        "kubernetes.kubelet": (info.get("kubeletVersion"), "the node's status.nodeInfo.kubeletVersion"),
        "kubernetes.node_image": (info.get("osImage"), "the node's status.nodeInfo.osImage"),
        "kubernetes.container_runtime": (info.get("containerRuntimeVersion"), "the node's status.nodeInfo.containerRuntimeVersion"),
        **({"cloud.provider": ({"gce": "gcp"}.get(provider, provider), "the node's spec.providerID")} if provider else {}),
    }
    return [Fact(name=name, value=value, source=source) for name, (value, source) in values.items()]


def cluster_facts(api: Api, found: Sequence[Object]) -> list[Fact]:
    """Version, distribution, network plug-in, mesh and storage classes, by the traces each leaves; None where there is none to see."""
    version = str(api.get("/version").get("gitVersion", "")).removeprefix("v")
    groups = {group["name"] for group in api.get("/apis").get("groups", [])}
    daemons = _daemons(api)
    cni, cni_version, cni_source = _cni(groups, daemons, found)
    mesh = next((name for group, name in _MESH_GROUPS.items() if group in groups), None)
    values: Mapping[str, tuple[Json, str]] = {
        "kubernetes.version": (version.partition("-")[0].partition("+")[0] or None, "GET /version"),
        "kubernetes.distribution": (_distribution(version, found), "the version's suffix, or labels of the nodes"),
        "nodes.count": (len(found) or None, "the list of nodes"),
        "cni.name": (cni, cni_source),
        "cni.version": (cni_version, "the image of its DaemonSet"),
        "mesh.name": (mesh, "API groups of the cluster"),
        "storage.classes": (_classes(api), "the list of storage classes"),
    }
    return [Fact(name=name, value=value, source=source) for name, (value, source) in values.items()]


def protocol_fact(api: Api, selector: str) -> Fact:
    """Which protocols the Services of ``selector`` say they speak (``appProtocol``): what a mesh does with requests depends on it."""
    ports = [port for service in api.items(api.namespaced("services"), labelSelector=selector) for port in service["spec"].get("ports") or []]
    said = sorted({str(port["appProtocol"]) for port in ports if port.get("appProtocol")})
    return Fact(name="mesh.protocol", value=", ".join(said) or None, source="appProtocol of the Services that were made")


def _daemons(api: Api) -> Mapping[str, str]:
    """DaemonSets of the cluster with the image of their first container; empty where we may not ask."""
    try:
        found = api.items("/apis/apps/v1/daemonsets")
    except Refused:
        return {}
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"]["containers"][0]["image"] for one in found}


def _cni(groups: set[str], daemons: Mapping[str, str], found: Sequence[Object]) -> tuple[str | None, str | None, str]:
    for name, known in _CNI_DAEMONS.items():
        if name in daemons:
            tag = daemons[name].partition("@")[0].rpartition(":")[2]
            return known, tag.removeprefix("v") if tag[:2].strip("v").isdigit() else None, f"DaemonSet {name}"
    for group, known in _CNI_GROUPS.items():
        if group in groups:
            return known, None, f"API group {group}"
    if any("flannel.alpha.coreos.com/backend-type" in node["metadata"].get("annotations", {}) for node in found):
        return "flannel", None, "annotations of the nodes"
    return None, None, "DaemonSets, API groups and annotations of the nodes"


def _distribution(version: str, found: Sequence[Object]) -> str | None:
    suffix = version.partition("-")[2] + version.partition("+")[2]
    for word, name in _DISTRIBUTIONS.items():
        if word in suffix:
            return name
    return next((name for label, name in _LABELS.items() if any(label in node["metadata"].get("labels", {}) for node in found)), None)


def _classes(api: Api) -> str | None:
    try:
        found = api.items("/apis/storage.k8s.io/v1/storageclasses")
    except Refused:
        return None
    return ", ".join(sorted(f"{one['metadata']['name']} ({one['provisioner']})" for one in found)) or "none"
