"""What a trial on Kubernetes costs beside its own time, against a bare script that creates a pod,
waits for it by watching and reads its log.

    python -m tests.cluster up --name pods
    python -m benchmarks.pods "$(python -m tests.cluster kubeconfig --name pods)" --rounds 40

Interleaved: in every round each way once, in random order and at a random moment of the kubelet's
second, since kubelets look at their containers once a second. Both sides create the same pod
(labels, resources, security, volumes) on the same node and run the same program. Each way is timed
twice: until the result is there, and until the API shows that everything is removed. ``trial`` is a
program in a session's pod (start, wait, collect, discard); ``session`` makes the pod, runs one
trial and removes it all. The bare script asks for its pod's removal as soon as it has the log,
without grace, since the pod has ended. Ratios are medians of the ratios of one round each.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchspec.engine.model.contract.runner import Allocation, Session
from benchspec.engine.model.contract.values import NO_DEMAND, Command
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.kubernetes import RUNNER
from benchspec.runners.kubernetes.client.api import Api
from benchspec.runners.kubernetes.names import Object, Ownership
from benchspec.runners.kubernetes.options import read_options
from benchspec.runners.kubernetes.pods import manifests
from benchspec.runners.kubernetes.pods.manifests import parts

from .timing import machine

ROLES = [RolePlace(role=Role.CLIENT, site="bench")]
RUN, PROGRAM = "benchmark", ("sh", "-c", "echo 42")
WITHIN_S = 120.0
"""So long a bare pod may take from its creation to its end, and until it is gone."""
TITLES = {
    "bare": "a bare script: create a pod, watch it end, read its log, delete it",
    "trial": "a trial in a session's pod",
    "session": "a session of one trial: new pod, trial, everything removed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds until the result is there, and until everything is seen to be removed."""

    result_s: float
    gone_s: float


def bare(api: Api, site: Site, number: int) -> Cost:
    """The pod that benchspec makes, with the program as its own: created, watched, its log read,
    removed, its removal watched.
    """
    options, ownership = read_options(site), Ownership(run_id=RUN, site=site.name, extra={})
    allocation_id, pods = f"bare-{number}", api.namespaced("pods")
    part = parts(options, ownership, allocation_id, [Role.CLIENT], NO_DEMAND)[Role.CLIENT]
    template = manifests.job(options, ownership, allocation_id, part, NO_DEMAND)["spec"]["template"]
    template["spec"]["containers"][0]["command"] = list(PROGRAM)
    began = time.monotonic()
    api.create(
        pods,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template["metadata"], "name": part.name},
            "spec": template["spec"],
        },
    )
    watched = api.watch(pods, began + WITHIN_S, fieldSelector=f"metadata.name={part.name}")
    try:
        _await(
            watched,
            lambda pod: pod.get("status", {}).get("phase") == "Succeeded",
            f"{part.name} ended well",
        )
        log = b"".join(api.stream(f"{pods}/{part.name}/log", 10))
        result_s = time.monotonic() - began
    finally:
        api.delete(f"{pods}/{part.name}", grace_s=0)
    _await(watched, lambda pod: pod.get("_deleted") is True, f"{part.name} was gone")
    if log != b"42":
        raise RuntimeError(f"the log of {part.name} says {log!r}")
    return Cost(result_s=result_s, gone_s=time.monotonic() - began)


def _await(watched: Iterator[Object], holds: Callable[[Object], bool], what: str) -> None:
    """Watch until it is so. Raises RuntimeError when the watch is over before: then the figures
    would be of something else.
    """
    if not any(map(holds, watched)):
        raise RuntimeError(f"it was not seen within {WITHIN_S:g} s that {what}")


def trial(allocation: Allocation, number: int) -> Cost:
    """One trial as the engine carries it out."""
    began = time.monotonic()
    job = allocation.start(Command(argv=PROGRAM, role=Role.CLIENT, timeout_s=60), f"trial-{number}")
    job.wait(60)
    found = job.collect()
    result_s = time.monotonic() - began
    if found.stdout != b"42\n":
        raise RuntimeError("the trial says something else")
    job.discard()
    return Cost(result_s=result_s, gone_s=time.monotonic() - began)


def whole(session: Session, number: int) -> Cost:
    """A session of one trial."""
    began = time.monotonic()
    made = session.allocate(ROLES, f"session-{number}")
    allocated_s = time.monotonic() - began
    inside = trial(made, 100_000 + number)
    made.release()
    return Cost(result_s=allocated_s + inside.result_s, gone_s=time.monotonic() - began)


def measure(
    ways: Mapping[str, Callable[[int], Cost]], rounds: int, dice: random.Random
) -> dict[str, list[Cost]]:
    """Every way once per round, after a round that opens connections and is not counted."""
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name in dice.sample(sorted(ways), len(ways)):
            time.sleep(1 + dice.random())  # what the one before left to the node is done
            cost = ways[name](number)
            if number:
                costs[name].append(cost)
    return costs


def report(costs: Mapping[str, Sequence[Cost]]) -> None:
    """A Markdown table."""
    print(
        "| way | result, s | quartiles, s | against bare | all removed, s | quartiles, s | against"
        " bare | against bare without removal |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, seen in costs.items():
        result, gone = [cost.result_s for cost in seen], [cost.gone_s for cost in seen]
        base = costs["bare"]
        ratios = (
            _ratio(result, [b.result_s for b in base]),
            _ratio(gone, [b.gone_s for b in base]),
            _ratio(gone, [b.result_s for b in base]),
        )
        print(
            f"| {TITLES[name]} | {_figures(result)} | {ratios[0]} | {_figures(gone)} | {ratios[1]}"
            f" | {ratios[2]} |"
        )


def _figures(values: Sequence[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} | {low:.2f} to {high:.2f}"


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    return f"{statistics.median(a / b for a, b in zip(ours, theirs, strict=True)):.2f}"


def main() -> int:
    """Print the table; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kubeconfig")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    site = Site(
        name="bench",
        runner="kubernetes",
        options={
            "kind": "kubernetes",
            "kubeconfig": told.kubeconfig,
            "image": "localhost/tools:1",
            "cpu": "250m",
            "memory": "128 MiB",
        },
    )
    session = RUNNER.connect(site, RUN)
    standing = session.allocate(ROLES, "standing")
    node = standing.nodes()[Role.CLIENT].name
    site = replace(
        site, options={**site.options, "node_selector": {"kubernetes.io/hostname": node}}
    )
    session.close()
    session = RUNNER.connect(site, RUN)
    api = Api(read_options(site), "benchmark")
    try:
        costs = measure(
            {
                "bare": lambda n: bare(api, site, n),
                "trial": lambda n: trial(standing, n),
                "session": lambda n: whole(session, n),
            },
            told.rounds,
            random.Random(told.seed),
        )
    finally:
        standing.release()
        session.close()
    print(f"{machine()}; {told.rounds} rounds\n")
    report(costs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
