"""Commands compared without a spec."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import benchspec
from benchspec.api.one_line import make_document, read_metric, read_sweep
from benchspec.engine.model.errors import RunFailed, UsageError

HOG = "python3 -c 'x = bytearray({size} * 2**20); x[::4096] = x[::4096]'"


def test_two_commands_are_compared_in_time_memory_and_a_figure_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rate.txt").write_text("rate: 7 requests\n")
    done = benchspec.bench(
        "cat rate.txt; " + HOG.replace("{size}", "64"),
        "sed s/7/9/ rate.txt; " + HOG.replace("{size}", "128"),
        names=["small", "large"],
        sessions=5,
        metrics=dict([read_metric("rate=/rate: ([0-9]+) requests/1/s/higher")]),
        save="saved.yaml",
    )
    assert done.written is not None
    (small, large) = done.written.answer.rows
    assert (small.target, float(small.value.split()[0]), large.verdict.split(",")[0]) == (
        "small",
        7,
        "higher (better)",
    )
    found = benchspec.load(done.directory)
    values = {
        (row["target"], row["metric"]): float(str(row["value"]))
        for row in found.trials.rows()
        if row["status"] == "valid"
    }
    assert 64e6 < values["command-1", "peak_memory"] < 110e6
    assert 128e6 < values["command-2", "peak_memory"] < 190e6
    assert values["command-1", "cpu_time"] > 0
    assert values["command-1", "duration"] > 0
    assert benchspec.validate("saved.yaml") == ()
    assert benchspec.run("saved.yaml", consent=lambda lines: True).page is not None


def test_a_sweep_stands_in_the_commands(tmp_path: Path) -> None:
    done = benchspec.bench(
        "echo 'n is {n}, ${n} is not'",
        sweep=dict([read_sweep("n=1,20")]),
        sessions=1,
        metrics=dict([read_metric("n=/n is ([0-9]+)/1")]),
        out=tmp_path / "run",
    )
    assert done.written is not None
    assert [float(row.value) for row in done.written.answer.rows] == [1, 20]


def test_a_command_that_fails_ends_the_run_unless_that_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(RunFailed):
        benchspec.bench("exit 3", sessions=1, out=tmp_path / "fails")
    done = benchspec.bench("exit 3", sessions=1, out=tmp_path / "wanted", ignore_failure=True)
    codes = [
        row["value"]
        for row in benchspec.load(done.directory).trials.rows()
        if row["metric"] == "exit_code"
    ]
    assert codes == [3]


def test_texts_of_commands_are_no_references() -> None:
    document = make_document({"a": "echo ${HOME} ${var:x}"}, {}, {}, 5)
    assert document["workloads"]["command"]["with"]["run"][-1] == "echo $${HOME} $${var:x}"
    assert "compare" not in document
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a=/x (.*)/MB/s", ("x (.*)", "MB/s", "neither")),
        ("a=/([0-9]+) MB/s/MB/s/lower", ("([0-9]+) MB/s", "MB/s", "lower")),
        ("a=/([0-9]+)/1/higher", ("([0-9]+)", "1", "higher")),
    ],
)
def test_a_metric_is_read_with_its_unit_and_direction(
    text: str, rule: tuple[str, str, str]
) -> None:
    name, found = read_metric(text)
    assert (name, found["regex"], found["unit"], found["direction"]) == ("a", *rule)


@pytest.mark.parametrize("text", ["a", "a=x", "a=/x/furlong", "=/x/s"])
def test_what_is_no_metric_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="name=/regex/unit") as refused:
        read_metric(text)
    assert "--metric 'rate=/([0-9.]+) requests/1/s/higher'" in str(refused.value)


@pytest.mark.parametrize("text", ["n", "n=", "n=1,,2", "1=2"])
def test_what_is_no_sweep_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="--sweep n=1,2,4"):
        read_sweep(text)


def test_commands_have_names_of_their_own() -> None:
    with pytest.raises(UsageError, match="a name of its own"):
        benchspec.bench("true", "true")
    with pytest.raises(UsageError, match="a name of its own"):
        benchspec.bench("true", "false", names=["one"])
