"""What goes wrong in data centres, in the middle of a trial: nothing measured is lost, and what is
lost says why.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Role, Site
from benchspec.runners.kubernetes import RUNNER
from benchspec.runners.kubernetes.failures import PodLost
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import BOTH, allocate, sh

Connect = Callable[..., Session]
SLOW = "echo run >>counter; sleep 6; cat counter; exit 42"


def number(cluster: Cluster, name: str) -> int:
    return next(i for i in cluster.layout.numbers if cluster.layout.node(i) == name)


@pytest.mark.parametrize("fault", ["kill-api", "cut", "kubelet", "power of the other node"])
def test_a_trial_outlives(cluster: Cluster, connect: Connect, fault: str) -> None:
    session = connect()
    allocation = allocate(session, *BOTH)
    node = number(cluster, allocation.nodes()[Role.CLIENT].name)
    job = allocation.start(sh(SLOW), "trial")
    waiting = threading.Thread(target=job.wait, args=(120,))
    waiting.start()
    time.sleep(1)
    match fault:
        case "kill-api":
            cluster.fault("kill-api")
            time.sleep(1)
            cluster.fault("start-api")
        case "cut":
            cluster.fault("cut", node)
            time.sleep(7)  # the program ends while nobody can see it
            cluster.fault("heal", node)
        case "kubelet":
            cluster.fault("kill", node, "kubelet")
            time.sleep(7)
            cluster.fault("restart", node, "kubelet")
        case _:
            other = 3 - node
            cluster.fault("power-off", other)
            cluster.fault("power-on", other)
    waiting.join(timeout=120)
    assert not waiting.is_alive()
    completed = job.collect()
    assert (completed.exit_code, completed.stdout) == (42, b"run\n")
    deadline = time.monotonic() + 90
    while cluster.kubectl("get", "nodes").count(" Ready") < len(cluster.nodes):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    allocation.release()


def test_an_evicted_pod_is_told_and_its_job_is_never_run_again(
    cluster: Cluster, connect: Connect, site: Site, run_id: str
) -> None:
    allocation = allocate(connect(), Role.CLIENT)
    job = allocation.start(sh("sleep 60"), "evicted")
    pod = cluster.kubectl(
        "get",
        "pods",
        "-l",
        f"benchspec.dev/run={run_id}",
        "-o",
        "jsonpath={.items[0].metadata.name}",
    )
    cluster.fault("evict", what=f"default/{pod}")
    with pytest.raises(PodLost, match=pod):
        job.wait(60)
    later = connect().attach("evicted")
    assert later is not None
    with pytest.raises(PodLost):
        later.wait(10)
    assert {leftover.kind for leftover in RUNNER.leftovers(site, run_id)} >= {"job", "lease"}
    allocation.release()


def test_a_program_that_takes_too_much_memory_is_no_result(connect: Connect) -> None:
    allocation = allocate(connect(), Role.CLIENT)
    job = allocation.start(
        sh("exec python3 -c 'x = bytearray(400 << 20); print(len(x))'"), "greedy"
    )
    code, told = None, ""
    try:
        job.wait(60)
        code = job.collect().exit_code
    except RunFailed as error:  # where the kernel ends the whole container
        told = str(error)
    assert code == 128 + 9 or "memory" in told
    allocation.release()


def test_a_lost_node_ends_as_an_error_that_names_it(cluster: Cluster, connect: Connect) -> None:
    allocation = allocate(connect(), Role.CLIENT)
    node = number(cluster, allocation.nodes()[Role.CLIENT].name)
    job = allocation.start(sh("sleep 300"), "gone")
    cluster.fault("power-off", node)
    cluster.fault("power-on", node)
    with pytest.raises(RunFailed):
        job.wait(90)
    allocation.release()
