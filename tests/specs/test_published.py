"""The figures of the five documents are importable data: pages hold every number, carry no
verdict that means alone could not, and follow the data.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import benchspec
from benchspec.engine.model.units import UNITS
from benchspec.engine.store.read_run import read_run

FOLDER = Path(__file__).parents[2] / "specs" / "published"
PAGES = Path(__file__).parents[2] / "docs" / "published.md"
NAMES = sorted(path.stem for path in FOLDER.glob("*.csv"))


def rows(table: str) -> list[dict[str, str]]:
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))


def published(name: str, table: str, folder: Path) -> Path:
    (folder / "t.csv").write_text(table)
    made = benchspec.import_(
        "csv", [("-", folder / "t.csv")], spec=FOLDER / f"{name}.yaml", out=folder / "run"
    )
    return made.directory


def page(name: str, table: str, folder: Path) -> str:
    run = published(name, table, folder)
    benchspec.report(run)
    return (run / "report" / "page.md").read_text()


def test_every_table_has_its_spec() -> None:
    assert NAMES == ["azure-disks", "constellation", "mesh", "vault"]
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_published_number_is_in_the_run_to_the_last_digit(name: str, tmp_path: Path) -> None:
    table = (FOLDER / f"{name}.csv").read_text()
    run = read_run(published(name, table, tmp_path))
    cells = {experiment.id: experiment for experiment in run.experiments}
    found = {
        (cells[trial.experiment_id].target, cells[trial.experiment_id].workload, m.metric): m.value
        for trial in run.trials
        for m in trial.measurements
    }
    for row in rows(table):
        factor = 1.0 if row["unit"] == "1" else UNITS[row["unit"]][1]
        key = (row["target"], row["workload"], row["metric"])
        assert found[key] == pytest.approx(float(row["mean"]) * factor, rel=1e-15), key


@pytest.mark.parametrize("name", NAMES)
def test_one_figure_that_is_one_percent_greater_changes_the_page(name: str, tmp_path: Path) -> None:
    table = (FOLDER / f"{name}.csv").read_text()
    first = rows(table)[0]
    changed = table.replace(f",{first['mean']},", f",{float(first['mean']) * 1.01:.6f},", 1)
    assert changed != table
    pages = []
    for number, each in enumerate((table, changed)):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = page(name, each, folder)
        pages.append([line for line in text.splitlines() if line.startswith("| ")])
    assert pages[0] != pages[1]


@pytest.mark.parametrize("name", NAMES)
def test_means_alone_carry_no_verdict(name: str, tmp_path: Path) -> None:
    run = published(name, (FOLDER / f"{name}.csv").read_text(), tmp_path)
    said = json.dumps(benchspec.load(run).comparisons.rows(), default=str)
    assert "established" not in said or "not established" in said
    assert "better" not in page_of(run)


def page_of(run: Path) -> str:
    benchspec.report(run)
    text = (run / "report" / "page.md").read_text()
    return text.partition("## Summary")[2].partition("## Results")[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_holds_every_figure(name: str) -> None:
    text = PAGES.read_text()
    for row in rows((FOLDER / f"{name}.csv").read_text()):
        assert row["mean"] in text, row
