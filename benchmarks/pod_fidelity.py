"""Whether benchspec changes what it measures on Kubernetes: fio on dynamic volumes and iperf3
between pods, through ``benchspec run`` and by hand.

By hand are the shell scripts of by_hand/: plain pods made with kubectl, and the tool started in
them with ``kubectl exec``, fio as kubestr starts it and with kubestr's job settings. Both ways use
the same nodes, image and storage class, new pods and new volumes every time, in blocks of random
order: a block is a session of one ``benchspec run``, before or after whose trials, as a seed
decides, the same is measured by hand (by steps of the target's lifecycle, when none of the
session's pods is there). A block's figure is the geometric mean of its trials.

A pilot, which is left out, tells the spread of the blocks' log ratios; from it follows how many
blocks two one-sided tests (TOST, alpha = 5 %) need with a power of 90 %. What the tools say of
their own settings must be the same on both sides, or nothing is reported.

    python -m tests.cluster up --name fidelity
    python -m benchmarks.pod_fidelity "$(python -m tests.cluster kubeconfig --name fidelity)" --case
    storage python -m benchmarks.pod_fidelity "$(python -m tests.cluster kubeconfig --name
    fidelity)" --case network

Needs two nodes that nobody else uses. Nothing it makes is left.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy.special import chdtri

from benchspec.engine.analysis.power import sessions_for_equivalence
from benchspec.engine.analysis.ratio_intervals import paired_log_ratio
from benchspec.engine.model.results import Trial, TrialStatus
from benchspec.engine.store.read_run import read_run

MARGIN, POWER, LEAST = 0.05, 0.9, 10
Pairs: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]
BY_HAND = Path(__file__).parent / "by_hand"
PATHS = ("pod-to-pod", "pod-to-service")
SUMS = {"reads": "read", "writes": "write"}
JOBS = {
    "read_iops": ("randread", "4K"),
    "write_iops": ("randwrite", "4K"),
    "read_bw": ("randread", "128K"),
    "write_bw": ("randwrite", "128K"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """Where and how long is measured. ``nodes``: the client's and the server's."""

    kubeconfig: str
    kubectl: str
    nodes: tuple[str, str]
    image: str
    storage_class: str
    size_mib: int
    seconds: int
    ramp: int
    qos: str
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one document says: a value per row of the table, and the settings that both ways must
    share.
    """

    values: Mapping[str, float]
    settings: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of comparison: its workload, the shell line that measures by hand, and how both
    ways' documents are read.
    """

    workload: Callable[[Bed], Mapping[str, object]]
    by_hand: Callable[[Bed, Path], Sequence[str]]
    outputs: Sequence[str]
    raw: str
    read: Callable[[bytes, str], Figure]
    shuffled: bool
    unit: Mapping[str, tuple[str, float]]


def fio_workload(bed: Bed) -> Mapping[str, object]:
    settings = {
        "preset": "kubestr",
        "size": f"{bed.size_mib} MiB",
        "runtime": f"{bed.seconds} s",
        "ramp_time": f"{bed.ramp} s",
    }
    return {"tool": "fio", "with": settings, "gates": {"max_steal": "100 %", "min_duration": "0 s"}}


def fio_by_hand(bed: Bed, folder: Path) -> Sequence[str]:
    """kubestr's default job file (0.4.37) but for sizes and times."""
    common = f"iodepth=64\nsize={bed.size_mib}M\ntime_based\nramp_time={bed.ramp}s\nruntime={bed.seconds}s\n"
    sections = [
        f"[job{n}]\nname={name}\nbs={bs}\nreadwrite={rw}\n{common}"
        for n, (name, (rw, bs)) in enumerate(JOBS.items(), start=1)
    ]
    jobs = folder / "kubestr.fio"
    jobs.write_text(
        "[global]\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ngtod_reduce=1\n"
        + "".join(sections)
    )
    volume = f"{max(1024, 5 * bed.size_mib)}Mi"
    return (
        "sh",
        str(BY_HAND / "fio.sh"),
        bed.kubectl,
        "$output",
        str(bed.trials),
        str(jobs),
        bed.storage_class,
        volume,
        bed.nodes[0],
        bed.image,
    )


def read_fio(document: bytes, _: str) -> Figure:
    """Operations per second of each job and of both in one direction, which may share a limit by
    chance, and the settings in one notation.
    """
    found = json.loads(document)
    values, settings = {}, {}
    for job in found["jobs"]:
        name, options = job["jobname"], {**found.get("global options", {}), **job["job options"]}
        values[name] = float(job["read" if name.startswith("read") else "write"]["iops"])
        settings[name] = {
            key: _bytes(options[key])
            for key in (
                "rw",
                "ioengine",
                "direct",
                "iodepth",
                "bs",
                "size",
                "randrepeat",
                "gtod_reduce",
            )
        }
        settings[name] |= {key: options[key].removesuffix("s") for key in ("runtime", "ramp_time")}
    values |= {
        row: sum(value for name, value in values.items() if name.startswith(direction))
        for row, direction in SUMS.items()
    }
    return Figure(values=values, settings={"version": found["fio version"], **settings})


def _bytes(text: str) -> str:
    """A number with fio's K, M or G as plain digits; any other text as it is."""
    scale = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:].upper())
    return str(int(text[:-1]) * scale) if scale and text[:-1].isdigit() else text


def iperf3_workload(bed: Bed) -> Mapping[str, object]:
    settings = {"duration": f"{bed.seconds} s", "omit": f"{bed.ramp} s"}
    return {
        "tool": "iperf3",
        "placement": "across-nodes",
        "with": settings,
        "matrix": {"path": list(PATHS)},
        "gates": {"max_steal": "100 %", "min_duration": "0 s"},
    }


def iperf3_by_hand(bed: Bed, _: Path) -> Sequence[str]:
    times = (str(bed.seconds), str(bed.ramp))
    return (
        "sh",
        str(BY_HAND / "iperf3.sh"),
        bed.kubectl,
        "$output",
        str(bed.trials),
        *bed.nodes,
        bed.image,
        *times,
        "$*",
    )


def read_iperf3(document: bytes, path: str) -> Figure:
    """Received bits per second, and what the test was."""
    found = json.loads(document)
    told = found["start"]
    return Figure(
        values={path: float(found["end"]["sum_received"]["bits_per_second"])},
        settings=(told["version"], told["test_start"]),
    )


CASES = {
    "storage": Case(
        workload=fio_workload,
        by_hand=fio_by_hand,
        outputs=("storage",),
        raw="0-file-fio.json",
        read=read_fio,
        shuffled=False,
        unit=dict.fromkeys((*JOBS, *SUMS), ("1/s", 1.0)),
    ),
    "network": Case(
        workload=iperf3_workload,
        by_hand=iperf3_by_hand,
        outputs=PATHS,
        raw="0-stdout",
        read=read_iperf3,
        shuffled=True,
        unit=dict.fromkeys(PATHS, ("Gbit/s", 1e-9)),
    ),
}
TITLES = {
    "read_iops": "fio, job read_iops",
    "write_iops": "fio, job write_iops",
    "read_bw": "fio, job read_bw",
    "write_bw": "fio, job write_bw",
    "reads": "fio, both jobs that read",
    "writes": "fio, both jobs that write",
    "pod-to-pod": "iperf3, TCP, pod to pod",
    "pod-to-service": "iperf3, TCP, pod to ClusterIP",
}


def spec(case: Case, bed: Bed, turns: Path, sessions: int, seed: int) -> Mapping[str, object]:
    """One target, whose lifecycle has the turns by hand. No gate turns a trial away: by hand there
    is none either.
    """

    def turn(when: str) -> Mapping[str, object]:
        return {
            "name": when,
            "on": "controller",
            "run": ["sh", str(BY_HAND / "turn.sh"), bed.kubectl, str(turns), when],
            "timeout": "10 min",
        }

    runner = {
        "kind": "kubernetes",
        "kubeconfig": bed.kubeconfig,
        "image": bed.image,
        "qos": bed.qos,
        "roles": {
            role: {"node": node} for role, node in zip(("client", "server"), bed.nodes, strict=True)
        },
    }
    target = {
        "runner": runner,
        "storage": {"class": bed.storage_class, "size": f"{max(1024, 5 * bed.size_mib)} MiB"},
        "lifecycle": {"per": "session", "bootstrap": [turn("before")], "destroy": [turn("after")]},
    }
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "pod-fidelity",
        "title": "Pod fidelity",
        "targets": {"here": target},
        "workloads": {"w": case.workload(bed)},
        "method": {
            "sessions": sessions,
            "trials": bed.trials,
            "warmups": 0,
            "replacements": 0,
            "order": "blocks",
            "seed": seed,
        },
    }


def measure(case: Case, bed: Bed, blocks: int, seed: int, keep: Path | None) -> Pairs:
    """By row, the figures by hand and through benchspec, one of each per block. What was measured
    stays below ``keep``.
    """
    folder = Path(tempfile.mkdtemp(prefix="pod-fidelity-", dir=keep or "/var/tmp"))
    try:
        turns, run = folder / "turns", folder / "run"
        turns.mkdir()
        _write_turns(case, bed, turns, blocks, random.Random(seed))
        (folder / "spec.json").write_text(json.dumps(spec(case, bed, turns, blocks, seed)))
        argv = [
            sys.executable,
            "-m",
            "benchspec.cli",
            "run",
            str(folder / "spec.json"),
            "--yes",
            "--out",
            str(run),
        ]
        subprocess.run(argv, stdout=sys.stderr, check=True, cwd="/")
        return _pairs(case, turns, run)
    finally:
        if keep is None:
            shutil.rmtree(folder)


def _write_turns(case: Case, bed: Bed, turns: Path, blocks: int, dice: random.Random) -> None:
    """Who is first in each block, and in which order the paths are taken by hand."""
    words = [
        [
            dice.choice(("before", "after")),
            *(dice.sample(case.outputs, len(case.outputs)) if case.shuffled else ()),
        ]
        for _ in range(blocks)
    ]
    (turns / "order").write_text("".join(f"{' '.join(line)}\n" for line in words))
    quoted = [
        word if word.startswith("$") else shlex.quote(word) for word in case.by_hand(bed, turns)
    ]
    (turns / "measure").write_text(" ".join(quoted) + "\n")


def _pairs(case: Case, turns: Path, run: Path) -> Pairs:
    """Every trial of both ways is read; nothing is left out. Exits when one is missing, or the
    settings differ.
    """
    data = read_run(run)
    output_of = {
        experiment.id: experiment.path.value if experiment.path else "storage"
        for experiment in data.experiments
    }
    found: dict[tuple[str, int], tuple[list[Figure], list[Figure]]] = {}
    for trial in data.trials:
        output = output_of[trial.experiment_id]
        by_hand = turns / str(trial.session) / f"{output}-{trial.index}.json"
        if trial.status is not TrialStatus.VALID or not by_hand.exists():
            raise SystemExit(
                f"block {trial.session}, {output}: found a trial that is {trial.status}:"
                f" {trial.error or trial.gates}"
            )
        hand, benchspec = found.setdefault((output, trial.session), ([], []))
        hand.append(case.read(by_hand.read_bytes(), output))
        benchspec.append(case.read(_raw(run, trial, case.raw), output))
        if hand[-1].settings != benchspec[-1].settings:
            raise SystemExit(
                f"the settings differ: {hand[-1].settings} by hand, {benchspec[-1].settings}"
                " through benchspec"
            )
    pairs: dict[str, tuple[list[float], list[float]]] = {}
    for _, (hand, benchspec) in sorted(found.items()):
        for row in hand[0].values:
            for side, figures in zip(
                pairs.setdefault(row, ([], [])), (hand, benchspec), strict=True
            ):
                side.append(statistics.geometric_mean(figure.values[row] for figure in figures))
    return pairs


def _raw(run: Path, trial: Trial, name: str) -> bytes:
    return (
        run / next(file.path for file in trial.raw if Path(file.path).name == name)
    ).read_bytes()


def blocks_needed(pilot: Pairs) -> int:
    """Blocks for the row that scatters most, by the pilot's spread at its upper 80 % bound: a few
    blocks alone would often say too few.
    """
    wanted = LEAST
    for row, (hand, benchspec) in pilot.items():
        logs = np.log(benchspec) - np.log(hand)
        df = len(logs) - 1
        spread = float(logs.std(ddof=1)) * math.sqrt(df / float(chdtri(df, 0.8)))
        needed = sessions_for_equivalence(spread, MARGIN, POWER)
        print(
            f"{row}: spread of a block {spread:.2%} at most, {needed} blocks needed",
            file=sys.stderr,
        )
        wanted = max(wanted, needed)
    return wanted


def report(
    case: Case, trials: int, row: str, by_hand: Sequence[float], through: Sequence[float]
) -> bool:
    """Print one row; True when the ratio is shown to lie within the margin."""
    hand, benchspec = np.array(by_hand), np.array(through)
    found = paired_log_ratio(hand, benchspec)
    inside = bool(found.margin_low > 1 / (1 + MARGIN) and found.margin_high < 1 + MARGIN)
    unit, scale = case.unit[row]
    medians = " | ".join(f"{np.median(side) * scale:,.5g} {unit}" for side in (hand, benchspec))
    intervals = (
        f"{found.margin_low:.4f} to {found.margin_high:.4f} | {found.low:.4f} to {found.high:.4f}"
    )
    shown, scatter = "yes" if inside else "not shown", np.std(np.log(hand), ddof=1)
    print(
        f"| {TITLES[row]} | {len(hand)} x {trials} | {medians} | **{found.ratio:.4f}** |"
        f" {intervals} | {shown} | {scatter:.1%} |"
    )
    return inside


def make_bed(told: argparse.Namespace) -> Bed:
    """The cluster's first two nodes. Exits when it has fewer."""
    kubectl = told.kubectl or shutil.which("kubectl")
    if kubectl is None:
        raise SystemExit("there is no kubectl in PATH: name one with --kubectl")
    asked = subprocess.run(
        [kubectl, f"--kubeconfig={told.kubeconfig}", "get", "nodes", "-o", "name"],
        capture_output=True,
        text=True,
        check=True,
    )
    nodes = [name.removeprefix("node/") for name in asked.stdout.split()]
    if len(nodes) < 2:
        raise SystemExit(f"found {len(nodes)} nodes, expected two")
    return Bed(
        kubeconfig=str(Path(told.kubeconfig).resolve()),
        kubectl=kubectl,
        nodes=(nodes[0], nodes[1]),
        image=told.image,
        storage_class=told.storage_class,
        size_mib=told.size_mib,
        seconds=told.seconds,
        ramp=told.ramp,
        qos=told.qos,
        trials=told.trials,
    )


def main() -> None:
    """Print a Markdown table; exit code 1 if a ratio is not shown to lie inside the margin."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kubeconfig")
    parser.add_argument("--case", choices=list(CASES), required=True)
    parser.add_argument("--blocks", type=int, help="so many blocks, without a pilot")
    parser.add_argument("--pilot", type=int, default=8, help="blocks of the pilot")
    parser.add_argument("--most", type=int, default=100, help="never more blocks than this")
    parser.add_argument("--trials", type=int, default=3, help="trials of a block")
    parser.add_argument("--seconds", type=int, default=3, help="how long the tools measure")
    parser.add_argument("--ramp", type=int, default=1, help="how long they run before that")
    parser.add_argument(
        "--size-mib", type=int, default=64, help="the size of each of fio's four files"
    )
    parser.add_argument(
        "--qos",
        choices=("best-effort", "guaranteed"),
        default="best-effort",
        help="of benchspec's pods; plain ones have no limits",
    )
    parser.add_argument("--storage-class", default="local-path")
    parser.add_argument("--image", default="localhost/tools:1")
    parser.add_argument("--kubectl")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep",
        type=lambda text: Path(text).resolve(),
        metavar="FOLDER",
        help="leave the run directory and what was measured by hand in a new folder there",
    )
    told = parser.parse_args()
    case, bed = CASES[told.case], make_bed(told)
    blocks = told.blocks or min(
        told.most, blocks_needed(measure(case, bed, told.pilot, told.seed, told.keep))
    )
    began, load = time.monotonic(), os.getloadavg()[0]
    found = measure(case, bed, blocks, told.seed + 1, told.keep)
    loads = f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(
        f"{time.strftime('%Y-%m-%d')}, {platform.platform()}, {os.cpu_count()} CPUs, {loads},"
        f" {time.monotonic() - began:.0f} s\n"
    )
    print(
        "| case | blocks x trials | by hand, median | benchspec | ratio | 90 % interval (TOST) | 95"
        " % interval | within 1 ± 0.05 | CV by hand |"
    )
    print("|---|--:|--:|--:|--:|---|---|---|--:|")
    shown = [report(case, bed.trials, row, *values) for row, values in found.items()]
    sys.exit(0 if all(shown) else 1)


if __name__ == "__main__":
    main()
