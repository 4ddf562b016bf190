"""A privileged look at nodes, where the site allows it: what it adds, and that a namespace which
refuses it is told and costs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.results import Fact
from benchspec.engine.model.spec import Site
from benchspec.runners.kubernetes import RUNNER
from benchspec.runners.kubernetes.nodes import node_probe
from benchspec.runners.kubernetes.nodes.node_probe import beyond, read_network
from benchspec.runners.kubernetes.pods import pod as pods
from benchspec.runners.kubernetes.pods.container import Container
from tests.cluster.cluster import Cluster

LIST = (
    '10-pods.conflist\n{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge",'
    ' "mtu": 1450}, {"type": "portmap"}]}'
)
FLANNEL = LIST.replace("bridge", "flannel")
END = "#benchspec-part"
MODE = "kubernetes.proxy_mode"


def values(session: Session) -> Mapping[str, Mapping[str, Any]]:
    return {
        node: {fact.name: fact.value for fact in facts}
        for node, facts in session.facts().items()
        if node
    }


def test_a_privileged_look_sees_the_node_itself(
    cluster: Cluster,
    connect: Callable[..., Session],
    site: Site,
    run_id: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """These nodes are no confidential VMs, and nothing says that they are; their devices are not a
    container's, unless this machine is one.

    Something holds the pods that have looked: they are found as left over, and what they saw is
    kept.
    """
    held: list[str] = []

    def look(container: Container) -> list[Fact]:
        cluster.kubectl(
            "patch",
            "pod",
            container.pod,
            "--type=merge",
            "-p",
            '{"metadata": {"finalizers": ["benchspec.dev/test"]}}',
        )
        held.append(container.pod)
        monkeypatch.setattr(pods, "REMOVAL_S", 0.5)
        return asked(container)

    asked = node_probe.look
    plain = values(connect())
    monkeypatch.setattr(node_probe, "look", look)
    try:
        deep = values(connect(probe={"privileged": True}))
        assert {one.name for one in RUNNER.leftovers(site, run_id) if one.kind == "pod"} >= set(
            held
        )
    finally:
        for pod in held:
            cluster.kubectl(
                "patch", "pod", pod, "--type=merge", "-p", '{"metadata": {"finalizers": null}}'
            )
    assert set(plain) == set(deep) == set(names(cluster))
    assert len(held) == len(deep)
    for node in deep:
        assert "a container has" not in deep[node]["cvm.unseen"] or Path("/.dockerenv").exists()
        assert "a privileged pod" not in deep[node]["cvm.unseen"]
        assert deep[node]["cvm.technology"] in (None, "none")
        assert deep[node]["cvm.evidence"] in (None, "none")
        assert (deep[node]["cni.name"], deep[node]["kubernetes.proxy_mode"]) == (
            "bridge",
            "nftables",
        )
        assert "cni.name" not in plain[node]


def test_a_namespace_that_refuses_it_is_told(
    cluster: Cluster, connect: Callable[..., Session]
) -> None:
    label = "pod-security.kubernetes.io/enforce"
    cluster.kubectl("create", "namespace", "node-probe")
    try:
        cluster.kubectl("label", "namespace", "node-probe", f"{label}=restricted")
        session = connect(
            probe={"privileged": True},
            namespace="node-probe",
            node_selector={"kubernetes.io/hostname": names(cluster)[0]},
        )
        (seen,) = values(session).values()
        assert (
            "what a privileged pod sees (the namespace's pod security refuses it)"
            in seen["cvm.unseen"]
        )
        assert seen["cpu.count"] is not None  # what any pod sees is there
        session.close()
    finally:
        cluster.kubectl("delete", "namespace", "node-probe", "--wait=false")


def names(cluster: Cluster) -> list[str]:
    return cluster.kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()


def test_what_the_cluster_s_objects_tell_goes_first() -> None:
    """A plug-in's file may name a helper, but kube-proxy knows its own mode, unless it was
    replaced.
    """
    node = read_network(f"{FLANNEL}\n{END}\nflannel.1 vxlan\n{END}\nnftables")
    assert left(
        node, {"cni.name": "flannel", "cni.mode": None, "kubernetes.proxy_mode": "iptables"}
    ) == {"cni.configured_mtu", "cni.mode", MODE}
    assert left(node, {"cni.name": "cilium"}) == {"cni.configured_mtu", MODE}
    assert left(
        node, {"kubernetes.unseen": "cni.mode (IPPool p encapsulates across subnets only)"}
    ) == {"cni.name", "cni.configured_mtu", MODE}
    assert MODE not in left(node, {MODE: "ebpf"})


def left(node: list[Fact], told: dict[str, str | None]) -> set[str]:
    """The facts of the node that stay beside what the cluster's objects tell."""
    return {
        fact.name
        for fact in beyond(
            [Fact(name=name, value=value, source="") for name, value in told.items()], node
        )
    }


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        (
            f"{FLANNEL}\n{END}\ncni0 bridge\nflannel.1 vxlan\nwg0 wireguard\n{END}\niptables",
            ("flannel", 1450, "vxlan", "iptables"),
        ),
        (
            f"{LIST}\n{END}\nflannel.1 vxlan\nwg0 wireguard\n{END}\n",
            ("bridge", 1450, None, None),
        ),  # an administrator's, or of a plug-in before
        (
            (
                f'05-c.conf\n{{"type": "cilium-cni"}}\n{END}\ncilium_wg0 wireguard\ncilium_vxlan'
                f" vxlan\n{END}\n"
            ),
            ("cilium", None, "vxlan", None),
        ),
        (f'05-x.conf\n{{"type": "ptp"}}\n{END}\n{END}\n', ("ptp", None, None, None)),
        (
            (
                f"{FLANNEL}\n{END}\nflannel.1 vxlan\nflannel-wg wireguard\n{END}\n<html>not"
                " found</html>"
            ),
            ("flannel", 1450, None, None),
        ),
        (f'05-x.conf\n{{"type": "ptp", "mtu": 0}}\n{END}\n{END}\n', ("ptp", None, None, None)),
        (f'05-x.conf\n{{"plugins": null}}\n{END}\n{END}\n', (None, None, None, None)),
        (f"\n\n{END}\n{END}\n", (None, None, None, None)),
        ("cut sho", (None, None, None, None)),
    ],
)
def test_what_it_prints_is_read(printed: str, seen: tuple[Any, ...]) -> None:
    found = {fact.name: fact.value for fact in read_network(printed)}
    assert (
        tuple(
            found.get(name)
            for name in ("cni.name", "cni.configured_mtu", "cni.mode", "kubernetes.proxy_mode")
        )
        == seen
    )
