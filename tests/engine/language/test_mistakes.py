"""Mistakes that people make, each a file, and the very message that each gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchspec.engine.language.load import check_spec

MISTAKES = Path(__file__).parents[2] / "data" / "mistakes"
MESSAGES = MISTAKES / "messages.txt"
"""A paragraph for each file: its name, then a line for each problem, with line and column.
"""

MORE = re.compile(r"and \d+ more")
"""How many keys a list leaves out: that grows, and says nothing about the mistake."""


def expected() -> dict[str, list[str]]:
    paragraphs = MESSAGES.read_text("utf-8").strip().split("\n\n")
    return {name: lines for name, *lines in (each.split("\n") for each in paragraphs)}


def test_every_mistake_has_its_message() -> None:
    assert sorted(expected()) == sorted(path.name for path in MISTAKES.glob("*.yaml"))
    assert len(expected()) >= 32


@pytest.mark.parametrize("name", sorted(expected()))
def test_a_mistake_gets_the_message_that_a_user_needs(name: str) -> None:
    found = check_spec(MISTAKES / name)
    said = [
        f"{each.line}:{each.column} [{each.code}] {each.path}: {each.message}" for each in found
    ]
    assert [MORE.sub("and more", line) for line in said] == expected()[name]
