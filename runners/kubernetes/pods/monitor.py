"""A monitor of a role's node: a small loop in the role's pod that copies /proc into a memory file
system; nothing leaves the node until it stops.

It costs the pod two short programs per interval (docs/adr/0015). What the pod's containers have
used is asked before and after.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from shlex import quote

from ....engine.model.contract.values import Sample
from ....engine.model.errors import RunFailed
from ....engine.store import usage
from . import containers
from .container import Container
from .manifests import MEMORY

_FILES = (
    "/proc/uptime",
    "/proc/stat",
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/net/dev",
    "/proc/net/route",
    "/proc/vmstat",
)
_TAKE = (
    "grep -Hv -e '^intr ' -e '^[a-np-z][a-z_0-9]* [0-9]*$' -e '^[^M].*kB$' -e '^M[^e].*kB$'"
    f" {' '.join(_FILES)} 2>/dev/null"
)
"""Every line with its file's name, but for those that nobody reads: the interrupts, sizes that
are not ``Mem...``, and counters but that of processes ended for want of memory.
"""
_ROUNDS = 300
"""After so many the interval doubles: a trial of a day must not fill the pod's memory."""
_OWN = f"cat {' '.join(containers.FILES)} 2>/dev/null"
_SPLIT = b"==samples==\n"


class PodSampler:
    """Samples at the start, every ``interval_s`` and at the stop. ``cpus``: those a role is pinned
    to, empty for all; ``beside``: the pod's further containers that tell what they use;
    ``watched``: ends the watch over others and tells what they used.
    """

    def __init__(
        self,
        container: Container,
        interval_s: float,
        cpus: Sequence[int] = (),
        beside: Sequence[str] = (),
        watched: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self._watched = watched
        self._container, self._cpus, self._beside = container, tuple(cpus), tuple(beside)
        self._file = f"{MEMORY}/monitor-{secrets.token_hex(4)}"
        self._samples: Sequence[Sample] | None = None
        again = f"n=$((n+1)); [ $n -lt {_ROUNDS} ] || {{ n=0; i=$((i*2)); }}"
        wait = (
            f"k=0; while [ $k -lt $i ] && [ -e {self._file} ]; do sleep {interval_s:g}; k=$((k+1));"
            " done"
        )
        # opened once: what is written when the file has been removed does not make it anew, and its
        # removal ends the loop
        loop = (
            f"exec >>{self._file}; n=0 i=1; while [ -e {self._file} ]; do {_TAKE}; {again}; {wait};"
            " done"
        )
        others = containers.ask(container, self._beside)
        said = container.ask(
            f"{_OWN}; {_TAKE} >{self._file}; setsid sh -c {quote(loop)} </dev/null >/dev/null 2>&1"
            " & echo started"
        )
        self._before = {**others, **containers.read(container.name, said)}

    def stop(self) -> Sequence[Sample]:
        """End sampling and return what was seen (idempotent); nothing when the pod was lost
        meanwhile.
        """
        if self._samples is None:
            file = self._file
            try:
                said = self._container.ask(
                    f"{_OWN}; {_TAKE} >>{file}.last; echo ==samples==; cat {file} {file}.last; rm"
                    f" -f {file} {file}.last"
                )
                own, _, rows = said.partition(_SPLIT)
                after = {
                    **containers.read(self._container.name, own),
                    **containers.ask(self._container, self._beside),
                }
            except RunFailed:
                rows, after = b"", {}  # the trial's own error tells what became of the pod
            others = self._watched()
            before = {**dict.fromkeys(others, 0.0), **self._before}
            self._samples = _joined(
                self._read(rows.decode("utf-8", "replace")), before, {**others, **after}
            )
        return self._samples

    def _read(self, text: str) -> list[Sample]:
        rounds: list[dict[str, str]] = []
        for row in text.splitlines(keepends=True):
            name, _, line = row.partition(":")
            if name == "/proc/uptime":
                rounds.append({})
            if rounds:
                rounds[-1][name] = rounds[-1].get(name, "") + line
        began = _uptime(rounds[0]) if rounds else 0.0
        return [
            usage.sample(
                usage.Texts(
                    elapsed_s=_uptime(one) - began,
                    stat=one.get("/proc/stat", ""),
                    meminfo=one.get("/proc/meminfo", ""),
                    loadavg=one.get("/proc/loadavg", ""),
                    net_dev=one.get("/proc/net/dev", ""),
                    route=one.get("/proc/net/route", ""),
                    vmstat=one.get("/proc/vmstat", ""),
                ),
                self._cpus,
            )
            for one in rounds
        ]


def _uptime(one: dict[str, str]) -> float:
    fields = one.get("/proc/uptime", "").split()
    return float(fields[0]) if fields else 0.0


def _joined(
    samples: list[Sample], before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[Sample, ...]:
    """``samples`` with what the containers had used before the first and after the last."""
    if len(samples) < 2:
        return tuple(samples)
    first, *others, last = samples
    return (
        replace(first, values={**first.values, **before}),
        *others,
        replace(last, values={**last.values, **after}),
    )
