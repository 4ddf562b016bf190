"""Images that are not the tool image: what they may lack is brought, and what a registry answers is
told with the remedy.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchspec.engine.facts.catalogue import clock_facts
from benchspec.engine.model.contract.values import Demand
from benchspec.engine.model.spec import Role, Site
from benchspec.runners.kubernetes.names import Object, Ownership
from benchspec.runners.kubernetes.options import read_options
from benchspec.runners.kubernetes.pods import manifests
from benchspec.runners.kubernetes.pods.pod import pull_remedy

OWNERSHIP = Ownership(run_id="run-1", site="here", extra={})
OPTIONS = read_options(Site(name="here", runner="kubernetes", options={"image": "mine/tools:1"}))


def pod(image: str | None) -> Object:
    demand = Demand(image=image)
    part = manifests.parts(OPTIONS, OWNERSHIP, "a-1", [Role.CLIENT], demand)[Role.CLIENT]
    made = manifests.job(OPTIONS, OWNERSHIP, "a-1", part, demand)
    return dict(made["spec"]["template"]["spec"])


@pytest.mark.parametrize("image", [None, "mine/tools:1"])
def test_a_pod_of_the_tool_image_is_brought_nothing(image: str | None) -> None:
    made = pod(image)
    assert "initContainers" not in made
    assert made["containers"][0]["command"][0] == "sh"


def test_a_pod_of_another_image_gets_a_shell_and_stays_of_that_image() -> None:
    made = pod("fortio/fortio:1.40.0")
    (bringer,), (role,) = made["initContainers"], made["containers"]
    assert (bringer["image"], role["image"]) == ("mine/tools:1", "fortio/fortio:1.40.0")
    assert role["command"][0] == f"{manifests.BROUGHT}/sh"
    assert bringer["resources"] == role["resources"], "or the pod would not be guaranteed"
    shared = {mount["name"] for mount in bringer["volumeMounts"]}
    assert shared == {"state"} <= {mount["name"] for mount in role["volumeMounts"]}
    assert bringer["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("busybox") is None, reason="needs root and busybox-static"
)
def test_in_an_image_with_nothing_the_agent_has_its_programs(tmp_path: Path) -> None:
    busybox = Path(str(shutil.which("busybox"))).resolve()
    if subprocess.run(["ldd", busybox], capture_output=True, check=False).returncode == 0:
        pytest.skip("needs busybox-static: this busybox loads libraries")
    tools, scratch = tmp_path / "tools", tmp_path / "scratch"
    kept = tools / manifests.KEPT[1:]
    kept.mkdir(parents=True)
    (tools / "bin").mkdir()
    shutil.copy(busybox, kept)
    for name in ("sh", "mkdir", "cp", "ln"):
        (tools / "bin" / name).symlink_to(f"{manifests.KEPT}/busybox")
    chroot = str(shutil.which("chroot", path=f"{os.environ['PATH']}:/usr/sbin"))
    subprocess.run([chroot, tools, "/bin/sh", "-c", manifests.BRING], check=True)

    brought = manifests.BROUGHT[1:]
    shutil.copytree(tools / brought, scratch / brought, symlinks=True)
    shell = f"{manifests.BROUGHT}/sh"
    asked = "printf eA== | base64 -d; setsid sh -c 'head -c 1 <<e\ny\ne'; echo; date +%s"
    done = subprocess.run(
        [chroot, scratch, shell, "-c", manifests.extend_path(shell) + asked],
        capture_output=True,
        env={},
        check=True,
    )
    assert done.stdout.split()[0] == b"xy", done.stderr
    assert done.stdout.split()[1].isdigit()


def test_a_clock_that_nobody_could_read_is_unknown() -> None:
    assert {fact.value for fact in clock_facts(0.0, math.inf)} == {None}


def test_a_tool_image_without_it_says_what_to_do(tmp_path: Path) -> None:
    script = manifests.BRING.replace(manifests.BROUGHT, str(tmp_path / "bin")).replace(
        manifests.KEPT, str(tmp_path / "none")
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "build it anew with benchspec images build" in done.stderr


@pytest.mark.parametrize(
    ("told", "remedy"),
    [
        ("failed to authorize: unexpected status: 401 Unauthorized", "image_pull_secrets"),
        ("ghcr.io/a/b:1: not found", "correct its name"),
        ("unexpected status from HEAD request: 404 Not Found", "correct its name"),
        ("unexpected status: 500 Internal Server Error", "wrong with the registry"),
        ("no match for platform in manifest: not found", "--platform"),
        ("dial tcp: i/o timeout", "that the nodes can pull"),
    ],
)
def test_what_a_registry_answers_has_its_own_remedy(told: str, remedy: str) -> None:
    assert remedy in pull_remedy(told)
