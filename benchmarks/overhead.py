"""What a trial costs beyond its program: the local runner's start, wait, collect and discard of
`true`, beside a bare subprocess loop.

Interleaved, so that both see the same machine; medians, since single runs scatter. Wall time and
CPU time (this process and its children) in ms.

    python -m benchmarks.overhead [N]
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping

from benchspec.engine.model.contract.runner import Allocation
from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.registry import get_runner

TRUE = shutil.which("true") or "/bin/true"


def bare(_: int) -> None:
    subprocess.run([TRUE], check=True)


def with_shell(_: int) -> None:
    subprocess.run(["/bin/sh", "-c", f"{TRUE}; :"], check=True)


def through(
    allocation: Allocation, command: Command, *, monitored: bool = False
) -> Callable[[int], None]:
    prefix = f"{len(command.cpus)}-{int(monitored)}"

    def trial(i: int) -> None:
        sampler = allocation.sample(command.role, 1.0) if monitored else None
        job = allocation.start(command, f"job-{prefix}-{i}")
        job.wait(command.timeout_s)
        if sampler is not None:
            sampler.stop()
        if job.collect().exit_code != 0:
            raise SystemExit("true failed")
        job.discard()

    return trial


def cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(ways: Mapping[str, Callable[[int], None]], count: int) -> dict[str, dict[str, float]]:
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, float] = dict.fromkeys(ways, 0.0)
    for i in range(count):
        for name, way in ways.items():
            began, spent = time.perf_counter(), cpu_s()
            way(i)
            wall[name].append(time.perf_counter() - began)
            cpu[name] += cpu_s() - spent
    return {
        name: {"wall_ms": 1e3 * statistics.median(wall[name]), "cpu_ms": 1e3 * cpu[name] / count}
        for name in ways
    }


def main(count: int = 300) -> None:
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="overhead", dir="/var/tmp")
    session = get_runner("local").connect(Site(name="here", runner="local"), "overhead")
    allocation = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "a")
    command = Command(argv=("true",), role=Role.CLIENT, timeout_s=10)
    pinned = Command(argv=("true",), role=Role.CLIENT, timeout_s=10, cpus=(0,))
    result = measure(
        {
            "bare": bare,
            "shell": with_shell,
            "runner": through(allocation, command),
            "runner, pinned": through(allocation, pinned),
            "runner, monitored": through(allocation, command, monitored=True),
        },
        count,
    )
    allocation.release()
    session.close()
    shutil.rmtree(os.environ["XDG_STATE_HOME"])
    for name, figures in result.items():
        beyond_ms = figures["wall_ms"] - result["bare"]["wall_ms"]
        print(
            f"{name:20} {figures['wall_ms']:6.2f} ms wall {figures['cpu_ms']:6.2f} ms CPU"
            f" {beyond_ms:+6.2f} ms wall",
            file=sys.stderr,
        )
    print(json.dumps({"trials": count, **result}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
