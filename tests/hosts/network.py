"""The network of a bed: one bridge (two with hidden hosts) in a namespace of its own, a link per
host, addresses, speeds.

The controller sits on the first bridge. Hidden hosts are on the second alone, which only the first
host, their jump host, is on too.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from .host import shaping
from .parts import HOME, BedError, call

FIRST_SUBNET, LAST_SUBNET = 128, 239  # 10.B.0.0/16, one B per bed


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The addresses of a bed. Hosts count from 1; ``hidden`` of them, the last ones, are on the
    second bridge.
    """

    name: str
    subnet: int
    count: int
    hidden: int
    mtu: int
    rate: str | None

    @property
    def controller_link(self) -> str:
        """The controller's end of its link to the bed, the only trace of it outside of its
        namespaces.
        """
        return f"bh-{self.name}"

    def is_hidden(self, number: int) -> bool:
        """Whether the controller cannot reach the host."""
        return number > self.count - self.hidden

    def address(self, number: int, back: bool = False) -> str:
        """IPv4: 10.B.0.0/17 in front, 10.B.128.0/17 behind the jump host. Number 0 is the
        controller.
        """
        return str(ipaddress.ip_address(f"10.{self.subnet}.{128 if back else 0}.0") + 1 + number)

    def address6(self, number: int, back: bool = False) -> str:
        """IPv6: fd be:5bec:B:0::/64 in front, :1 behind."""
        return str(ipaddress.ip_address(f"fdbe:5bec:{self.subnet:x}:{int(back)}::") + 1 + number)

    def main_address(self, number: int) -> str:
        """The address under which the others know the host."""
        return self.address(number, self.is_hidden(number))

    def main_address6(self, number: int) -> str:
        """The same for IPv6."""
        return self.address6(number, self.is_hidden(number))


def free_subnet(taken: set[int]) -> int:
    """A B for which the controller has no address and no route yet; ``taken`` are those of other
    beds.
    """
    known = call(["ip", "-4", "route", "show", "table", "all"]) + call(["ip", "-4", "addr"])
    return next(
        b for b in range(FIRST_SUBNET, LAST_SUBNET) if b not in taken and f"10.{b}." not in known
    )


def make_switch(plan: Plan, switch: int) -> None:
    """The bridges, and the controller's link to the first."""
    commands = "\n".join(
        line
        for bridge in ("front", "back")
        for line in (
            f"link add {bridge} type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
            f"link set {bridge} mtu 9000 up",
        )
    )
    call(["nsenter", "-t", str(switch), "-n", "ip", "-batch", "-"], commands)
    link, mtu = plan.controller_link, plan.mtu
    call(
        [
            "ip",
            "link",
            "add",
            link,
            "mtu",
            str(mtu),
            "type",
            "veth",
            "peer",
            "name",
            "controller",
            "mtu",
            str(mtu),
            "netns",
            str(switch),
        ]
    )
    call(
        [
            "nsenter",
            "-t",
            str(switch),
            "-n",
            "ip",
            "link",
            "set",
            "controller",
            "master",
            "front",
            "up",
        ]
    )
    own = [
        f"addr add {plan.address(0)}/17 dev {link}",
        f"addr add {plan.address6(0)}/64 dev {link} nodad",
        f"link set {link} up",
    ]
    call(["ip", "-batch", "-"], "\n".join(own))


def make_links(plan: Plan, switch: int, pids: dict[int, int]) -> None:
    """The links of the hosts: one call for all, since each call takes the kernel's lock anew."""
    links, limits = [], []
    for number, pid in pids.items():
        bridges = ["back"] if plan.is_hidden(number) else ["front"]
        bridges += ["back"] if number == 1 and plan.hidden else []
        for index, bridge in enumerate(bridges):
            port = f"{bridge[0]}{number}"
            links.append(
                f"link add {port} mtu {plan.mtu} type veth peer name eth{index} mtu {plan.mtu}"
                f" netns {pid}"
            )
            links.append(f"link set {port} master {bridge} up")
            if plan.rate:
                limits.append(f"qdisc add dev {port} root tbf {shaping(plan.rate)}")
    call(["nsenter", "-t", str(switch), "-n", "ip", "-batch", "-"], "\n".join(links))
    if limits:
        call(["nsenter", "-t", str(switch), "-n", "tc", "-batch", "-"], "\n".join(limits))


def host_network(plan: Plan, number: int) -> str:
    """The script with which a host sets its network up."""
    limit = f"tc qdisc add dev eth0 root tbf {shaping(plan.rate)}\n" if plan.rate else ""
    lines = ["link set lo up", "link set eth0 up"]
    if number == 1 and plan.hidden:
        lines += [
            "link set eth1 up",
            f"addr add {plan.address(1, back=True)}/17 dev eth1",
            f"addr add {plan.address6(1, back=True)}/64 dev eth1 nodad",
        ]
    return limit + "ip -batch - <<'END'\n" + "\n".join(lines) + "\nEND\nsh /etc/bed-address\n"


def host_address(plan: Plan, number: int) -> str:
    """The script with which a host gets its addresses, at first and after its link was down."""
    v4, v6 = plan.main_address(number), plan.main_address6(number)
    return f"ip addr replace {v4}/17 dev eth0\nip -6 addr replace {v6}/64 dev eth0 nodad\n"


def remove_link(name: str) -> None:
    """Remove the controller's link, if it is still there: it also goes with the namespace at its
    other end, at any moment.
    """
    try:
        call(["ip", "link", "delete", f"bh-{name}"])
    except BedError:
        if link_is_there(name):
            raise


def link_is_there(name: str) -> bool:
    """Whether the controller has a link to a bed of this name."""
    return Path(f"/sys/class/net/bh-{name}").exists()


def linked_names() -> frozenset[str]:
    """The names of the beds to which the controller has links."""
    return frozenset(path.name.removeprefix("bh-") for path in Path("/sys/class/net").glob("bh-*"))


def directory(name: str) -> Path:
    """Where a bed keeps its files."""
    return HOME / name
