"""A kubeconfig that a spec brings names a cluster and starts nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.language.load import load_spec
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Site
from benchspec.runners.kubernetes.client.kubeconfig import MOST_BYTES, require_passive
from benchspec.runners.kubernetes.runner import KubernetesRunner
from tests.engine.execution.bench import run_cli, write_spec


def kubeconfig(user: dict[str, Any]) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
    )


RUNNER = {"kind": "kubernetes", "image": "registry.invalid/tools:1", "namespace": "bench"}


def plugin(witness: Path) -> dict[str, Any]:
    """A credential plug-in that leaves a witness that it was started."""
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "sh",
            "args": ["-c", f"id > {witness}; exit 1"],
            "interactiveMode": "Never",
        }
    }


def spec(folder: Path, **options: Any) -> Path:
    return write_spec(
        folder / "spec.yaml",
        {
            "apiVersion": "benchspec/v1",
            "kind": "Benchmark",
            "name": "kube",
            "title": "Kube",
            "targets": {"a": {"runner": RUNNER | options}},
            "workloads": {"speed": {"tool": "openssl-speed", "with": {"algorithm": "aes-256-gcm"}}},
            "method": {"sessions": 1, "trials": 1},
        },
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec's folder, and a home without a kubeconfig."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "spec").mkdir()
    return tmp_path / "spec"


@pytest.mark.parametrize("verb", ["doctor", "run"])
def test_a_credential_plug_in_beside_a_spec_is_never_started(verb: str, folder: Path) -> None:
    witness = folder / "started"
    (folder / "kube.conf").write_text(kubeconfig(plugin(witness)))
    ended = run_cli(
        verb,
        str(spec(folder, kubeconfig="kube.conf")),
        *(["--yes", f"--out={folder}/run"] if verb == "run" else []),
    )
    assert ended.returncode != 0
    assert "exec, a program that would be started" in ended.stdout + ended.stderr
    assert "`context`" in ended.stdout + ended.stderr
    assert not witness.exists()


@pytest.mark.parametrize("key", ["exec", "auth-provider", "tokenFile"])
def test_what_starts_a_program_or_sends_a_file_is_refused(key: str, folder: Path) -> None:
    path = folder / "kube.conf"
    path.write_text(kubeconfig({key: "/etc/hostname"}))
    with pytest.raises(RunFailed, match=key):
        require_passive(str(path), "site a")
    site = Site(name="a", runner="kubernetes", options={"kubeconfig": str(path)})
    with pytest.raises(RunFailed, match=key):  # for kubectl and helm, too
        KubernetesRunner().steering(site, str(folder))


def test_tokens_and_certificates_are_data(folder: Path) -> None:
    path = folder / "kube.conf"
    path.write_text(kubeconfig({"token": "t", "client-certificate-data": "AAAA"}))
    require_passive(str(path), "site a")


@pytest.mark.parametrize("how", ["variable", "home", "link"])
def test_the_users_own_kubeconfig_may_have_a_plug_in(
    how: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = folder.parent / "home" / ".kube" / "config"
    if how == "variable":
        own = folder.parent / "own.conf"
        monkeypatch.setenv("KUBECONFIG", f"/nowhere:{own}")
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(kubeconfig(plugin(folder / "started")))
    named = own
    if how == "link":
        named = folder / "kube.conf"
        named.symlink_to(own)
    require_passive(str(named), "site a")


def test_what_is_no_kubeconfig_is_refused(folder: Path) -> None:
    path = folder / "kube.conf"
    path.write_text(" " * (MOST_BYTES + 1))
    with pytest.raises(RunFailed, match="larger"):
        require_passive(str(path), "site a")
    path.write_text("{")
    with pytest.raises(RunFailed, match="not YAML"):
        require_passive(str(path), "site a")
    with pytest.raises(RunFailed, match="no regular file"):
        require_passive("/dev/zero", "site a")


def test_a_relative_kubeconfig_lies_beside_the_spec(folder: Path) -> None:
    loaded = load_spec(spec(folder, kubeconfig="kube.conf")).spec
    assert loaded.targets[0].sites["client"].options["kubeconfig"] == str(folder / "kube.conf")
