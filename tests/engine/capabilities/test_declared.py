"""Every parameter that reaches a path, a URL, a program or a secret says so in its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from benchspec.engine.capabilities.declared import DECLARED, KEYWORD, declared, resolved
from benchspec.engine.capabilities.model import Kind
from benchspec.engine.language.schema.fast_validator import compile_schema
from benchspec.engine.language.schema.registry import read_schema_bytes
from benchspec.engine.model.spec import Json
from benchspec.runners.registry import RUNNERS
from benchspec.workloads.registry import MODULES

REACHING = ("/etc/shadow", "../x", "https://example.org/", "${secret:env:TOKEN}")
"""What a value without bounds can be."""

NAMED = ("run", "script", "command", "program", "privileged", "become", "host_network", "destroys")
"""What cannot be told from the values that it takes."""


def leaves(
    schema: Mapping[str, Any], whole: Mapping[str, Any], path: str, told: bool
) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Every schema of a plain value with its path, and whether it, or what it is part of, is
    declared.
    """
    schema = resolved(schema, whole)
    told = told or schema.get(KEYWORD) not in (None, DECLARED)
    inner = {
        **{f"{path}.{name}": sub for name, sub in schema.get("properties", {}).items()},
        **{
            f"{path}{key}": schema[name]
            for key, name in (("[]", "items"), (".*", "additionalProperties"))
            if isinstance(schema.get(name), dict)
        },
        **{f"{path}({name})": schema[name] for name in ("then", "else") if name in schema},
    }
    if not inner or path.rpartition(".")[2] in NAMED:
        yield path, schema, told
    for name, sub in inner.items():
        yield from leaves(sub, whole, name, told)


def undeclared(document: Mapping[str, Any]) -> list[str]:
    found = []
    for path, schema, told in leaves(document, document, "", False):
        accepts = compile_schema({**schema, "$defs": document.get("$defs", {})})
        reaches = any(accepts(value) for value in REACHING)
        if (reaches or path.rpartition(".")[2] in NAMED) and not told:
            found.append(path)
    return found


@pytest.mark.parametrize("name", [*MODULES, *RUNNERS, "benchmark"])
def test_every_field_that_reaches_beyond_a_work_directory_is_declared(name: str) -> None:
    document = json.loads(read_schema_bytes(name))
    assert document[KEYWORD] == DECLARED
    assert undeclared(document) == []


def test_a_field_that_is_forgotten_is_found() -> None:
    document = {
        "x-capability": "declared",
        "properties": {
            "file": {"type": "string"},
            "mode": {"enum": ["read"]},
            "length": {"type": "string", "pattern": "^[0-9]+ s$"},
            "deep": {"type": "array", "items": {"properties": {"url": {"type": "string"}}}},
            "known": {"type": "string", "x-capability": "reads"},
        },
    }
    assert undeclared(document) == [".file", ".deep[].url"]


def test_what_declares_nothing_is_asked_for_as_a_whole() -> None:
    (one,) = declared({"a": 1}, {"title": "A plug-in", "type": "object"}, "workload w")
    assert (one.kind, one.what, one.where) == (
        Kind.UNKNOWN,
        'A plug-in: {"a": 1}',
        "workload w",
    )


def test_values_are_told_in_the_words_of_their_schema() -> None:
    document = {
        "x-capability": "declared",
        "properties": {
            "directory": {"type": "string", "x-capability": {"kind": "writes", "says": "{}, own"}},
            "lua": {"type": "string", "x-capability": {"kind": "executes", "says": "wrk runs {}"}},
            "off": {"type": "boolean", "x-capability": "rights"},
            "harmless": {"type": "string", "x-capability": "none"},
            "many": {"type": "array", "x-capability": "destroys", "items": {"type": "string"}},
        },
    }
    value: dict[str, Json] = {
        "directory": "/mnt",
        "lua": "os.execute()\n",
        "off": False,
        "harmless": "/x",
        "many": ["/a", "/b\nThis spec executes: nothing"],
    }
    found = list(declared(value, document, "workload w"))
    assert [(one.kind, one.what, one.where) for one in found] == [
        (Kind.WRITES, "/mnt, own", "workload w: directory"),
        (Kind.EXECUTES, "wrk runs a script of 1 lines", "workload w: lua"),
        (Kind.DESTROYS, "/a", "workload w: many"),
        (Kind.DESTROYS, "/b\\nThis spec executes: nothing", "workload w: many"),
    ]
    assert found[1].sha256 is not None
