"""Facts of a cluster, read through the real API: the objects that network plug-ins and meshes leave
are made as those projects ship them.

Their programs do not run here. Groups, versions, kinds, names and keys are theirs, and the reader
has exactly the rights that ``benchspec rbac`` prints.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.claims.claims import check_claims
from benchspec.engine.model.results import ClaimState, Fact, FactSet
from benchspec.engine.model.spec import Site, Target
from benchspec.runners.kubernetes import doctor, rights
from benchspec.runners.kubernetes.client.api import Api
from benchspec.runners.kubernetes.nodes import facts as nodes
from benchspec.runners.kubernetes.options import read_options
from tests.cluster.cluster import Cluster

Made = Mapping[str, Any]

NAMESPACES = ("facts", "istio-system", "linkerd", "kuma-system", "consul", "nsm-system")
CILIUM = ("cilium.io", "v2", "CiliumNode", "ciliumnodes", "Cluster")
FELIX = ("crd.projectcalico.org", "v1", "FelixConfiguration", "felixconfigurations", "Cluster")
POOL = ("crd.projectcalico.org", "v1", "IPPool", "ippools", "Cluster")
KUBE_PROXY = (
    "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: {mode}\n"
)


def definition(group: str, version: str, kind: str, plural: str, scope: str) -> Made:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def workload(
    kind: str,
    name: str,
    image: str,
    namespace: str = "kube-system",
    *,
    args: Sequence[str] = (),
    **env: Any,
) -> Made:
    """A DaemonSet or Deployment that no node takes."""
    given = [
        {"name": key, "valueFrom": value}
        if isinstance(value, dict)
        else {"name": key, "value": value}
        for key, value in env.items()
    ]
    container = {"name": name, "image": image, "env": given, "args": list(args)}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"nodeSelector": {"benchspec.test/no": "where"}, "containers": [container]},
    }
    metadata = {"name": name, "namespace": namespace}
    spec = {
        "selector": {"matchLabels": {"app": name}},
        "template": template,
        **({"replicas": 0} if kind == "Deployment" else {}),
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def config_map(name: str, data: Mapping[str, str], namespace: str = "kube-system") -> Made:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": dict(data),
    }


def custom(
    version: str,
    kind: str,
    name: str,
    spec: Any,
    namespace: str | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Made:
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "annotations": dict(annotations or {}), **place},
        "spec": spec,
    }


@contextmanager
def present(cluster: Cluster, *objects: Made) -> Iterator[None]:
    """The objects on the cluster for as long as the block lasts; definitions are served before what
    is defined is made.
    """
    kinds = [one for one in objects if one["kind"] == "CustomResourceDefinition"]
    others = [one for one in objects if one not in kinds]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*others, *kinds]})
    try:
        if kinds:
            cluster.control_plane.apply(kinds)
            names = [f"crd/{one['metadata']['name']}" for one in kinds]
            cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
            await_groups(cluster, kinds, served=True)
        cluster.control_plane.apply(others)
        yield
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", given=listed)
        await_groups(cluster, kinds, served=False)


def await_groups(cluster: Cluster, kinds: Sequence[Made], *, served: bool) -> None:
    """The API server takes a moment to name a new group, and to forget one."""
    wanted = {one["spec"]["group"] for one in kinds}
    deadline = time.monotonic() + 60
    while True:
        named = wanted & {
            group["name"]
            for group in json.loads(cluster.kubectl("get", "--raw", "/apis"))["groups"]
        }
        if named == (wanted if served else set()):
            return
        assert time.monotonic() < deadline, f"the API server names {named} of {wanted}"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def reader(cluster: Cluster) -> Iterator[Path]:
    """The kubeconfig of somebody who may do what ``benchspec rbac`` prints, on a cluster that knows
    the kinds of Cilium and Calico.
    """
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]
    cluster.control_plane.apply(spaces)
    users = [
        *rights.manifests("facts", "reader", facts=True, classes=False),
        *rights.manifests("facts", "stranger", facts=False, classes=False),
    ]
    with present(cluster, *users, *(definition(*kind) for kind in (CILIUM, FELIX, POOL))):
        yield kubeconfig(cluster, "reader")
    cluster.kubectl("delete", "namespace", "--wait=false", *NAMESPACES)


def kubeconfig(cluster: Cluster, name: str) -> Path:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"] = [
        {
            "name": "admin",
            "user": {
                "token": cluster.kubectl("create", "token", name, "--namespace=facts").strip()
            },
        }
    ]
    path = cluster.layout.state / f"facts-{name}.conf"
    path.write_text(json.dumps(config))
    return path


def site_of(path: Path) -> Site:
    return Site(
        name="here", runner="kubernetes", options={"kubeconfig": str(path), "namespace": "facts"}
    )


def read(path: Path) -> dict[str, Fact]:
    api = Api(read_options(site_of(path)), "here")
    return {fact.name: fact for fact in nodes.cluster_facts(api, nodes.list_nodes(api))}


def shown(found: Mapping[str, Fact], section: str) -> dict[str, Any]:
    """The facts of a section without its name, but for unknown ones."""
    return {
        name.partition(".")[2]: fact.value
        for name, fact in found.items()
        if name.startswith(f"{section}.") and fact.value is not None
    }


def names_of_nodes(cluster: Cluster) -> list[str]:
    return cluster.kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()


def test_cilium(cluster: Cluster, reader: Path) -> None:
    """WireGuard counts as on once every node publishes a key; a claim of another encryption is
    contradicted.
    """
    given = {
        "enable-wireguard": "true",
        "routing-mode": "tunnel",
        "tunnel-protocol": "geneve",
        "mtu": "1350",
        "kube-proxy-replacement": "true",
    }
    daemon = workload("DaemonSet", "cilium", "quay.io/cilium/cilium:v1.15.1@sha256:" + "0" * 64)
    key = {"network.cilium.io/wg-pub-key": "NDk="}
    have = (
        custom("cilium.io/v2", "CiliumNode", "one", {}, annotations=key),
        custom("cilium.io/v2", "CiliumNode", "two", {}, annotations=key),
    )
    with present(cluster, daemon, config_map("cilium-config", given), *have):
        found = read(reader)
        wireguard = {
            "name": "cilium",
            "version": "1.15.1",
            "mode": "geneve",
            "encryption": "wireguard",
            "configured_mtu": 1350,
        }
        assert shown(found, "cni") == wireguard
        assert found["kubernetes.proxy_mode"].value == "ebpf"
        assert (
            "ConfigMap kube-system/cilium-config enable-wireguard" in found["cni.encryption"].source
        )
        claimed = {
            "cni.name": "cilium",
            "cni.version": "1.15",
            "cni.mode": "vxlan",
            "cni.encryption": "none",
            "kubernetes.proxy_mode": "ebpf",
        }
        checks = check_claims(
            target(claimed),
            [
                FactSet(
                    site="here",
                    target="t",
                    when="before",
                    facts=tuple(found.values()),
                    observed_at=0.0,
                )
            ],
        )
        contradicted = {check.fact for check in checks if check.state is ClaimState.MISMATCH}
        assert contradicted == {"cni.mode", "cni.encryption"}
        assert {check.fact for check in checks if check.state is ClaimState.MATCH} == {
            "cni.name",
            "cni.version",
            "kubernetes.proxy_mode",
        }
        cluster.kubectl("annotate", "ciliumnode", "two", "network.cilium.io/wg-pub-key-")
        found = read(reader)
        assert found["cni.encryption"].value is None
        assert "1 of 2 nodes have a key" in str(found["kubernetes.unseen"].value)


def test_cilium_of_old(cluster: Cluster, reader: Path) -> None:
    """Before 1.14 one key says how packets leave; IPsec shows in the CiliumNodes' specs; nothing
    replaces kube-proxy.
    """
    given = {"enable-ipsec": "true", "tunnel": "disabled", "kube-proxy-replacement": "disabled"}
    daemon = workload("DaemonSet", "cilium", "quay.io/cilium/cilium:v1.12.1")
    proxy = config_map("kube-proxy", {"config.conf": KUBE_PROXY.format(mode="ipvs")})
    node = custom("cilium.io/v2", "CiliumNode", "one", {"encryption": {"key": 3}})
    with present(
        cluster,
        daemon,
        config_map("cilium-config", given),
        node,
        proxy,
        workload("DaemonSet", "kube-proxy", "kube-proxy:v1.24.9"),
    ):
        found = read(reader)
        assert shown(found, "cni") == {
            "name": "cilium",
            "version": "1.12.1",
            "mode": "native",
            "encryption": "ipsec",
        }
        assert found["kubernetes.proxy_mode"].value == "ipvs"


def test_calico(cluster: Cluster, reader: Path) -> None:
    """What FelixConfiguration asks for is in force where the nodes have keys."""
    felix = custom(
        "crd.projectcalico.org/v1",
        "FelixConfiguration",
        "default",
        {"wireguardEnabled": True, "vxlanMTU": 1410},
    )
    pool = custom(
        "crd.projectcalico.org/v1",
        "IPPool",
        "default-ipv4-ippool",
        {"cidr": "10.9.0.0/16", "vxlanMode": "Always", "ipipMode": "Never"},
    )
    daemon = workload("DaemonSet", "calico-node", "docker.io/calico/node:v3.29.1", "facts")
    with present(cluster, daemon, felix, pool):
        found = read(reader)
        assert shown(found, "cni") == {
            "name": "calico",
            "version": "3.29.1",
            "mode": "vxlan",
            "encryption": "none",
            "configured_mtu": 1410,
        }
        assert "nodes have a key" in found["cni.encryption"].source
        named = names_of_nodes(cluster)
        cluster.kubectl("annotate", "node", *named, "projectcalico.org/WireguardPublicKey=NDk=")
        try:
            assert read(reader)["cni.encryption"].value == "wireguard"
        finally:
            cluster.kubectl("annotate", "node", *named, "projectcalico.org/WireguardPublicKey-")
        cluster.kubectl(
            "patch",
            "ippool",
            "default-ipv4-ippool",
            "--type=merge",
            "--patch",
            '{"spec": {"vxlanMode": "CrossSubnet"}}',
        )
        found = read(reader)
        assert found["cni.mode"].value is None
        assert "across subnets only" in str(found["kubernetes.unseen"].value)


def test_flannel(cluster: Cluster, reader: Path) -> None:
    """What each flanneld says of itself goes before its ConfigMap."""
    backend = {
        "net-conf.json": json.dumps(
            {"Network": "10.9.0.0/16", "Backend": {"Type": "host-gw", "MTU": 1400}}
        )
    }
    daemon = workload("DaemonSet", "kube-flannel-ds", "ghcr.io/flannel-io/flannel:v0.26.1", "facts")
    with present(cluster, daemon, config_map("kube-flannel-cfg", backend, "facts")):
        plain = {
            "name": "flannel",
            "version": "0.26.1",
            "mode": "host-gw",
            "encryption": "none",
            "configured_mtu": 1400,
        }
        assert shown(read(reader), "cni") == plain
        named = names_of_nodes(cluster)
        cluster.kubectl(
            "annotate", "node", *named, "flannel.alpha.coreos.com/backend-type=wireguard"
        )
        try:
            assert shown(read(reader), "cni") == {
                **plain,
                "mode": "wireguard",
                "encryption": "wireguard",
            }
        finally:
            cluster.kubectl("annotate", "node", *named, "flannel.alpha.coreos.com/backend-type-")


def test_networks_that_are_set_by_other_means(cluster: Cluster, reader: Path) -> None:
    """Antrea by its agent's file, Weave by whether it was given a password, Amazon's and Azure's by
    their environment and labels.
    """
    agent = "trafficEncryptionMode: wireGuard\n#tunnelType: geneve\ndefaultMTU: 0\n"
    antrea = workload("DaemonSet", "antrea-agent", "antrea/antrea-agent-ubuntu:v2.2.0")
    with present(cluster, antrea, config_map("antrea-config", {"antrea-agent.conf": agent})):
        assert shown(read(reader), "cni") == {
            "name": "antrea",
            "version": "2.2.0",
            "mode": "geneve",
            "encryption": "wireguard",
        }
    password = {"secretKeyRef": {"name": "weave-passwd", "key": "weave-passwd"}}
    with present(
        cluster,
        workload(
            "DaemonSet",
            "weave-net",
            "weaveworks/weave-kube:2.8.1",
            WEAVE_PASSWORD=password,
            WEAVE_MTU="1376",
        ),
    ):
        assert shown(read(reader), "cni") == {
            "name": "weave",
            "version": "2.8.1",
            "encryption": "other",
            "configured_mtu": 1376,
        }
    amazon = workload(
        "DaemonSet",
        "aws-node",
        "dkr.ecr.us-east-1.amazonaws.com/amazon-k8s-cni:v1.19.0-eksbuild.1",
        AWS_VPC_ENI_MTU="9001",
    )
    proxy = workload(
        "DaemonSet", "kube-proxy", "eks/kube-proxy:v1.31.2", args=["--proxy-mode=nftables"]
    )
    with present(cluster, amazon, proxy):
        found = read(reader)
        named = {
            "name": "aws-vpc-cni",
            "version": "1.19.0-eksbuild.1",
            "mode": "native",
            "encryption": "none",
            "configured_mtu": 9001,
        }
        assert shown(found, "cni") == named
        assert found["kubernetes.proxy_mode"].value == "nftables"
        names = names_of_nodes(cluster)
    azure = workload(
        "DaemonSet", "azure-cns", "mcr.microsoft.com/containernetworking/azure-cns:v1.6.13"
    )
    with present(cluster, azure):
        cluster.kubectl("label", "node", *names, "kubernetes.azure.com/podnetwork-type=overlay")
        try:
            assert shown(read(reader), "cni") == {
                "name": "azure-cni",
                "version": "1.6.13",
                "mode": "overlay",
                "encryption": "none",
            }
        finally:
            cluster.kubectl("label", "node", *names, "kubernetes.azure.com/podnetwork-type-")


def test_istio(cluster: Cluster, reader: Path) -> None:
    """Without a PeerAuthentication plain connections are let in, so nothing is said of encryption;
    the namespace's goes before the mesh's.
    """
    kinds = (
        ("networking.istio.io", "v1", "Gateway", "gateways", "Namespaced"),
        ("security.istio.io", "v1", "PeerAuthentication", "peerauthentications", "Namespaced"),
    )
    plane = workload("Deployment", "istiod", "docker.io/istio/pilot:1.19.3", "istio-system")
    with present(cluster, plane, *(definition(*kind) for kind in kinds)):
        found = read(reader)
        assert shown(found, "mesh") == {
            "name": "istio",
            "version": "1.19.3",
            "mode": "sidecar",
            "mtls": "PERMISSIVE",
        }
        assert "PERMISSIVE lets both" in str(found["kubernetes.unseen"].value)
        whole = custom(
            "security.istio.io/v1",
            "PeerAuthentication",
            "default",
            {"mtls": {"mode": "STRICT"}},
            "istio-system",
        )
        own = custom(
            "security.istio.io/v1",
            "PeerAuthentication",
            "ours",
            {"mtls": {"mode": "DISABLE"}},
            "facts",
        )
        cluster.control_plane.apply([whole])
        found = read(reader)
        assert (found["mesh.mtls"].value, found["mesh.encryption"].value) == ("STRICT", None)
        assert "nothing on namespace facts says that its pods are in the mesh" in str(
            found["kubernetes.unseen"].value
        )
        with marked(cluster, "label", "istio-injection=enabled"):
            found = read(reader)
        assert (found["mesh.mtls"].value, found["mesh.encryption"].value) == ("STRICT", "mtls")
        assert found["mesh.mtls"].source == "PeerAuthentication istio-system/default spec.mtls.mode"
        cluster.control_plane.apply([own])
        found = read(reader)
        assert (found["mesh.mtls"].value, found["mesh.encryption"].value) == ("DISABLE", "none")


@contextmanager
def marked(cluster: Cluster, verb: str, mark: str) -> Iterator[None]:
    """A label or an annotation on the namespace that is looked at."""
    cluster.kubectl(verb, "namespace", "facts", mark)
    try:
        yield
    finally:
        cluster.kubectl(verb, "namespace", "facts", f"{mark.partition('=')[0]}-")


def test_other_meshes(cluster: Cluster, reader: Path) -> None:
    """Linkerd by its ConfigMap, Kuma by its Mesh, Consul by its defaults, NSM by its manager."""
    values = (
        "linkerdVersion: stable-2.14.10\nproxy:\n  defaultInboundPolicy: cluster-authenticated\n"
    )
    profile = definition(
        "linkerd.io", "v1alpha2", "ServiceProfile", "serviceprofiles", "Namespaced"
    )
    linkerd = config_map("linkerd-config", {"values": values}, "linkerd")
    with (
        present(cluster, profile, linkerd),
        marked(cluster, "annotate", "linkerd.io/inject=enabled"),
    ):
        said = {
            "name": "linkerd",
            "version": "2.14.10",
            "mode": "sidecar",
            "mtls": "cluster-authenticated",
            "encryption": "mtls",
        }
        assert shown(read(reader), "mesh") == said
    kuma = workload(
        "Deployment",
        "kuma-control-plane",
        "docker.io/kumahq/kuma-cp:2.4.3",
        "kuma-system",
        KUMA_MODE="zone",
    )
    mesh = custom(
        "kuma.io/v1alpha1",
        "Mesh",
        "default",
        {"mtls": {"enabledBackend": "ca-1", "backends": [{"name": "ca-1", "type": "builtin"}]}},
    )
    meshes = definition("kuma.io", "v1alpha1", "Mesh", "meshes", "Cluster")
    with (
        present(cluster, meshes, kuma, mesh),
        marked(cluster, "label", "kuma.io/sidecar-injection=enabled"),
    ):
        said = {
            "name": "kuma",
            "version": "2.4.3",
            "mode": "zone",
            "mtls": "STRICT",
            "encryption": "mtls",
        }
        assert shown(read(reader), "mesh") == said
    consul = workload(
        "Deployment",
        "consul-connect-injector",
        "hashicorp/consul-k8s-control-plane:1.6.1",
        "consul",
    )
    defaults = custom(
        "consul.hashicorp.com/v1alpha1",
        "ProxyDefaults",
        "global",
        {"mutualTLSMode": "permissive"},
        "consul",
    )
    with present(
        cluster,
        definition(
            "consul.hashicorp.com", "v1alpha1", "ProxyDefaults", "proxydefaults", "Namespaced"
        ),
        consul,
        defaults,
    ):
        assert shown(read(reader), "mesh") == {
            "name": "consul",
            "version": "1.6.1",
            "mtls": "permissive",
        }
    manager = workload(
        "DaemonSet", "nsmgr", "ghcr.io/networkservicemesh/cmd-nsmgr:v1.11.1", "nsm-system"
    )
    with present(
        cluster,
        definition(
            "networkservicemesh.io", "v1", "NetworkService", "networkservices", "Namespaced"
        ),
        manager,
    ):
        assert shown(read(reader), "mesh") == {"name": "nsm", "version": "1.11.1"}


def test_what_may_not_be_looked_at_is_told(cluster: Cluster, reader: Path) -> None:
    """Without rights nothing is claimed, each right that is missing is named, and the doctor names
    it too; with them the doctor is content.
    """
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "disk.csi.example.com"},
        "spec": {},
    }
    stranger = kubeconfig(cluster, "stranger")
    with present(cluster, driver, config_map("cilium-config", {"enable-wireguard": "true"})):
        assert read(reader)["storage.drivers"].value == "disk.csi.example.com"
        found = read(stranger)
        assert shown(found, "cni") == {"name": "cilium"}  # its API group, which everybody sees
        assert found["storage.drivers"].value is None
        unseen = str(found["kubernetes.unseen"].value)
        for right in (
            "list daemonsets.apps",
            "list csidrivers.storage.k8s.io",
            "get configmaps",
            "list nodes",
        ):
            assert f"no right to {right}" in unseen
        asked = [finding.message for finding in doctor.check(site_of(stranger))]
        assert any("get configmaps cilium-config" in message for message in asked)
        assert not any(
            "peerauthentications" in message for message in asked
        )  # there is no Istio here
        assert not any(
            "the right to" in finding.message for finding in doctor.check(site_of(reader))
        )


def target(claims: Mapping[str, Any]) -> Target:
    return Target(
        name="t",
        title="t",
        sites={"any": Site(name="here", runner="kubernetes")},
        claims=claims,
        document={},
    )
