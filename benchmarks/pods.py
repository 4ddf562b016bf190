"""What a trial on Kubernetes costs beside its own time, against a bare script that creates a pod, waits for it by watching and reads its log.

    python -m tests.cluster up
    python -m benchmarks.pods "$(python -m tests.cluster kubeconfig)" --rounds 20

Interleaved: in every round one of each, in random order. ``trial`` is a program in a session's pod (start, wait, collect, discard); ``session``
makes the pod, runs one trial and removes it all.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable

from benchspec.engine.ports import NO_DEMAND, Allocation, Command
from benchspec.engine.spec import Role, RolePlace, Site
from benchspec.runners.kubernetes import RUNNER, manifests
from benchspec.runners.kubernetes.api import Api
from benchspec.runners.kubernetes.manifests import parts
from benchspec.runners.kubernetes.names import Ownership
from benchspec.runners.kubernetes.options import read_options

ROLES = [RolePlace(role=Role.CLIENT, site="bench")]


def bare(api: Api, site: Site, number: int) -> None:
    """The same pod with the program as its own: created, watched, its log read, removed."""
    options, ownership = read_options(site), Ownership(run_id="benchmark-bare", site=site.name, extra={})
    part = parts(options, ownership, "bare", [Role.CLIENT], NO_DEMAND)[Role.CLIENT]
    template = manifests.job(options, ownership, "bare", part, NO_DEMAND)["spec"]["template"]
    name, spec = f"bare-{number}", template["spec"]
    spec["affinity"] = {}
    spec["containers"][0]["command"] = ["sh", "-c", "echo 42"]
    pods = api.namespaced("pods")
    api.create(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "benchmark-bare"}}, "spec": spec})
    for pod in api.watch(pods, time.monotonic() + 60, fieldSelector=f"metadata.name={name}"):
        if pod.get("status", {}).get("phase") == "Succeeded":
            break
    log = b"".join(api.stream(f"{pods}/{name}/log", 10))
    if log != b"42":
        raise RuntimeError(f"the log of {name} says {log!r}")
    api.delete(f"{pods}/{name}", grace_s=0)


def trial(allocation: Allocation, number: int) -> None:
    """One trial as the engine carries it out."""
    job = allocation.start(Command(argv=("sh", "-c", "echo 42"), role=Role.CLIENT, timeout_s=60), f"trial-{number}")
    job.wait(60)
    if job.collect().stdout != b"42\n":
        raise RuntimeError("the trial says something else")
    job.discard()


def main() -> int:
    """Print a table of medians and quartiles; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig")
    parser.add_argument("--rounds", type=int, default=20)
    told = parser.parse_args()
    site = Site(name="bench", runner="kubernetes", options={"kind": "kubernetes", "kubeconfig": told.kubeconfig, "cpu": "250m", "memory": "128 MiB"})
    api, dice = Api(read_options(site), "benchmark"), random.Random(1)
    session = RUNNER.connect(site, "benchmark")
    standing = session.allocate(ROLES, "standing")

    def whole(number: int) -> None:
        made = session.allocate(ROLES, f"session-{number}")
        trial(made, 1000 + number)
        made.release()

    ways: dict[str, Callable[[int], None]] = {"bare pod": lambda n: bare(api, site, n), "trial": lambda n: trial(standing, n), "session": whole}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(told.rounds + 1):
        for name in dice.sample(sorted(ways), len(ways)):
            began = time.monotonic()
            ways[name](number)
            if number:  # the first round opens connections
                seconds[name].append(time.monotonic() - began)
    standing.release()
    session.close()
    base = statistics.median(seconds["bare pod"])
    print("| way | median, s | quartiles, s | against a bare pod |\n|---|--:|--:|--:|")
    for name, found in seconds.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"| {name} | {middle:.2f} | {low:.2f} to {high:.2f} | {middle / base:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
