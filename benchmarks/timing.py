"""Whole commands timed in turn, so that all of them see the same machine: what the other benchmarks
share.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one command took: wall and CPU time in s (its children's included)."""

    wall_s: float
    cpu_s: float


def run(argv: Sequence[str], cwd: Path | None = None) -> Cost:
    """Run ``argv`` and throw its output away. Exits with what it said when it fails, since a
    failure is no measurement.
    """
    before, began = _children_s(), time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    wall_s = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(
            f"{' '.join(argv)[:200]} ended with"
            f" {done.returncode}:\n{done.stdout[-2000:].decode()}{done.stderr[-2000:].decode()}"
        )
    return Cost(wall_s=wall_s, cpu_s=_children_s() - before)


def in_turn(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Cost]]:
    """Every command once per round, after a round that is not counted."""
    for argv in commands.values():
        run(argv)
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, argv in commands.items():
            costs[name].append(run(argv))
    return costs


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of one round each: a machine that slows down meanwhile slows
    both.
    """
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def find(name: str) -> str | None:
    """The path of a program beside this interpreter, or in PATH."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def machine() -> str:
    """One line: day, kernel, CPUs, Python, and how busy the machine is."""
    system = (
        f"Linux {platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    return f"{time.strftime('%Y-%m-%d')}, {system}, load {os.getloadavg()[0]:.1f}"


def use_bytecode() -> None:
    """Let the programs that are measured keep their compiled bytecode; without it every start
    compiles everything again.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def print_costs(
    costs: Mapping[str, Sequence[Cost]], *, yardstick: str, goals: Mapping[str, str]
) -> None:
    """A Markdown table: medians, and the median of the ratios to ``yardstick`` of one round
    each.
    """
    print(
        "| command | wall ms | CPU ms | ratio (wall) | ratio (CPU) | goal"
        " |\n|---|---|---|---|---|---|"
    )
    beside_wall, beside_cpu = _figures(costs[yardstick])
    for name, seen in costs.items():
        wall, cpu = _figures(seen)
        ratios = f"{median_ratio(wall, beside_wall):.2f} | {median_ratio(cpu, beside_cpu):.2f}"
        print(
            f"| {name} | {1e3 * statistics.median(wall):.0f} | {1e3 * statistics.median(cpu):.0f} |"
            f" {ratios} | {goals.get(name, '')} |"
        )
    print()


def _figures(costs: Sequence[Cost]) -> tuple[list[float], list[float]]:
    return [cost.wall_s for cost in costs], [cost.cpu_s for cost in costs]
