"""The schemas: valid by themselves, described in every field, printed as they are used, and
accepted by the acceptor as by jsonschema.
"""

from __future__ import annotations

import copy
import importlib
import json
import random
import sys
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchspec.engine.language.load import check_spec
from benchspec.engine.language.schema import registry as schemas
from benchspec.engine.language.schema.explain import accepts, problems
from benchspec.engine.language.schema.fast_validator import (
    UnknownKeyword,
    compile_schema,
    equal,
    repeated,
)
from benchspec.engine.language.schema.registry import (
    RUN,
    SchemaCheck,
    read_schema_bytes,
    schema_names,
)
from benchspec.engine.language.yaml.source import read_yaml
from benchspec.engine.model.diagnostics import Problem
from benchspec.engine.model.errors import UsageError
from benchspec.engine.model.schema_files import known, plugins

ROOT = Path(__file__).parents[4]
VALID = ROOT / "tests" / "specs" / "valid"
NAMES = schema_names()


def document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(read_schema_bytes(name))
    return loaded


def subschemas(part: object, path: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every subschema with its pointer; examples and enums are no schemas."""
    if isinstance(part, dict):
        yield path, part
        for keyword in ("properties", "patternProperties", "$defs"):
            for name, inner in part.get(keyword, {}).items():
                yield from subschemas(inner, f"{path}/{keyword}/{name}")
        for keyword in (
            "items",
            "additionalProperties",
            "if",
            "then",
            "else",
            "not",
            "propertyNames",
        ):
            yield from subschemas(part.get(keyword), f"{path}/{keyword}")
        for keyword in ("allOf", "anyOf", "oneOf"):
            for index, inner in enumerate(part.get(keyword, ())):
                yield from subschemas(inner, f"{path}/{keyword}/{index}")


def resolved(root: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        target: Any = root
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    return part


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_needs_no_other_file(name: str) -> None:
    Draft202012Validator.check_schema(document(name))
    assert document(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    references = [part["$ref"] for _, part in subschemas(document(name)) if "$ref" in part]
    assert all(reference.startswith("#/$defs/") for reference in references)


def fields(root: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of a schema: properties, items and values of free keys, with what a $ref
    brings.
    """
    for path, part in subschemas(root):
        holder = path.rpartition("/")[0].rpartition("/")[2]
        if "/not/" in path or "/if/" in path or "/then/" in path or "/else/" in path:
            continue
        if holder in ("properties", "patternProperties") or path.endswith(
            ("/items", "/additionalProperties")
        ):
            yield path, resolved(root, part)


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_described_with_examples_that_satisfy_it(name: str) -> None:
    root = document(name)
    found = [("#", root), *fields(root)]
    assert len(found) > 3
    for path, field in found:
        assert field.get("description"), path
        assert field.get("examples"), path
        check = compile_schema({**field, "$defs": root.get("$defs", {})})
        for example in field["examples"]:
            assert check(example), (path, example)


@pytest.mark.parametrize("name", NAMES)
def test_objects_allow_only_known_keys_and_extensions(name: str) -> None:
    for path, part in subschemas(document(name)):
        if "properties" in part and not any(
            step in path for step in ("/not", "/if", "/then", "/allOf", "$defs/site")
        ):
            assert part.get("additionalProperties") is False, path
            assert ("^x-" in part.get("patternProperties", {})) is (name not in RUN), (
                f"{path}: a spec may be extended, what a run stores may not"
            )


def test_the_printed_bytes_are_the_packaged_ones() -> None:
    package = resources.files("benchspec.schemas")
    assert read_schema_bytes() == package.joinpath("benchmark.schema.json").read_bytes()
    assert read_schema_bytes("fio") == package.joinpath("workloads/fio.schema.json").read_bytes()
    assert read_schema_bytes("ssh") == package.joinpath("runners/ssh.schema.json").read_bytes()
    assert read_schema_bytes("journal") == package.joinpath("run/record.schema.json").read_bytes()
    assert set(NAMES) >= {
        "benchmark",
        "fio",
        "iperf3",
        "command",
        "local",
        "ssh",
        "kubernetes",
        "journal",
        "manifest",
        "plan",
        "trial",
    }
    assert {f"{file}.schema.json" for file in RUN.values()} == {
        file.name for file in package.joinpath("run").iterdir()
    }


@pytest.mark.parametrize(
    "name", ["fioo", "../pyproject", "", "benchmark.schema", "workloads/fio", "x\0y"]
)
def test_a_schema_that_does_not_exist(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_schema_bytes(name)
    assert "benchmark" in str(caught.value.remedy) or "fio" in str(caught.value.remedy)


def test_a_plug_ins_schema_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "strange_tools"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"speed": {"type": "integer"}},
        "x-benchspec": {"roles": ["client"]},
    }
    (package / "deep" / "quick.schema.json").write_text(json.dumps(schema))
    (package / "slow.schema.json").write_text(json.dumps({"type": "object"}))
    info = tmp_path / "strange_tools-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-tools\nVersion: 1\n")
    entries = (
        "[benchspec.workloads]\nquick = strange_tools.deep:WORKLOAD\nslow ="
        " strange_tools.slow\nlost = strange_tools.lost\ngone = no_such_package.x\n"
    )
    (info / "entry_points.txt").write_text(
        entries + "[benchspec.runners]\nslow = strange_tools.slow\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    for cache in (known, plugins, schemas._check):
        cache.cache_clear()
    try:
        spec = tmp_path / "spec.yaml"
        text = (VALID / "minimal.yaml").read_text(encoding="utf-8")
        spec.write_text(
            text.replace("{tool: openssl-speed}", "{tool: quick, with: {sped: 3}}"),
            encoding="utf-8",
        )
        assert [(found.code, found.hint) for found in check_spec(spec)] == [
            ("BS101", 'did you mean "speed"?')
        ]
        spec.write_text(
            text.replace("openssl-speed", "slow").replace("{runner: local}", "{runner: slow}"),
            encoding="utf-8",
        )
        assert check_spec(spec) == ()
        spec.write_text(text.replace("openssl-speed", "lost"), encoding="utf-8")
        assert [found.code for found in check_spec(spec)] == ["BS111"]
        assert {"quick", "slow", "lost", "fio"} <= set(known("workloads"))
        spec.write_text(text.replace("openssl-speed", "gone"), encoding="utf-8")
        assert [found.code for found in check_spec(spec)] == ["BS111"]
        assert "strange_tools" not in sys.modules
    finally:
        for cache in (known, plugins, schemas._check):
            cache.cache_clear()


VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    2.5,
    10**30,
    "",
    "x",
    "60 s",
    "1 GiB",
    "2 %",
    "-1 s",
    "read",
    "name\n",
    "x" * 5000,
    [],
    [1, 1],
    [1, True],
    [[]],
    {},
    {"kind": "local"},
    {"x-a": 1},
    {"name": "a"},
    "${secret:env:A}",
    "2023-03-20",
    "10 Gbit/s",
    [{"name": "a"}],
]


def mutated(value: Any, choose: random.Random) -> Any:
    """``value`` with a part replaced, removed, renamed or added."""
    value = copy.deepcopy(value)
    holder, places = value, []
    while isinstance(holder, dict | list) and holder and choose.random() < 0.85:
        key = (
            choose.choice(list(holder))
            if isinstance(holder, dict)
            else choose.randrange(len(holder))
        )
        places.append((holder, key))
        holder = holder[key]
    if not places:
        return choose.choice(VALUES)
    held, key = places[-1]
    action = choose.random()
    if action < 0.5:
        held[key] = choose.choice(VALUES)
    elif action < 0.7:
        del held[key]
    elif isinstance(held, dict):
        held[choose.choice([f"{key}s", "x-new", "kind", "name", str(key)[:-1]])] = held.pop(key)
    else:
        held.append(choose.choice(VALUES))
    return value


def samples(name: str) -> list[Any]:
    root = document(name)
    if name == "benchmark":
        return [read_yaml(path.read_bytes(), "x").data for path in sorted(VALID.glob("*.yaml"))]
    return [example for _, field in [("#", root), *fields(root)] for example in field["examples"]]


@pytest.mark.parametrize("name", NAMES)
def test_the_acceptor_agrees_with_jsonschema_and_every_refusal_is_explained(name: str) -> None:
    root = document(name)
    quick, careful = compile_schema(root), accepts(root)
    choose = random.Random(name)
    given = samples(name)
    refused = 0
    for _ in range(150):
        value = choose.choice(given)
        for _ in range(choose.randint(1, 2)):
            value = mutated(value, choose)
        assert quick(value) == careful(value), value
        if not quick(value):
            refused += 1
            found = problems(root, value, ("at",))
            assert found or "${" in repr(value), value
            assert all(problem.path[0] == "at" for problem in found)
    assert refused > 20


KEYWORDS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"type": ["integer", "null"]}, [None, 1, 1.0, 1.5, True, "1"]),
    (
        {"enum": [1, "a", None, [1], {"a": True}]},
        [1, True, 1.0, "a", None, [1], [True], {"a": True}, {"a": 1}, {"b": True}],
    ),
    ({"const": False}, [False, 0, None]),
    ({"minimum": 1, "maximum": 3}, [0, 1, 3, 4, True, "9"]),
    ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, [1, 2, 3, 2.5]),
    ({"minLength": 1, "maxLength": 2}, ["", "a", "abc", 5]),
    (
        {"minItems": 1, "maxItems": 2, "uniqueItems": True},
        [[], [1], [1, 1], [1, True], [{}, {}], [{}, []], {}],
    ),
    ({"minProperties": 1, "maxProperties": 1}, [{}, {"a": 1}, {"a": 1, "b": 2}, []]),
    ({"items": {"type": "string"}}, [[], ["a"], ["a", 1], "a"]),
    ({"required": ["a"], "dependentRequired": {"a": ["b"]}}, [{}, {"a": 1}, {"a": 1, "b": 1}, []]),
    ({"propertyNames": {"pattern": "^a"}}, [{}, {"ab": 1}, {"b": 1}, 1]),
    (
        {"properties": {"a": {"type": "string"}}, "patternProperties": {"^a": {"minLength": 2}}},
        [{"a": "x"}, {"a": "xy"}, {"ab": "x"}, {"b": 1}],
    ),
    ({"patternProperties": {"^x": True}, "additionalProperties": False}, [{"x": 1}, {"y": 1}]),
    ({"additionalProperties": {"type": "integer"}}, [{"x": 1}, {"y": "a"}]),
    (
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "integer"}},
        ["a", "ab", 1, 1.5],
    ),
    ({"if": {"type": "string"}}, ["a", 1]),
    ({"allOf": [{"type": "string"}, {"minLength": 1}]}, ["", "a", 1]),
    (
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        ["", [1], ["a"], 1],
    ),
    ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, [1, 7, 7.5, "a"]),
    ({"not": {"required": ["a"]}}, [{}, {"a": 1}]),
    ({"not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}}, [{}, {"a": 1, "b": 2}]),
    ({"not": {"type": "string"}}, ["a", 1]),
    ({"properties": {"a": False}}, [{}, {"a": 1}]),
    (
        {
            "$ref": "#/$defs/tree",
            "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        },
        [[], [[], [[]]], [[1]]],
    ),
    ({"$ref": "#"}, []),
    ({"$defs": {"a/b~c": {"type": "null"}}, "$ref": "#/$defs/a~1b~0c"}, [None, 1]),
    ({"pattern": "^a$"}, ["a", "a\n", "b", 1]),
    ({"pattern": "\\d\\$"}, ["1$", "١$"]),
    ({"x-quantity": "s"}, ["1 s", "1 GB", "-1 s", 5, None, [], True]),
    ({"x-quantity": "any"}, ["1 s", "1 GB", "1", 5, "1 furlong"]),
    (
        {"x-quantity": "ratio", "type": ["string", "number"]},
        ["1 %", 0.5, -0.5, "1 s", [], "9" * 200],
    ),
    ({"x-quantity": "parsec"}, ["1 s", 5]),
    ({"multipleOf": 2}, [2, 3]),
    ({"type": "array", "contains": {"type": "string"}}, [["a"], [1]]),
    ({"unevaluatedProperties": False}, [{}, {"a": 1}]),
]


@pytest.mark.parametrize(
    ("schema", "values"),
    KEYWORDS,
    ids=[next(iter(schema)) + str(index) for index, (schema, _) in enumerate(KEYWORDS)],
)
def test_every_keyword_means_what_jsonschema_takes_it_for(
    schema: dict[str, Any], values: list[Any]
) -> None:
    check = SchemaCheck(schema)
    for value in values:
        assert check.accepts(value) == accepts(schema)(value), value
        found = check.problems(value, ("p",))
        assert bool(found) == (not check.accepts(value)), value
        assert all(
            isinstance(problem, Problem) and problem.found and problem.expected for problem in found
        )


def test_keywords_the_acceptor_does_not_know_are_left_to_jsonschema() -> None:
    for schema in (
        {"multipleOf": 2},
        {"$ref": "https://example.org/x"},
        {"unevaluatedProperties": False},
    ):
        with pytest.raises(UnknownKeyword):
            compile_schema(schema)
    assert compile_schema(True)(1)
    assert not compile_schema(False)(1)


def test_json_equality_and_repetition() -> None:
    assert equal([1, {"a": [True]}], [1, {"a": [True]}])
    assert not equal([1], [1, 2])
    assert not equal({"a": 1}, {"a": True})
    assert repeated([1, True, 1.0, {"a": 1}, {"a": 1}]) == [1.0, {"a": 1}]
    assert repeated(["a", "b"]) == []


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        ({"type": "string"}, True, ["found true, expected a text; put it in quotes"]),
        ({"type": "object"}, "a", ['found the text "a", expected a mapping']),
        (
            {"type": ["array", "object"]},
            None,
            ["found nothing (null), expected a list or a mapping"],
        ),
        ({"type": "boolean"}, [1], ["found a list with 1 item, expected true or false"]),
        ({"enum": ["1.20", "a"]}, 1.20, ["found 1.2, expected one of 1.20, a"]),
        ({"enum": ["1.5"]}, 1.5, ["found the number 1.5, expected a text; put it in quotes"]),
        ({"enum": [1, 2]}, 3, ["found 3, expected one of 1, 2"]),
        ({"minProperties": 1}, {}, ["found a mapping with 0 keys, expected at least 1 key"]),
        ({"minItems": 1}, [], ["found a list with 0 items, expected at least 1 item"]),
        (
            {"maxLength": 1},
            "abc",
            ["found a text of 3 characters, expected a text of at most 1 characters"],
        ),
        ({"uniqueItems": True}, ["a", "a"], ['found "a" more than once, expected every item once']),
        ({"multipleOf": 5}, 3, ["found 3, expected a multiple of 5"]),
        ({"pattern": "^a+$"}, "b", ['found "b", expected text that matches ^a+$']),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"a": 1},
            ['found a mapping without "b", expected the key "b" beside "a"'],
        ),
        (
            {"not": {"required": ["a"]}, "x-expected": "no a here"},
            {"a": 1},
            ['found the key "a", expected no a here'],
        ),
        (
            {"not": {"type": "string"}},
            "a",
            ['found "a", expected it to be left out beside the other values given here'],
        ),
        (
            {"properties": {"a": False}},
            {"a": 1},
            ['found the key "a", expected it to be left out beside the other values given here'],
        ),
        (False, 1, ["found 1, expected no value"]),
        (
            {"contains": {"type": "string"}},
            [1],
            ["found a list with 1 item, expected what the schema's contains asks for"],
        ),
        (
            {"anyOf": [{"type": "string"}, {"items": {"type": "integer"}, "type": "array"}]},
            ["a"],
            ['found the text "a", expected a whole number'],
        ),
        (
            {"propertyNames": {"enum": ["client", "b"]}},
            {"clent": 1},
            ['found the key "clent", expected one of client, b; did you mean "client"?'],
        ),
        (
            {"propertyNames": {"pattern": "^[a-z-]+$"}},
            {"My Key": 1},
            ['found the key "My Key", expected another name; did you mean "my-key"?'],
        ),
        (
            {"propertyNames": {"maxLength": 2}},
            {"abc": 1},
            ['found the key "abc", expected another name'],
        ),
        (
            {"x-quantity": "s", "type": "string"},
            60,
            ["found 60 without a unit, expected a time such as '60 s', '10 ms' or '5 min'"],
        ),
        (
            {"x-quantity": "B", "type": "string"},
            {},
            ["found a mapping with 0 keys, expected a text"],
        ),
        (
            {"x-quantity": "s", "type": "string", "pattern": "^[0-9]+ s$"},
            "1.5 s",
            ['found "1.5 s", expected text that matches ^[0-9]+ s$'],
        ),
        ({"type": "integer"}, "${var:x}", []),
    ],
)
def test_what_is_said(schema: Any, value: Any, messages: list[str]) -> None:
    found = problems(schema, value, ())
    said = [
        f"found {problem.found}, expected {problem.expected}"
        + (f"; {problem.hint}" if problem.hint else "")
        for problem in found
    ]
    assert said == messages


def test_the_language_is_not_checked_against_the_meta_schema_at_run_time() -> None:
    """check_schema costs more than a thousand checks; a test here does it instead."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "engine").rglob("*.py"))
    assert "check_schema" not in source


def test_a_valid_spec_costs_no_import_of_jsonschema() -> None:
    import subprocess

    code = (
        "import sys; from pathlib import Path; from benchspec.engine.language.load import"
        f" load_spec; load_spec(Path({str(VALID / 'clusters.yaml')!r})); slow = {{'jsonschema',"
        " 'referencing', 'numpy', 'scipy', 'click', 'rich', 'jinja2', 'kubernetes', 'paramiko'} &"
        " set(sys.modules); assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_mappings_are_schemas() -> None:
    assert isinstance(schemas.benchmark_schema().document, Mapping)
