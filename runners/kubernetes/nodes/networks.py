"""Which network plug-in a cluster has, and how it is set: read from the plug-in's own objects, each
value with the object and key that says it.

What a setting asks for is not yet so: where nodes publish keys for what encrypts, encryption counts
as on only if all of them do. Sources:
https://docs.cilium.io/en/stable/security/network/encryption-wireguard/ (ConfigMap cilium-config,
CiliumNode), https://docs.tigera.io/calico/latest/reference/resources/felixconfig and ippool,
https://github.com/flannel-io/flannel/blob/master/Documentation/backends.md,
https://antrea.io/docs/main/docs/network-requirements/,
https://github.com/weaveworks/weave/blob/master/site/kubernetes/kube-addon.md,
https://github.com/aws/amazon-vpc-cni-k8s,
https://learn.microsoft.com/azure/aks/concepts-network-cni-overview.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ....engine.model.spec import Json
from ..client.api_reads import Look, at, parsed
from ..names import Object

Found = dict[str, tuple[Json, str]]
"""Values of facts by name, each with its source."""

NETWORK_FACTS = ("cni.name", "cni.version", "cni.mode", "cni.encryption", "cni.configured_mtu")

# who is higher up carries the packets where two are there: Calico and Cilium also enforce policies
# on top of others
_DAEMONS = {
    "canal": "canal",
    "rke2-canal": "canal",
    "cilium": "cilium",
    "anetd": "cilium",
    "antrea-agent": "antrea",
    "kube-flannel-ds": "flannel",
    "kube-flannel": "flannel",
    "weave-net": "weave",
    "aws-node": "aws-vpc-cni",
    "kindnet": "kindnet",
    "calico-node": "calico",
    "azure-cns": "azure-cni",
}
# API groups are shown to every user; a network plug-in that has objects of its own has a group of
# its own
_GROUPS = {
    "cilium.io": "cilium",
    "crd.projectcalico.org": "calico",
    "projectcalico.org": "calico",
    "crd.antrea.io": "antrea",
    "vpcresources.k8s.aws": "aws-vpc-cni",
    "acn.azure.com": "azure-cni",
}
_FLANNEL = "flannel.alpha.coreos.com/backend-type"
_FLANNEL_MODES = {
    "vxlan": "vxlan",
    "host-gw": "host-gw",
    "wireguard": "wireguard",
    "ipip": "ipip",
    "alloc": "native",
}
_AZURE_PODS = "kubernetes.azure.com/podnetwork-type"
_AZURE_MODES = {"overlay": "overlay", "vnet": "native", "vnetblock": "native"}
_VERSION = re.compile(r"^v?(\d[\w.+-]*)$")


class Network:
    """What is known of one cluster's network plug-in while it is read."""

    def __init__(
        self,
        look: Look,
        groups: Collection[str],
        daemons: Mapping[str, Object] | None,
        nodes: Sequence[Object],
    ) -> None:
        self._look, self._groups, self._daemons, self._nodes = look, groups, daemons, nodes
        self.found: Found = {}

    def read(self) -> Found:
        """The facts of the plug-in, and ``kubernetes.proxy_mode`` where it carries Services
        itself.
        """
        name, daemon, source = self._recognise()
        self.found = dict.fromkeys(NETWORK_FACTS, (None, source)) | {"cni.name": (name, source)}
        if daemon is not None:
            self.found["cni.version"] = (
                image_version(_container(daemon)["image"]),
                f"image of {source}",
            )
        match name:
            case "cilium":
                self._cilium(_namespace(daemon))
            case "calico":
                self._calico(daemon)
            case "flannel" | "canal":
                self._flannel(name, daemon)
            case "antrea":
                self._antrea(daemon)
            case "weave" | "aws-vpc-cni" | "azure-cni" | "kindnet" | "kubenet":
                self._plain(name, daemon, source)
        return self.found

    def _recognise(self) -> tuple[str | None, Object | None, str]:
        for name, known in _DAEMONS.items():
            if self._daemons and (daemon := self._daemons.get(name)) is not None:
                return known, daemon, f"DaemonSet {_namespace(daemon)}/{name}"
        for group, known in _GROUPS.items():
            if group in self._groups:
                return known, None, f"API group {group}"
        if any(_FLANNEL in _annotations(node) for node in self._nodes):
            return "flannel", None, f"annotation {_FLANNEL} of the nodes"
        if (
            self._daemons is not None
            and self._nodes
            and all(_has_cloud_route(node) for node in self._nodes)
        ):
            return (
                "kubenet",
                None,
                (
                    "condition NetworkUnavailable of the nodes: RouteCreated, by the cloud's route"
                    " controller"
                ),
            )
        return None, None, "DaemonSets, API groups, annotations and conditions of the nodes"

    def _cilium(self, namespace: str) -> None:
        """ConfigMap cilium-config. Before 1.14 ``tunnel`` said what ``routing-mode`` and
        ``tunnel-protocol`` say.
        """
        given, where = (
            self._look.config_map(namespace, "cilium-config"),
            f"ConfigMap {namespace}/cilium-config",
        )
        if not given:
            return
        if "routing-mode" in given:
            tunnels, mode_key = given["routing-mode"] == "tunnel", "routing-mode, tunnel-protocol"
            mode = given.get("tunnel-protocol", "vxlan") if tunnels else "native"
        else:
            mode, mode_key = (
                {"disabled": "native", "": ""}.get(
                    given.get("tunnel", ""), given.get("tunnel", "")
                ),
                "tunnel",
            )
        self.found["cni.mode"] = (mode or None, f"{where} {mode_key}")
        self.found["cni.configured_mtu"] = (configured_size(given.get("mtu")), f"{where} mtu")
        if given.get("enable-wireguard") == "true":
            self._encryption(
                "wireguard", f"{where} enable-wireguard", self._cilium_keys("wireguard")
            )
        elif given.get("enable-ipsec") == "true":
            self._encryption("ipsec", f"{where} enable-ipsec", self._cilium_keys("ipsec"))
        else:
            self.found["cni.encryption"] = ("none", f"{where} enable-wireguard, enable-ipsec")
        if given.get("kube-proxy-replacement") in ("true", "strict"):
            self.found["kubernetes.proxy_mode"] = ("ebpf", f"{where} kube-proxy-replacement")

    def _cilium_keys(self, kind: str) -> tuple[int, int, str] | None:
        nodes = self._look.every("/apis/cilium.io/v2/ciliumnodes")
        if nodes is None:
            return None
        if kind == "wireguard":
            key = "network.cilium.io/wg-pub-key"
            return (
                sum(bool(_annotations(node).get(key)) for node in nodes),
                len(nodes),
                f"annotation {key} of the CiliumNodes",
            )
        key = "spec.encryption.key"
        return sum(bool(at(node, key)) for node in nodes), len(nodes), f"{key} of the CiliumNodes"

    def _calico(self, daemon: Object | None) -> None:
        """FelixConfiguration default, over which the environment of calico-node goes; IPPools; keys
        in annotations of the nodes.
        """
        group = next(
            (
                f"{known}/{version}"
                for known, version in (("crd.projectcalico.org", "v1"), ("projectcalico.org", "v3"))
                if known in self._groups
            ),
            None,
        )
        env = _env(daemon)
        if group is None:
            return
        before = len(self._look.unseen)
        felix = (self._look.one(f"/apis/{group}/felixconfigurations/default") or {}).get(
            "spec"
        ) or {}
        where, may = "FelixConfiguration default", len(self._look.unseen) == before
        self._calico_pools(group, felix, where)
        for variable, key in (
            ("FELIX_WIREGUARDENABLED", "wireguardEnabled"),
            ("FELIX_BPFENABLED", "bpfEnabled"),
        ):
            if variable in env:
                felix, where = (
                    {**felix, key: env[variable].lower() == "true"},
                    f"{where} and environment of calico-node",
                )
        if felix.get("wireguardEnabled") is True:
            key = "projectcalico.org/WireguardPublicKey"
            keys = sum(bool(_annotations(node).get(key)) for node in self._nodes)
            seen = (
                (keys, len(self._nodes), f"annotation {key} of the nodes") if self._nodes else None
            )
            self._encryption("wireguard", f"{where} wireguardEnabled", seen)
        elif may:
            self.found["cni.encryption"] = ("none", f"{where} wireguardEnabled")
        if felix.get("bpfEnabled") is True:
            self.found["kubernetes.proxy_mode"] = ("ebpf", f"{where} bpfEnabled")

    def _calico_pools(self, group: str, felix: Mapping[str, Any], where: str) -> None:
        pools = self._look.every(f"/apis/{group}/ippools")
        modes: set[str] = set()
        for pool in (pool for pool in pools or [] if not pool["spec"].get("disabled")):
            said = {mode: pool["spec"].get(f"{mode}Mode", "Never") for mode in ("vxlan", "ipip")}
            if "CrossSubnet" in said.values():
                self._look.tell(
                    "cni.mode",
                    f"IPPool {pool['metadata']['name']} encapsulates across subnets only",
                )
                return
            modes.add(next((mode for mode, value in said.items() if value == "Always"), "native"))
        if len(modes) > 1:
            self._look.tell("cni.mode", f"IPPools differ: {', '.join(sorted(modes))}")
        elif modes:
            mode = modes.pop()
            self.found["cni.mode"] = (mode, "IPPools vxlanMode, ipipMode")
            self.found["cni.configured_mtu"] = (
                configured_size(felix.get(f"{mode}MTU")),
                f"{where} {mode}MTU",
            )

    def _flannel(self, name: str, daemon: Object | None) -> None:
        """What every flanneld says on its node, else ConfigMap kube-flannel-cfg."""
        namespace = _namespace(daemon, "kube-flannel")
        map_name = "canal-config" if name == "canal" else "kube-flannel-cfg"
        text = (
            self._look.config_map(namespace, map_name).get("net-conf.json", "")
            if daemon is not None
            else ""
        )
        backend = at(parsed(text), "Backend")
        backend = backend if isinstance(backend, Mapping) else {}
        where = f"ConfigMap {namespace}/{map_name} net-conf.json Backend"
        self.found["cni.configured_mtu"] = (configured_size(backend.get("MTU")), f"{where}.MTU")
        said = {
            str(_annotations(node)[_FLANNEL]).lower()
            for node in self._nodes
            if _FLANNEL in _annotations(node)
        }
        source = f"annotation {_FLANNEL} of the nodes" if said else f"{where}.Type"
        said = said or ({str(backend["Type"]).lower()} if "Type" in backend else set())
        if len(said) != 1:
            if said:
                self._look.tell("cni.mode", f"the nodes differ: {', '.join(sorted(said))}")
            return
        kind = said.pop()
        self.found["cni.encryption"] = (
            kind if kind in ("wireguard", "ipsec") else "none" if kind in _FLANNEL_MODES else None,
            source,
        )
        if backend.get("DirectRouting") is True:
            self._look.tell("cni.mode", f"{where}.DirectRouting: {kind} across subnets only")
        else:
            self.found["cni.mode"] = (_FLANNEL_MODES.get(kind, "other"), source)

    def _antrea(self, daemon: Object | None) -> None:
        """ConfigMap antrea-config, whose name had a suffix in older releases; what it leaves out
        has the agent's default.
        """
        volumes = [] if daemon is None else daemon["spec"]["template"]["spec"].get("volumes") or []
        name = next(
            (
                v["configMap"]["name"]
                for v in volumes
                if v.get("configMap", {}).get("name", "").startswith("antrea-config")
            ),
            "antrea-config",
        )
        namespace = _namespace(daemon)
        text, where = (
            self._look.config_map(namespace, name).get("antrea-agent.conf"),
            f"ConfigMap {namespace}/{name} antrea-agent.conf",
        )
        if text is None:
            return
        given = parsed(text)
        encap = str(given.get("trafficEncapMode") or "encap").lower()
        if encap == "hybrid":
            self._look.tell("cni.mode", f"{where} trafficEncapMode: across subnets only")
        else:
            tunnel = str(given.get("tunnelType") or "geneve")
            mode = (
                (tunnel if tunnel in ("geneve", "vxlan") else "other")
                if encap == "encap"
                else "native"
            )
            self.found["cni.mode"] = (mode, f"{where} trafficEncapMode, tunnelType")
        self.found["cni.encryption"] = (
            str(given.get("trafficEncryptionMode") or "none").lower(),
            f"{where} trafficEncryptionMode",
        )
        self.found["cni.configured_mtu"] = (
            configured_size(given.get("defaultMTU")),
            f"{where} defaultMTU",
        )

    def _plain(self, name: str, daemon: Object | None, source: str) -> None:
        """Plug-ins that are set by their DaemonSet's environment, and those that only route."""
        env = _env(daemon)
        if name == "weave":
            if daemon is not None:
                # with a password its tunnels are encrypted, by IPsec or by NaCl as each connection
                # can
                self.found["cni.encryption"] = (
                    "other" if "WEAVE_PASSWORD" in env else "none",
                    f"{source} env WEAVE_PASSWORD",
                )
                self.found["cni.configured_mtu"] = (
                    configured_size(env.get("WEAVE_MTU")),
                    f"{source} env WEAVE_MTU",
                )
            return
        self.found["cni.encryption"] = ("none", f"{source}: this plug-in encrypts nothing itself")
        if name == "azure-cni":
            kinds = {node["metadata"].get("labels", {}).get(_AZURE_PODS) for node in self._nodes}
            self.found["cni.mode"] = (
                _AZURE_MODES.get(str(kinds.pop())) if len(kinds) == 1 else None,
                f"label {_AZURE_PODS} of the nodes",
            )
            return
        self.found["cni.mode"] = ("native", f"{source}: this plug-in routes without a tunnel")
        if name == "aws-vpc-cni":
            self.found["cni.configured_mtu"] = (
                configured_size(env.get("AWS_VPC_ENI_MTU")),
                f"{source} env AWS_VPC_ENI_MTU",
            )

    def _encryption(self, kind: str, source: str, keys: tuple[int, int, str] | None) -> None:
        """``keys``: how many nodes of how many have a key, and where that was seen; None: that
        could not be seen.
        """
        if keys is None or not keys[1]:
            self.found["cni.encryption"] = (kind, source)
            return
        have, count, seen = keys
        told = f"{source}; {have} of {count} nodes have a key: {seen}"
        if 0 < have < count:
            self._look.tell("cni.encryption", told)
        self.found["cni.encryption"] = (
            kind if have == count else "none" if not have else None,
            told,
        )


def proxy_mode(look: Look, daemons: Mapping[str, Object] | None) -> tuple[Json, str]:
    """How kube-proxy carries Services, where it runs as a DaemonSet: its flag, else its
    configuration, whose default is iptables on Linux.
    """
    daemon = (daemons or {}).get("kube-proxy")
    source = "DaemonSet kube-proxy"
    if daemon is not None:
        container = _container(daemon)
        for word in (*(container.get("command") or []), *(container.get("args") or [])):
            if flag := re.search(r"--proxy-mode[= ](\w+)", str(word)):
                return flag[1], f"{source} --proxy-mode"
    if daemon is None and daemons is not None:
        return None, source
    for name, key in (("kube-proxy", "config.conf"), ("kube-proxy-config", "config")):
        given = parsed(look.config_map("kube-system", name).get(key, ""))
        if given.get("kind") == "KubeProxyConfiguration":
            return str(given.get("mode") or "iptables"), f"ConfigMap kube-system/{name} {key} mode"
    return None, f"{source}, ConfigMap kube-system/kube-proxy"


def image_version(image: str) -> str | None:
    """The version that an image's tag tells; None where it is no version."""
    last = image.partition("@")[0].rpartition("/")[2]
    found = _VERSION.match(last.partition(":")[2])
    return found[1] if found else None


def _container(daemon: Object) -> Object:
    """The container that does the work: the one called as its DaemonSet, or the first."""
    containers: list[Object] = daemon["spec"]["template"]["spec"]["containers"]
    return next(
        (one for one in containers if one["name"] == daemon["metadata"]["name"]), containers[0]
    )


def _env(daemon: Object | None) -> dict[str, str]:
    """What a DaemonSet's containers get in their environment; a value that stands in a Secret is
    empty here.
    """
    containers = [] if daemon is None else daemon["spec"]["template"]["spec"]["containers"]
    return {
        one["name"]: str(one.get("value") or "")
        for container in containers
        for one in container.get("env") or []
    }


def _namespace(daemon: Object | None, otherwise: str = "kube-system") -> str:
    return otherwise if daemon is None else str(daemon["metadata"]["namespace"])


def _annotations(found: Object) -> Mapping[str, Any]:
    return found["metadata"].get("annotations") or {}


def _has_cloud_route(node: Object) -> bool:
    return any(
        c["type"] == "NetworkUnavailable" and c.get("reason") == "RouteCreated"
        for c in node["status"].get("conditions") or []
    )


def configured_size(value: object) -> int | None:
    """An MTU; 0 and nothing mean that the plug-in finds it out."""
    return int(text) if len(text := str(value)) < 9 and text.isdecimal() and int(text) > 0 else None
