"""A monitor of this host: a thread that reads /proc at intervals and keeps what it read in memory;
nothing is parsed or written until it stops.

Names and units of the samples' values: engine/store/usage.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

from ...engine.model.contract.values import Sample
from ...engine.store import usage

_SOURCES = ("/proc/stat", "/proc/meminfo", "/proc/loadavg", "/proc/net/dev")
_CHUNK = 1 << 16


class LocalSampler:
    """Samples at the start, every ``interval_s`` and at the stop. ``cpus``: those a role is pinned
    to, empty for all.
    """

    def __init__(self, interval_s: float, cpus: Sequence[int] = ()) -> None:
        self._cpus = tuple(cpus)
        self._route = _read_if_there("/proc/net/route")
        # kept open and read from the start each time, which saves opening and closing at every
        # sample
        self._files = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in _SOURCES]
        self._taken: list[tuple[float, tuple[bytes, ...]]] = []
        self._samples: Sequence[Sample] | None = None
        self._stopping = threading.Event()
        self._oom_before = _read_if_there("/proc/vmstat")
        self._began = time.monotonic()
        self._take()
        self._thread = threading.Thread(
            target=self._run, args=(interval_s,), name="monitor", daemon=True
        )
        self._thread.start()

    def stop(self) -> Sequence[Sample]:
        """End sampling and return what was seen (idempotent)."""
        if self._samples is None:
            self._stopping.set()
            self._thread.join()
            self._take()
            for descriptor in self._files:
                os.close(descriptor)
            # asked twice only: the file is long, and the count matters from end to end
            counted = {0: self._oom_before, len(self._taken) - 1: _read_if_there("/proc/vmstat")}
            self._samples = tuple(
                self._read(elapsed_s, texts, counted.get(number, ""))
                for number, (elapsed_s, texts) in enumerate(self._taken)
            )
            self._taken.clear()
        return self._samples

    def _run(self, interval_s: float) -> None:
        due = self._began + interval_s
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            self._take()
            due = max(due + interval_s, time.monotonic())

    def _take(self) -> None:
        stat, *others = (_read_whole(descriptor) for descriptor in self._files)
        # /proc/stat goes on with a number per interrupt line, much more than the CPUs' lines on
        # large machines
        self._taken.append(
            (time.monotonic() - self._began, (stat.partition(b"\nintr ")[0], *others))
        )

    def _read(self, elapsed_s: float, texts: tuple[bytes, ...], vmstat: str) -> Sample:
        stat, meminfo, loadavg, net_dev = (text.decode("ascii", "replace") for text in texts)
        found = usage.Texts(
            elapsed_s=elapsed_s,
            stat=stat,
            meminfo=meminfo,
            loadavg=loadavg,
            net_dev=net_dev,
            route=self._route,
            vmstat=vmstat,
        )
        return usage.sample(found, self._cpus)


def _read_if_there(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:  # a kernel without IPv4, or without counters
        return ""


def _read_whole(descriptor: int) -> bytes:
    chunks: list[bytes] = []
    while chunk := os.pread(
        descriptor, _CHUNK, sum(map(len, chunks))
    ):  # the kernel hands out long tables in pieces
        chunks.append(chunk)
    return b"".join(chunks)
