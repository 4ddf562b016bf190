"""A run as rows: the same as its exports say, and frames of pandas and polars."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas
import polars
import pytest

import benchspec
from benchspec.api.rows import RunTables, Table
from benchspec.engine.model.errors import RunFailed
from tests.engine.execution.bench import spec_document, write_spec

TABLES: dict[str, Callable[[RunTables], Table]] = {
    "trials": lambda run: run.trials,
    "sessions": lambda run: run.sessions,
    "comparisons": lambda run: run.comparisons,
    "findings": lambda run: run.findings,
}
PYTHON = {"text": str, "integer": int, "number": float, "boolean": bool}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with an axis, warm-ups, and an experiment whose trials fail."""
    folder = tmp_path_factory.mktemp("swept")
    method = {"sessions": 2, "trials": 1, "warmups": 1}
    script = 'test "$1" = 1 && echo rate: 42.5'
    document = spec_document(folder / "counter", script=script, method=method)
    document["workloads"]["count"]["matrix"] = {
        "size": [{"name": size, "run": ["sh", "-c", script, "sh", size]} for size in ("1", "2")]
    }
    spec = write_spec(folder / "spec.yaml", document)
    with pytest.raises(RunFailed):
        benchspec.run(spec, out=folder / "run", consent=lambda lines: True)
    return folder / "run"


OLD_RUNS = Path(__file__).parents[1] / "data" / "old-runs"
"""Run directories of an earlier state of the project."""


@pytest.fixture(params=["finished", "swept", "old-runs/finished", "old-runs/interrupted"])
def run(request: pytest.FixtureRequest) -> RunTables:
    folder, _, name = request.param.partition("/")
    return benchspec.load(OLD_RUNS / name if name else request.getfixturevalue(folder))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_a_frame_of_pandas_and_polars(run: RunTables, name: str) -> None:
    table = TABLES[name](run)
    names = [column.name for column in table.columns]
    for frame in (
        pandas.DataFrame(table.rows(), columns=names),
        polars.DataFrame(table.series()),
    ):
        assert frame.shape == (len(table), len(names))
        assert list(frame.columns) == names
    assert pandas.DataFrame(table.series()).shape == (len(table), len(names))


@pytest.mark.parametrize("name", TABLES)
def test_values_are_of_the_kind_of_their_column(run: RunTables, name: str) -> None:
    table = TABLES[name](run)
    for column in table.columns:
        kinds = {type(value) for value in table.series()[column.name] if value is not None}
        assert kinds <= {PYTHON[column.kind]}, column
        assert column.meaning.endswith("."), column


def test_an_old_run_has_all_its_trials() -> None:
    journal = OLD_RUNS.joinpath("finished", "journal.ndjson").read_text("utf-8").splitlines()
    ends = [record for record in map(json.loads, journal) if record["type"] == "trial.finished"]
    trials = benchspec.load(OLD_RUNS / "finished").trials.series()["trial"]
    assert set(trials) == {record["data"]["sequence"] for record in ends}


def test_trials_are_what_the_csv_says(finished: Path) -> None:
    exported = csv.DictReader(
        io.StringIO(benchspec.render(finished, "csv")["results.csv"].decode())
    )
    same = ("trial", "session", "kind", "target", "workload", "cell", "metric", "value", "unit")
    rows = [
        {name: str(row[name]) for name in same} for row in benchspec.load(finished).trials.rows()
    ]
    assert rows == [{name: row[name] for name in same} for row in exported]
    by_metric = {row["metric"]: row["primary"] for row in benchspec.load(finished).trials.rows()}
    assert by_metric.pop("rate") is True
    assert {*by_metric.values()} == {False}


def test_sessions_and_comparisons_are_what_the_json_says(finished: Path) -> None:
    exported = json.loads(benchspec.render(finished, "json")["results.json"])
    run = benchspec.load(finished)
    values = [value for cell in exported["cells"] for value in cell["summary"]["values"]]
    assert run.sessions.series()["value"] == values
    for row, contrast in zip(run.comparisons.rows(), exported["contrasts"], strict=True):
        assert (row["target"], row["ratio"], row["p"]) == (
            contrast["target"],
            contrast["ratio"],
            contrast["p"],
        )
        assert row["low"] == contrast["interval"]["low"]
        assert row["verdict"] == (contrast["words"] if contrast["verdict"] else None)
    codes = [finding["code"] for finding in exported["findings"]]
    assert run.findings.series()["code"] == codes


def test_what_was_not_measured_has_a_row_without_a_value(swept: Path) -> None:
    rows = benchspec.load(swept).trials.rows()
    assert {row["kind"] for row in rows} == {"warmup", "measured"}
    failed = [row for row in rows if row["axis.size"] == "2"]
    assert {(row["status"], row["value"]) for row in failed} == {("failed", None)}
    assert all(row["error"] for row in failed)
    rates = [row for row in rows if row["axis.size"] == "1" and row["metric"] == "rate"]
    assert {row["value"] for row in rates} == {42.5}
    assert len(rates) == 2 * 2 * 2


def test_rows_are_the_same_each_time(finished: Path) -> None:
    first, second = benchspec.load(finished), benchspec.load(finished)
    assert all(table(first) == table(second) for table in TABLES.values())
