"""The conformance suite's cluster: a namespace under the strictest pod security, a user with
exactly the rights that `benchspec rbac` prints.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from benchspec.engine.model.contract.runner import Allocation
from benchspec.engine.model.spec import Json, Role
from benchspec.runners.kubernetes import rights
from benchspec.runners.kubernetes.allocation import PodAllocation
from benchspec.runners.kubernetes.pods.manifests import JOBS, WORK
from tests.cluster import sharing
from tests.cluster.cluster import Cluster

NAMESPACE = "conformance"
_LABELS = {
    "pod-security.kubernetes.io/enforce": "restricted",
    "pod-security.kubernetes.io/enforce-version": "latest",
}


@contextmanager
def site_options() -> Iterator[tuple[Cluster, dict[str, Json]]]:
    """The cluster to oneself, and a site's options for it."""
    with sharing.alone() as made:
        yield (
            made,
            {
                "kind": "kubernetes",
                "image": "localhost/tools:1",
                "namespace": NAMESPACE,
                "kubeconfig": str(_user(made.layout.name)),
                "cpu": "500m",
                "memory": "256 MiB",
            },
        )


@cache
def _user(name: str) -> Path:
    """The kubeconfig of the ServiceAccount that has the Role and nothing else."""
    made = sharing.shared()
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": _LABELS},
    }
    made.control_plane.apply(
        [namespace, *rights.manifests(NAMESPACE, "bench", facts=True, classes=False)]
    )
    token = made.kubectl(
        "create", "token", "bench", f"--namespace={NAMESPACE}", "--duration=12h"
    ).strip()
    config = json.loads(made.kubeconfig.read_text())
    config["users"] = [{"name": "admin", "user": {"token": token}}]
    path = made.layout.state / "bench.conf"
    path.write_text(json.dumps(config))
    path.chmod(0o600)
    return path


_EMPTY = f"""for p in $(cd /proc && echo [0-9]*); do
if tr '\\0' '\\n' 2>/dev/null </proc/$p/environ | grep -q '^BENCHSPEC_JOB='; then kill -9 $p; fi
done 2>/dev/null
find {JOBS} -mindepth 1 -delete && find {WORK} -mindepth 2 -delete"""


def empty(allocation: Allocation) -> None:
    """End the jobs in its pods and remove their files."""
    assert isinstance(allocation, PodAllocation)
    for role in (Role.CLIENT, Role.SERVER):
        allocation.share(role).container.ask(_EMPTY)


class PodLook:
    """A look into the pod of one role of a run, as its node's root and not through the API; at the
    machine when the run has no pod at all.
    """

    def __init__(self, made: Cluster, run_id: str, role: str) -> None:
        self._made, self._run_id, self._role = made, run_id, role

    def __call__(self, script: str) -> str:
        """Run a script there."""
        return subprocess.run(
            [*self._way(), "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        ).stdout

    def _way(self) -> list[str]:
        found = json.loads(
            self._made.kubectl(
                "get",
                "pods",
                f"--namespace={NAMESPACE}",
                f"--selector=benchspec.dev/run={self._run_id}",
                "-o",
                "json",
            )
        )
        pods = {
            pod["metadata"]["labels"]["benchspec.dev/role"]: pod["metadata"]["uid"]
            for pod in found["items"]
        }
        if self._role in pods and (pid := _first_process(pods[self._role])) is not None:
            return ["nsenter", "-t", str(pid), "-m", "-n", "-p", "-i", "-u"]
        return ["unshare", "--pid", "--fork", "--mount-proc"] if pods else []


def _first_process(uid: str) -> int | None:
    """Process 1 of a pod's container, as this machine numbers it."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            inside = directory.joinpath("cgroup").read_text().find(f"pod{uid}/") >= 0
            first = inside and "\t1\n" in next(
                x
                for x in directory.joinpath("status").read_text().splitlines(keepends=True)
                if x.startswith("NSpid")
            )
            if first and b"benchspec" in directory.joinpath("cmdline").read_bytes():
                return int(directory.name)
        except (OSError, StopIteration):
            continue
    return None
