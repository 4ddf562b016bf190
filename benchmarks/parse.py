"""How long 1,000 outputs of each tool take to parse, beside json.loads alone for JSON. Run it as
``python -m benchmarks.parse``.

The goal is at most 0.3 s for 1,000 fio outputs (one job, percentiles included).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchspec.engine.model.contract.values import Completed
from benchspec.workloads.registry import get_workload

DATA = Path(__file__).parents[1] / "tests" / "data"
CASES = {
    "fio, one job": ("fio", "randread-libaio-direct.out"),
    "fio, four jobs": ("fio", "preset-four-corners.out"),
    "iperf3, TCP": ("iperf3", "tcp.out"),
    "openssl speed, six block sizes": ("openssl-speed", "evp-all-blocks.out"),
}


def main() -> None:
    """Print seconds per ``count`` outputs; the best of five rounds."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for title, (tool, name) in CASES.items():
        raw = (DATA / tool / name).read_bytes()
        workload = get_workload(tool)
        process = Completed(
            argv=(), exit_code=0, stdout=raw, stderr=b"", started_at=0.0, duration_s=1.0
        )
        taken = _best(
            lambda workload=workload, process=process: workload.parse((process,), {}), count
        )  # type: ignore[misc]
        document = raw[raw.find(b"{") :]
        alone = (
            ", json.loads alone"
            f" {_best(lambda document=document: json.loads(document), count):.3f} s"
            if document[:1] == b"{"
            else ""
        )  # type: ignore[misc]
        print(f"{title}: {count} outputs of {len(raw)} B in {taken:.3f} s{alone}")


def _best(action: Callable[[], object], count: int) -> float:
    rounds = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(count):
            action()
        rounds.append(time.perf_counter() - started)
    return min(rounds)


if __name__ == "__main__":
    main()
