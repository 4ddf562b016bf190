"""The control plane: etcd, API server, controller manager, scheduler, names and volumes, as
processes of this machine.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .layout import Layout
from .processes import Processes, await_true

PROVISIONER = "rancher.io/local-path"
ORDER = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "minidns",
    "local-path-provisioner",
)


class ControlPlane:
    """The control plane of one cluster; ``tools`` holds the programs."""

    def __init__(self, layout: Layout, processes: Processes, tools: Path) -> None:
        self._layout, self._processes, self._tools = layout, processes, tools
        self._pki = layout.state / "pki"

    def start_api(self) -> None:
        """Start etcd and the API server."""
        for name in ORDER[:2]:
            self._spawn(name)

    def start_rest(self) -> None:
        """Wait for the API server, make the objects every cluster has and start what needs them."""
        self.await_ready()
        self.apply(_objects())
        for name in ORDER[2:]:
            self._spawn(name)

    def await_ready(self) -> None:
        """Wait until the API server says that it is ready."""
        asked = [
            str(self._tools / "kubectl"),
            f"--kubeconfig={self._layout.kubeconfig}",
            "get",
            "--raw=/readyz",
        ]
        await_true(
            lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0,
            60,
            f"the API server is not ready:\n{self._processes.log('kube-apiserver')}",
        )

    def apply(self, objects: Sequence[Mapping[str, object]]) -> None:
        """Create or change objects."""
        self.kubectl(
            "apply",
            "--server-side",
            "-f",
            "-",
            given=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}),
        )

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """Run kubectl as the administrator. Raises CalledProcessError."""
        argv = [str(self._tools / "kubectl"), f"--kubeconfig={self._layout.kubeconfig}", *arguments]
        done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def kill(self, name: str) -> None:
        """End one of its programs at once. etcd's files are in the page cache, so nothing is
        lost.
        """
        self._processes.kill(name)

    def start(self, name: str) -> None:
        """Start one of its programs again."""
        self._spawn(name)

    def stop(self) -> None:
        """End all of them."""
        for name in reversed(ORDER):
            self._processes.kill(name)

    def _spawn(self, name: str) -> None:
        self._processes.spawn(name, [str(self._tools / name), *self._arguments(name)])

    def _arguments(self, name: str) -> list[str]:
        layout, pki = self._layout, self._pki
        client, peers = (f"http://127.0.0.1:{layout.etcd_port + i}" for i in (0, 1))
        match name:
            case "etcd":
                return [
                    f"--data-dir={layout.state / 'etcd'}",
                    "--unsafe-no-fsync",
                    "--log-level=warn",
                    f"--listen-client-urls={client}",
                    f"--advertise-client-urls={client}",
                    f"--listen-peer-urls={peers}",
                    f"--initial-advertise-peer-urls={peers}",
                    f"--initial-cluster=default={peers}",
                ]
            case "kube-apiserver":
                return [
                    f"--etcd-servers={client}",
                    f"--service-cluster-ip-range={layout.services}",
                    "--authorization-mode=Node,RBAC",
                    "--enable-admission-plugins=NodeRestriction",
                    "--allow-privileged",
                    "--profiling=false",
                    f"--bind-address={layout.host}",
                    f"--advertise-address={layout.host}",
                    "--secure-port=6443",
                    f"--client-ca-file={pki}/ca.crt",
                    f"--tls-cert-file={pki}/apiserver.crt",
                    f"--tls-private-key-file={pki}/apiserver.key",
                    f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
                    f"--kubelet-client-key={pki}/apiserver-kubelet.key",
                    "--kubelet-preferred-address-types=InternalIP",
                    f"--service-account-key-file={pki}/accounts.pub",
                    f"--service-account-signing-key-file={pki}/accounts.key",
                    "--service-account-issuer=https://kubernetes.default.svc",
                ]
            case "kube-controller-manager":
                return [
                    f"--kubeconfig={pki}/admin.conf",
                    "--leader-elect=false",
                    "--secure-port=0",
                    "--allocate-node-cidrs=false",
                    f"--root-ca-file={pki}/ca.crt",
                    f"--service-account-private-key-file={pki}/accounts.key",
                    f"--cluster-signing-cert-file={pki}/ca.crt",
                    f"--cluster-signing-key-file={pki}/ca.key",
                    "--node-monitor-period=2s",
                    "--node-monitor-grace-period=16s",  # a cut node is noticed within a test
                ]
            case "kube-scheduler":
                return [
                    f"--kubeconfig={pki}/scheduler.conf",
                    "--leader-elect=false",
                    "--secure-port=0",
                ]
            case "minidns":
                return [f"{layout.host}:53", str(layout.kubeconfig)]
            case "local-path-provisioner":
                return self._provisioner()
        raise ValueError(name)

    def _provisioner(self) -> list[str]:
        """Outside the cluster it wants its configuration and the pod that makes directories as
        files.
        """
        config, pod = self._layout.state / "volumes.json", self._layout.state / "volumes-pod.yaml"
        config.write_text(_PATHS)
        tolerations = [
            {
                "key": "node.kubernetes.io/disk-pressure",
                "operator": "Exists",
                "effect": "NoSchedule",
            }
        ]
        helper = {
            "name": "helper-pod",
            "image": "localhost/tools:1",
            "imagePullPolicy": "IfNotPresent",
        }
        spec = {
            "priorityClassName": "system-node-critical",
            "tolerations": tolerations,
            "containers": [helper],
        }
        pod.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "helper-pod"},
                    "spec": spec,
                }
            )
        )
        return [
            "start",
            f"--kubeconfig={self._layout.kubeconfig}",
            "--namespace=kube-system",
            f"--provisioner-name={PROVISIONER}",
            "--helper-image=localhost/tools:1",
            f"--config={config}",
            f"--helper-pod-file={pod}",
            "--service-account-name=default",
            "--configmap-name=local-path-config",
        ]


_PATHS = json.dumps(
    {
        "nodePathMap": [
            {"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/opt/local-path-provisioner"]}
        ]
    }
)


def _objects() -> list[dict[str, object]]:
    """Rights of kube-proxy, and the storage class of dynamic volumes on the nodes' disks."""
    rbac = "rbac.authorization.k8s.io"
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    return [
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "kube-proxy"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "system:node-proxier"},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": "system:kube-proxy"}],
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "local-path", "annotations": default},
            "provisioner": PROVISIONER,
            "volumeBindingMode": "WaitForFirstConsumer",
            "reclaimPolicy": "Delete",
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "local-path-config", "namespace": "kube-system"},
            "data": {
                "config.json": _PATHS,
                "setup": '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n',
                "teardown": '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n',
            },
        },
    ]
