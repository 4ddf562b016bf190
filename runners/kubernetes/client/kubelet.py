"""What nodes' kubelets say that containers use, for those that are not asked themselves: CPU time
and working set from ``/stats/summary``.

A kubelet renews each container's figures every 10 to 20 s and says when. Only what it renewed
during the trial counts: from the first of these moments to the last the CPU time grew at some rate,
which stands for the trial if they span at least a quarter of it. No clocks are compared: what is
new since the first look was read after it. A short trial stays unknown, and so does all without the
right to ``get`` ``nodes/proxy``. Format:
https://kubernetes.io/docs/reference/config-api/kubelet-stats.v1alpha1 (Summary).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ....engine.model.errors import RunFailed
from ....engine.model.spec import Role
from ..failures import Denied
from ..names import Object
from .api import Api

FIRST_S, EVERY_S = 1.0, 5.0
"""From the first pause between two looks they grow to the last: a kubelet that renews more often
shows short trials, too.
"""
LEAST = 1 / 4
"""The share of the trial that a kubelet's moments must span."""
MOST_NODES = 16
"""So many nodes at most are asked; what is on others stays unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A container that its node's kubelet is asked about; ``name`` is what it and its like in other
    pods are called, which are added up.
    """

    role: Role
    name: str
    node: str
    namespace: str
    pod: str
    container: str


class KubeletWatch:
    """Asks the kubelets about ``watched`` until it is stopped: a thread for each node, one request
    at a time.
    """

    def __init__(self, api: Api, watched: Sequence[Watched]) -> None:
        self._api, self._seen = api, {one: dict[float, Mapping[str, float]]() for one in watched}
        self._began, self._until = time.monotonic(), 0.0
        self._ended = threading.Event()
        nodes = list(dict.fromkeys(one.node for one in watched))[:MOST_NODES]
        self._threads = [
            threading.Thread(target=self._run, args=(node,), daemon=True) for node in nodes
        ]
        for thread in self._threads:
            thread.start()

    @property
    def watched(self) -> Collection[Watched]:
        """What it was asked to watch."""
        return self._seen.keys()

    @property
    def ended(self) -> bool:
        """Whether it was stopped."""
        return self._ended.is_set()

    def _run(self, node: str) -> None:
        while True:
            last = self._ended.is_set()
            try:
                self._look(node)
            except Denied:
                return
            except (RunFailed, KeyError, TypeError, ValueError):
                pass  # it may answer next time, and better
            if last:
                return
            self._ended.wait(min(EVERY_S, max(FIRST_S, time.monotonic() - self._began)))

    def _look(self, node: str) -> None:
        pods = {
            (pod["podRef"]["namespace"], pod["podRef"]["name"]): pod
            for pod in self._api.get(_path(node))["pods"]
        }
        for one, moments in self._seen.items():
            containers = (
                pods.get((one.namespace, one.pod), {}).get("containers") or []
                if one.node == node
                else []
            )
            for found in (found for found in containers if found["name"] == one.container):
                moments.update(read(found))

    def stop(self) -> None:
        """End, after a last look at every node (idempotent)."""
        self._until = self._until or time.monotonic()
        self._ended.set()
        for thread in self._threads:
            thread.join(max(0.0, self._until + EVERY_S - time.monotonic()))

    def told(self, role: Role, changed: Collection[str] = ()) -> Mapping[str, float]:
        """What the role's containers used from the start until the stop or now, as
        :func:`containers.read` names it.

        ``container.NAME.unseen`` is 1 for one that was hardly seen, or of whose pods one was, and
        for those named in ``changed``, whose pods were not the same all the time.
        """
        length_s = (self._until or time.monotonic()) - self._began
        alike: dict[str, list[Mapping[str, float]]] = {}
        for one, moments in self._seen.items():
            if one.role is role and one.name not in changed:
                alike.setdefault(one.name, []).append(estimate(dict(moments), length_s))
        told = {
            name: value
            for container, pods in alike.items()
            for name, value in add_up(container, pods).items()
        }
        return {**told, **{f"container.{name}.unseen": 1.0 for name in changed}}


def _path(node: str) -> str:
    return f"/api/v1/nodes/{node}/proxy/stats/summary"


def find_problem(api: Api, node: str) -> str | None:
    """Why the node's kubelet does not tell what containers use; None where it does."""
    try:
        if isinstance(api.get(_path(node)).get("pods"), list):
            return None
    except Denied:
        return (
            "the right to get nodes/proxy is missing, which benchspec rbac --kubelet-stats grants"
        )
    except RunFailed as error:
        return f"a kubelet does not tell: {error.message}"
    return "a kubelet does not tell: it names no pods"


def read(container: Object) -> Mapping[float, Mapping[str, float]]:
    """A container's figures by the moment (Unix s by the node's clock) at which its CPU time was
    read; empty when it has none.

    Raises:
        KeyError, TypeError, ValueError: it is not in the kubelet's format.
    """
    cpu, memory = container.get("cpu") or {}, container.get("memory") or {}
    if "usageCoreNanoSeconds" not in cpu:
        return {}
    held = {"memory": float(memory["workingSetBytes"])} if "workingSetBytes" in memory else {}
    return {
        datetime.fromisoformat(cpu["time"]).timestamp(): {
            "cpu": cpu["usageCoreNanoSeconds"] / 1e9,
            **held,
        }
    }


def estimate(moments: Mapping[float, Mapping[str, float]], length_s: float) -> dict[str, float]:
    """``cpu`` in s in a trial of ``length_s`` and the highest ``memory`` in B, from all moments but
    the first, which was there when it began.
    """
    within = sorted(moments.items())[1:]
    if len(within) < 2:
        return {}
    (first_at, first), *_, (last_at, last) = within
    span_s, used_s = last_at - first_at, last["cpu"] - first["cpu"]
    if span_s < LEAST * length_s or used_s < 0:
        return {}
    held = [figures["memory"] for _, figures in within if "memory" in figures]
    return {"cpu": used_s / span_s * length_s, **({"memory": max(held)} if held else {})}


def add_up(name: str, pods: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """What the containers of that name in all ``pods`` used together; a sum of some would stand for
    all, so that it is unknown.
    """
    if not all("cpu" in one for one in pods):
        return {f"container.{name}.unseen": 1.0}
    whole = {what: [one[what] for one in pods if what in one] for what in ("cpu", "memory")}
    return {
        f"container.{name}.{what}": sum(values)
        for what, values in whole.items()
        if len(values) == len(pods)
    }
