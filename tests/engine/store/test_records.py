from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from benchspec.engine.store import records

ENGINE = Path(__file__).parents[3] / "engine"
WORDS = {"facts", "claim", "finding", "tools", "cleaned"}
"""Types that are ordinary words, too."""


def types_of_the_schema() -> set[str]:
    schema = json.loads((files("benchspec.schemas") / "run" / "record.schema.json").read_text())
    return set(schema["properties"]["type"]["enum"])


def literals(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_type_of_record_has_one_name_and_the_schema_describes_it() -> None:
    named = [
        value for name, value in vars(records).items() if name.isupper() and isinstance(value, str)
    ]
    assert len(named) == len(set(named))
    assert set(named) == types_of_the_schema()


def test_no_other_module_of_the_engine_writes_a_type_of_record_out() -> None:
    dotted = types_of_the_schema() - WORDS
    found = {
        (path.relative_to(ENGINE).as_posix(), literal)
        for path in ENGINE.rglob("*.py")
        if path != ENGINE / "store" / "records.py"
        for literal in literals(path)
        if literal in dotted
    }
    assert not found
