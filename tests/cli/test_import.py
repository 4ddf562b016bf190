"""`benchspec import`: what knb and kubestr measured becomes a run that reports and comparisons work
on, and says whose it is.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.engine.execution.bench import run_cli
from tests.engine.importing.test_kubestr import CLASS, wrapped

ROOT = Path(__file__).parents[2]
KNB = (ROOT / "tests" / "data" / "knb" / "whole.json").read_text()
FAILED = ROOT / "tests" / "data" / "knb" / "failed-test.json"


def knb_files(folder: Path, target: str, rates: range) -> list[str]:
    found = []
    for rate in rates:
        path = folder / f"{target}-{rate}.json"
        path.write_text(KNB.replace('"bandwidth": 2500', f'"bandwidth": {rate}'))
        found.append(f"{target}={path}")
    return found


def test_repeated_knb_runs_are_compared_and_the_page_says_who_measured(tmp_path: Path) -> None:
    out = tmp_path / "run"
    files = [
        *knb_files(tmp_path, "plain", range(2500, 2506)),
        *knb_files(tmp_path, "vpn", range(2000, 2006)),
    ]
    done = run_cli("import", "knb", *files, "--out", str(out))
    assert (done.returncode, done.stdout.strip()) == (0, str(out))
    run = read_run(out)
    assert run.complete
    assert {trial.measurements[0].value for trial in run.trials} >= {
        1.2e9,
        1.25e9,
        2.4e9,
        2.0e9,
        2.505e9,
    }
    assert len(run.trials) == 2 * 6 * 4
    assert run.facts[0].value("path.mtu") == 1440
    manifest = json.loads((out / "manifest.json").read_text())
    assert [one["target"] for one in manifest["imported"]["files"]] == ["plain"] * 6 + ["vpn"] * 6
    assert not list(
        Draft202012Validator(
            json.loads((ROOT / "schemas" / "run" / "manifest.schema.json").read_text())
        ).iter_errors(manifest)
    )
    assert run_cli("report", str(out)).returncode == 0
    page = (out / "report" / "page.md").read_text()
    assert "**Imported: knb 1.5.0 measured this, not benchspec." in page
    assert "F606" in page
    assert "everything fresh" not in page
    said = run_cli("compare", str(out), "--baseline", "vpn", "--require-verdict").stdout
    assert "higher" in said


def test_one_file_each_carries_no_verdict(tmp_path: Path) -> None:
    files = [
        *knb_files(tmp_path, "a", range(2500, 2501)),
        *knb_files(tmp_path, "b", range(2000, 2001)),
    ]
    run_cli("import", "knb", *files, "--out", str(tmp_path / "run"))
    done = run_cli("compare", str(tmp_path / "run"), "--baseline", "a")
    assert "No verdict on b against a" in done.stdout
    assert "too few" in done.stdout


def test_a_failed_test_is_a_failed_trial_and_told(tmp_path: Path) -> None:
    done = run_cli("import", "knb", f"a={FAILED}", "--out", str(tmp_path / "run"))
    assert "pod-to-pod tcp: knb has no bandwidth" in done.stderr
    run = read_run(tmp_path / "run")
    assert sorted(trial.status for trial in run.trials) == [TrialStatus.FAILED, TrialStatus.VALID]
    assert all(trial.measurements or trial.error for trial in run.trials)


def test_kubestr_is_one_experiment_with_its_job_file_and_class(tmp_path: Path) -> None:
    document = json.loads((ROOT / "tests" / "data" / "fio" / "preset-kubestr.out").read_bytes())
    (tmp_path / "k.json").write_bytes(
        wrapped(
            size="2Gi",
            storageClass=CLASS,
            fioConfig="[read_iops]\nrw=randread\nsize=1m\n",
            result=document,
        )
    )
    out = tmp_path / "run"
    assert (
        run_cli("import", "kubestr", f"aks={tmp_path / 'k.json'}", "--out", str(out)).returncode
        == 0
    )
    run = read_run(out)
    (experiment,), (trial,) = run.experiments, run.trials
    assert (experiment.tool, experiment.primary) == ("fio", "iops.read{job=read_iops}")
    assert experiment.parameters["job_text"] == "[read_iops]\nrw=randread\nsize=1m\n"
    assert trial.started_at == document["timestamp"]
    assert {fact.name: fact.value for fact in run.facts[0].facts}["storage.class"] == "fast"
    assert (out / trial.raw[0].path).read_bytes() == (tmp_path / "k.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("knb", "a=/no/such/file"), 2, "expected TARGET=FILE"),
        (("knb", f"a={ROOT / 'LICENSE'}"), 4, "LICENSE"),
        (("kubestr", f"a={FAILED}"), 4, "that kubestr printed is cut or malformed"),
        (("knb", f"a={ROOT / 'tests/data/knb/idle-only.json'}"), 4, "only looked at idle nodes"),
        (
            ("knb", f"a={FAILED}", f"a={FAILED}"),
            2,
            "the same bytes in failed-test.json and failed-test.json",
        ),
        (("knb", f"a={FAILED}", "--name", "../out"), 2, "ends with a letter or digit"),
    ],
)
def test_what_cannot_be_imported_leaves_nothing(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run_cli("import", *arguments, "--out", str(tmp_path / "run"))
    assert done.returncode == code
    assert said in done.stderr
    assert not (tmp_path / "run").exists()


def test_nothing_of_it_is_resumed_or_cleaned(tmp_path: Path) -> None:
    run_cli(
        "import",
        "knb",
        *knb_files(tmp_path, "a", range(2500, 2501)),
        "--out",
        str(tmp_path / "run"),
    )
    resumed = run_cli("resume", str(tmp_path / "run"))
    assert (resumed.returncode, "imported results" in resumed.stderr) == (2, True)
    assert run_cli("clean", str(tmp_path / "run")).returncode == 0
