"""A monitor of a host, behind a stream of its own (agent/monitor.py)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ....engine.model.contract.values import Sample
from ....engine.model.errors import BenchspecError
from ...agent.monitor import KEPT_BYTES, parse
from ...agent.scripts import own
from .host import Host

STOP_TIMEOUT_S = 30.0


class HostSampler:
    """Samples at the start, every ``interval_s`` and at the stop. ``directory``: the site's.
    ``cpus``: those a role is pinned to, empty for all.

    A monitor that is lost with its connection costs its samples, never the trial.
    """

    def __init__(
        self, host: Host, directory: str, interval_s: float, cpus: Sequence[int] = ()
    ) -> None:
        self._cpus = tuple(cpus)
        self._samples: Sequence[Sample] | None = None
        try:
            arguments = (f"{interval_s:g}", directory, str(KEPT_BYTES))
            self._stream = host.stream(own("monitor"), arguments)
        except BenchspecError:
            self._samples = ()

    def ask_to_stop(self) -> None:
        """Tell the monitor to end, and wait for nothing: so that several end together."""
        if self._samples is None:
            self._stream.write(b"\n")

    def stop(self) -> Sequence[Sample]:
        """End sampling and return what was seen (idempotent)."""
        if self._samples is None:
            self.ask_to_stop()
            self._samples = self._read()
        return self._samples

    def _read(self) -> Sequence[Sample]:
        deadline, text = time.monotonic() + STOP_TIMEOUT_S, b""
        try:
            while (piece := self._stream.read(max(0.0, deadline - time.monotonic()))) is not None:
                if not piece and time.monotonic() >= deadline:
                    return ()
                text += piece
        except BenchspecError:
            return ()
        finally:
            self._stream.close()
        return parse(text.decode("ascii", "replace"), self._cpus)
