"""What a privileged pod sees of its node beyond what any pod does: evidence of a confidential VM, the file of the network plug-in, kube-proxy.

The files of the node are mounted, and its own programs look for evidence (``chroot``). kube-proxy tells its mode on the node's loopback
(``--metrics-bind-address``, https://kubernetes.io/docs/reference/command-line-tools-reference/kube-proxy/). Of the files in /etc/cni/net.d the first
by name counts, https://github.com/containerd/containerd/blob/main/docs/cri/config.md. Kinds of network devices: DEVTYPE in their uevent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...engine import facts
from ...engine.results import Fact
from ...engine.spec import Json
from .container import Container
from .manifests import NODE
from .networks import configured_size
from .scripts import quote

TIMEOUT_S = 60.0
_CNI = "/etc/cni/net.d"
_PROXY = "127.0.0.1:10249/proxyMode"
_MODE = "kubernetes.proxy_mode"
_TUNNELS = ("vxlan", "geneve", "wireguard")
_END = "#benchspec-part"

_NETWORK = f"""f=$(ls {NODE}{_CNI} 2>/dev/null | grep -E '\\.(conf|conflist|json)$' | LC_ALL=C sort | head -n 1)
echo "$f"; [ -z "$f" ] || cat "{NODE}{_CNI}/$f"; echo; echo '{_END}'
cat /sys/class/net/*/uevent 2>/dev/null | sed -n 's/^DEVTYPE=//p' | sort -u; echo '{_END}'
wget -q -T 2 -O - http://{_PROXY} 2>/dev/null || curl -s -m 2 http://{_PROXY} 2>/dev/null
"""


_NAMES = {"cilium-cni": "cilium", "aws-cni": "aws-vpc-cni", "azure-vnet": "azure-cni", "weave-net": "weave"}
"""What plug-ins are called that name themselves otherwise in their files."""


def beyond(cluster: Sequence[Fact], node: Sequence[Fact]) -> list[Fact]:
    """Facts of a node without those of its network that the cluster's objects tell already; of kube-proxy's mode it knows better itself."""
    known = {fact.name: fact.value for fact in cluster if fact.value is not None}
    return [
        fact for fact in node
        if not (fact.name.startswith("cni.") and fact.name in known) and not (fact.name == _MODE and known.get(_MODE) == "ebpf")
    ]  # fmt: skip


def look(container: Container) -> list[Fact]:
    """The facts of the node that ``container``, of a privileged pod, is on. Raises PodLost, Unreachable."""
    asked = f"exec chroot {NODE} /bin/sh -c {quote('PATH=$PATH:/usr/sbin:/sbin LC_ALL=C; export PATH LC_ALL' + chr(10) + facts.cvm_script())}"
    seen = [fact for fact in facts.parse(container.run(asked, timeout_s=TIMEOUT_S).stdout) if fact.name.startswith("cvm.")]
    return [*seen, *read_network(container.run(_NETWORK, timeout_s=TIMEOUT_S).stdout.decode("utf-8", "replace"))]


def read_network(printed: str) -> list[Fact]:
    """The facts in what the script printed; what it did not find is left out."""
    config, devices, proxy = (*(part.strip() for part in printed.split(_END)), "", "")[:3]
    name, _, text = config.partition("\n")
    found: dict[str, tuple[Json, str]] = {}
    plugins = _plugins(text)
    if plugins:
        main = plugins[0]
        found["cni.name"] = (_NAMES.get(str(main["type"]), str(main["type"])), f"{_CNI}/{name} of the node, the type of its first plug-in")
        if (mtu := configured_size(main.get("mtu"))) is not None:
            found["cni.configured_mtu"] = (mtu, f"{_CNI}/{name} of the node, mtu")
    kinds = [kind for kind in devices.split() if kind in _TUNNELS]
    if len(kinds) == 1:
        found["cni.mode"] = (kinds[0], "the kinds of the node's network devices")
    if proxy in ("iptables", "ipvs", "nftables"):
        found[_MODE] = (proxy, f"http://{_PROXY} on the node")
    return [Fact(name=fact, value=value, source=source, unit=facts.fact_kinds()[fact].unit) for fact, (value, source) in found.items()]


def _plugins(text: str) -> Sequence[dict[str, Json]]:
    """The plug-ins that a configuration names, a list or a single one."""
    try:
        read = json.loads(text)
    except ValueError:
        return []
    found = read.get("plugins", [read]) if isinstance(read, dict) else []
    return [one for one in found if isinstance(one, dict) and "type" in one] if isinstance(found, list) else []
