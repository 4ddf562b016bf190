"""Specs validated, planned, compared, started from and explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import benchspec
from benchspec.api.shipped import schema_kinds, template_names
from benchspec.engine.model.errors import ParseError, SpecError, UsageError
from tests.engine.execution.bench import Recorder, spec_document, write_spec

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "specs" / "quickstart.yaml"


def test_a_spec_is_validated_with_every_problem(tmp_path: Path) -> None:
    assert benchspec.validate(QUICKSTART) == ()
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(QUICKSTART.read_text().replace("sessions: 10", "sesions: 10"))
    assert any("sesions" in str(found) for found in benchspec.validate(str(wrong)))
    with pytest.raises(SpecError):
        benchspec.plan(wrong)


def test_a_plan_has_experiments_order_and_files(tmp_path: Path) -> None:
    planned = benchspec.plan(QUICKSTART, seed=9, overrides=["method.sessions=3"])
    assert planned.to_json()["seed"] == 9
    assert len(planned.plan.order) == 3 * len(planned.plan.experiments)
    assert planned.targets == ("one-cpu", "two-cpus")
    assert list(planned.steps()) == []
    count = benchspec.render_plan(planned, tmp_path)
    assert count == sum(path.is_file() for path in tmp_path.rglob("*")) > 0
    with pytest.raises(UsageError, match="nobody"):
        benchspec.plan(QUICKSTART, only=["target=nobody"])


def test_specs_are_compared_by_meaning(tmp_path: Path) -> None:
    changed = tmp_path / "changed.yaml"
    changed.write_text("# a comment\n" + QUICKSTART.read_text())
    assert benchspec.diff(QUICKSTART, changed).changes == ()
    changed.write_text(QUICKSTART.read_text().replace("duration: 1 s", "duration: 2 s"))
    assert benchspec.diff(QUICKSTART, changed).changes
    assert benchspec.migrate(changed) == "benchspec/v1"


def test_templates_are_written_once(tmp_path: Path) -> None:
    assert "quickstart" in template_names()
    watching = Recorder()
    (path,) = benchspec.init(out=tmp_path / "s.yaml", observer=watching)
    assert [event.message for event in watching.events] == [str(path)]
    assert path.read_bytes() == QUICKSTART.read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        benchspec.init(out=path)
    assert benchspec.init(out=path, force=True) == (path,)
    with pytest.raises(UsageError, match="no template"):
        benchspec.init("quikstart")


def test_schemas_rights_and_explanations_are_given() -> None:
    assert json.loads(benchspec.schema("fio"))["$schema"]
    assert "fio" in schema_kinds()
    kinds = [part["kind"] for part in yaml.safe_load_all(benchspec.rbac(facts=False))]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding"]
    assert benchspec.explain("exit-5").startswith("exit-5: ")
    with pytest.raises(UsageError, match="there is no code"):
        benchspec.explain("BS999")


def test_raw_output_is_parsed() -> None:
    output = ROOT / "tests" / "data" / "iperf3" / "tcp-1-stream.out"
    names = [path for path in sorted(output.parent.glob("*.out")) if "ERROR" not in path.name]
    assert benchspec.parse("iperf3", names[0].read_bytes())[0].unit
    with pytest.raises(ParseError):
        benchspec.parse("fio", b"")


def test_imported_results_are_a_run(tmp_path: Path) -> None:
    data = ROOT / "tests" / "data" / "knb"
    files = [("plain", data / "whole.json"), ("vpn", data / "failed-test.json")]
    imported = benchspec.import_("knb", files, out=tmp_path / "run")
    assert imported.directory == tmp_path / "run"
    assert {file for file, _ in imported.failures} == {"failed-test.json"}
    assert {row["target"] for row in benchspec.load(imported.directory).trials.rows()} == {
        "plain",
        "vpn",
    }
    with pytest.raises(UsageError, match="imported results"):
        benchspec.resume(imported.directory)


def test_doctor_tells_what_is_missing(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "counter")
    document["workloads"]["count"]["with"]["run"] = ["no-such-program-x"]
    spec = write_spec(tmp_path / "s.yaml", document)
    found = benchspec.doctor(spec)
    assert not found.is_ready
    assert len(found.missing) == 1
    assert [status.path for host in found.hosts for status, _ in host.tools] == [None]
    assert benchspec.doctor(spec, overrides=["workloads.count.with.run=[sh]"]).missing == ()
