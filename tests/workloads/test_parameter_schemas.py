"""The schemas of fio, iperf3, openssl-speed and command: complete, strict, and of one mind with the modules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchspec.engine.ports import Workload
from benchspec.engine.spec import Json
from benchspec.engine.units import Dimension, parse_quantity
from benchspec.workloads import command, fio, fio_jobs, iperf3, openssl_speed
from benchspec.workloads.fio_presets import PRESETS
from tests.workloads import trial

TOOLS: dict[str, Workload] = {"fio": fio, "iperf3": iperf3, "openssl-speed": openssl_speed, "command": command}


def schema_of(tool: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files("benchspec.schemas").joinpath(f"workloads/{tool}.schema.json").read_text())
    return document


def accepts(tool: str, parameters: dict[str, Json]) -> bool:
    return Draft202012Validator(schema_of(tool)).is_valid(parameters)


def fields(schema: Any, path: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every place of a schema that describes a value, references left as they are."""
    if not isinstance(schema, dict):
        return
    for group in ("properties", "$defs", "patternProperties"):
        for name, field in schema.get(group, {}).items():
            if isinstance(field, dict):
                yield f"{path}.{name}", field
            yield from fields(field, f"{path}.{name}")
    for single in ("items", "additionalProperties"):
        if isinstance(schema.get(single), dict) and "$ref" not in schema[single]:
            yield f"{path}[]", schema[single]
        yield from fields(schema.get(single), f"{path}[]")


@pytest.mark.parametrize("tool", TOOLS)
def test_every_field_has_a_description_and_valid_examples(tool: str) -> None:
    schema = schema_of(tool)
    Draft202012Validator.check_schema(schema)
    found = list(fields(schema))
    assert len(found) > 8
    for path, field in found:
        assert field.get("description"), path
        assert field.get("examples"), path
        for value in [*field["examples"], *([field["default"]] if "default" in field else [])]:
            Draft202012Validator({**field, "$defs": schema.get("$defs", {})}).validate(value)
            if "x-quantity" in field:
                parse_quantity(value, Dimension(field["x-quantity"]))


@pytest.mark.parametrize("tool", TOOLS)
def test_schema_and_module_say_the_same(tool: str) -> None:
    schema, workload = schema_of(tool), TOOLS[tool]
    about = schema["x-benchspec"]
    assert tool == workload.NAME
    assert about["roles"] == [str(role) for role in workload.ROLES]
    assert about["metrics"] == [metric.name for metric in workload.METRICS]
    assert workload.primary(schema["examples"][-1]).partition("{")[0] in (*about["metrics"], "sign")
    assert set(about["duration"]) <= schema["properties"].keys()


@pytest.mark.parametrize("tool", TOOLS)
def test_examples_can_be_planned_and_run(tool: str) -> None:
    for parameters in schema_of(tool)["examples"]:
        assert accepts(tool, parameters)
        commands = TOOLS[tool].commands(trial.experiment(TOOLS[tool], parameters), trial.surroundings("/w"))
        assert all(client.timeout_s > TOOLS[tool].duration_s(parameters) > 0 for client in commands.clients)
        assert TOOLS[tool].tools(parameters)
        assert TOOLS[tool].metrics(parameters)


@pytest.mark.parametrize("tool", ["iperf3", "openssl-speed", "command"])
def test_defaults_of_the_schema_are_those_of_the_module(tool: str) -> None:
    base: dict[str, Json] = {"run": ["x"]} if tool == "command" else {}
    plain = TOOLS[tool].commands(trial.experiment(TOOLS[tool], base), trial.surroundings("/w"))
    defaults = {name: field["default"] for name, field in schema_of(tool)["properties"].items() if "default" in field}
    assert defaults
    for name, default in defaults.items():
        assert TOOLS[tool].commands(trial.experiment(TOOLS[tool], {**base, name: default}), trial.surroundings("/w")) == plain, name


def test_defaults_of_fio_and_its_presets() -> None:
    definitions = schema_of("fio")["$defs"]
    plain = fio_jobs.job_file({"jobs": [{"name": "a", "rw": "read"}, {"name": "b", "rw": "read"}]})
    for name, default in {name: field["default"] for name, field in definitions.items() if "default" in field}.items():
        assert fio_jobs.job_file({name: default, "jobs": [{"name": "a", "rw": "read"}, {"name": "b", "rw": "read"}]}) == plain, name
    assert schema_of("fio")["properties"]["preset"]["enum"] == list(PRESETS)
    for preset in PRESETS.values():
        assert accepts("fio", {**preset.settings, "jobs": list(preset.jobs)})
    assert accepts("fio", {"rw": "read", "jobs": [{"name": "a"}, {"name": "b", "rw": "write"}]})


def test_every_setting_of_a_fio_job_reaches_the_job_file() -> None:
    schema = schema_of("fio")
    settings = set(schema["properties"]["jobs"]["items"]["properties"]) - {"name", "rw"}
    assert settings == set(schema["properties"]) - {"jobs", "preset", "job_text", "directory", "rw"}
    first: dict[str, Json] = {"name": "first", "rw": "read"}
    plain = fio_jobs.job_file({"jobs": [first, {"name": "a", "rw": "read"}]})
    for name in settings:
        field = schema["$defs"][name]
        value = not field.get("default", False) if field["type" if "type" in field else "enum"] == "boolean" else field["examples"][-1]
        assert fio_jobs.job_file({"jobs": [first, {"name": "a", "rw": "read", name: value}]}) != plain, name


INVALID: list[tuple[str, dict[str, Json]]] = [
    ("fio", {}),
    ("fio", {"size": "1 GiB"}),
    ("fio", {"jobs": [{"name": "a"}]}),
    ("fio", {"rw": "randreed"}),
    ("fio", {"engine": "nosuch"}),
    ("fio", {"ioengine": "libaio"}),
    ("fio", {"rw": "read", "size": 5}),
    ("fio", {"rw": "read", "filename": "/dev/sda"}),
    ("fio", {"rw": "read", "filename": "../x"}),
    ("fio", {"rw": "read", "directory": "relative"}),
    ("fio", {"rw": "read", "cpus_allowed": "0;1"}),
    ("fio", {"jobs": [{"rw": "read"}]}),
    ("fio", {"jobs": [{"name": "a b", "rw": "read"}]}),
    ("fio", {"jobs": [{"name": "a", "rw": "read", "exec_prerun": "true"}]}),
    ("fio", {"jobs": []}),
    ("fio", {"preset": "nosuch"}),
    ("fio", {"job_text": "[a]\nrw=read", "rw": "write"}),
    ("fio", {"job_text": "[a]\nrw=read", "jobs": [{"name": "a", "rw": "read"}]}),
    ("iperf3", {"reverse": True, "bidir": True}),
    ("iperf3", {"streams": 0}),
    ("iperf3", {"streams": True}),
    ("iperf3", {"congestion": "--logfile=/x"}),
    ("iperf3", {"protocol": "sctp"}),
    ("openssl-speed", {"algorithm": "-engine"}),
    ("openssl-speed", {"algorithm": "sha256", "signature": "rsa2048"}),
    ("command", {}),
    ("command", {"run": "ls -l"}),
    ("command", {"run": []}),
    ("command", {"run": ["x"], "stdin": "y"}),
    ("command", {"run": ["x"], "files": {"../x": "y"}}),
    ("command", {"run": ["x"], "env": {"A=B": "c"}}),
    ("command", {"run": ["x"], "extract": {"a": {"regex": "(x)", "jsonpath": "$"}}}),
    ("command", {"run": ["x"], "extract": {"a": {"unit": "ms"}}}),
    ("command", {"run": ["x"], "extract": {"a": {"regex": "(x)", "unit": "Mb"}}}),
    ("command", {"run": ["x"], "extract": {"A": {"regex": "(x)"}}}),
    ("command", {"run": ["x"], "extract": {"a": {"regex": "(x)", "labels": {"k": "a,b"}}}}),
]


@pytest.mark.parametrize(("tool", "parameters"), INVALID)
def test_invalid_parameters_are_refused(tool: str, parameters: dict[str, Json]) -> None:
    assert not accepts(tool, parameters)


@pytest.mark.parametrize("tool", TOOLS)
def test_keys_of_ones_own_are_free(tool: str) -> None:
    assert accepts(tool, {**schema_of(tool)["examples"][0], "x-note": {"any": ["thing"]}})
