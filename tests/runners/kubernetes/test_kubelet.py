"""What a kubelet says of containers: only what it saw during the trial counts, and only who may ask
it knows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.contract.values import Demand, Made
from benchspec.engine.model.spec import Role, Site
from benchspec.engine.store import usage
from benchspec.runners.kubernetes import rights
from benchspec.runners.kubernetes.allocation import PodAllocation
from benchspec.runners.kubernetes.client import kubelet
from benchspec.runners.kubernetes.client.api import Api
from benchspec.runners.kubernetes.client.kubelet import KubeletWatch, Watched
from benchspec.runners.kubernetes.names import Ownership
from benchspec.runners.kubernetes.options import read_options
from benchspec.runners.kubernetes.pods import monitor
from benchspec.runners.kubernetes.pods.container import Container
from benchspec.runners.kubernetes.resources.watching import UNSEEN, Watching, workload_of
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import allocate

NAMESPACE = "kubelet-stats"
BUSY: dict[str, Any] = {
    "name": "busy",
    "image": "localhost/tools:1",
    "command": ["sh", "-c", "while :; do :; done"],
    "cpu": "50m",
    "memory": "32 MiB",
}
MOMENTS = {
    at: {"cpu": 100.0 + 0.5 * at, "memory": 1000.0 + at}
    for at in (0.0, 12.0, 25.0, 37.0, 49.0, 61.0)
}


def test_the_rate_between_what_was_renewed_stands_for_the_trial() -> None:
    assert kubelet.estimate(MOMENTS, 70.0) == {"cpu": pytest.approx(35.0), "memory": 1061.0}


@pytest.mark.parametrize(("moments", "length_s"), [(1, 10.0), (2, 20.0), (3, 60.0), (6, 200.0)])
def test_a_trial_that_was_hardly_seen_is_unknown(moments: int, length_s: float) -> None:
    """Nothing new was seen, one thing, or two and more in less than a quarter of the time."""
    assert kubelet.estimate(dict(list(MOMENTS.items())[:moments]), length_s) == {}


def test_a_container_that_was_started_anew_is_unknown() -> None:
    assert kubelet.estimate({0.0: {"cpu": 9.0}, 5.0: {"cpu": 9.5}, 10.0: {"cpu": 1.0}}, 10.0) == {}


def test_pods_of_one_workload_are_added_up_if_all_were_seen() -> None:
    one, other = {"cpu": 1.0, "memory": 8.0}, {"cpu": 2.0}
    assert kubelet.add_up("deployment/a/b", [one, one]) == {
        "container.deployment/a/b.cpu": 2.0,
        "container.deployment/a/b.memory": 16.0,
    }
    assert kubelet.add_up("deployment/a/b", [one, other]) == {"container.deployment/a/b.cpu": 3.0}
    assert kubelet.add_up("deployment/a/b", [one, {}]) == {"container.deployment/a/b.unseen": 1.0}


@pytest.mark.parametrize(
    ("owner", "labels", "workload"),
    [
        (("ReplicaSet", "echo-66f7d9c6b4"), {"pod-template-hash": "66f7d9c6b4"}, "deployment/echo"),
        (("ReplicaSet", "echo"), {}, "replicaset/echo"),
        (("StatefulSet", "vault"), {"pod-template-hash": "x"}, "statefulset/vault"),
        (None, {}, "pod/echo-1"),
    ],
)
def test_a_pod_is_called_as_what_made_it(
    owner: tuple[str, str] | None, labels: dict[str, str], workload: str
) -> None:
    owners = [
        {"kind": "ConfigMap", "name": "bs-steps"},
        *([{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []),
    ]
    assert workload_of({"name": "echo-1", "labels": labels, "ownerReferences": owners}) == workload


def test_the_kubelet_s_format() -> None:
    said = {
        "name": "envoy",
        "cpu": {"time": "2026-11-21T23:21:38Z", "usageCoreNanoSeconds": 2500000000},
        "memory": {"workingSetBytes": 4096},
    }
    assert kubelet.read(said) == {1795303298.0: {"cpu": 2.5, "memory": 4096.0}}
    assert kubelet.read({"name": "envoy", "cpu": {"time": "2026-11-21T23:21:38Z"}}) == {}


@pytest.fixture
def users(cluster: Cluster) -> Iterator[Callable[[str], Path]]:
    """Kubeconfigs of two who may measure in a namespace; the seer may ask kubelets, too, and has of
    Helm's rights the one that this takes.
    """
    made = [
        rights.manifests(NAMESPACE, name, facts=False, classes=False, kubelet=name == "seer")
        for name in ("seer", "stranger")
    ]
    group, metadata = "rbac.authorization.k8s.io", {"name": "owners", "namespace": NAMESPACE}
    owners: list[dict[str, Any]] = [
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "owners"},
            "subjects": [{"kind": "ServiceAccount", "name": "seer", "namespace": NAMESPACE}],
        },
    ]
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        *(one for each in made for one in each),
        *owners,
    ]
    cluster.control_plane.apply(objects)
    yield lambda name: _kubeconfig(cluster, name)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("delete", "--wait=false", "--ignore-not-found", "-f", "-", given=listed)


def _kubeconfig(cluster: Cluster, name: str) -> Path:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"] = [
        {
            "name": "admin",
            "user": {
                "token": (
                    cluster.kubectl("create", "token", name, f"--namespace={NAMESPACE}").strip()
                )
            },
        }
    ]
    path = cluster.layout.state / f"{NAMESPACE}-{name}.conf"
    path.write_text(json.dumps(config))
    return path


def busy_deployment(
    name: str, labels: dict[str, str], replicas: int, release: str = "nobody's"
) -> dict[str, Any]:
    """As busy in each pod as the sidecar; marked as Helm marks what a release has."""
    limits = {"cpu": BUSY["cpu"], "memory": "32Mi"}
    container = {
        "name": "busy",
        "image": BUSY["image"],
        "command": BUSY["command"],
        "resources": {"requests": limits, "limits": limits},
    }
    template = {
        "metadata": {"labels": {"app": name, **labels}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "annotations": {"meta.helm.sh/release-name": release},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_kubelets_and_control_groups_agree(
    cluster: Cluster,
    users: Callable[[str], Path],
    connect: Callable[..., Session],
    run_id: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a sidecar, of pods of manifests and charts, and of those that the site names. The monitor
    takes ever fewer samples, and leaves nothing.
    """
    monkeypatch.setattr(monitor, "_ROUNDS", 2)
    ours = Ownership(run_id=run_id, site="here", extra={}).labels("a-up")
    charted = busy_deployment("charted", {}, 1, "vault")
    cluster.control_plane.apply(
        [
            busy_deployment("made", ours, 2),
            busy_deployment("named", {}, 1),
            charted,
            busy_deployment("other", {}, 1),
        ]
    )
    for name in ("made", "named", "charted"):
        cluster.kubectl(
            "wait",
            f"--namespace={NAMESPACE}",
            f"deployment/{name}",
            "--for=condition=Available",
            "--timeout=120s",
        )
    own = {
        "namespace": NAMESPACE,
        "roles": {"client": {"sidecars": [BUSY]}},
        "watch": {"app": "named"},
    }
    made = Made(allocation_ids=("a-0", "a-up"), releases=(("", "vault"),))
    session = connect(kubeconfig=str(users("seer")), **own)
    allocation = cast(PodAllocation, allocate(session, Role.CLIENT, demand=Demand(made=made)))
    try:
        share = allocation.share(Role.CLIENT)
        known = Site(
            name="here",
            runner="kubernetes",
            options={"kubeconfig": str(users("stranger")), "namespace": NAMESPACE},
        )
        stranger = Api(read_options(known), "here")
        sidecar = Watched(
            role=Role.CLIENT,
            name="busy",
            node=share.node,
            namespace=NAMESPACE,
            pod=share.container.pod,
            container="busy",
        )
        assert [
            fact
            for fact in allocation.observe(allocation.surroundings())[Role.CLIENT]
            if fact.name == UNSEEN
        ] == []
        blind = KubeletWatch(stranger, [sidecar])
        sampler = allocation.sample(Role.CLIENT, 0.2)
        watch, running = KubeletWatch(share.container.api, [sidecar]), allocation._watching._watch
        assert running is not None
        deadline = time.monotonic() + 180
        while (
            time.monotonic() < deadline
        ):  # kubelets renew their figures every 10 to 20 s, later where they get no CPU
            time.sleep(1)
            if not any(
                name.endswith(".unseen")
                for name in (*watch.told(Role.CLIENT), *running.told(Role.CLIENT))
            ):
                break
        watch.stop()
        seen, samples = watch.told(Role.CLIENT), sampler.stop()
        told = usage.summarise(samples)
        assert 4 < len(samples) < 40  # every 0.2 s it would be five a second
        _await_quiet(share.container)
        assert seen.keys() == {"container.busy.cpu", "container.busy.memory"}
        # whatever the load: what it used between the kubelet's moments is part of the whole, and
        # they span a quarter of the time at least
        assert 0 < seen["container.busy.cpu"] < told["container.busy.cpu"] / kubelet.LEAST
        assert seen["container.busy.memory"] > 0
        for name in ("made", "named", "charted"):
            assert told[f"container.deployment/{name}/busy.cpu"] > 0
            assert told[f"container.deployment/{name}/busy.memory"] > 0
        assert not any("other" in name for name in told)
        changed = running.told(Role.CLIENT, {"deployment/made/busy"})
        assert {name for name in changed if "made" in name} == {
            "container.deployment/made/busy.unseen"
        }
        assert "container.deployment/named/busy.cpu" in changed
        sampler = allocation.sample(Role.CLIENT, 1)
        cluster.control_plane.apply([busy_deployment("late", ours, 1)])
        cluster.kubectl(
            "wait",
            f"--namespace={NAMESPACE}",
            "deployment/late",
            "--for=condition=Available",
            "--timeout=120s",
        )
        told = usage.summarise(sampler.stop())
        assert {name: value for name, value in told.items() if "late" in name} == {
            "container.deployment/late/busy.unseen": 1.0
        }
        blind.stop()
        assert blind.told(Role.CLIENT) == {"container.busy.unseen": 1.0}
        ((reason,),) = (
            Watching(replace(allocation._place, api=stranger), allocation._shares, made)
            .unseen()
            .values()
        )
        assert "the right to get nodes/proxy is missing" in str(reason.value)
        assert "cannot be told from others: the right to get deployments.apps is missing" in str(
            reason.value
        )
    finally:
        allocation.release()


def _await_quiet(container: Container) -> None:
    """No file of a monitor is there any more, and none comes back; its loop has ended."""
    deadline = time.monotonic() + 120
    look = (
        "ls /benchspec-memory; for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; done 2>/dev/null"
        " | grep -c '[e]xec >>' || true"
    )
    while (said := container.ask(look)) != b"0\n":
        assert time.monotonic() < deadline, said
        time.sleep(0.5)
