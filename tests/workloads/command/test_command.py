from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Completed
from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.results import Direction, Statistic
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.command import extraction
from benchspec.workloads.command import workload as command
from tests.workloads import trial
from tests.workloads.tool_goldens import by_series, completed

WORKLOAD: Workload = command


def extracted(rule: dict[str, Json], output: bytes) -> dict[str, float]:
    return by_series(command.parse([completed(output)], {"run": ["x"], "extract": {"m": rule}}))


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("ms", 0.0125),
        ("us", 12.5e-6),
        ("s", 12.5),
        ("MiB/s", 12.5 * 2**20),
        ("Gbit/s", 12.5e9),
        ("%", 0.125),
        ("k/s", 12500.0),
        ("1", 12.5),
    ],
)
def test_values_are_stored_in_base_units(unit: str, value: float) -> None:
    assert extracted(
        {"regex": r"took ([\d.]+)", "unit": unit}, b"took 12.5 of them\n"
    ) == pytest.approx({"m": value})


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        ("first", 3),
        ("last", 2),
        ("min", 1),
        ("max", 3),
        ("mean", 2),
        ("median", 2),
        ("sum", 6),
        ("count", 3),
    ],
)
def test_aggregates(aggregate: str, value: float) -> None:
    assert extracted({"regex": r"v=(\d+)", "aggregate": aggregate}, b"v=3 v=1\nv=2\n") == {
        "m": value
    }


def test_named_groups_are_labels_beside_fixed_ones() -> None:
    rule: dict[str, Json] = {
        "regex": r"^(?P<disk>\w+): (?P<value>\d+)",
        "aggregate": "sum",
        "labels": {"host": "a"},
    }
    assert extracted(rule, b"sda: 1\nsdb: 2\nsda: 3\n") == {
        "m{disk=sda,host=a}": 4,
        "m{disk=sdb,host=a}": 2,
    }


def test_json_strings_of_digits_count_as_numbers_and_the_last_document_is_taken() -> None:
    assert extracted({"jsonpath": "$.Count"}, b'text\n{"Count": 1}\n{"Count": "48"}\n') == {"m": 48}


def test_csv_with_a_byte_order_mark_and_blank_lines() -> None:
    assert extracted(
        {"csv": {"column": "b"}, "aggregate": "sum"}, b"\xef\xbb\xbfa,b\r\n\r\n1, 2\r\n3,4\r\n"
    ) == {"m": 6}


@pytest.mark.parametrize(
    ("rule", "output", "message"),
    [
        ({"regex": r"(\d+)"}, b"1 2", "m: found 2 values, expected one"),
        ({"regex": r"(\w+)"}, b"abc", "m: found 'abc', expected a number"),
        ({"regex": r"(\d+)"}, b"none", "m: found nothing in stdout"),
        ({"regex": r"(\d+)", "from": "missing.txt"}, b"1", "there is no missing.txt"),
        ({"regex": r"\d+"}, b"1", "found 0 groups without a name"),
        ({"regex": r"(a+)+"}, b"1", "no quantifier or alternation inside a repeated group"),
        ({"jsonpath": "$.a"}, b"text", "found no JSON in the output of the program"),
        ({"jsonpath": "$.a"}, b'{"a": true}', "m: found something else, expected a number"),
        ({"jsonpath": "$.a"}, b'{"a": NaN}', "expected a number"),
        ({"jsonpath": "a"}, b'{"a": 1}', "starts with"),
        ({"csv": {"column": "c"}}, b"a,b\n1,2\n", "no column 'c', only 'a', 'b'"),
        ({"csv": {"column": "a"}}, b"a,b\n1\n", "found a row of 1 cells, expected 2"),
        ({"csv": {"column": "a"}}, b'a,b\n"' + b"1" * 200_000 + b'",2\n', "the table is malformed"),
        ({"csv": {"column": "a"}}, b"", "m: found nothing"),
        ({"regex": r"(\d+)", "unit": "PiB"}, b"9" * 300, "too large to be real"),
        ({"regex": r"(\d+)", "unit": "parsec"}, b"9", "unknown unit 'parsec'"),
        ({"unit": "s"}, b"9", "how to find its figure"),
    ],
)
def test_what_cannot_be_measured_says_why(
    rule: dict[str, Json], output: bytes, message: str
) -> None:
    with pytest.raises(ParseError, match=message):
        extracted(rule, output)


def test_sums_that_overflow() -> None:
    with pytest.raises(ParseError, match="too large to be real"):
        extracted({"jsonpath": "$[*].a", "aggregate": "sum"}, b'[{"a": 1e308}, {"a": 1e308}]')
    with pytest.raises(ParseError, match="too large to be real"):
        extracted({"jsonpath": "$[*].a", "aggregate": "mean"}, b'[{"a": 1e308}, {"a": 1e308}]')


def test_input_that_is_too_large_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MAX_INPUT", 10)
    with pytest.raises(ParseError, match="found 11 B of output"):
        extracted({"regex": r"(\d+)"}, b"12345678901")


def test_an_optional_metric_may_be_missing_but_nothing_at_all_is_an_error() -> None:
    rules: dict[str, Json] = {
        "a": {"regex": r"a=(\d+)"},
        "b": {"regex": r"b=(\d+)", "optional": True},
    }
    assert by_series(command.parse([completed(b"a=1")], {"extract": rules})) == {"a": 1}
    with pytest.raises(ParseError, match="nothing was measured"):
        command.parse([completed(b"a=1")], {"extract": {"b": rules["b"]}})


def test_stderr_and_files_are_sources() -> None:
    rules: dict[str, Json] = {
        "x-note": "free",
        "e": {"regex": r"(\d+)", "from": "stderr"},
        "f": {"jsonpath": "$.n", "from": "out.json"},
    }
    process = Completed(
        argv=(),
        exit_code=0,
        stdout=b"",
        stderr=b"7",
        started_at=0,
        duration_s=2.5,
        files={"out.json": b'{"n": 8}'},
    )
    assert by_series(command.parse([process], {"extract": rules})) == {
        "e": 7,
        "f": 8,
        "duration": 2.5,
    }
    assert command.output_files({"extract": rules}) == ("stderr", "out.json")


def test_one_output_is_expected() -> None:
    with pytest.raises(ParseError, match="found 0 outputs"):
        command.parse([], {})


def test_metrics_are_those_of_the_parameters() -> None:
    rule: dict[str, Json] = {
        "regex": "x",
        "unit": "ms",
        "direction": "lower",
        "statistic": "arithmetic mean",
        "title": "Boot",
        "limits": ["storage.iops"],
    }
    boot, duration = command.metrics({"extract": {"boot.time": rule}})
    assert (boot.name, boot.title, boot.unit, boot.direction) == (
        "boot.time",
        "Boot",
        "s",
        Direction.LOWER,
    )
    assert (boot.statistic, boot.limits) == (Statistic.ARITHMETIC_MEAN, ("storage.iops",))
    assert duration == command.METRICS[0]
    assert [
        metric.name
        for metric in command.metrics({"extract": {"duration": {"regex": "x", "unit": "s"}}})
    ] == ["duration"]


@pytest.mark.parametrize(
    ("parameters", "series"),
    [
        ({}, "duration"),
        ({"primary": "b"}, "b"),
        ({"extract": {"a": {"regex": "(x)"}, "b": {"jsonpath": "$"}}}, "a"),
        (
            {"extract": {"a": {"csv": {"column": "x"}, "labels": {"z": "1", "y": "2"}}}},
            "a{y=2,z=1}",
        ),
    ],
)
def test_primary(parameters: dict[str, Json], series: str) -> None:
    assert command.primary(parameters) == series


def test_command_files_and_environment() -> None:
    parameters: dict[str, Json] = {
        "run": ["./x", "a b", "$(touch y)"],
        "duration": "20 s",
        "env": {"KEY": "${secret:env:KEY}"},
        "files": {"in.txt": "é"},
        "extract": {
            "n": {"regex": "(x)", "from": "out.json"},
            "e": {"regex": "(x)", "from": "stderr"},
        },
        "package": "x-tools",
        "version": ["./x", "-V"],
    }
    commands = command.commands(
        trial.experiment(command, parameters, cpus=(0, 1)), trial.surroundings("/w")
    )
    (client,) = commands.clients
    assert client.argv == ("./x", "a b", "$(touch y)")
    assert (client.timeout_s, client.fetch, client.env, client.cpus) == (
        120,
        ("out.json",),
        {"KEY": "${secret:env:KEY}"},
        (0, 1),
    )
    assert [(file.role, file.name, file.data) for file in commands.files] == [
        (Role.CLIENT, "in.txt", "é".encode())
    ]
    (tool,) = command.tools(parameters)
    assert (tool.executable, tool.package, tool.version_argv) == ("./x", "x-tools", ("./x", "-V"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "must say what it runs"),
        ({"run": []}, "must say what it runs"),
        ({"run": ["x"], "extract": {"a": {"unit": "lightyear"}}}, "unknown unit"),
        ({"run": ["x"], "timeout": "5 B"}, "expected a time"),
        (
            {"run": ["x"], "extract": {"a": {"regex": "(a+)+"}}},
            "a: found .* inside a repeated group",
        ),
        ({"run": ["x"], "extract": {"a": {"jsonpath": "$..a"}}}, "a: found '..a' in the JSONPath"),
        ({"run": ["x"], "extract": {"a": {}}}, "a: a rule must say how to find its figure"),
    ],
)
def test_parameters_that_cannot_be_run(parameters: dict[str, Json], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        command.commands(trial.experiment(command, parameters), trial.surroundings("/w"))


def test_real_trial(tmp_path: Path) -> None:
    program = (
        "import json, sys; print('rate: 7.5 MB/s'); json.dump({'n': [1, 2]}, open('out.json',"
        " 'w')); print(open('in.txt').read(), file=sys.stderr)"
    )
    parameters: dict[str, Json] = {
        "run": [sys.executable, "-c", program],
        "files": {"in.txt": "word 9"},
        "extract": {
            "rate": {"regex": r"rate: ([\d.]+)", "unit": "MB/s"},
            "n": {"jsonpath": "$.n[*]", "from": "out.json", "aggregate": "sum"},
            "word": {"regex": r"word (\d+)", "from": "stderr"},
        },
    }
    commands = command.commands(trial.experiment(command, parameters), trial.surroundings(tmp_path))
    found = by_series(command.parse(trial.run(commands, tmp_path), parameters))
    assert found.pop("duration") > 0
    assert found == {"rate": 7.5e6, "n": 3, "word": 9}
