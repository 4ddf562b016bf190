"""Nodes: namespaces with containerd, kubelet and kube-proxy in them. Every odd setting says which
lack of this kind of machine it answers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

from .layout import HERE, Layout
from .processes import Processes, await_true, child_of

CGROUPS = Path("/sys/fs/cgroup")
_V1 = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd")
DAEMONS = ("containerd", "kubelet", "kube-proxy")

_CONTAINERD = """version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.tracing"]
# without CAP_SYS_RESOURCE no process may be made less likely to be killed
oom_score = 0
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"""


class Node:
    """One node of a cluster."""

    def __init__(self, layout: Layout, number: int, processes: Processes, tools: Path) -> None:
        self.layout, self.number, self.name = layout, number, layout.node(number)
        self.state = layout.state / f"n{number}"
        self._processes, self._tools = processes, tools

    def start(self) -> None:
        """Switch it on; harmless when it is on."""
        self._write()
        self._make_cgroups()
        self._processes.spawn(
            self._process,
            [
                "nsenter",
                f"--net=/run/netns/{self.layout.netns(self.number)}",
                "unshare",
                "--mount",
                "--uts",
                "--ipc",
                "--pid",
                "--fork",
                "--kill-child=KILL",
                "--propagation=slave",
                str(HERE / "node.sh"),
                str(self.state),
            ],
        )

    def kill(self) -> None:
        """A power cut: everything on it ends at once."""
        if (init := self._init()) is not None:
            os.kill(init, signal.SIGKILL)
        self._processes.kill(self._process)
        await_true(self._remove_cgroups, 20, f"the control groups of {self.name} do not go away")

    def run(self, *argv: str) -> str:
        """Run a program on the node, as its root."""
        init = self._init()
        if init is None:
            raise RuntimeError(f"{self.name} is not running")
        done = subprocess.run(
            ["nsenter", "-t", str(init), "-m", "-u", "-i", "-n", "-p", *argv],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def signal(self, daemon: str, name: str) -> None:
        """Send a signal to one of its daemons, which is not started again by itself."""
        pid = (self.state / f"{daemon}.pid").read_text().strip()
        self.run("sh", "-c", f'[ "$(cat /proc/{pid}/comm)" = {daemon} ] && kill -{name} {pid}')

    def restart(self, daemon: str) -> None:
        """Start a daemon that was killed."""
        self.run(str(self.state / "daemon"), daemon)

    @property
    def _process(self) -> str:
        return f"node-{self.number}"

    def _init(self) -> int | None:
        outer = self._processes.pid(self._process)
        return None if outer is None else child_of(outer)

    def _make_cgroups(self) -> None:
        """The kubelet is given a root that exists, and on version 1 a cpuset that is not empty."""
        name = self.layout.cgroup(self.number)
        if (CGROUPS / "cgroup.controllers").exists():
            (CGROUPS / name).mkdir(exist_ok=True)
            return
        for controller in _V1:
            if not (CGROUPS / controller).is_dir():
                continue
            made = CGROUPS / controller / name
            made.mkdir(exist_ok=True)
            if controller == "cpuset":
                for file in ("cpuset.cpus", "cpuset.mems"):
                    (made / file).write_text((CGROUPS / controller / file).read_text())

    def cgroups(self) -> list[Path]:
        """Its control groups that exist."""
        name = self.layout.cgroup(self.number)
        return [
            path
            for path in (CGROUPS / name, *(CGROUPS / controller / name for controller in _V1))
            if path.is_dir()
        ]

    def _remove_cgroups(self) -> bool:
        for top in self.cgroups():
            for directory, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(directory)
        return not self.cgroups()

    def _write(self) -> None:
        self.state.mkdir(parents=True, exist_ok=True)
        pki = self.layout.state / "pki"
        for name, text in (
            ("name", self.name),
            (
                "machine-id",
                hashlib.sha256(f"benchspec {self.name}".encode()).hexdigest()[:32] + "\n",
            ),
            ("containerd.toml", _CONTAINERD),
            ("cni.conflist", json.dumps(self._network())),
            ("kubelet.yaml", json.dumps(self._kubelet())),
            ("proxy.yaml", json.dumps(self._proxy())),
            ("resolv.conf", "nameserver 127.0.0.1\n"),
            ("images", "".join(f"{path}\n" for path in sorted(self._tools.glob("*.tar")))),
        ):
            if (
                not (self.state / name).exists() or (self.state / name).read_text() != text
            ):  # kube-proxy ends when its file is written anew
                (self.state / name).write_text(text)
        flags = f"--hostname-override={self.name} --v=2"
        labels = "topology.kubernetes.io/region=testbed,topology.kubernetes.io/zone=testbed-1,node.kubernetes.io/instance-type=namespace"
        commands = {
            "containerd": f"containerd -c {self.state}/containerd.toml",
            "kubelet": (
                f"kubelet --config={self.state}/kubelet.yaml --kubeconfig={pki}/{self.name}.conf "
                f"--node-ip={self.layout.address(self.number)} --node-labels={labels} {flags}"
            ),
            "kube-proxy": f"kube-proxy --config={self.state}/proxy.yaml {flags}",
        }
        cases = "".join(f"{name}) set -- {command} ;;\n" for name, command in commands.items())
        script = self.state / "daemon"
        script.write_text(
            f"#!/bin/sh\nPATH={shlex.quote(str(self._tools))}:$PATH\nname=$1\ncase $1"
            f" in\n{cases}esac\n"
            'setsid "$@" >>/var/log/$name.log 2>&1 </dev/null &\necho $!'
            f" >{shlex.quote(str(self.state))}/$name.pid\n"
        )
        script.chmod(0o755)

    def _network(self) -> dict[str, object]:
        """Debian's CNI plug-ins know this version of the format."""
        addresses = {
            "type": "host-local",
            "ranges": [[{"subnet": self.layout.pods(self.number)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        bridge = {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "hairpinMode": True,
            "ipMasq": False,
            "mtu": self.layout.pod_mtu,
        }
        return {
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [
                {**bridge, "ipam": addresses},
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }

    def _kubelet(self) -> dict[str, object]:
        pki = self.layout.state / "pki"
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True, "cacheTTL": "10m"},
                "x509": {"clientCAFile": str(pki / "ca.crt")},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.layout.cgroup(self.number)}",
            "failCgroupV1": False,
            "enforceNodeAllocatable": ["pods"],
            "failSwapOn": False,
            # this machine's root lacks rights that a node's root has
            "featureGates": {"KubeletInUserNamespace": True},
            "oomScoreAdj": 0,
            # the disk is shared with everything else on this machine, and images cannot be pulled
            # again
            "evictionHard": {
                "memory.available": "50Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
                "nodefs.inodesFree": "1%",
            },
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "clusterDNS": [self.layout.host],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self.state / "resolv.conf"),
            "nodeStatusUpdateFrequency": "4s",
            "syncFrequency": "10s",
            "maxPods": 60,
            "registryPullQPS": 0,
            "eventRecordQPS": 0,
        }

    def _proxy(self) -> dict[str, object]:
        sync = {"minSyncPeriod": "100ms", "syncPeriod": "30s"}
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(self.layout.state / "pki" / "kube-proxy.conf")},
            "mode": self.layout.proxy_mode,
            "nftables": sync,
            "iptables": sync,
            "detectLocalMode": "BridgeInterface",
            "detectLocal": {"bridgeInterface": "cni0"},
            # the table's size belongs to the machine and cannot be set from a network namespace
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        }
