"""How long, and with how much memory, 10,000 experiments are expanded and planned. Prints figures;
run it as ``python -m benchmarks.plan``.

The goal is under 10 s and under 300 MB for expansion, order, estimate and JSON together, in a
process of its own.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

SPEC = """\
apiVersion: benchspec/v1
kind: Benchmark
name: wide
title: A plan of {experiments} experiments
targets:
  a: {{runner: local, cni: {{name: cilium, version: "1.12", mtu: 1500}}}}
  b: {{runner: local, cni: {{name: flannel, mtu: 1450}}}}
workloads:
  network:
    tool: iperf3
    with: {{duration: 10 s}}
    matrix:
      streams: [{streams}]
      length: [{lengths}]
compare: {{baseline: a}}
"""


def main() -> None:
    """Plan once and print seconds and peak memory (MB of 10^6 B) after each step."""
    half = int(sys.argv[1]) // 2 if len(sys.argv) > 1 else 5000
    streams = min(100, half)
    text = SPEC.format(
        experiments=2 * half,
        streams=", ".join(map(str, range(1, streams + 1))),
        lengths=", ".join(f"{n} KiB" for n in range(1, half // streams + 1)),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.yaml"
        path.write_text(text)
        begin = time.perf_counter()

        from benchspec.engine.language.load import load_spec
        from benchspec.engine.planning.plan import plan, plan_to_json
        from benchspec.workloads.registry import WORKLOADS

        _say("import", begin)
        loaded = load_spec(path)
        _say("load", begin)
        made = plan(loaded, WORKLOADS)
        _say(f"plan of {len(made.experiments)} experiments, {len(made.order)} allocations", begin)
        size = len(json.dumps(plan_to_json(made)))
        _say(f"JSON of {size / 1e6:.1f} MB", begin)


def _say(what: str, begin: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{time.perf_counter() - begin:6.2f} s {peak:6.0f} MB  {what}")


if __name__ == "__main__":
    main()
