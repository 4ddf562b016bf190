"""A monitor of a role's node: a small loop in the role's pod that copies /proc into a memory file system; nothing leaves the node until it stops."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from ...engine import usage
from ...engine.errors import RunFailed
from ...engine.ports import Sample
from .container import Container
from .manifests import MEMORY

_FILES = "/proc/uptime /proc/stat /proc/meminfo /proc/loadavg /proc/net/dev /proc/net/route"
_HEADER = re.compile(r"^==> (\S+) <==$", re.MULTILINE)
_TAKE = f"tail -n +1 {_FILES} 2>/dev/null"


class PodSampler:
    """Samples at the start, every ``interval_s`` and at the stop. ``cpus``: those a role is pinned to, empty for all."""

    def __init__(self, container: Container, interval_s: float, cpus: Sequence[int] = ()) -> None:
        self._container, self._cpus = container, tuple(cpus)
        self._file = f"{MEMORY}/monitor-{secrets.token_hex(4)}"
        self._samples: Sequence[Sample] | None = None
        loop = f"while [ -e {self._file} ]; do {_TAKE} >>{self._file} || exit; sleep {interval_s:g}; done"
        # the file is made before the loop runs, and its removal ends it
        container.ask(f"{_TAKE} >{self._file}; setsid sh -c {loop!r} </dev/null >/dev/null 2>&1 & echo started")

    def stop(self) -> Sequence[Sample]:
        """End sampling and return what was seen (idempotent); nothing when the pod was lost meanwhile."""
        if self._samples is None:
            try:
                said = self._container.ask(f"{_TAKE} >>{self._file}.last; cat {self._file} {self._file}.last; rm -f {self._file} {self._file}.last")
            except RunFailed:
                said = b""  # the trial's own error tells what became of the pod
            self._samples = tuple(self._read(said.decode("utf-8", "replace")))
        return self._samples

    def _read(self, text: str) -> list[Sample]:
        pieces = _HEADER.split(text)[1:]
        rounds: list[dict[str, str]] = []
        for name, body in zip(pieces[0::2], pieces[1::2], strict=True):
            if name == "/proc/uptime":
                rounds.append({})
            if rounds:
                rounds[-1][name] = body
        began = _uptime(rounds[0]) if rounds else 0.0
        return [
            usage.sample(usage.Texts(
                elapsed_s=_uptime(one) - began, stat=one.get("/proc/stat", ""), meminfo=one.get("/proc/meminfo", ""),
                loadavg=one.get("/proc/loadavg", ""), net_dev=one.get("/proc/net/dev", ""), route=one.get("/proc/net/route", ""),
            ), self._cpus)
            for one in rounds
        ]  # fmt: skip


def _uptime(one: dict[str, str]) -> float:
    fields = one.get("/proc/uptime", "").split()
    return float(fields[0]) if fields else 0.0
