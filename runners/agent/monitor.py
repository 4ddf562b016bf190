"""What a monitor of a place says: a shell reads /proc at intervals and keeps it in memory
(monitor.sh); it hands all over when it is told to stop.

Nothing is sent or parsed while a trial runs, and nothing written in one of ordinary length. Names
and units of the samples' values: engine/store/usage.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.model.contract.values import Sample
from ...engine.store import usage

KEPT_BYTES = 2**20
"""So much is kept in memory: at a sample a second that of several minutes."""


def parse(text: str, cpus: Sequence[int]) -> tuple[Sample, ...]:
    """The samples in what the script printed."""
    head, *parts = text.split("\n@")
    route = head.removeprefix("began\n")
    first: float | None = None
    samples = []
    for part in parts:
        uptime, _, texts = part.partition("\n")
        first = float(uptime) if first is None else first
        # the formats of the files have no line in common, and the first is that of one number: each
        # parser takes its own
        found = usage.Texts(
            elapsed_s=float(uptime) - first,
            stat=texts,
            meminfo=texts,
            loadavg=texts,
            net_dev=texts,
            route=route,
            vmstat=texts,
        )
        samples.append(usage.sample(found, cpus))
    return tuple(samples)
