"""What a node's kubelet says that containers use, for those that cannot tell themselves: CPU time and working set from ``/stats/summary``.

The kubelet renews each container's figures every 10 to 15 s and says when. Only what it saw during the trial counts: from the first of these moments
to the last the CPU time grew at some rate, which stands for the trial if they span at least half of it. A short trial stays unknown, and so does all
without the right to ``get`` ``nodes/proxy``. Format: https://kubernetes.io/docs/reference/config-api/kubelet-stats.v1alpha1 (Summary).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from ...engine.errors import RunFailed
from .api import Api
from .failures import Denied
from .names import Object

EVERY_S = 5.0
LEAST = 0.5
"""The share of the trial that the kubelet's moments must span."""


class KubeletWatch:
    """Asks for the containers ``names`` of ``pod`` until it is stopped. ``offset_s``: by how much the node's clock is ahead of the controller's."""

    def __init__(self, api: Api, node: str, pod: str, names: Sequence[str], offset_s: float) -> None:
        self._api, self._pod, self._names = api, pod, frozenset(names)
        self._path = f"/api/v1/nodes/{node}/proxy/stats/summary"
        self._offset_s, self._began = offset_s, time.time()
        self._seen: dict[str, dict[float, Mapping[str, float]]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._look()
            except Denied:
                return
            except (RunFailed, KeyError, TypeError, ValueError):
                pass  # it may answer next time, and better
            self._ended.wait(EVERY_S)

    def _look(self) -> None:
        for pod in self._api.get(self._path)["pods"]:
            if (pod["podRef"]["namespace"], pod["podRef"]["name"]) == (self._api.namespace, self._pod):
                for one in pod.get("containers", []):
                    if one["name"] in self._names:
                        self._seen.setdefault(one["name"], {}).update(read(one))

    def stop(self) -> Mapping[str, float]:
        """End, and return what :meth:`estimate` gives."""
        ended = time.time()
        self._ended.set()
        self._thread.join(EVERY_S)
        return self.estimate(ended)

    def estimate(self, until: float | None = None) -> Mapping[str, float]:
        """What the containers used from the start until then (Unix s) or now, as :func:`containers.read` names it; nothing of those hardly seen."""
        found: dict[str, float] = {}
        for name, moments in list(self._seen.items()):
            found |= estimate(name, dict(moments), self._began + self._offset_s, (until or time.time()) + self._offset_s)
        return found


def read(container: Object) -> Mapping[float, Mapping[str, float]]:
    """A container's figures by the moment (Unix s by the node's clock) at which its CPU time was read; empty when it has none.

    Raises:
        KeyError, TypeError, ValueError: it is not in the kubelet's format.
    """
    cpu, memory = container.get("cpu") or {}, container.get("memory") or {}
    if "usageCoreNanoSeconds" not in cpu:
        return {}
    held = {"memory": float(memory["workingSetBytes"])} if "workingSetBytes" in memory else {}
    return {datetime.fromisoformat(cpu["time"]).timestamp(): {"cpu": cpu["usageCoreNanoSeconds"] / 1e9, **held}}


def estimate(name: str, moments: Mapping[float, Mapping[str, float]], began: float, ended: float) -> dict[str, float]:
    """CPU time in s between ``began`` and ``ended``, and the highest working set in B, from the moments that lie between them."""
    within = [(at, figures) for at, figures in sorted(moments.items()) if began <= at <= ended]
    if len(within) < 2:
        return {}
    (first_at, first), *_, (last_at, last) = within
    span_s, used_s = last_at - first_at, last["cpu"] - first["cpu"]
    if span_s < LEAST * (ended - began) or used_s < 0:
        return {}
    held = [figures["memory"] for _, figures in within if "memory" in figures]
    memory = {f"container.{name}.memory": max(held)} if held else {}
    return {f"container.{name}.cpu": used_s / span_s * (ended - began), **memory}
