"""The real program, verb by verb: what it prints, where, and its exit codes."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from benchspec.api.shipped import template_names
from benchspec.cli.app import VERBS, module_of
from benchspec.engine.store.journal import Journal
from tests.engine.execution.bench import (
    environment,
    execute,
    make_run,
    run_cli,
    spec_document,
    write_spec,
)

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "specs" / "quickstart.yaml"
HEAVY = ("kubernetes", "paramiko", "numpy", "scipy", "jsonschema", "jinja2", "rich", "yaml")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 5 sessions with two targets."""
    folder = tmp_path_factory.mktemp("finished")
    document = spec_document(folder / "counter", method={"sessions": 5, "trials": 1, "warmups": 0})
    path = make_run(folder, document).path
    execute(path)
    return path


def test_help_lists_every_verb_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from benchspec.cli import run_line; code = run_line(['--help']);"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    assert all(f"  {verb} " in done.stdout for verb in VERBS)
    assert "Exit codes: 0 ok" in done.stdout
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_short_help_that_the_list_shows(verb: str) -> None:
    command = importlib.import_module(module_of(verb)).command
    assert command.short_help == VERBS[verb]
    assert command.help
    assert all(
        parameter.help for parameter in command.params if isinstance(parameter, click.Option)
    ), "every option is explained"


def test_version_and_unknown_commands() -> None:
    assert run_cli("--version").stdout.startswith("benchspec, version ")
    done = run_cli("vaildate")
    assert done.returncode == 2
    assert "Did you mean 'validate'?" in done.stderr
    assert "benchspec --help" in run_cli("xyzzy").stderr


def test_validate_prints_every_problem_with_its_line_and_exits_2(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        QUICKSTART.read_text()
        .replace("sessions: 10", "sesions: 10")
        .replace("baseline: one-cpu", "baseline: one-cup")
    )
    done = run_cli("validate", str(path))
    assert done.returncode == 2
    assert "did you mean" in done.stdout
    assert "sesions" in done.stdout
    assert "one-cup" in done.stdout
    found = json.loads(run_cli("validate", "--format", "json", str(path)).stdout)
    assert found
    assert run_cli("validate", "--format", "github", str(path)).stdout.startswith("::error file=")
    assert run_cli("validate", str(QUICKSTART)).returncode == 0
    assert run_cli("validate", str(tmp_path / "none.yaml")).returncode == 2


def test_plan_prints_text_and_json_and_renders(tmp_path: Path) -> None:
    text = run_cli("plan", str(QUICKSTART))
    assert text.returncode == 0
    assert "Time: about" in text.stdout
    plan = json.loads(run_cli("plan", str(QUICKSTART), "--json", "--seed", "9").stdout)
    assert len(plan["experiments"]) == 6
    assert plan["seed"] == 9
    assert run_cli("plan", str(QUICKSTART), "--render", str(tmp_path / "out")).returncode == 0
    scripts = [p.read_text() for p in (tmp_path / "out").rglob("*.sh")]
    assert any("taskset --cpu-list 1 iperf3 -s" in script for script in scripts)
    assert (
        run_cli(
            "plan",
            str(ROOT / "specs" / "constellation-azure.yaml"),
            "--render",
            str(tmp_path / "azure"),
        ).returncode
        == 0
    )
    jobs = [json.loads(path.read_text()) for path in (tmp_path / "azure").rglob("client-job.json")]
    assert {job["kind"] for job in jobs} == {"Job"}
    assert (
        run_cli(
            "plan",
            str(ROOT / "specs" / "mesh-multicluster.yaml"),
            "--render",
            str(tmp_path / "mesh"),
        ).returncode
        == 0
    )
    clients = {
        path.parts[-3]: path.read_text() for path in (tmp_path / "mesh").rglob("client-1-client.sh")
    }  # the server is on another cluster
    assert "http://nginx.my-vl3-network:80" in clients["nsm-aws"]
    assert set(clients) == {
        f"{mesh}-{where}" for mesh in ("istio", "kuma", "nsm") for where in ("aws", "equinix")
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "target=nobody"], "nobody"),
        (["--set", "method.sesions=3"], "sesions"),
        (["--set", "method.sessions=many"], "many"),
        (["--max-experiments", "2"], "--max-experiments"),
    ],
)
def test_a_plan_that_cannot_be_made_is_exit_2_with_the_reason(
    arguments: list[str], words: str
) -> None:
    done = run_cli("plan", str(QUICKSTART), *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""


def test_init_writes_every_template_once(tmp_path: Path) -> None:
    assert run_cli("init", "--list").stdout.split() == template_names()
    for name in template_names():
        assert run_cli("init", name, "-o", str(tmp_path / f"{name}.yaml")).returncode == 0
        assert (
            (tmp_path / f"{name}.yaml").read_text().startswith("# yaml-language-server: $schema=")
        )
    again = run_cli("init", "-o", str(tmp_path / "quickstart.yaml"))
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    assert run_cli("init", "--force", "-o", str(tmp_path / "quickstart.yaml")).returncode == 0
    assert "did you mean 'quickstart'" in run_cli("init", "quikstart").stderr
    (tmp_path / "file").touch()
    assert run_cli("init", "-o", str(tmp_path / "file" / "x.yaml")).returncode == 4
    assert (
        run_cli("validate", *(str(p) for p in sorted(tmp_path.glob("*.yaml")))).returncode == 0
    ), "the files beside them are there"


def test_schema_prints_the_very_bytes() -> None:
    shipped = ROOT / "schemas"
    assert run_cli("schema").stdout == (shipped / "benchmark.schema.json").read_text()
    assert (
        run_cli("schema", "fio").stdout == (shipped / "workloads" / "fio.schema.json").read_text()
    )
    assert (
        run_cli("schema", "local").stdout == (shipped / "runners" / "local.schema.json").read_text()
    )
    assert {"benchmark", "fio", "local"} <= set(run_cli("schema", "--list").stdout.split())
    assert run_cli("schema", "no-such-kind").returncode == 2


def test_parse_prints_measurements_or_the_reason(tmp_path: Path) -> None:
    golden = next(
        p
        for p in sorted((ROOT / "tests" / "data" / "iperf3").glob("*.out"))
        if "ERROR" not in p.name
    )
    found = json.loads(run_cli("parse", "iperf3", str(golden), "--json").stdout)
    assert found["tool"] == "iperf3"
    assert {"metric", "value", "unit", "raw_unit", "labels"} == set(found["measurements"][0])
    assert "throughput\t" in run_cli("parse", "iperf3", str(golden)).stdout
    (tmp_path / "empty").write_bytes(b"")
    empty = run_cli("parse", "fio", str(tmp_path / "empty"), "--json")
    assert (empty.returncode, empty.stdout) == (4, "")
    assert run_cli("parse", "fioo", str(golden)).returncode == 2
    assert run_cli("parse", "fio", str(golden), "--with", "{").returncode == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    assert "_BENCHSPEC_COMPLETE" in run_cli("completion", shell).stdout


def test_run_ends_with_the_answer_and_links_to_both_pages(tmp_path: Path) -> None:
    spec = write_spec(
        tmp_path / "spec.yaml",
        spec_document(tmp_path / "counter", method={"sessions": 5, "trials": 1, "warmups": 0}),
    )
    done = run_cli(
        "run", str(spec), "--yes", "--out", str(tmp_path / "run"), "--set", "method.seed=3"
    )
    assert done.returncode == 0, done.stderr
    page = tmp_path / "run" / "report" / "page.md"
    lines = done.stdout.splitlines()
    assert lines[0] == "Counted"
    assert any(re.fullmatch(r"b +42\.50 .*none established.*", line) for line in lines)
    assert any(line.startswith("- ") and " session" in line for line in lines)
    assert lines[-2:] == [
        f"Markdown  {page.as_uri()}",
        f"HTML      {page.with_suffix('.html').as_uri()}",
    ]
    assert page.with_suffix(".html").read_text().startswith("<!DOCTYPE html>")
    text = page.read_text()
    assert "# Counted" in text
    assert all(
        (page.parent / part.split(")")[0]).is_file()
        for part in text.split("](")[1:]
        if part.startswith("figures/")
    )
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["overrides"] == ["method.seed=3"]
    assert "[10/10" in done.stderr


def test_run_prints_json_lines(tmp_path: Path) -> None:
    spec = write_spec(
        tmp_path / "spec.yaml",
        spec_document(tmp_path / "counter", method={"sessions": 1, "trials": 1, "warmups": 0}),
    )
    done = run_cli("run", str(spec), "--yes", "--out", str(tmp_path / "run"), "--json-lines")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "run.reported"
    assert Path(events[-1]["html"]).is_file()
    assert [row["target"] for row in events[-1]["rows"]] == ["a", "b"]
    assert [e["event"] for e in events].count("trial.finished") == 2
    assert all({"event", "at", "message"} <= e.keys() for e in events)


def test_commands_of_the_spec_are_shown_and_need_consent(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    spec = write_spec(tmp_path / "spec.yaml", spec_document(counter))
    done = run_cli("run", str(spec), "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "sh -c" in done.stderr
    assert "--yes" in done.stderr
    assert not counter.exists()
    assert not (tmp_path / "run").exists()


def test_a_cluster_that_is_not_there_is_told_with_its_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    asked = (
        "run",
        str(ROOT / "specs" / "constellation-azure.yaml"),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    done = run_cli(*asked)
    assert done.returncode == 4
    assert "registry.example/benchspec-tools:1, which stands for one of yours" in done.stderr
    assert "benchspec images build" in done.stderr
    done = run_cli(*asked, "--set", "vars.image=localhost/tools:1")
    assert done.returncode == 4
    assert "no cluster can be found with context aks" in done.stderr
    assert "what to do" in done.stderr


def test_what_this_version_cannot_run_is_refused_before_anything_is_created(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "counter")
    steps = [
        {"name": "x", "run": ["touch", str(tmp_path / "touched")]},
        {"name": "y", "wait": {"condition": "pod/x Ready"}},
    ]
    document["targets"]["a"]["lifecycle"] = {"bootstrap": steps}
    done = run_cli(
        "run",
        str(write_spec(tmp_path / "spec.yaml", document)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    assert done.returncode == 4
    assert "there is no cluster" in done.stderr
    assert not (tmp_path / "touched").exists()
    document = spec_document(
        tmp_path / "counter", targets={"a": {"runner": "local", "cpus": [4000]}}
    )
    document.pop("compare")
    done = run_cli(
        "run",
        str(write_spec(tmp_path / "cpus.yaml", document)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
    )
    assert done.returncode == 4
    assert "4000" in done.stderr


def test_a_locked_run_is_exit_6(finished_run: Path) -> None:
    with Journal(finished_run / "journal.ndjson"):
        done = run_cli("resume", str(finished_run), "--yes")
    assert done.returncode == 6


def test_report_renders_every_format_and_the_same_bytes_twice(
    finished_run: Path, tmp_path: Path
) -> None:
    for format_, name in (("markdown", "page.md"), ("html", "page.html")):
        outputs = []
        for attempt in ("first", "second"):
            out = tmp_path / format_ / attempt
            done = run_cli("report", str(finished_run), "--format", format_, "-o", str(out))
            assert done.stdout.strip() == str(out / name)
            outputs.append(
                {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}
            )
        assert outputs[0] == outputs[1]
    assert (
        json.loads(run_cli("report", str(finished_run), "--format", "json").stdout)["baseline"]
        == "a"
    )
    assert run_cli("report", str(finished_run), "--format", "csv").stdout.startswith(
        "trial,session,"
    )
    assert run_cli("report", str(tmp_path)).returncode == 2


def test_report_shows_the_answer_unless_a_format_is_asked_for(finished_run: Path) -> None:
    page = finished_run / "report" / "page.md"
    shown = run_cli("report", str(finished_run)).stdout
    assert shown.endswith(f"HTML      {page.with_suffix('.html').as_uri()}\n")
    assert "target  value" in shown
    assert run_cli("report", str(finished_run), "--quiet").stdout == f"{page}\n"


def test_docs_pages_are_refreshed_and_checked(finished_run: Path, tmp_path: Path) -> None:
    page = tmp_path / "counted.md"
    for _ in range(2):
        assert run_cli("report", str(finished_run), "--docs", str(tmp_path)).stdout.strip() == str(
            page
        )
    assert run_cli("check-docs", str(page)).returncode == 0
    assert (
        run_cli("check-docs", str(page), "--spec", str(finished_run / "spec.yaml")).returncode == 0
    )
    stale = run_cli("check-docs", str(page), "--spec", str(QUICKSTART))
    assert (stale.returncode, "another version of the spec" in stale.stdout) == (9, True)
    page.write_text(page.read_text().replace("42", "43"))
    assert run_cli("check-docs", str(page)).returncode == 9


def test_compare_judges_runs_and_baselines(finished_run: Path) -> None:
    turned = run_cli("compare", str(finished_run), "--baseline", "b")
    assert turned.returncode == 0
    assert "on b" in turned.stdout or "and b" in turned.stdout
    both = run_cli("compare", str(finished_run), str(finished_run))
    assert both.returncode == 0
    assert "(after)" in both.stdout
    page = finished_run / "report" / f"against-{finished_run.name}" / "a" / "page.md"
    assert f"Markdown  {page.as_uri()}" in both.stdout
    assert "(after)" in page.read_text()
    found = json.loads(run_cli("compare", str(finished_run), str(finished_run), "--json").stdout)
    assert set(found["comparisons"]) == {"a", "b"}
    assert (
        run_cli("compare", str(finished_run), str(finished_run), "--require-verdict").returncode
        == 8
    )
    assert run_cli("compare", str(finished_run)).returncode == 2
    assert run_cli("compare", str(finished_run), "--baseline", "nobody").returncode == 2


def test_runs_that_differ_in_a_fact_that_must_match_are_exit_7(tmp_path: Path) -> None:
    paths = []
    for name, declared in (("one", 1500), ("two", 9000)):
        method = {"sessions": 5, "trials": 1, "warmups": 0}
        document = spec_document(
            tmp_path / f"counter-{name}",
            method=method,
            compare={"baseline": "a", "must_match": ["cni.mtu"]},
        )
        for target in document["targets"].values():
            target["facts"] = {"cni.mtu": declared}
        paths.append(make_run(tmp_path, document, name).path)
        execute(paths[-1])
    done = run_cli("compare", *map(str, paths))
    assert done.returncode == 7
    assert "cni.mtu" in done.stderr


def test_doctor_tells_what_is_there_and_what_is_missing(tmp_path: Path) -> None:
    done = run_cli("doctor", "--json")
    assert done.returncode == 0, done.stderr
    assert {tool["executable"] for tool in json.loads(done.stdout)["tools"]} >= {
        "fio",
        "iperf3",
        "openssl",
    }
    document = spec_document(tmp_path / "counter")
    document["workloads"]["count"]["with"]["run"] = ["no-such-program-x"]
    missing = run_cli("doctor", str(write_spec(tmp_path / "spec.yaml", document)))
    assert missing.returncode == 4
    assert "no-such-program-x" in missing.stdout
    assert "missing" in missing.stdout
    as_set = run_cli(
        "doctor", str(tmp_path / "spec.yaml"), "--set", "workloads.count.with.run=[sh]"
    )
    assert as_set.returncode == 0, as_set.stdout


def test_doctor_executes_nothing_that_the_spec_names_unless_told(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\necho tool 1.2.3\n")
    program.chmod(0o755)
    document = spec_document(tmp_path / "counter")
    document["workloads"]["count"]["with"] |= {
        "run": [str(program)],
        "version": ["tool", "-V"],
        "env": {"A": "b c"},
        "files": {"f": ""},
    }
    spec = write_spec(tmp_path / "spec.yaml", document)
    done = run_cli("doctor", str(spec))
    assert str(program) in done.stdout
    assert not (tmp_path / "executed").exists()
    shown = run_cli("run", str(spec)).stderr
    assert f"a: A='b c' {program}  (beside the spec's files f)" in shown
    assert f"a: {program} -V  (for its version)" in shown
    assert not (tmp_path / "executed").exists()
    assert "1.2.3" in run_cli("doctor", str(spec), "--yes").stdout
    assert (tmp_path / "executed").exists()


def test_diff_shows_meaning_only(tmp_path: Path) -> None:
    changed = tmp_path / "changed.yaml"
    changed.write_text(
        "# a comment\n" + QUICKSTART.read_text().replace("duration: 1 s", "duration: 2 s")
    )
    text = run_cli("diff", str(QUICKSTART), str(changed))
    assert text.returncode == 0
    assert "duration" in text.stdout
    assert json.loads(run_cli("diff", str(QUICKSTART), str(changed), "--json").stdout)


def test_clean_proves_that_nothing_is_left(finished_run: Path) -> None:
    done = run_cli("clean", str(finished_run))
    assert done.returncode == 0
    assert "nothing of this run is left" in done.stdout


def test_a_reader_that_goes_away_is_no_error(finished_run: Path) -> None:
    command = f"{sys.executable} -m benchspec.cli report {finished_run} --format csv | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.stderr == ""


def test_the_specs_own_template_and_folder_are_used(tmp_path: Path) -> None:
    (tmp_path / "page.md.j2").write_text("# Mine: {{ view.title }}\n")
    report = {"template": "page.md.j2", "docs": "pages"}
    document = spec_document(
        tmp_path / "counter", method={"sessions": 5, "trials": 1, "warmups": 0}, report=report
    )
    done = run_cli(
        "run",
        str(write_spec(tmp_path / "spec.yaml", document)),
        "--yes",
        "--out",
        str(tmp_path / "run"),
        "--quiet",
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).read_text() == "# Mine: Counted\n"
    (tmp_path / "page.md.j2").unlink()
    assert run_cli("report", str(tmp_path / "run")).returncode == 0, (
        "the run keeps the template it was made with"
    )
    done = run_cli("report", str(tmp_path / "run"), "--publish", cwd=tmp_path)
    assert done.stdout.strip() == "pages/counted.md", done.stderr
    (tmp_path / "bad.j2").write_text("{{ view.no_such_thing }}")
    bad = run_cli("report", str(tmp_path / "run"), "--template", str(tmp_path / "bad.j2"))
    assert bad.returncode == 2
    assert "bad.j2:1" in bad.stderr
