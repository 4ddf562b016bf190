"""The wires of a cluster: a bridge, a link per node, and how pods of one node reach those of
another (static routes, or VXLAN between the nodes).
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

from .layout import Layout


def _ip(*arguments: str, netns: str = "") -> None:
    subprocess.run(
        ["ip", *(("-n", netns) if netns else ()), *arguments],
        check=True,
        capture_output=True,
        text=True,
    )


def make(layout: Layout) -> None:
    """Make what is not there yet."""
    if not _exists(layout.bridge):
        _ip("link", "add", layout.bridge, "type", "bridge")
        _ip("address", "add", f"{layout.host}/24", "dev", layout.bridge)
    _ip("link", "set", layout.bridge, "up")
    _keep_inside(layout)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1\n")  # between the pods of two clusters
    for number in layout.numbers:
        if not Path("/run/netns", layout.netns(number)).exists():
            _add_node(layout, number)


def _keep_inside(layout: Layout) -> None:
    """Let nothing that is meant for the cluster leave this machine by its default route: there is
    no kube-proxy here that knew Services.

    The routes to the pods of a node are more specific and win.
    """
    for prefix in (layout.services, layout.all_pods):
        _ip("route", "replace", "unreachable", prefix)


def _kept_inside(layout: Layout) -> list[str]:
    shown = (
        ["ip", "route", "show", "type", "unreachable", "exact", prefix]
        for prefix in (layout.services, layout.all_pods)
    )
    return [
        line.strip()
        for argv in shown
        for line in subprocess.run(
            argv, check=True, capture_output=True, text=True
        ).stdout.splitlines()
    ]


def _exists(link: str) -> bool:
    return Path("/sys/class/net", link).exists()


def _add_node(layout: Layout, number: int) -> None:
    netns, link, address = layout.netns(number), layout.link(number), layout.address(number)
    _ip("netns", "add", netns)
    _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", netns)
    _ip("link", "set", link, "master", layout.bridge, "up")
    for inside in ("lo", "eth0"):
        _ip("link", "set", inside, "up", netns=netns)
    _ip("address", "add", f"{address}/24", "dev", "eth0", netns=netns)
    _ip("route", "add", "default", "via", layout.host, netns=netns)
    _ip(
        "route", "replace", layout.pods(number), "via", address, "dev", layout.bridge
    )  # so that tests reach pods from this machine
    others = [i for i in layout.numbers if i != number]
    if layout.overlay == "vxlan":
        _tunnel(layout, number, others)
    else:
        for other in others:
            _ip("route", "add", layout.pods(other), "via", layout.address(other), netns=netns)


def _tunnel(layout: Layout, number: int, others: list[int]) -> None:
    """Static VXLAN as flannel sets it up: an on-link route, a neighbour entry and a forwarding
    entry per other node.
    """
    netns = layout.netns(number)
    _ip(
        "link",
        "add",
        "tunnel",
        "type",
        "vxlan",
        "id",
        "1",
        "local",
        layout.address(number),
        "dstport",
        "8472",
        "dev",
        "eth0",
        "nolearning",
        netns=netns,
    )
    _ip("link", "set", "tunnel", "address", _mac(number), "up", netns=netns)
    _ip("address", "add", f"{layout.tunnel(number)}/32", "dev", "tunnel", netns=netns)
    for other in others:
        _ip(
            "route",
            "add",
            layout.pods(other),
            "via",
            layout.tunnel(other),
            "dev",
            "tunnel",
            "onlink",
            netns=netns,
        )
        _ip(
            "neighbour",
            "replace",
            layout.tunnel(other),
            "lladdr",
            _mac(other),
            "dev",
            "tunnel",
            "nud",
            "permanent",
            netns=netns,
        )
        subprocess.run(
            [
                "bridge",
                "-n",
                netns,
                "fdb",
                "append",
                _mac(other),
                "dev",
                "tunnel",
                "dst",
                layout.address(other),
            ],
            check=True,
        )


def _mac(number: int) -> str:
    return f"02:00:00:00:00:{number:02x}"


def remove(layout: Layout) -> None:
    """Remove all of it; harmless when it is gone."""
    for number in layout.numbers:
        if _exists(layout.link(number)):
            _ip("link", "delete", layout.link(number))
        if Path("/run/netns", layout.netns(number)).exists():
            _ip("netns", "delete", layout.netns(number))
    if _exists(layout.bridge):
        _ip("link", "delete", layout.bridge)
    for prefix in (layout.services, layout.all_pods):  # last, so that until then nothing leaves
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("route", "delete", "unreachable", prefix)


def cut(layout: Layout, number: int, *, connected: bool) -> None:
    """Take a node off the network, or put it back."""
    _ip("link", "set", layout.link(number), "up" if connected else "down")


def leftovers(layout: Layout) -> list[str]:
    """What of it is still there."""
    links = [link for link in (layout.bridge, *map(layout.link, layout.numbers)) if _exists(link)]
    names = [
        f"netns {n}" for n in map(layout.netns, layout.numbers) if Path("/run/netns", n).exists()
    ]
    return (
        [f"link {link}" for link in links]
        + names
        + [f"route {route}" for route in _kept_inside(layout)]
    )
