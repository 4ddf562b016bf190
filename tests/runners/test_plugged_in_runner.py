"""A fourth runner, from another distribution, installed into a folder of its own: no file of the
engine knows its kind.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchspec.engine.language.load import check_spec
from benchspec.engine.model import runner_traits, schema_files
from benchspec.engine.model.runner_traits import Nodes, RunnerTraits, read_traits, traits_of
from benchspec.engine.model.spec import Json

ROOT = Path(__file__).parents[2]
KIND = "local-copy"

MODULE = """
from benchspec.runners.local.runner import LocalRunner


class LocalCopy(LocalRunner):
    KIND = "local-copy"


RUNNER = LocalCopy()
"""
SCHEMA = {
    "type": "object",
    "required": ["kind"],
    "additionalProperties": False,
    "properties": {
        "kind": {"const": KIND},
        "workdir": {"type": "string"},
        "ttl": {"type": "string"},
    },
    "x-benchspec": {
        "nodes": "one",
        "ends_old_runs": True,
        "overhead_s": {"connect": 1000, "facts": 0, "allocation": 0, "trial": 0},
    },
}
BED = f"""
from dataclasses import replace

from benchspec.engine.model.spec import Site
from benchspec.runners.registry import get_runner
from tests.conformance import beds


def bed(directory, run_id):
    site = Site(name="here", runner="{KIND}")
    return replace(beds.local_bed(directory, run_id), runner=get_runner("{KIND}"), site=site)


beds.BEDS["{KIND}"] = bed
"""
SPEC = f"""\
apiVersion: benchspec/v1
kind: Benchmark
name: copied
title: On a runner of another package
targets:
  here: {{runner: {KIND}}}
  there: {{runner: {{kind: {KIND}}}}}
workloads:
  counter:
    tool: command
    with:
      run: [echo, "rate: 12"]
      extract:
        rate: {{regex: "rate: ([0-9.]+)", unit: 1/s, direction: higher}}
method: {{sessions: 5, trials: 1, warmups: 0}}
compare: {{baseline: here, equivalence: 5 %}}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder into which the distribution is installed."""
    folder = tmp_path / "site"
    package = folder / "benchspec_local_copy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(MODULE)
    (package / f"{KIND}.schema.json").write_text(json.dumps(SCHEMA))
    info = folder / "benchspec_local_copy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: benchspec-local-copy\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        f"[benchspec.runners]\n{KIND} = benchspec_local_copy:RUNNER\n"
    )
    return folder


def environment(site: Path, *more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), *more]),
        "XDG_STATE_HOME": str(site.parent / "state"),
    }


def benchspec(site: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchspec.cli", *arguments],
        env=environment(site),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_it_is_validated_planned_run_and_cleaned_by_the_command_line(
    site: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "copied.yaml"
    spec.write_text(SPEC)
    benchspec(site, "validate", str(spec), cwd=tmp_path)
    plan = json.loads(benchspec(site, "plan", str(spec), "--json", cwd=tmp_path))
    assert plan["estimate_s"] > 2000, "its own overheads: two connections of 1000 s"
    benchspec(site, "run", str(spec), "--yes", "--out", str(tmp_path / "run"), cwd=tmp_path)
    kinds = [json.loads(line)["type"] for line in (tmp_path / "run" / "journal.ndjson").open("rb")]
    assert kinds.count("trial.finished") == 10
    assert kinds[-1] == "run.finished"
    page = benchspec(site, "report", str(tmp_path / "run"), cwd=tmp_path)
    assert page
    benchspec(site, "clean", str(tmp_path / "run"), cwd=tmp_path)
    assert not list((tmp_path / "state").rglob("alloc*"))


def test_its_traits_are_known_without_importing_it(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(site))
    caches = (schema_files.known, schema_files.plugins, runner_traits.traits_of)
    for cache in caches:
        cache.cache_clear()
    try:
        assert traits_of(KIND).nodes is Nodes.ONE
        assert traits_of(KIND).ends_old_runs
        assert traits_of(KIND).overhead.connect_s == 1000
        spec = tmp_path / "spread.yaml"
        spec.write_text(SPEC.replace("tool: command", "tool: command\n    path: pod-to-pod"))
        (problem,) = [each for each in check_spec(spec) if each.code == "BS268"][:1]
        assert f"whose runner is {KIND}" in problem.found
        assert "benchspec_local_copy" not in sys.modules
    finally:
        for cache in caches:
            cache.cache_clear()


def test_the_conformance_suite_passes_on_it_with_its_text_unchanged(site: Path) -> None:
    (site / "local_copy_bed.py").write_text(BED)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "local_copy_bed", "-k", KIND),
            *("-p", "no:cacheprovider", "tests/conformance"),
        ],
        env=environment(site, str(ROOT)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 40
    assert "failed" not in done.stdout


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"nodes": "many"},
        {"nodes": 1, "ends_old_runs": "yes", "overhead_s": []},
        {"overhead_s": {"connect": "1 s", "facts": True, "trial": -1}},
    ],
)
def test_what_is_not_declared_or_declared_wrongly_promises_nothing(
    declared: dict[str, Json],
) -> None:
    assert read_traits(declared) == RunnerTraits()
    assert traits_of("no-such-runner") == RunnerTraits()


def test_the_engine_names_no_kind_of_runner() -> None:
    """But the controller's own, cluster tools' results, which are of clusters, and the words that
    people write for a kind.
    """
    allowed = {"model/contract/runner.py", "importing/import_run.py", "model/diagnostics.py"}
    kind = re.compile(r"""["'](local|ssh)["']|kind\w*["']?\]?\s*(==|:)\s*["']kubernetes["']""")
    named = {
        path.relative_to(ROOT / "engine").as_posix()
        for path in (ROOT / "engine").rglob("*.py")
        if kind.search(path.read_text(encoding="utf-8"))
    }
    assert named <= allowed
