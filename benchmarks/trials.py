"""What a trial of `true` costs through the whole program, beside a bare loop and other runners of
benchmarks.

    python -m benchmarks.trials [--rounds 5] [--jube jube]

Every way runs a few trials and many trials in turn; the difference, divided by the trials between,
is the cost of one trial without the start. Goals: at most 10 ms beyond the bare loop; beyond it, at
most 0.1 of ReFrame's cost, and 0.3 of JUBE's and pyperf's. A peer that is not installed has a row
that says so. benchspec keeps its promises meanwhile: the intent is journalled and synced before the
start, the raw files are synced before the record, the record is synced. None of the others syncs
anything.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import truediv
from pathlib import Path

from .timing import Cost, find, machine, run, use_bytecode

BARE = (
    "import subprocess, sys\nfor _ in range(int(sys.argv[1])): subprocess.run([{true!r}],"
    " check=True)\n"
)
REFRAME = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Nothing(rfm.RunOnlyRegressionTest):
    number = parameter(range({count}))
    executable = "true"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    @sanity_function
    def ended(self):
        return sn.assert_true(True)
"""
JUBE = """<?xml version="1.0" encoding="UTF-8"?>
<jube><benchmark name="nothing" outpath="jube-{count}">
<parameterset name="p"><parameter name="number" type="int">{numbers}</parameter></parameterset>
<step name="s"><use>p</use><do>true</do></step>
</benchmark></jube>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to run `true` so and so often. ``prepare`` writes the files it needs into a folder
    and returns the command.
    """

    few: int
    many: int
    prepare: Callable[[Path, int], Sequence[str]]


def bare(folder: Path, count: int) -> Sequence[str]:
    """subprocess.run in a loop."""
    path = folder / "bare.py"
    path.write_text(BARE.format(true=shutil.which("true")))
    return (sys.executable, str(path), str(count))


def benchspec(folder: Path, count: int) -> Sequence[str]:
    """A spec with one `command` experiment on this host."""
    path = folder / f"benchspec-{count}.yaml"
    spec = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "nothing",
        "title": "Nothing",
        "targets": {"here": {"runner": "local"}},
        "workloads": {"true": {"tool": "command", "with": {"run": ["true"], "duration": "1 s"}}},
        "method": {"sessions": 1, "trials": count, "warmups": 0},
    }
    path.write_text(json.dumps(spec))
    shutil.rmtree(folder / f"run-{count}", ignore_errors=True)
    return (
        _program("benchspec"),
        "run",
        str(path),
        "--yes",
        "--quiet",
        "--out",
        str(folder / f"run-{count}"),
    )


def bench(folder: Path, count: int) -> Sequence[str]:
    """`benchspec bench`: sessions of one trial, with time, CPU time and peak memory of each."""
    out = folder / f"bench-{count}"
    shutil.rmtree(out, ignore_errors=True)
    program = _program("benchspec")
    return (program, "bench", "true", "--sessions", str(count), "--quiet", "--out", str(out))


def hyperfine(folder: Path, count: int) -> Sequence[str]:
    """hyperfine with as many runs."""
    del folder
    return ("hyperfine", "--style", "none", "--runs", str(count), "true")


def reframe(folder: Path, count: int) -> Sequence[str]:
    """A test that only runs, one after the other."""
    path = folder / f"reframe_{count}.py"
    path.write_text(REFRAME.format(count=count))
    return (
        _program("reframe"),
        "-c",
        str(path),
        "-r",
        "--exec-policy=serial",
        f"--prefix={folder / 'reframe'}",
    )


def pyperf(folder: Path, count: int) -> Sequence[str]:
    """One process and one value per trial, no warm-up."""
    del folder
    true = shutil.which("true") or "true"
    return (
        sys.executable,
        "-m",
        "pyperf",
        "command",
        "--quiet",
        "-p",
        str(count),
        "-n",
        "1",
        "-w",
        "0",
        "-l",
        "1",
        "--",
        true,
    )


def jube(command: Sequence[str]) -> Callable[[Path, int], Sequence[str]]:
    """A step with one parameter of many values."""

    def prepare(folder: Path, count: int) -> Sequence[str]:
        path = folder / f"jube-{count}.xml"
        path.write_text(JUBE.format(count=count, numbers=",".join(map(str, range(count)))))
        return (*command, "run", str(path))

    return prepare


def ways(jube_command: Sequence[str]) -> dict[str, Way | None]:
    """Every way by name; None for a program that is not installed."""
    found: dict[str, Way | None] = {
        "bare loop": Way(few=10, many=510, prepare=bare),
        "benchspec": Way(few=10, many=310, prepare=benchspec),
        "benchspec bench": Way(few=10, many=310, prepare=bench),
        "hyperfine": (
            Way(few=10, many=310, prepare=hyperfine) if shutil.which("hyperfine") else None
        ),
        "ReFrame": Way(few=4, many=34, prepare=reframe) if find("reframe") else None,
        "JUBE": (
            Way(few=5, many=55, prepare=jube(jube_command))
            if shutil.which(jube_command[0])
            else None
        ),
        "pyperf": Way(few=5, many=55, prepare=pyperf) if find("pyperf") else None,
    }
    return found


def per_trial_ms(way: Way, folder: Path) -> tuple[float, float]:
    """Wall and CPU time of one trial in ms, from one call with few and one with many."""
    few, many = (_run(way.prepare(folder, count), folder) for count in (way.few, way.many))
    between = way.many - way.few
    return 1e3 * (many.wall_s - few.wall_s) / between, 1e3 * (many.cpu_s - few.cpu_s) / between


def _run(argv: Sequence[str], folder: Path) -> Cost:
    return run(argv, cwd=folder)


def _program(name: str) -> str:
    found = find(name)
    if found is None:
        raise SystemExit(f"there is no program {name} beside this interpreter")
    return found


def report(seen: Mapping[str, Sequence[tuple[float, float]]], missing: Sequence[str]) -> None:
    """One row per way: medians, and benchspec's cost beyond the bare loop against each peer's,
    round by round.
    """
    print(
        "| way | wall ms per trial | CPU ms | beyond the bare loop: wall ms | CPU ms | benchspec's"
        " part of that: wall | CPU | goal |"
    )
    print("|---|---|---|---|---|---|---|---|")
    goals = {"benchspec": "<= 10 ms", "ReFrame": "<= 0.1", "JUBE": "<= 0.3", "pyperf": "<= 0.3"}
    for name, rounds in seen.items():
        cells = [
            statistics.median(figures)
            for figures in (*zip(*rounds, strict=True), *_beyond(seen, name))
        ]
        peer = name not in ("bare loop", "benchspec", "benchspec bench")
        parts = (
            [
                statistics.median(map(truediv, *pair))
                for pair in zip(_beyond(seen, "benchspec"), _beyond(seen, name), strict=True)
            ]
            if peer
            else []
        )
        shown = [f"{value:.2f}" for value in cells + parts] + [""] * (2 - len(parts))
        print(f"| {name} | {' | '.join(shown)} | {goals.get(name, '')} |")
    for name in missing:
        print(f"| {name} | not installed | | | | | | {goals.get(name, '')} |")


def _beyond(seen: Mapping[str, Sequence[tuple[float, float]]], name: str) -> list[list[float]]:
    """Wall and CPU time beyond the bare loop, by round."""
    return [
        [
            one[which] - floor[which]
            for one, floor in zip(seen[name], seen["bare loop"], strict=True)
        ]
        for which in (0, 1)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jube", default="jube", help="how JUBE is called")
    options = parser.parse_args()
    use_bytecode()
    found = ways(shlex.split(options.jube))
    seen: dict[str, list[tuple[float, float]]] = {
        name: [] for name, way in found.items() if way is not None
    }
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        for _ in range(options.rounds):
            for name, way in found.items():
                if way is not None:
                    seen[name].append(per_trial_ms(way, Path(folder)))
    print(f"{machine()}; medians of {options.rounds} rounds in turn\n")
    report(seen, [name for name, way in found.items() if way is None])


if __name__ == "__main__":
    main()
