"""One cluster: switched on, disturbed, switched off, and nothing of it left."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from . import binaries, network, pki
from .control_plane import ControlPlane
from .layout import SLOTS, Layout, state_root
from .nodes import Node
from .processes import Processes, await_true


class Cluster:
    """A cluster by its layout; it may be running or not."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.tools = binaries.directory()
        self._processes = Processes(
            layout.state,
            {"PATH": f"{self.tools}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        )
        self.control_plane = ControlPlane(layout, self._processes, self.tools)
        self.nodes = {
            number: Node(layout, number, self._processes, self.tools) for number in layout.numbers
        }

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; its only context is called like the cluster."""
        return self.layout.kubeconfig

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """Run kubectl as the administrator."""
        return self.control_plane.kubectl(*arguments, given=given)

    def start(self) -> None:
        """Switch it on and wait until pods can be made; harmless when it is on. Raises TimeoutError
        with the end of the log that tells why.
        """
        pki.make(self.layout)
        network.make(self.layout)
        self.control_plane.start_api()
        for node in self.nodes.values():  # beside the API server: kubelets try until it answers
            node.start()
        self.control_plane.start_rest()
        for node in self.nodes.values():
            await_true(
                partial(self._ready, node),
                90,
                f"{node.name} is not Ready:\n{self._processes.log(f'node-{node.number}')}",
            )
        await_true(self._has_account, 60, "the ServiceAccount `default` does not appear")

    def _ready(self, node: Node) -> bool:
        path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
        with contextlib.suppress(RuntimeError):
            return self.kubectl("get", "node", node.name, "-o", path) == "True"
        return False

    def _has_account(self) -> bool:
        with contextlib.suppress(RuntimeError):
            return bool(self.kubectl("get", "serviceaccount", "default", "-o", "name"))
        return False

    def stop(self) -> None:
        """Switch it off and remove it with all it holds. Raises RuntimeError when something is
        left.
        """
        self.control_plane.stop()
        for node in self.nodes.values():
            node.kill()
        network.remove(self.layout)
        shutil.rmtree(self.layout.state, ignore_errors=True)
        if left := self.leftovers():
            raise RuntimeError(f"cluster {self.layout.name} still has {', '.join(left)}")

    def leftovers(self) -> list[str]:
        """What of it is still there."""
        left = [f"process {name}" for name in self._processes.names()] + network.leftovers(
            self.layout
        )
        left += [f"control group {path}" for node in self.nodes.values() for path in node.cgroups()]
        return left + ([str(self.layout.state)] if self.layout.state.exists() else [])

    def load(self, image: str, archive: Path) -> None:
        """Put an image onto every node that does not have it."""
        for node in self.nodes.values():
            if image not in node.run("ctr", "-n", "k8s.io", "images", "ls", "-q").split():
                node.run("ctr", "-n", "k8s.io", "images", "import", str(archive))

    def status(self) -> dict[str, int | None]:
        """The pid of every process that was started; None for one that ended."""
        return {name: self._processes.pid(name) for name in self._processes.names()}

    def fault(self, kind: str, number: int = 0, what: str = "") -> None:
        """Do one thing that goes wrong in data centres, or undo it; kinds: :data:`FAULTS`."""
        match kind:
            case "cut" | "heal":
                network.cut(self.layout, number, connected=kind == "heal")
            case "power-off":
                self.nodes[number].kill()
            case "power-on":
                self.nodes[number].start()
            case "kill" | "freeze" | "thaw":
                self.nodes[number].signal(
                    what, {"kill": "KILL", "freeze": "STOP", "thaw": "CONT"}[kind]
                )
            case "restart":
                self.nodes[number].restart(what)
            case "kill-api":
                self.control_plane.kill("kube-apiserver")
            case "start-api":
                self.control_plane.start("kube-apiserver")
                self.control_plane.await_ready()
            case "evict":
                namespace, _, pod = what.partition("/")
                eviction = {
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": {"name": pod, "namespace": namespace},
                }
                path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
                self.kubectl("create", "--raw", path, "-f", "-", given=json.dumps(eviction))
            case _:
                raise ValueError(f"found fault {kind!r}, expected one of {', '.join(FAULTS)}")


FAULTS = {
    "cut": "take a node off the network",
    "heal": "put it back",
    "power-off": "a node loses power",
    "power-on": "and comes back",
    "kill": "kill a node's containerd, kubelet or kube-proxy",
    "restart": "start it again",
    "freeze": "stop it without ending it",
    "thaw": "let it go on",
    "kill-api": "kill the API server",
    "start-api": "start it again and wait until it is ready",
    "evict": "evict a pod, given as NAMESPACE/POD",
}


def find(name: str) -> Cluster | None:
    """The cluster of that name, if it was made."""
    try:
        text = (state_root() / name / "layout.json").read_text()
    except FileNotFoundError:
        return None
    return Cluster(Layout(**json.loads(text)))


def named(names: Iterable[str]) -> Iterator[Cluster]:
    """The clusters of those names. Ends the program where one was not made."""
    for name in names:
        found = find(name)
        if found is None:
            sys.exit(f"there is no cluster {name}")
        yield found


def everyone() -> list[Cluster]:
    """Every cluster there is."""
    found = (find(path.name) for path in sorted(state_root().glob("*")) if path.is_dir())
    return [cluster for cluster in found if cluster is not None]


def make(
    name: str,
    *,
    nodes: int = 2,
    overlay: str = "routes",
    pod_mtu: int = 1500,
    proxy_mode: str = "nftables",
) -> Cluster:
    """Switch a cluster on, in a free slot if it is a new one."""
    found = find(name)
    if found is None:
        state_root().mkdir(parents=True, exist_ok=True)
        with (state_root() / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            slot = next(
                slot
                for slot in SLOTS
                if slot not in {cluster.layout.slot for cluster in everyone()}
            )
            layout = Layout(
                name=name,
                slot=slot,
                nodes=nodes,
                overlay=overlay,
                pod_mtu=pod_mtu,
                proxy_mode=proxy_mode,
            )
            layout.state.mkdir()
            (layout.state / "layout.json").write_text(json.dumps(dataclasses.asdict(layout)))
        found = Cluster(layout)
    found.start()
    return found


@contextlib.contextmanager
def up(
    name: str, *, nodes: int = 2, overlay: str = "routes", pod_mtu: int = 1500
) -> Iterator[Cluster]:
    """A cluster for as long as the block lasts."""
    try:
        yield make(name, nodes=nodes, overlay=overlay, pod_mtu=pod_mtu)
    finally:
        if (made := find(name)) is not None:
            made.stop()
