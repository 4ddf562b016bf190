"""docs/python-api.md is held against the code: its examples run, its tables name every column."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import benchspec
from benchspec.api.columns import COMPARISONS, FINDINGS, SESSIONS, TRIALS
from tests.docs.pages import ROOT, blocks
from tests.engine.execution.bench import environment, spec_document, write_spec

PAGE = ROOT / "docs" / "python-api.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the spec that the examples name."""
    made = tmp_path_factory.mktemp("python")
    method = {"sessions": 5, "trials": 1, "warmups": 0}
    write_spec(made / "one.yaml", spec_document(made / "counter", method=method))
    return made


def test_the_examples_run_as_they_stand(folder: Path) -> None:
    load, measure = (block.text for block in blocks(PAGE, "python"))
    assert len(load.splitlines()) <= 10
    shown = [execute(measure, folder), execute(load, folder)]
    assert shown[0].splitlines()[-1] == "runs/one/report/page.md"
    assert "count" in shown[1]
    assert shown[1].splitlines()[-1].startswith("count b ")


def execute(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_column_is_listed_with_its_unit() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for column in (*TRIALS, *SESSIONS, *COMPARISONS, *FINDINGS):
        line = f"| `{column.name}` | {column.kind} | {column.unit} | {column.meaning} |"
        assert line in text, "write this line into docs/python-api.md"


def test_every_function_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert not [name for name in benchspec.__all__ if f"`{name}`" not in text]
