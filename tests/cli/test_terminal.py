"""What is printed does not steer the terminal."""

from __future__ import annotations

import json

import pytest

from benchspec.cli.output.tables import print_table
from benchspec.cli.output.terminal import echo, plain

HOSTILE = "\x1b[31mred\x9b0m \x07 \r \x7f \u202eabc\u2066 \udc80"


def test_controls_and_reversals_become_text() -> None:
    assert plain(HOSTILE) == r"\u001b[31mred\u009b0m \u0007 \u000d \u007f \u202eabc\u2066 \udc80"
    assert (
        plain("a\tb\n10\u2009 200 \u00b5s \u2212 \u00e9 \u4e2d")
        == "a\tb\n10\u2009 200 \u00b5s \u2212 \u00e9 \u4e2d"
    )


def test_json_stays_the_same_json() -> None:
    assert json.loads(plain(json.dumps({"a": HOSTILE[:-1]}, ensure_ascii=False))) == {
        "a": HOSTILE[:-1]
    }


def test_lines_and_tables_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    echo(HOSTILE)
    print_table(("a", "b"), [("\x1b[2J", "x")])
    assert capsys.readouterr().out == plain(HOSTILE) + "\na          b\n\\u001b[2J  x\n"
