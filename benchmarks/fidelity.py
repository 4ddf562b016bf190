"""Whether benchspec changes what it measures: the same tool with the same arguments and CPUs
through ``benchspec run`` and by hand, in turn.

Three cases: iperf3 over a link that `tbf` limits to 1 Gbit/s, and to 100 Mbit/s, in a network
namespace of its own, where the ratio must lie within 1 +- 0.005; and fio on a file, within 1 +-
0.05. "By hand" is the shell script that ``benchspec plan --render`` writes: what an engineer would
type. Its arguments are held against those that the run recorded. Every pair is one whole
``benchspec run`` of one trial and one script, in an order drawn from a seed. A pilot, which is left
out, tells the spread; from it follows how many pairs two one-sided tests (TOST, alpha = 5 %) need
with a power of 90 %.

    python -m benchmarks.fidelity [--case iperf3|iperf3-100|fio] [--pairs N] [--most 120]

Needs root (for the namespace), iproute2, iperf3 and fio. Everything it makes is removed, also after
an error or a signal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import chdtri

from benchspec.engine.analysis.power import sessions_for_equivalence
from benchspec.engine.analysis.ratio_intervals import paired_log_ratio
from benchspec.engine.store.read_run import read_run

PILOT, LEAST, POWER = 8, 12, 0.9
GIGABIT = ("tbf", "rate", "1gbit", "burst", "128kb", "latency", "20ms")
FAST_ETHERNET = (
    "tbf",
    "rate",
    "100mbit",
    "burst",
    "32kb",
    "latency",
    "50ms",
)  # hardly needs a CPU: for machines that do other things as well
SERVER_UP_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One comparison: the workload's part of the spec, and how the figure is read from what the
    tool itself printed.
    """

    title: str
    workload: Mapping[str, object]
    cpus: object
    margin: float
    series: str
    unit: str
    scale: float
    read: Callable[[bytes, Path], float]
    link: Sequence[str] = ()


def read_iperf3(stdout: bytes, _: Path) -> float:
    return float(json.loads(stdout)["end"]["sum_received"]["bits_per_second"])


def read_fio(_: bytes, folder: Path) -> float:
    return float(
        json.loads((folder / "client" / "fio.json").read_bytes())["jobs"][0]["read"]["iops"]
    )


CASES = {
    "iperf3": Case(
        title="iperf3, TCP over a 1 Gbit/s link",
        workload={"tool": "iperf3", "path": "loopback", "with": {"duration": "2 s", "omit": "1 s"}},
        cpus={"client": [0], "server": [1]},
        margin=0.005,
        series="throughput",
        unit="Gbit/s",
        scale=1e-9,
        read=read_iperf3,
        link=GIGABIT,
    ),
    "iperf3-100": Case(
        title="iperf3, TCP over a 100 Mbit/s link",
        workload={"tool": "iperf3", "path": "loopback", "with": {"duration": "2 s", "omit": "1 s"}},
        cpus={"client": [0], "server": [1]},
        margin=0.005,
        series="throughput",
        unit="Mbit/s",
        scale=1e-6,
        read=read_iperf3,
        link=FAST_ETHERNET,
    ),
    "fio": Case(
        title="fio, random 4 KiB reads of a file",
        workload={
            "tool": "fio",
            "with": {
                "rw": "randread",
                "bs": "4 KiB",
                "iodepth": 16,
                "size": "256 MiB",
                "ramp_time": "500 ms",
                "runtime": "2 s",
                "direct": True,
            },
        },
        cpus=[0],
        margin=0.05,
        series="iops.read",
        unit="1/s",
        scale=1.0,
        read=read_fio,
    ),
}


class Bed:
    """A folder, and for a limited link a namespace in which everything runs."""

    def __init__(self, case: Case, folder: Path, namespace: str | None) -> None:
        self.case = case
        self.folder = folder
        self._inside = ("ip", "netns", "exec", namespace) if namespace else ()
        self._spec = folder / "spec.yaml"
        self._spec.write_text(json.dumps(spec(case, folder)))
        self._run("plan", str(self._spec), "--render", str(folder / "rendered"))
        self._scripts = next(folder.glob("rendered/here/*"))
        self._by_hand = folder / "benchspec-RUN"

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [*self._inside, sys.executable, "-m", "benchspec.cli", *arguments],
            capture_output=True,
            check=False,
            cwd="/",
        )
        if done.returncode:
            raise SystemExit(f"benchspec {arguments[0]} failed: {done.stderr.decode()}")

    def through_benchspec(self) -> float:
        """One whole run with one trial."""
        out = self.folder / "run"
        self._run("run", str(self._spec), "--yes", "--quiet", "--out", str(out))
        (trial,) = read_run(out).trials
        self._same_arguments(
            json.loads((out / "raw" / "000001" / "trial.json").read_bytes())["clients"][0]["argv"]
        )
        shutil.rmtree(out)
        return next(m.value for m in trial.measurements if m.metric == self.case.series)

    def _same_arguments(self, argv: Sequence[str]) -> None:
        """A run has its own port and directory; everything else must be what the script
        executes.
        """
        script = next(self._scripts.glob("client-1-*.sh")).read_text().split()
        plain = [
            re.sub(r"/benchspec-(?!RUN/)\S*?/(client|server)(?=/|$)", r"/benchspec-RUN/\1", word)
            for word in argv
        ]
        if "-p" in plain:
            port = plain.index("-p") + 1
            plain[port] = script[script.index("-p") + 1]
        if script[-len(plain) :] != plain:
            raise SystemExit(
                f"the arguments differ: {plain} through benchspec, {script[-len(plain) :]} by hand"
            )

    def by_hand(self) -> float:
        """The rendered server and client scripts, in fresh directories."""
        for role in ("client", "server"):
            (self._by_hand / role).mkdir(parents=True)
        for placed in self._scripts.glob("files/*/*"):
            shutil.copy(placed, self._by_hand / placed.parent.name)
        try:
            with self._servers():
                done = subprocess.run(
                    [*self._inside, "sh", str(next(self._scripts.glob("client-1-*.sh")))],
                    capture_output=True,
                    check=True,
                )
            return self.case.read(done.stdout, self._by_hand)
        finally:
            shutil.rmtree(self._by_hand)

    @contextlib.contextmanager
    def _servers(self) -> Iterator[None]:
        started = [
            subprocess.Popen(
                [*self._inside, "sh", str(script)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for script in self._scripts.glob("server-*.sh")
        ]
        try:
            time.sleep(SERVER_UP_S if started else 0)
            yield
        finally:
            for server in started:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def spec(case: Case, folder: Path) -> Mapping[str, object]:
    """One trial on this host. No gate turns a trial away: by hand there is none either."""
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "fidelity",
        "title": case.title,
        "targets": {
            "here": {"runner": {"kind": "local", "workdir": str(folder)}, "cpus": case.cpus}
        },
        "workloads": {"w": {**case.workload, "gates": {"max_steal": "100 %"}}},
        "method": {"sessions": 1, "trials": 1, "warmups": 0, "replacements": 0},
    }


@contextlib.contextmanager
def bed(case: Case) -> Iterator[Bed]:
    """Make the bed of ``case`` and remove it again."""
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="fidelity-", dir="/var/tmp"))
        stack.callback(shutil.rmtree, folder)
        namespace = stack.enter_context(limited_link(case.link)) if case.link else None
        yield Bed(case, folder, namespace)


@contextlib.contextmanager
def limited_link(limit: Sequence[str]) -> Iterator[str]:
    """A network namespace whose loopback has Ethernet's MTU and the queueing discipline ``limit``;
    yields its name.
    """
    name = f"fidelity-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "mtu", "1500", "up"], check=True)
        subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "lo", "root", *limit], check=True)
        yield name
    finally:
        inside = subprocess.run(
            ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in map(int, inside):  # nobody else has a reason to be there
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", name], check=True)


def measure(bed: Bed, pairs: int, order: random.Random) -> tuple[list[float], list[float]]:
    """``pairs`` figures by hand and through benchspec, each pair in random order."""
    ways = {"hand": bed.by_hand, "benchspec": bed.through_benchspec}
    seen: dict[str, list[float]] = {"hand": [], "benchspec": []}
    for pair in range(1, pairs + 1):
        for name in order.sample(list(ways), 2):
            seen[name].append(ways[name]())
        print(
            f"  {pair}/{pairs}: {seen['hand'][-1] * bed.case.scale:.6g} by hand,"
            f" {seen['benchspec'][-1] * bed.case.scale:.6g}",
            file=sys.stderr,
        )
    return seen["hand"], seen["benchspec"]


def pairs_needed(
    hand: Sequence[float], benchspec: Sequence[float], margin: float
) -> tuple[int, float]:
    """Pairs for the margin, from the pilot's spread at its upper 80 % bound: eight pairs alone
    would often say too few.
    """
    logs = np.log(benchspec) - np.log(hand)
    df = len(logs) - 1
    spread = float(logs.std(ddof=1)) * math.sqrt(df / float(chdtri(df, 0.8)))
    return max(LEAST, sessions_for_equivalence(spread, margin, POWER)), spread


def compare(case: Case, pairs: int | None, most: int) -> bool:
    """Measure one case, print its row; True when the ratio is shown to lie within the margin."""
    with bed(case) as made:
        order = random.Random(1)
        wanted, spread = (
            pairs_needed(*measure(made, PILOT, order), case.margin)
            if pairs is None
            else (pairs, math.nan)
        )
        print(
            f"{case.title}: spread of a pair {spread:.2%} at most, {wanted} pairs needed, at most"
            f" {most} made",
            file=sys.stderr,
        )
        hand, benchspec = (np.array(values) for values in measure(made, min(wanted, most), order))
    found = paired_log_ratio(hand, benchspec)
    low, high = float(found.margin_low), float(found.margin_high)
    inside = low >= 1 - case.margin and high <= 1 + case.margin
    print(
        f"| {case.title} | {len(hand)} | {np.median(hand) * case.scale:.5g} |"
        f" {np.median(benchspec) * case.scale:.5g} | {case.unit} | {float(found.ratio):.5f} |"
        f" {low:.5f} to {high:.5f} | 1 +- {case.margin:g} | {'yes' if inside else 'not shown'} |"
        f" {float(np.std(np.log(hand), ddof=1)):.2%} |"
    )
    return inside


def main() -> None:
    """Print a Markdown table; exit code 1 if a ratio is not shown to lie inside its margin."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--case", choices=list(CASES), action="append", help="only this one; repeatable"
    )
    parser.add_argument("--pairs", type=int, help="so many pairs, without a pilot")
    parser.add_argument("--most", type=int, default=120, help="never more pairs than this")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("needs root: a network namespace is made, and a limit set on its link")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything made is removed
    print(f"{time.strftime('%Y-%m-%d')}, {platform.platform()}, {os.cpu_count()} CPUs\n")
    print(
        "| case | pairs | median by hand | through benchspec | unit | ratio | 90 % interval |"
        " margin | inside | CV by hand |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    inside = [compare(CASES[name], options.pairs, options.most) for name in options.case or CASES]
    sys.exit(0 if all(inside) else 1)


if __name__ == "__main__":
    main()
