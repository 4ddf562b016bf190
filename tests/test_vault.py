"""The Vault choreography as it is written: what its steps would make is what the spec claims. Its
whole run is tests/vault_whole.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchspec.engine.language.load import load_spec
from benchspec.engine.lifecycle.outputs import fill_value
from benchspec.engine.lifecycle.step.objects import read_objects
from tests.cluster import sharing, vault
from tests.engine.execution.bench import run_cli

SPEC = Path(__file__).resolve().parents[1] / "specs" / "testbed" / "vault.yaml"
FOLDER = SPEC.parent / "vault"
OUTPUTS = {"configuration.hcl": "ui = false", "address.service": "vault-active"}


def objects(name: str) -> dict[tuple[str, str], Any]:
    """A manifest's objects by kind and name, with the outputs put in."""
    found = [
        fill_value(one, OUTPUTS.__getitem__) for one in read_objects((FOLDER / name).read_bytes())
    ]
    return {
        (one["kind"], one["metadata"]["name"]): one
        for one in found
        if isinstance(one, dict) and isinstance(one["metadata"], dict)
    }


def configuration(replicas: int) -> str:
    """What the step prints."""
    env = {"PATH": os.environ["PATH"], "REPLICAS": str(replicas)}
    return subprocess.run(
        ["sh", FOLDER / "configuration.sh"], env=env, capture_output=True, text=True, check=True
    ).stdout


def test_every_server_has_a_node_of_its_own_and_the_load_another() -> None:
    pod = objects("vault.yaml")["StatefulSet", "vault"]["spec"]["template"]
    (term,) = pod["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"]["matchLabels"] == pod["metadata"]["labels"]
    assert pod["spec"]["nodeSelector"] == {"bench": "vault"}
    for target in load_spec(SPEC).spec.targets:
        roles: Any = target.sites["client"].options["roles"]
        assert roles["client"]["node_selector"] == {"bench": "load"}


def test_every_step_of_a_target_means_the_same_number_of_servers() -> None:
    document = yaml.safe_load(SPEC.read_text())
    for name, replicas in (("one", 1), ("three", 3)):
        (component,) = document["targets"][name]["components"]
        steps = {
            step["name"]: step
            for step in (*component["lifecycle"]["bootstrap"], *component["lifecycle"]["ready"])
        }
        assert [
            steps[step]["env"]["REPLICAS"] for step in ("configuration", "unseal", "placement")
        ] == [str(replicas)] * 3
        assert steps["replicas"]["run"][-1] == f"--replicas={replicas}"
        assert steps["unsealed"]["wait"]["condition"].endswith(f"={replicas}")
        assert steps["transit"]["env"]["VERSION"] == component["version"] == vault.VERSION
    assert (
        objects("vault.yaml")["StatefulSet", "vault"]["spec"]["template"]["spec"]["containers"][0][
            "image"
        ]
        == vault.IMAGE
    )


def test_the_configuration_is_raft_with_tls_among_as_many_servers() -> None:
    for replicas in (1, 3):
        text = configuration(replicas)
        assert re.findall(r'leader_api_addr +=\s"(.*)"', text) == [
            f"https://vault-{n}.vault-internal:8200" for n in range(replicas)
        ]
        assert text.count("{") == text.count("}")
        assert 'storage "raft"' in text
        assert 'tls_min_version = "tls13"' in text
        assert "tls_disable" not in text
    probe = objects("vault.yaml")["StatefulSet", "vault"]["spec"]["template"]["spec"]["containers"][
        0
    ]["readinessProbe"]["httpGet"]
    assert probe["scheme"] == "HTTPS"


KUBECTL = r"""#!/bin/sh
# A cluster of two files, whose Secret cannot be patched at all, or not the first times; every call is told by its arguments.
echo "$*" >>calls
case "$*" in
  "get secret vault-init --output=json") if test -s kept; then jq '{data: .stringData}' kept; else echo '{}'; fi ;;
  "get secret "*) jq -j '.stringData["unseal-keys"]' kept | base64 ;;
  *--dry-run=server) cat >/dev/null; test ! -e sealed-off ;;
  "patch secret "*) test "$(grep -c '^patch' calls)" -gt "$FAILING" && cat >kept ;;
  *"operator init"*) echo '{"root_token": "canary-token", "unseal_keys_b64": ["canary-1", "canary-2", "canary-3", "canary-4", "canary-5"]}' ;;
  *"write sys/unseal"*) cat >>given ;;
  *"vault status") test -s given ;;
esac
"""


def unseal(folder: Path) -> subprocess.CompletedProcess[str]:
    """The step, on such a cluster, which does not take the first two patches that count."""
    (folder / "kubectl").write_text(KUBECTL)
    (folder / "kubectl").chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "REPLICAS": "1", "FAILING": "3"}
    return subprocess.run(
        ["sh", FOLDER / "unseal.sh"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_keys_of_a_vault_that_is_initialised_are_kept_though_the_secret_takes_them_late(
    tmp_path: Path,
) -> None:
    if shutil.which("jq") is None:
        pytest.skip("the step needs jq: run tests/setup")
    done = unseal(tmp_path)
    assert (done.returncode, done.stdout) == (0, "vault-0 is unsealed\n"), done.stderr
    kept = json.loads((tmp_path / "kept").read_text())["stringData"]
    assert kept == {"root-token": "canary-token\n", "unseal-keys": "canary-1\ncanary-2\ncanary-3\n"}
    assert (tmp_path / "given").read_text() == "canary-1canary-2canary-3"
    assert "canary" not in done.stdout + done.stderr + (tmp_path / "calls").read_text()
    assert (tmp_path / "calls").read_text().count("operator init") == 1


def test_a_vault_whose_keys_could_not_be_kept_is_not_initialised(tmp_path: Path) -> None:
    (tmp_path / "sealed-off").touch()
    assert unseal(tmp_path).returncode != 0
    assert "operator init" not in (tmp_path / "calls").read_text()


def test_no_secret_is_in_what_is_planned_and_rendered(tmp_path: Path) -> None:
    secrets = objects("secrets.yaml")
    assert set(secrets) == {("Secret", name) for name in ("vault-tls", "vault-init", "vault-load")}
    assert all(set(one) == {"apiVersion", "kind", "metadata"} for one in secrets.values())
    done = run_cli("plan", str(SPEC), "--render", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    rendered = {path: path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert any(
        '"secretName": "vault-load"' in text or "secretName: vault-load" in text
        for text in rendered.values()
    )
    for path, text in rendered.items():
        assert not re.search(r"hvs\.|X-Vault-Token|BEGIN .*KEY|vault-init", text), path


def test_a_cluster_takes_the_manifests(tmp_path: Path) -> None:
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    made = [
        one
        for name in ("secrets.yaml", "vault.yaml", "proxy.yaml")
        for one in objects(name).values()
    ]
    (tmp_path / "made.yaml").write_text(yaml.safe_dump_all(made))
    with sharing.alone() as cluster:
        told = cluster.kubectl(
            "apply", "--dry-run=server", "--validate=strict", f"--filename={tmp_path / 'made.yaml'}"
        )
    assert len(told.splitlines()) == len(made) == 12, told
