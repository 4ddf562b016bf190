"""Charts of lifecycle steps: what Helm would be told, which files a run keeps, and what is refused.
With a real Helm: with_helm.py beside this.
"""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from benchspec.api.keeping import held
from benchspec.api.new_runs import make_directory
from benchspec.api.planning import plan
from benchspec.engine.lifecycle.chart_archive import pack
from benchspec.engine.lifecycle.kept_targets import kept_scripts
from benchspec.engine.lifecycle.spec_files import read_scripts
from benchspec.engine.lifecycle.step.places import releases_on
from benchspec.engine.model.contract.values import ChartUse
from benchspec.engine.model.errors import MissingTool
from benchspec.engine.model.spec import LoadedSpec, Site
from benchspec.runners.kubernetes.runner import KubernetesRunner
from benchspec.runners.registry import get_runner
from tests.engine.execution.bench import run_cli, write_spec

RUNNER = KubernetesRunner()
SITE = Site(name="here", runner="kubernetes", options={"namespace": "bench"})
CHART = Path(__file__).parents[2] / "data" / "echo-chart"


def use(**changed: Any) -> ChartUse:
    given = {"name": "vault", "repo": "https://helm.releases.hashicorp.com", "version": "0.25.0"}
    return ChartUse(
        **{
            "name": "install",
            "run_id": "r-1",
            "arguments": given,
            "timeout_s": 600,
            "values": "/w/values.yaml",
            **changed,
        }
    )


def test_helm_is_told_chart_version_namespace_values_and_whose_it_is() -> None:
    assert RUNNER.chart_words(SITE, use()) == (
        "helm",
        "upgrade",
        "--install",
        "--repo=https://helm.releases.hashicorp.com",
        "--version=0.25.0",
        "--namespace=bench",
        "--values=/w/values.yaml",
        "--labels=app.kubernetes.io/managed-by=benchspec,benchspec.dev/run=r-1",
        "--wait",
        "--timeout=570s",
        "--",
        "install",
        "vault",
    )
    assert "--wait" not in RUNNER.chart_words(
        SITE, use(arguments={**use().arguments, "wait": False})
    )
    removal = use(arguments={"release": "vault", "namespace": "other"}, removal=True)
    assert RUNNER.chart_words(SITE, removal) == (
        "helm",
        "uninstall",
        "--namespace=other",
        "--wait",
        "--timeout=570s",
        "--",
        "vault",
    )


def test_without_helm_that_is_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="no program 'helm'"):
        RUNNER.chart_command(SITE, use())


def spec(folder: Path, **chart: Any) -> Path:
    lifecycle = {"bootstrap": [{"name": "install", "chart": chart}]}
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "charts",
        "title": "Charts",
        "targets": {
            "pods": {
                "runner": {"kind": "kubernetes", "context": "none", "image": "none:1"},
                "lifecycle": lifecycle,
            }
        },
        "workloads": {"http": {"tool": "fortio", "with": {"duration": "1 s"}}},
        "method": {"sessions": 1, "trials": 1, "warmups": 1, "seed": 1},
    }
    return write_spec(folder / "spec.yaml", document)


def test_a_plan_shows_what_helm_will_be_told(tmp_path: Path) -> None:
    """Also its removal, for which no destroy step is needed, and the sums of files."""
    (tmp_path / "values.yaml").write_text("server: {}\n")
    path = spec(
        tmp_path,
        name="vault",
        repo="https://helm.releases.hashicorp.com",
        version="0.25.0",
        values="values.yaml",
    )
    assert run_cli("validate", str(path)).returncode == 0
    shown = run_cli("plan", str(path))
    assert shown.returncode == 0, shown.stderr
    assert (
        "helm upgrade --install --repo=https://helm.releases.hashicorp.com --version=0.25.0"
        in shown.stdout
    )
    assert "values.yaml (sha256 " in shown.stdout
    assert "destroy install.removal" in shown.stdout
    assert "helm uninstall --namespace=default" in shown.stdout


def test_a_release_is_looked_for_where_its_step_puts_it(tmp_path: Path) -> None:
    shutil.copytree(CHART, tmp_path / "echo")
    (target,) = loaded(
        spec(tmp_path, name="./echo", release="vault", namespace="away")
    ).spec.targets
    (site,) = {site.name for site in target.sites.values()}
    assert releases_on(target, site, get_runner) == (("away", "vault"),)
    assert releases_on(target, "elsewhere", get_runner) == ()
    (target,) = loaded(spec(tmp_path, name="./echo")).spec.targets
    assert releases_on(target, site, get_runner) == (("", "install"),)


def test_charts_without_version_or_from_elsewhere_are_refused(tmp_path: Path) -> None:
    outside = run_cli("validate", str(spec(tmp_path, name="./../echo")))
    assert "BS222" in outside.stderr + outside.stdout
    assert (
        run_cli("validate", str(spec(tmp_path, name="vault", version="1", removal=True))).returncode
        == 2
    )  # only benchspec's own steps remove
    refused = run_cli(
        "run",
        str(spec(tmp_path, name="vault", repo="https://helm.releases.hashicorp.com")),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    assert refused.returncode != 0
    assert "found a chart without version" in refused.stderr
    assert not (tmp_path / "run").exists()


def test_a_folder_is_packed_to_the_same_bytes_each_time(tmp_path: Path) -> None:
    packed = pack(CHART)
    assert pack(CHART) == packed
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert archive.getnames() == [
            "echo-chart/Chart.yaml",
            "echo-chart/templates/echo.yaml",
            "echo-chart/values.yaml",
        ]
    with pytest.raises(FileNotFoundError):
        pack(tmp_path)


def test_a_chart_takes_nothing_from_elsewhere_on_the_controller(tmp_path: Path) -> None:
    shutil.copytree(CHART, tmp_path / "echo")
    (tmp_path / "secret").write_text("of the controller")
    (tmp_path / "echo" / "taken").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="the link taken leads out of the chart"):
        pack(tmp_path / "echo")


def test_an_archive_is_taken_as_it_is_although_a_folder_is_called_so(tmp_path: Path) -> None:
    shutil.copytree(CHART, tmp_path / "echo")
    (tmp_path / "echo.tgz").write_bytes(b"an archive")
    assert read_scripts(loaded(spec(tmp_path, name="./echo.tgz"))) == {"echo.tgz": b"an archive"}
    assert read_scripts(loaded(spec(tmp_path, name="./echo/"))) == {
        "echo.tgz": pack(tmp_path / "echo")
    }


def test_what_a_run_keeps_of_a_chart_is_what_stands_is_held_against(tmp_path: Path) -> None:
    """So that a run on a target that was brought up with charts can be resumed."""
    shutil.copytree(CHART, tmp_path / "echo")
    (tmp_path / "own.yaml").write_text("replicas: 1\n")
    planned = plan(spec(tmp_path, name="./echo", values="own.yaml"))
    found, made = planned.loaded, planned.plan
    directory = make_directory(found, made, tmp_path / "run")
    assert kept_scripts(directory, found.spec.targets[0]) == {
        "echo.tgz": pack(tmp_path / "echo"),
        "own.yaml": b"replicas: 1\n",
    }
    up = make_directory(found, made, tmp_path / "up", purpose="up")
    with held(up, found.spec, planned.targets, directory) as adopted:
        assert adopted.run_id == up.run_id


def loaded(path: Path) -> LoadedSpec:
    return plan(path).loaded
