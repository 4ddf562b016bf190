"""A broken tool fails by being registered: each of these is put into a copy of the project, and the
tests of all tools say what is wrong with it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

import benchspec

HERE = Path(__file__).parent
PACKAGE = Path(benchspec.__file__).parent
PREFIX = "strange-"

MODULE = '''"""A tool that counts."""

import re
from typing import TYPE_CHECKING

from ...engine.model.errors import ParseError
from ...engine.model.contract.values import Command, Commands, Tool
from ...engine.model.contract.workload import Workload
from ...engine.model.results import Direction, Metric
from ...engine.model.spec import Role
from ..shared.measurements import measurements
from ..shared.quantities import seconds

NAME = "strange-KEY"
METRICS = (Metric(name="rate", title="Rate", unit="1/s", direction=Direction.HIGHER),)
MEASURED = METRICS
ROLES = (Role.CLIENT,)
DEFAULT_GATES = {}


def metrics(parameters):
    return METRICS


def tools(parameters):
    return (Tool(executable="true", package="coreutils", version_argv=()),)


def primary(parameters):
    return "rate"


def duration_s(parameters):
    return seconds(parameters, "duration", "10 s")


def commands(experiment, surroundings):
    length = duration_s(experiment.parameters)
    return Commands(clients=(Command(argv=("true", f"{length:g}"), role=Role.CLIENT, timeout_s=length + 60),))


def parse(completed, parameters):
    (process,) = completed
    if process.exit_code:
        raise ParseError(f"true exited with {process.exit_code}")
    found = re.fullmatch(rb"rate (\\d{1,9})\\n", process.stdout)
    if not found:
        raise ParseError("no rate")
    return measurements(MEASURED, {metric.name: float(found[1]) for metric in MEASURED})


if TYPE_CHECKING:
    from . import workload as _this

    _held: Workload = _this
'''
SCHEMA = json.dumps(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "description": "Counts.",
        "properties": {
            "duration": {
                "type": "string",
                "x-quantity": "s",
                "description": "Length of a trial.",
                "examples": ["3 s"],
                "default": "10 s",
            }
        },
        "patternProperties": {"^x-": {"description": "Free.", "examples": [1]}},
        "additionalProperties": False,
        "examples": [{"duration": "3 s"}],
        "x-benchspec": {
            "roles": ["client"],
            "metrics": ["rate"],
            "primary": "rate",
            "duration": ["duration"],
        },
    }
)
REGISTERED = 'MODULES: Mapping[str, str] = {\n    "strange-KEY": "strange_KEY",'


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """What is changed in the tool (each place once) or left out of it (a pattern of paths), the
    test that must fail, and what it must say.
    """

    test: str
    says: str
    module: tuple[str, str] = ("", "")
    schema: tuple[str, str] = ("", "")
    golden: tuple[str, str] = ("", "")
    without: str = "nothing"


_FIELD = "test_every_field_has_a_description_and_valid_examples"
_SAME = "test_schema_and_module_say_the_same"
_HELD = "test_mypy_holds_the_module_against_what_it_is_taken_for"
_PLANNED = "test_examples_can_be_planned"
_UNDECLARED = (
    'MEASURED = (*METRICS, Metric(name="other", title="Other", unit="1",'
    " direction=Direction.LOWER))"
)
BROKEN: Mapping[str, Breakage] = {
    "golden": Breakage(
        test="test_golden_output",
        says="other figures in the golden output good: ",
        golden=("7.0", "8.0"),
    ),
    "undeclared": Breakage(
        test="test_golden_output",
        says="measures what it does not declare: other",
        module=("MEASURED = METRICS", _UNDECLARED),
        golden=('{"rate": 7.0}', '{"rate": 7.0, "other": 7.0}'),
    ),
    "unmeasured": Breakage(
        test="test_there_are_golden_outputs",
        says="no golden output of strange-unmeasured in which",
        without="*/good.expected.json",
    ),
    "goldenless": Breakage(
        test="test_there_are_golden_outputs",
        says="no golden outputs of strange-goldenless",
        without="*.expected.json",
    ),
    "unschemed": Breakage(
        test="test_schema_and_module_come_together",
        says="there is no schema of it",
        without="*.schema.json",
    ),
    "unmade": Breakage(
        test="test_schema_and_module_come_together",
        says="there is no module",
        without="*/strange_*/workload.py",
    ),
    "unlisted": Breakage(
        test="test_schema_and_module_come_together",
        says="workloads/registry.py does not list it",
        without="*/registry.py",
    ),
    "mute": Breakage(
        test=_FIELD,
        says="$.duration has no description",
        schema=('"description": "Length of a trial.", ', ""),
    ),
    "bare": Breakage(
        test=_FIELD, says="$.duration has no examples", schema=('"examples": ["3 s"], ', "")
    ),
    "mistyped": Breakage(
        test=_FIELD,
        says="'3 s' is not valid",
        schema=('"type": "string", "x-quantity": "s"', '"type": "string", "pattern": "m$"'),
    ),
    "example": Breakage(
        test=_PLANNED,
        says="{'length': '3 s'} is not valid",
        schema=('[{"duration": "3 s"}]', '[{"length": "3 s"}]'),
    ),
    "unplanned": Breakage(
        test=_PLANNED,
        says="KeyError: 'size'",
        module=(
            "    length = duration_s",
            '    experiment.parameters["size"]\n    length = duration_s',
        ),
    ),
    "metric": Breakage(
        test=_SAME,
        says="metrics of the schema and of the module",
        schema=('"metrics": ["rate"]', '"metrics": ["other"]'),
    ),
    "roles": Breakage(
        test=_SAME,
        says="roles of the schema and of the module",
        schema=('["client"]', '["server"]'),
    ),
    "primary": Breakage(
        test=_SAME,
        says="primary of the schema and of the module",
        schema=('"primary": "rate"', '"primary": "other"'),
    ),
    "length": Breakage(
        test=_SAME,
        says="names parameters that there are not",
        schema=('"duration": ["duration"]', '"duration": ["length"]'),
    ),
    "default": Breakage(
        test="test_defaults_of_the_schema_are_those_of_the_module",
        says="the default of duration",
        schema=('"10 s"', '"20 s"'),
    ),
    "gate": Breakage(
        test="test_gates_and_what_feeds_them_are_known",
        says="a gate that there is not",
        module=("DEFAULT_GATES = {}", 'DEFAULT_GATES = {"max_rate": 1.0}'),
    ),
    "memberless": Breakage(
        test="test_schema_and_module_come_together",
        says="it lacks primary",
        module=("def primary", "def main_metric"),
    ),
    "unheld": Breakage(
        test=_HELD,
        says="mypy does not hold strange-unheld against Workload",
        module=("    _held: Workload = _this", "    pass"),
    ),
    "volumes": Breakage(
        test=_HELD,
        says="mypy does not hold strange-volumes against WritesVolumes",
        module=("DEFAULT_GATES = {}", "DEFAULT_GATES = {}\nVOLUMES = ROLES"),
    ),
    "parser-raises": Breakage(
        test="test_any_bytes",
        says="NoneType",
        module=('    if not found:\n        raise ParseError("no rate")\n', ""),
    ),
    "parser-trusts": Breakage(
        test="test_a_failed_process_measured_nothing",
        says="DID NOT RAISE",
        module=("if process.exit_code:", "if process.exit_code > 255:"),
    ),
    "parser-invents": Breakage(
        test="test_any_bytes",
        says="no measurement and no reason",
        module=('raise ParseError("no rate")', "return ()"),
    ),
}


def changed(text: str, change: tuple[str, str]) -> str:
    before, after = change
    assert not before or text.count(before) == 1, f"{before!r} is not there once"
    return text.replace(before, after) if before else text


def add(root: Path, key: str, broken: Breakage) -> None:
    """Add the tool to the copy as a contributor would: module, schema, golden outputs, one line of
    the registry.
    """
    golden = {
        "tool": "true",
        "command": ["true"],
        "parameters": {},
        "outputs": ["good.out"],
        "exit_code": 0,
        "measurements": {"rate": 7.0},
    }
    refused = {**golden, "outputs": ["bad.out"], "error": "no rate"}
    del refused["measurements"]
    registry, data, name = (
        root / "benchspec/workloads/registry.py",
        root / "tests/data" / f"{PREFIX}{key}",
        f"{PREFIX}{key}",
    )
    files = {
        root / f"benchspec/workloads/{name.replace('-', '_')}/__init__.py": "",
        root / f"benchspec/workloads/{name.replace('-', '_')}/workload.py": named(
            changed(MODULE, broken.module), key
        ),
        root / f"benchspec/schemas/workloads/{name}.schema.json": changed(SCHEMA, broken.schema),
        data / "good.out": "rate 7\n",
        data / "good.expected.json": changed(json.dumps(golden), broken.golden),
        data / "bad.out": "rat\n",
        data / "bad.expected.json": json.dumps(refused),
        registry: (
            registry.read_text().replace(
                "MODULES: Mapping[str, str] = {", named(REGISTERED, key), 1
            )
        ),
    }
    for path, text in files.items():
        if not path.match(broken.without):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


def named(text: str, key: str) -> str:
    """``text`` with the names of the tool and of its module."""
    return text.replace("strange_KEY", f"strange_{key.replace('-', '_')}").replace("KEY", key)


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What the tests of all tools said of the broken ones, and of a sound one: the failure by the
    name of the test, "" where it passed.
    """
    root = tmp_path_factory.mktemp("copy")
    copy_project(root)
    for key, broken in {"sound": Breakage(test="", says=""), **BROKEN}.items():
        add(root, key, broken)
    argv = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--junitxml=report.xml",
        *SELECTED,
    )
    done = subprocess.run(
        argv,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    cases = ElementTree.parse(root / "report.xml").iter("testcase")
    return {
        case.attrib["name"]: "".join(f"{said.attrib.get('message')}\n{said.text}" for said in case)
        for case in cases
    }


SELECTED = (
    *(
        "tests/workloads/test_every_tool.py",
        "tests/workloads/test_parser_honesty.py",
        "tests/workloads/test_surroundings.py",
    ),
    *("-k", "test_every_module or strange and not honesty or strange-parser or strange-sound"),
)


def copy_project(root: Path) -> None:
    """What the tests of tools need; what they do not change are links."""
    package = root / "benchspec"
    package.mkdir()
    for path in PACKAGE.iterdir():
        if path.name in ("workloads", "schemas"):
            shutil.copytree(path, package / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.name in ("__init__.py", "cli", "engine", "runners", "reports", "specs"):
            (package / path.name).symlink_to(path)
    shutil.copytree(HERE, root / "tests/workloads", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "needs.py", "slow.txt"):
        shutil.copy(HERE.parent / name, root / "tests")
    shutil.copy(HERE.parents[1] / "pyproject.toml", root)
    (root / "tests/data").mkdir()
    for path in (HERE.parent / "data").iterdir():
        (root / "tests/data" / path.name).symlink_to(path)


def test_a_sound_tool_passes(failures: Mapping[str, str]) -> None:
    said = {name: text for name, text in failures.items() if f"{PREFIX}sound" in name}
    assert len(said) > 15
    assert not any(said.values()), said


@pytest.mark.parametrize("key", BROKEN)
def test_a_broken_tool_fails_and_the_test_says_why(failures: Mapping[str, str], key: str) -> None:
    broken = BROKEN[key]
    said = "\n".join(
        text for name, text in failures.items() if name.startswith(f"{broken.test}[{PREFIX}{key}")
    )
    assert broken.says in said


def test_a_module_that_is_not_registered_is_seen(failures: Mapping[str, str]) -> None:
    assert "strange_unlisted" in failures["test_every_module_with_a_name_is_registered"]
