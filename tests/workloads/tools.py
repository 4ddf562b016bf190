"""The tools that tests are about: those that workloads/registry.py lists, with their schemas. No
test keeps a list of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

from benchspec.engine.model.schema_files import SUFFIX
from benchspec.engine.model.spec import Json
from benchspec.workloads.registry import MODULES

TOOLS = tuple(sorted(MODULES))
_SCHEMAS = files("benchspec.schemas").joinpath("workloads")


def tools_with_schema() -> set[str]:
    """Every name that has a schema in ``schemas/workloads``, registered or not."""
    return {
        item.name.removesuffix(SUFFIX) for item in _SCHEMAS.iterdir() if item.name.endswith(SUFFIX)
    }


def schema_of(tool: str) -> dict[str, Any]:
    """The schema of the tool's parameters."""
    assert tool in tools_with_schema(), (
        f"workloads/registry.py lists {tool}, and there is no schemas/workloads/{tool}{SUFFIX}"
    )
    document: dict[str, Any] = json.loads(
        _SCHEMAS.joinpath(f"{tool}{SUFFIX}").read_text(encoding="utf-8")
    )
    return document


def accepts(tool: str, parameters: object) -> bool:
    """Whether the schema lets ``parameters`` pass."""
    return Draft202012Validator(schema_of(tool)).is_valid(parameters)


def examples_of(tool: str) -> list[dict[str, Json]]:
    """The examples of the whole schema: parameters that must be valid, and that can be planned."""
    examples: list[dict[str, Json]] = schema_of(tool).get("examples", [])
    return examples


def plain_parameters(tool: str) -> dict[str, Json]:
    """The least that may be said: what is required, as in the first example; that example where
    this is not enough.
    """
    first = examples_of(tool)[0]
    least = {name: first[name] for name in schema_of(tool).get("required", [])}
    return least if accepts(tool, least) else first


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
