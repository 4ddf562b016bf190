"""The schemas of these tools: sound, complete, and of one mind with the modules."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchspec.engine.ports import Workload
from benchspec.engine.spec import Json
from benchspec.engine.units import Dimension, parse_quantity
from benchspec.workloads import diskspd, fortio, netperf, sockperf, stress_ng, sysbench, vault_benchmark
from tests.workloads.planned import experiment, surroundings

TOOLS: dict[str, Workload] = {
    "netperf": netperf,
    "fortio": fortio,
    "vault-benchmark": vault_benchmark,
    "diskspd": diskspd,
    "sysbench": sysbench,
    "stress-ng": stress_ng,
    "sockperf": sockperf,
}


def schema_of(tool: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files("benchspec.schemas").joinpath(f"workloads/{tool}.schema.json").read_text())
    return document


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
        if "items" in field:
            yield f"{path}.{name}[]", field["items"]
            yield from fields(field["items"], f"{path}.{name}[]")


@pytest.mark.parametrize("tool", TOOLS)
def test_every_field_has_a_description_and_examples_that_are_valid(tool: str) -> None:
    schema = schema_of(tool)
    Draft202012Validator.check_schema(schema)
    for path, field in fields(schema):
        assert field.get("description"), path
        assert field.get("examples"), path
        for value in [*field["examples"], *([field["default"]] if "default" in field else [])]:
            Draft202012Validator(field).validate(value)
            if "x-quantity" in field:
                parse_quantity(value, Dimension(field["x-quantity"]))


@pytest.mark.parametrize("tool", TOOLS)
def test_schema_and_module_say_the_same(tool: str) -> None:
    workload, about = TOOLS[tool], schema_of(tool)["x-benchspec"]
    assert tool == workload.NAME
    assert about["roles"] == [str(role) for role in workload.ROLES]
    assert about["metrics"] == [metric.name for metric in workload.METRICS]
    assert workload.metrics({}) == workload.METRICS
    assert about["primary"] == workload.primary({})
    assert set(about["duration"]) <= schema_of(tool)["properties"].keys()
    assert isinstance(workload, Workload)


@pytest.mark.parametrize("tool", TOOLS)
def test_examples_can_be_planned_and_rendered(tool: str) -> None:
    schema = schema_of(tool)
    for parameters in schema["examples"]:
        Draft202012Validator(schema).validate(parameters)
        commands = TOOLS[tool].commands(experiment(tool, parameters), surroundings())
        assert all(command.timeout_s > TOOLS[tool].duration_s(parameters) > 0 for command in commands.clients)
        assert all(isinstance(word, str) for command in commands.clients for word in command.argv)
        assert TOOLS[tool].tools(parameters)


@pytest.mark.parametrize("tool", TOOLS)
def test_defaults_of_the_schema_are_those_of_the_module(tool: str) -> None:
    schema = schema_of(tool)
    example: dict[str, Json] = {name: schema["examples"][0][name] for name in schema.get("required", [])}
    plain = TOOLS[tool].commands(experiment(tool, example), surroundings())
    for name, field in schema["properties"].items():
        applies = name not in ("request_size", "response_size")  # these belong to tests that are not the default
        if "default" in field and applies:
            assert TOOLS[tool].commands(experiment(tool, {**example, name: field["default"]}), surroundings()) == plain, name


INVALID: list[tuple[str, dict[str, Json]]] = [
    ("netperf", {"test": "TCP_SENDFILE"}),
    ("netperf", {"duration": "1.5 s"}),
    ("netperf", {"duration": "0 s"}),
    ("netperf", {"test": "TCP_RR", "message_size": "1 KiB"}),
    ("netperf", {"request_size": "1 B"}),
    ("netperf", {"confidence": {"min": 2}}),
    ("netperf", {"stream": 3}),
    ("fortio", {"url": "-version"}),
    ("fortio", {"url": "http://a b"}),
    ("fortio", {"headers": ["no colon"]}),
    ("fortio", {"headers": ["A: b\r\nC: d"]}),
    ("fortio", {"path": "x"}),
    ("vault-benchmark", {"address": "https://v", "tests": []}),
    ("vault-benchmark", {"address": "https://v", "tests": [{"type": "a", "name": "total", "weight": 100}]}),
    ("vault-benchmark", {"address": "https://v", "token": "hvs.plain", "tests": [{"type": "a", "name": "b", "weight": 100}]}),
    ("vault-benchmark", {"tests": [{"type": "a", "name": "b", "weight": 100}]}),
    ("diskspd", {"path": "#1"}),
    ("diskspd", {"path": "X:"}),
    ("diskspd", {"path": "X:\\"}),
    ("diskspd", {"path": "\\\\.\\PhysicalDrive1"}),
    ("diskspd", {"path": 'a"b'}),
    ("diskspd", {"path": "X:\\dir\\"}),
    ("diskspd", {"duration": "90"}),
]


@pytest.mark.parametrize(("tool", "parameters"), INVALID)
def test_invalid_parameters_are_refused(tool: str, parameters: dict[str, Json]) -> None:
    assert not Draft202012Validator(schema_of(tool)).is_valid(parameters)
