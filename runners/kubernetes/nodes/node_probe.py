"""What a privileged pod sees of its node beyond what any pod does: evidence of a confidential VM,
the file of the network plug-in, kube-proxy.

The files of the node are mounted, and its own programs look for evidence (``chroot``). kube-proxy
tells its mode on the node's loopback (``--metrics-bind-address``,
https://kubernetes.io/docs/reference/command-line-tools-reference/kube-proxy/). Of the files in
/etc/cni/net.d the first by name counts,
https://github.com/containerd/containerd/blob/main/docs/cri/config.md. Kinds of network devices:
DEVTYPE in their uevent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from shlex import quote

from ....engine.facts import catalogue as facts
from ....engine.model.results import Fact
from ....engine.model.spec import Json
from ..pods.container import Container
from ..pods.manifests import NODE
from .networks import configured_size

TIMEOUT_S = 60.0
_CNI = "/etc/cni/net.d"
_PROXY = "127.0.0.1:10249/proxyMode"
_MODE = "kubernetes.proxy_mode"
_TUNNELS = {
    "antrea": r"genev_sys_\d+|vxlan_sys_\d+",
    "calico": r"vxlan(-v6)?\.calico",
    "cilium": r"cilium_(geneve|vxlan)",
    "flannel": r"flannel(-v6)?\.\d+|flannel-wg(-v6)?",
    "ovn-k8s-cni-overlay": r"genev_sys_\d+",
}
"""What plug-ins call their own tunnels, by the plug-in's name; devices that only encrypt
(``cilium_wg0``, ``wireguard.cali``) are not among them.
"""
_KINDS = ("vxlan", "geneve", "wireguard")
_END = "#benchspec-part"

_NETWORK = f"""f=$(ls {NODE}{_CNI} 2>/dev/null | grep -E '\\.(conf|conflist|json)$' | LC_ALL=C sort | head -n 1)
echo "$f"; [ -z "$f" ] || cat "{NODE}{_CNI}/$f"; echo; echo '{_END}'
grep -sH '^DEVTYPE=' /sys/class/net/*/uevent | sed 's|^/sys/class/net/||; s|/uevent:DEVTYPE=| |'; echo '{_END}'
wget -q -T 2 -O - http://{_PROXY} 2>/dev/null || curl -s -m 2 http://{_PROXY} 2>/dev/null
"""


_NAMES = {
    "cilium-cni": "cilium",
    "aws-cni": "aws-vpc-cni",
    "azure-vnet": "azure-cni",
    "weave-net": "weave",
}
"""What plug-ins are called that name themselves otherwise in their files."""


def beyond(cluster: Sequence[Fact], node: Sequence[Fact]) -> list[Fact]:
    """Facts of a node without those of its network that the cluster's objects tell already; of
    kube-proxy's mode it knows better itself.

    A tunnel does not say how packets leave where the objects name another plug-in, or leave it
    open: it may be for some of the packets alone.
    """
    known = {fact.name: fact.value for fact in cluster if fact.value is not None}
    own = next((fact.value for fact in node if fact.name == "cni.name"), None)
    told = {name for name in known if name.startswith("cni.")}
    if known.get("cni.name", own) != own or "cni.mode (" in str(known.get("kubernetes.unseen")):
        told.add("cni.mode")
    return [
        fact
        for fact in node
        if fact.name not in told and not (fact.name == _MODE and known.get(_MODE) == "ebpf")
    ]


def look(container: Container) -> list[Fact]:
    """The facts of the node that ``container``, of a privileged pod, is on. Raises PodLost,
    Unreachable.
    """
    asked = (
        f"exec chroot {NODE} /bin/sh -c"
        f" {quote('PATH=$PATH:/usr/sbin:/sbin LC_ALL=C; export PATH LC_ALL' + chr(10) + facts.cvm_script())}"
    )
    seen = [
        fact
        for fact in facts.parse(container.sh(asked, timeout_s=TIMEOUT_S).stdout)
        if fact.name.startswith("cvm.")
    ]
    return [
        *seen,
        *read_network(
            container.sh(_NETWORK, timeout_s=TIMEOUT_S).stdout.decode("utf-8", "replace")
        ),
    ]


def read_network(printed: str) -> list[Fact]:
    """The facts in what the script printed; what it did not find is left out."""
    config, devices, proxy = (*(part.strip() for part in printed.split(_END)), "", "")[:3]
    name, _, text = config.partition("\n")
    found: dict[str, tuple[Json, str]] = {}
    plugins = _plugins(text)
    if plugins:
        main = plugins[0]
        own = _NAMES.get(str(main["type"]), str(main["type"]))
        found["cni.name"] = (own, f"{_CNI}/{name} of the node, the type of its first plug-in")
        if (mtu := configured_size(main.get("mtu"))) is not None:
            found["cni.configured_mtu"] = (mtu, f"{_CNI}/{name} of the node, mtu")
        tunnels = dict(_tunnels(own, devices))
        if len(set(tunnels.values())) == 1:
            found["cni.mode"] = (
                next(iter(tunnels.values())),
                f"the node's network devices: {', '.join(sorted(tunnels))}",
            )
    if proxy in ("iptables", "ipvs", "nftables"):
        found[_MODE] = (proxy, f"http://{_PROXY} on the node")
    return [
        Fact(name=fact, value=value, source=source, unit=facts.fact_kinds()[fact].unit)
        for fact, (value, source) in found.items()
    ]


def _tunnels(plugin: str, devices: str) -> Iterator[tuple[str, str]]:
    """Name and kind of the tunnels that ``plugin`` makes; any other one may be an administrator's
    own.
    """
    for line in devices.splitlines():
        name, _, kind = line.partition(" ")
        if kind in _KINDS and re.fullmatch(_TUNNELS.get(plugin, ""), name):
            yield name, kind


def _plugins(text: str) -> Sequence[dict[str, Json]]:
    """The plug-ins that a configuration names, a list or a single one."""
    try:
        read = json.loads(text)
    except ValueError:
        return []
    found = read.get("plugins", [read]) if isinstance(read, dict) else []
    return (
        [one for one in found if isinstance(one, dict) and "type" in one]
        if isinstance(found, list)
        else []
    )
