"""A verb parses options, calls its use case and prints: it is short, and knows its use case."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchspec.cli.app import VERBS, module_of

ROOT = Path(__file__).parents[2]
ALONE = {"completion"}
"""What only a command line needs."""


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_under_60_lines_and_calls_its_use_case(verb: str) -> None:
    path = ROOT / "cli" / f"{module_of(verb).rpartition('.')[2]}.py"
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert ("from ..api." in text) == (verb not in ALONE)


def test_click_and_rich_are_known_to_the_command_line_alone() -> None:
    rooms = ("api", "engine", "reports", "runners", "workloads")
    modules = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    assert len(modules) > 200
    knows = re.compile(r"^\s*(import|from) (click|rich)\b|\bprint\(|sys\.exit\(", re.MULTILINE)
    found = [path for path in modules if knows.search(path.read_text(encoding="utf-8"))]
    assert [str(path.relative_to(ROOT)) for path in found] == []
