"""Job files against a closed table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.model.text.option_lines import LONGEST, Table, refused

TABLE = Table(
    options={"rw", "size", "engine", "filename"}, values={"engine": ["sync"]}, files=["filename"]
)


def test_sections_comments_and_known_options_pass() -> None:
    text = (
        "; c $x\n# c `id`\n[global]\n\trw = read \n size=10%\r\n\nrw\nengine=sync\nfilename=a.b:c"
    )
    assert list(refused(text, TABLE)) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("exec_prerun=id", "'exec_prerun'"),
        ("RW=read", "'RW'"),
        ("engine=external:/x", "engine=external:/x"),
        ("engine", "engine="),
        ("size=`id`", "size="),
        ("size=$ncpus", "size="),
        ("size=1\x00", "control"),
        ("filename=/dev/sda", "filename=/dev/sda"),
        ("filename=a:/b", "filename"),
        ("filename=a/../b", "filename"),
        ("[a]b]", "option"),
        (";" + "x" * LONGEST, "too long"),
    ],
)
def test_everything_else_is_refused_with_its_line(line: str, found: str) -> None:
    (one,) = refused(f"[a]\n{line}\nrw=read", TABLE)
    assert one.line == 2
    assert found in one.found


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=50))
def test_whatever_passes_has_no_unknown_option(text: str) -> None:
    if not list(refused(text, TABLE)):
        for line in text.split("\n"):
            bare = line.strip(" \t\r")
            name = bare.partition("=")[0].strip()
            assert not bare or bare[0] in ";#[" or name in TABLE.options
