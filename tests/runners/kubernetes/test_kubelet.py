"""What a kubelet says of containers: only what it saw during the trial counts, and only who may ask it knows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from benchspec.engine import usage
from benchspec.engine.ports import Session
from benchspec.engine.spec import Role, Site
from benchspec.runners.kubernetes import kubelet, monitor, rights
from benchspec.runners.kubernetes.allocation import PodAllocation
from benchspec.runners.kubernetes.api import Api
from benchspec.runners.kubernetes.container import Container
from benchspec.runners.kubernetes.kubelet import KubeletWatch
from benchspec.runners.kubernetes.options import read_options
from tests.cluster.cluster import Cluster
from tests.runners.kubernetes.conftest import allocate

NAMESPACE = "kubelet-stats"
BUSY = {"name": "busy", "image": "localhost/tools:1", "command": ["sh", "-c", "while :; do :; done"], "cpu": "50m", "memory": "32 MiB"}
MOMENTS = {at: {"cpu": 100.0 + 0.5 * at, "memory": 1000.0 + at} for at in (0.0, 12.0, 25.0, 37.0, 49.0, 61.0)}


def test_the_rate_between_what_was_seen_stands_for_the_trial() -> None:
    found = kubelet.estimate("envoy", MOMENTS, 10.0, 60.0)
    assert found == {"container.envoy.cpu": pytest.approx(25.0), "container.envoy.memory": 1049.0}


@pytest.mark.parametrize(
    ("began", "ended"),
    [(13.0, 23.0), (13.0, 36.0), (10.0, 36.5)],  # nothing seen, once, and twice in less than half of the time
)
def test_a_trial_that_was_hardly_seen_is_unknown(began: float, ended: float) -> None:
    assert kubelet.estimate("envoy", MOMENTS, began, ended) == {}


def test_a_container_that_was_started_anew_is_unknown() -> None:
    assert kubelet.estimate("envoy", {0.0: {"cpu": 9.0}, 10.0: {"cpu": 1.0}}, 0.0, 10.0) == {}


def test_the_kubelet_s_format() -> None:
    said = {"name": "envoy", "cpu": {"time": "2026-11-21T23:21:38Z", "usageCoreNanoSeconds": 2500000000}, "memory": {"workingSetBytes": 4096}}
    assert kubelet.read(said) == {1795303298.0: {"cpu": 2.5, "memory": 4096.0}}
    assert kubelet.read({"name": "envoy", "cpu": {"time": "2026-11-21T23:21:38Z"}}) == {}


@pytest.fixture
def users(cluster: Cluster) -> Iterator[Callable[[str], Path]]:
    """Kubeconfigs of two who may measure in a namespace; the seer may ask kubelets, too."""
    made = [rights.manifests(NAMESPACE, name, facts=False, classes=False, kubelet=name == "seer") for name in ("seer", "stranger")]
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *(one for each in made for one in each)]
    cluster.control_plane.apply(objects)
    yield lambda name: _kubeconfig(cluster, name)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("delete", "--wait=false", "--ignore-not-found", "-f", "-", given=listed)


def _kubeconfig(cluster: Cluster, name: str) -> Path:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"] = [{"name": "admin", "user": {"token": cluster.kubectl("create", "token", name, f"--namespace={NAMESPACE}").strip()}}]
    path = cluster.layout.state / f"{NAMESPACE}-{name}.conf"
    path.write_text(json.dumps(config))
    return path


def test_kubelet_and_control_group_agree(users: Callable[[str], Path], connect: Callable[..., Session], monkeypatch: pytest.MonkeyPatch) -> None:
    """And the monitor beside them takes ever fewer samples, and leaves nothing behind."""
    monkeypatch.setattr(monitor, "_ROUNDS", 2)
    own = {"namespace": NAMESPACE, "roles": {"client": {"sidecars": [BUSY]}}}
    allocation = cast(PodAllocation, allocate(connect(kubeconfig=str(users("seer")), **own), Role.CLIENT))
    try:
        share = allocation.share(Role.CLIENT)
        known = Site(name="here", runner="kubernetes", options={"kubeconfig": str(users("stranger")), "namespace": NAMESPACE})
        stranger = Api(read_options(known), "here")
        blind = KubeletWatch(stranger, share.node, share.container.pod, ["busy"], share.offset_s)
        sampler = allocation.sample(Role.CLIENT, 0.2)
        watch = KubeletWatch(share.container.api, share.node, share.container.pod, ["busy"], share.offset_s)
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:  # the kubelet renews its figures every 10 to 15 s, later where it gets no CPU
            time.sleep(1)
            if watch.estimate():
                break
        seen, samples = watch.stop(), sampler.stop()
        told = usage.summarise(samples)
        assert 4 < len(samples) < 40  # every 0.2 s it would be five a second
        _await_quiet(share.container)
        assert seen.keys() == {"container.busy.cpu", "container.busy.memory"}
        assert told["container.busy.cpu"] / 4 < seen["container.busy.cpu"] < told["container.busy.cpu"] * 4
        assert seen["container.busy.memory"] > 0
        assert blind.stop() == {}
    finally:
        allocation.release()


def _await_quiet(container: Container) -> None:
    """No file of a monitor is there any more, and none comes back; its loop has ended."""
    deadline = time.monotonic() + 120
    look = "ls /benchspec-memory; for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; done 2>/dev/null | grep -c '[e]xec >>' || true"
    while (said := container.ask(look)) != b"0\n":
        assert time.monotonic() < deadline, said
        time.sleep(0.5)
