"""Files that a site's options name are found from the spec's folder, wherever benchspec is called
and whenever the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..model.spec import Json
from ..model.text.json_access import mapping, text
from .schema.registry import runner_schema

FILE = "x-file"
"""What the schema of a runner's option says of a path that is relative to the spec."""


def anchor_files(document: Mapping[str, Json], folder: Path) -> Mapping[str, Json]:
    """``document`` with the files of its runners' options made absolute; ``~`` stays for whoever
    opens them.
    """
    folder = folder.resolve()
    made = dict(document)
    if "sites" in made:
        made["sites"] = {
            name: _runner(site, folder) for name, site in mapping(made["sites"]).items()
        }
    if "targets" in made:
        made["targets"] = {
            name: _target(target, folder) for name, target in mapping(made["targets"]).items()
        }
    return made


def _target(target: Json, folder: Path) -> Json:
    found = mapping(target)
    return {**found, "runner": _runner(found["runner"], folder)} if "runner" in found else target


def _runner(runner: Json, folder: Path) -> Json:
    schema = runner_schema(text(mapping(runner).get("kind")))
    return _anchored(runner, schema.document, schema.document, folder) if schema else runner


def _anchored(
    value: Json, schema: Mapping[str, Any], whole: Mapping[str, Any], folder: Path
) -> Json:
    """``value``, which ``schema`` describes; ``whole`` is where its references lead."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    schema = whole["$defs"][name] if name else schema
    if schema.get(FILE) and isinstance(value, str):
        return value if value.startswith("~") else str(folder / value)
    if not isinstance(value, dict):
        return value
    named, others = schema.get("properties", {}), schema.get("additionalProperties")
    fallback = others if isinstance(others, dict) else {}
    return {
        key: _anchored(item, named.get(key, fallback), whole, folder) for key, item in value.items()
    }
