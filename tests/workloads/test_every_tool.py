"""What every tool must be. A tool is looked at because it is registered: nothing here, and nothing
else, has to be told of it.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from benchspec import workloads
from benchspec.engine.analysis import series
from benchspec.engine.importing.readers import READERS
from benchspec.engine.model.contract.workload import (
    FeedsGates,
    ListensOnPorts,
    MeasuresDevices,
    NamesPorts,
    PrintsReports,
    ReadsFiles,
    SpeaksHttp,
    Workload,
    WritesVolumes,
)
from benchspec.engine.model.spec import Json
from benchspec.engine.model.units import Dimension, parse_quantity
from benchspec.engine.planning.validity_gates import MEASURED
from benchspec.workloads.registry import MODULES, get_workload
from tests.workloads import trial
from tests.workloads.tool_goldens import DATA, check, golden_names, goldens, read_golden
from tests.workloads.tools import (
    TOOLS,
    accepts,
    examples_of,
    fields,
    plain_parameters,
    schema_of,
    tools_with_schema,
)

ABOUT = {"roles", "metrics", "primary", "duration"}
ABOUT_SOME = {"secrets", "declares", "destroys"}
PROTOCOLS: Sequence[type] = (
    Workload,
    WritesVolumes,
    ListensOnPorts,
    NamesPorts,
    ReadsFiles,
    FeedsGates,
    SpeaksHttp,
    MeasuresDevices,
    PrintsReports,
)
CASES = [(tool, name) for tool in TOOLS for name in golden_names(tool)]


def planned(tool: str, parameters: dict[str, Json]) -> Any:
    workload = get_workload(tool)
    return workload.commands(trial.experiment(workload, parameters), trial.surroundings("/w"))


@pytest.mark.parametrize("tool", sorted({*TOOLS, *tools_with_schema()}))
def test_schema_and_module_come_together(tool: str) -> None:
    assert tool in MODULES, (
        f"there is a schema of {tool}, and workloads/registry.py does not list it"
    )
    assert tool in tools_with_schema(), (
        f"workloads/registry.py lists {tool}, and there is no schema of it"
    )
    name = f"{workloads.__name__}.{MODULES[tool]}.workload"
    assert find_spec(name) is not None, (
        f"workloads/registry.py lists {tool}, and there is no module {name}"
    )
    workload = get_workload(tool)
    assert isinstance(workload, Workload)
    assert tool == workload.NAME


@pytest.mark.parametrize("tool", TOOLS)
def test_mypy_holds_the_module_against_what_it_is_taken_for(tool: str) -> None:
    """isinstance looks at names alone; types are seen where the module is assigned to each
    protocol.
    """
    workload = get_workload(tool)
    taken = {protocol.__name__ for protocol in PROTOCOLS if isinstance(workload, protocol)}
    missing = taken - held_against(f"{workloads.__name__}.{MODULES[tool]}.workload")
    assert not missing, (
        f"mypy does not hold {tool} against {', '.join(sorted(missing))}: see the last lines of"
        " workloads/iperf3/workload.py"
    )


def held_against(name: str) -> set[str]:
    """The protocols to which a module assigns itself, where only mypy looks."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    lines = [
        line
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
    ]
    imported = [alias for line in lines if isinstance(line, ast.ImportFrom) for alias in line.names]
    itself = {alias.asname for alias in imported if alias.name == name.rpartition(".")[2]}
    return {
        ast.unparse(line.annotation)
        for line in lines
        if isinstance(line, ast.AnnAssign) and line.value and ast.unparse(line.value) in itself
    }


def test_every_module_with_a_name_is_registered() -> None:
    modules = {
        folder.name: find_spec(f"{workloads.__name__}.{folder.name}.workload")
        for folder in pkgutil.iter_modules(workloads.__path__)
        if folder.ispkg
    }
    sources = {
        name: Path(spec.origin).read_text(encoding="utf-8")
        for name, spec in modules.items()
        if spec and spec.origin
    }
    named = {
        name for name, source in sources.items() if re.search(r"^NAME\b.*=", source, re.MULTILINE)
    }
    assert named - {*MODULES.values()} == set(), (
        "these modules have a NAME, and workloads/registry.py does not list them"
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_every_field_has_a_description_and_valid_examples(tool: str) -> None:
    schema = schema_of(tool)
    Draft202012Validator.check_schema(schema)
    found = list(fields(schema))
    assert found, f"the schema of {tool} has no parameters"
    for path, field in found:
        assert field.get("description"), f"{tool}: {path} has no description"
        assert field.get("examples"), f"{tool}: {path} has no examples"
        for value in [*field["examples"], *([field["default"]] if "default" in field else [])]:
            validate({**field, "$defs": schema.get("$defs", {})}, value, f"{tool}: {path}")
            if "x-quantity" in field:
                parse_quantity(value, Dimension(field["x-quantity"]))


def validate(schema: dict[str, Any], value: object, where: str) -> None:
    try:
        Draft202012Validator(schema).validate(value)
    except ValidationError as error:
        pytest.fail(f"{where}: the example or default {value!r} is not valid: {error.message}")


@pytest.mark.parametrize("tool", TOOLS)
def test_schema_and_module_say_the_same(tool: str) -> None:
    schema, workload = schema_of(tool), get_workload(tool)
    about = schema["x-benchspec"]
    assert ABOUT <= about.keys() <= ABOUT | ABOUT_SOME
    assert about["roles"] == [str(role) for role in workload.ROLES], (
        "roles of the schema and of the module"
    )
    assert about["metrics"] == [metric.name for metric in workload.METRICS], (
        "metrics of the schema and of the module"
    )
    assert len(set(about["metrics"])) == len(about["metrics"]), "a metric twice"
    named = [
        *about["duration"],
        *about.get("secrets", []),
        *([about["declares"]] if "declares" in about else []),
    ]
    assert set(named) <= schema["properties"].keys(), (
        "x-benchspec names parameters that there are not"
    )
    primary = workload.primary(plain_parameters(tool))
    assert about["primary"] in (
        primary,
        primary.partition("{")[0],
    ), "primary of the schema and of the module"


@pytest.mark.parametrize("tool", TOOLS)
def test_gates_and_what_feeds_them_are_known(tool: str) -> None:
    workload = get_workload(tool)
    assert workload.DEFAULT_GATES.keys() <= MEASURED.keys(), "a gate that there is not"
    inputs = workload.GATE_INPUTS if isinstance(workload, FeedsGates) else ()
    assert {metric.name for metric in inputs} <= series.GATE_INPUTS, "no gate looks at this"


@pytest.mark.parametrize("tool", TOOLS)
def test_examples_can_be_planned(tool: str) -> None:
    workload, about = get_workload(tool), schema_of(tool)["x-benchspec"]
    assert examples_of(tool), f"the schema of {tool} has no examples of its parameters"
    for parameters in examples_of(tool):
        validate(schema_of(tool), parameters, tool)
        clients = planned(tool, parameters).clients
        assert clients
        assert all(client.timeout_s > workload.duration_s(parameters) > 0 for client in clients), (
            "a deadline before the end of the trial"
        )
        assert all(isinstance(word, str) for client in clients for word in client.argv)
        assert workload.tools(parameters)
        metrics = [metric.name for metric in workload.metrics(parameters)]
        assert "declares" in about or metrics == about["metrics"], (
            "other metrics than the schema lists"
        )
        assert workload.primary(parameters).partition("{")[0] in metrics, (
            "the primary metric is none of the tool's"
        )


@pytest.mark.parametrize("tool", TOOLS)
def test_defaults_of_the_schema_are_those_of_the_module(tool: str) -> None:
    """Saying a default changes nothing, wherever it may be said."""
    schema, plain = schema_of(tool), plain_parameters(tool)
    for name, field in schema["properties"].items():
        field = schema["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        without = {key: value for key, value in plain.items() if key != name}
        said = {**without, name: field.get("default")}
        if "default" in field and accepts(tool, without) and accepts(tool, said):
            assert planned(tool, said) == planned(tool, without), f"{tool}: the default of {name}"


@pytest.mark.parametrize("tool", TOOLS)
def test_keys_of_ones_own_are_free_and_others_refused(tool: str) -> None:
    parameters = examples_of(tool)[0]
    assert accepts(tool, {**parameters, "x-note": {"any": ["thing"]}})
    assert not accepts(tool, {**parameters, "note": 1}), f"the schema of {tool} takes any key"


@pytest.mark.parametrize("tool", TOOLS)
def test_there_are_golden_outputs(tool: str) -> None:
    cases = goldens(tool)
    assert [case.name for case in cases if case.measurements], (
        f"no golden output of {tool} in which something is measured"
    )
    assert [case.name for case in cases if case.error], (
        f"no golden output of {tool} that is refused"
    )


@pytest.mark.parametrize(("tool", "name"), CASES, ids=[f"{tool}-{name}" for tool, name in CASES])
def test_golden_output(tool: str, name: str) -> None:
    check(get_workload(tool), read_golden(tool, name))


def test_no_golden_output_belongs_to_nobody() -> None:
    folders = {path.parent.name for path in DATA.glob("*/*.expected.json")}
    assert folders - {*MODULES, *READERS} == set(), (
        "golden outputs of tools that workloads/registry.py does not list"
    )
