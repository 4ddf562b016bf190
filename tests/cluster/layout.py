"""Where a cluster keeps its things and which names and addresses it takes. Everything follows from
its name and its slot, so clusters never meet.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SLOTS = range(10)


def state_root() -> Path:
    """The directory that holds one directory per cluster; not /run or /tmp, since volumes with test
    files lie in it.
    """
    return Path(os.environ.get("BENCHSPEC_CLUSTER_STATE") or "/var/tmp/benchspec-clusters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One cluster: ``slot`` numbers its networks. ``overlay`` is ``routes`` or ``vxlan``;
    ``pod_mtu`` in B.
    """

    name: str
    slot: int
    nodes: int = 2
    overlay: str = "routes"
    pod_mtu: int = 1500
    proxy_mode: str = "nftables"

    @property
    def state(self) -> Path:
        """The directory of this cluster."""
        return state_root() / self.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.state / "pki" / "admin.conf"

    @property
    def bridge(self) -> str:
        """The link all nodes are on."""
        return f"bsk{self.slot}"

    @property
    def host(self) -> str:
        """This machine's address on it: API server, names, default route."""
        return f"10.{90 + self.slot}.0.1"

    @property
    def services(self) -> str:
        """The addresses of Services."""
        return f"10.{150 + self.slot}.0.0/16"

    @property
    def all_pods(self) -> str:
        """The addresses of the pods of all nodes, also of nodes that are not there."""
        return f"10.{120 + self.slot}.0.0/16"

    @property
    def first_service(self) -> str:
        """The address of the Service ``kubernetes``."""
        return f"10.{150 + self.slot}.0.1"

    @property
    def etcd_port(self) -> int:
        """The client port of etcd on the loopback address; the next one is for its peers."""
        return 23790 + 10 * self.slot

    @property
    def numbers(self) -> range:
        """The numbers of the nodes."""
        return range(1, self.nodes + 1)

    def node(self, number: int) -> str:
        """A node's name."""
        return f"{self.name}-n{number}"

    def address(self, number: int) -> str:
        """A node's address."""
        return f"10.{90 + self.slot}.0.{10 + number}"

    def pods(self, number: int) -> str:
        """The addresses of a node's pods."""
        return f"10.{120 + self.slot}.{number}.0/24"

    def tunnel(self, number: int) -> str:
        """A node's own address on the overlay."""
        return f"10.{120 + self.slot}.{number}.0"

    def netns(self, number: int) -> str:
        """The network namespace of a node."""
        return f"bsk{self.slot}-n{number}"

    def link(self, number: int) -> str:
        """The host's end of a node's link."""
        return f"{self.bridge}n{number}"

    def cgroup(self, number: int) -> str:
        """The control group that holds a node's pods."""
        return f"bsk{self.slot}-n{number}"
