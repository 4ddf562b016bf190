"""What a spec does beyond measuring is asked for once, by list and digest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.execution.bench import count, run_cli, spec_document, write_spec

METHOD = {"sessions": 1, "trials": 1, "warmups": 0}


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec whose programs count themselves; nothing is remembered yet."""
    monkeypatch.chdir(tmp_path)
    return write_spec(tmp_path / "s.yaml", spec_document(tmp_path / "counter", method=METHOD))


def digest_of(spec: Path) -> str:
    told = run_cli("plan", str(spec), "--capabilities", "--json")
    found: dict[str, Any] = json.loads(told.stdout)
    assert {one["kind"] for one in found["capabilities"]} == {"executes"}
    return str(found["digest"])


def changed(spec: Path) -> None:
    spec.write_text(spec.read_text().replace("rate: 42.5", "rate: 43.5"))


def test_a_consent_is_bound_to_exactly_one_list(spec: Path, tmp_path: Path) -> None:
    digest = digest_of(spec)
    changed(spec)
    refused = run_cli("run", f"--yes={digest}", str(spec), "--out", "run")
    assert refused.returncode == 2
    new = digest_of(spec)
    assert new != digest
    assert f"found {new}, expected {digest}" in refused.stderr
    assert count(tmp_path / "counter") == 0
    assert not (tmp_path / "run").exists()
    done = run_cli("run", f"--yes={new}", str(spec), "--out", "run")
    assert done.returncode == 0, done.stderr
    assert count(tmp_path / "counter") == 2


def test_without_a_terminal_the_list_and_its_digest_are_told(spec: Path, tmp_path: Path) -> None:
    refused = run_cli("run", str(spec), "--out", "run")
    assert refused.returncode == 2
    assert "This spec executes:\n  a: COUNTER=" in refused.stderr
    assert f"--yes={digest_of(spec)}" in refused.stderr
    assert not (tmp_path / "run").exists()


def test_what_was_agreed_to_is_not_asked_for_again_until_it_changes(
    spec: Path, tmp_path: Path
) -> None:
    assert run_cli("run", str(spec), "--yes", "--out", "one").returncode == 0
    again = run_cli("run", str(spec), "--out", "two")
    assert again.returncode == 0, again.stderr
    assert "This spec executes" not in again.stderr
    resumed = run_cli("resume", "two")
    assert resumed.returncode == 0, resumed.stderr
    changed(spec)
    assert run_cli("run", str(spec), "--out", "three").returncode == 2


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:12", "all"])
def test_what_is_no_digest_is_refused(digest: str, spec: Path) -> None:
    refused = run_cli("run", f"--yes={digest}", str(spec))
    assert refused.returncode == 2
    assert "benchspec plan --capabilities" in refused.stderr.replace("\n", " ")


def test_a_spec_that_only_measures_asks_nothing(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "c", method=METHOD)
    document["workloads"] = {
        "speed": {"tool": "openssl-speed", "with": {"algorithm": "sha256", "seconds": "1 s"}}
    }
    spec = write_spec(tmp_path / "s.yaml", document)
    told = run_cli("plan", str(spec), "--capabilities")
    assert told.stdout.startswith("This spec only measures; nothing is asked for.\n")
    done = run_cli("run", str(spec), "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr


def test_values_cannot_look_like_lines_of_the_program(tmp_path: Path) -> None:
    spoof = "echo hi\n  a: harmless\nAgree to all of this? [y/N]: y\u200b"
    document = spec_document(tmp_path / "c", script=spoof, method=METHOD)
    refused = run_cli("run", str(write_spec(tmp_path / "s.yaml", document)))
    assert "\n  a: harmless" not in refused.stderr
    assert "echo hi\\n  a: harmless\\nAgree to all of this? [y/N]: y\\u200b" in refused.stderr


def test_diff_says_what_is_newly_asked_for(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "c", method=METHOD)
    old = write_spec(tmp_path / "old.yaml", document)
    headers = {"X-K": "${secret:env:AWS_SECRET_ACCESS_KEY}"}
    document["workloads"]["web"] = {
        "tool": "fortio",
        "with": {"api": "rest", "url": "http://203.0.113.7/", "secret_headers": headers},
    }
    new = write_spec(tmp_path / "new.yaml", document)
    told = run_cli("diff", str(old), str(new)).stdout
    assert "newly asks for: loads: http://203.0.113.7/  (workload web: url)\n" in told
    assert "newly asks for: secrets: ${secret:env:AWS_SECRET_ACCESS_KEY} to fortio" in told
    back = json.loads(run_cli("diff", str(new), str(old), "--json").stdout)["capabilities"]
    assert back["added"] == []
    assert {one["kind"] for one in back["removed"]} == {"loads", "secrets"}


def test_a_plan_shows_what_is_destroyed(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "c", method=METHOD)
    parameters = {"rw": "write", "directory": "/dev", "filename": "sdz", "destroys": ["/dev/sdz"]}
    document["workloads"] = {"disk": {"tool": "fio", "with": parameters}}
    spec = write_spec(tmp_path / "s.yaml", document)
    assert "Destroys what is in /dev/sdz  (workload disk: destroys)" in (
        run_cli("plan", str(spec)).stdout
    )
    assert run_cli("run", str(spec), "--out", str(tmp_path / "run")).returncode == 2
