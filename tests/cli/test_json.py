"""What programs read: each JSON output parses and has the keys that the user guide names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchspec.cli.app import app

ROOT = Path(__file__).parents[2]
AZURE, QUICK = ROOT / "specs" / "constellation-azure.yaml", ROOT / "specs" / "quickstart.yaml"


def documented(command: str) -> set[str]:
    guide = (ROOT / "docs" / "index.md").read_text("utf-8")
    (row,) = [line for line in guide.splitlines() if line.startswith(f"| `{command}` |")]
    return set(re.findall(r"`([a-z0-9_]+)`", row.split("|")[2]))


def printed(*arguments: object) -> object:
    return json.loads(
        CliRunner()
        .invoke(app, [str(argument) for argument in arguments], standalone_mode=False)
        .stdout
    )


def test_validate(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Benchmark\n")
    found = printed("validate", "--format", "json", tmp_path / "a.yaml")
    assert isinstance(found, list)
    assert found
    assert {key for record in found for key in record} == documented("validate --format json")


@pytest.mark.parametrize(
    ("arguments", "command"),
    [(("plan", AZURE, "--json"), "plan --json"), (("diff", AZURE, QUICK, "--json"), "diff --json")],
)
def test_plan_and_diff(arguments: tuple[object, ...], command: str) -> None:
    found = printed(*arguments)
    assert isinstance(found, dict)
    assert set(found) == documented(command)


def test_doctor() -> None:
    found = printed("doctor", "--json")
    assert isinstance(found, dict)
    assert {*found, *(key for host in found["hosts"] for key in host)} == documented(
        "doctor --json"
    )


def test_report() -> None:
    found = json.loads(
        (ROOT / "tests" / "data" / "reports" / "azure" / "results.json").read_text("utf-8")
    )
    assert documented("report --format json") <= set(found)
    assert set(found) - documented("report --format json") == {
        "baseline",
        "confidence",
        "equivalence",
        "family",
        "formula",
    }


def test_parse(tmp_path: Path) -> None:
    raw = tmp_path / "output"
    raw.write_text("12.5 s\n")
    extract = {"extract": {"time": {"regex": "([0-9.]+) s", "unit": "s", "direction": "lower"}}}
    found = printed("parse", "command", raw, "--with", json.dumps(extract), "--json")
    assert isinstance(found, dict)
    assert {*found, *(key for row in found["measurements"] for key in row)} == documented(
        "parse --json"
    )
