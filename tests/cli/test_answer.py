"""The answer in the terminal: tables that fit, sentences that wrap between words, links."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchspec.cli.output.answer import print_answer, print_links
from benchspec.cli.output.diagnostics import print_problems
from benchspec.reports.page.answer import Answer, AnswerRow
from tests.engine.execution.bench import environment

ROOT = Path(__file__).parents[2]
BAD = ROOT / "tests" / "data" / "golden" / "specs" / "invalid.yaml"
COLOR = "\x1b["


def row(target: str, value: str, **judged: str) -> AnswerRow:
    return AnswerRow(cell="Reads", metric="rate", unit="1/s", target=target, value=value, **judged)


ANSWER = Answer(
    title="Disks",
    rows=(
        row("old", "100.5 (98.5 to 102.5)"),
        row("new", "120", baseline="old", difference="+19 %", verdict="higher", tone="better"),
    ),
    sentences=("On new the mean rate is higher.",),
)


def on_terminal(
    *arguments: str, columns: int = 80, variables: Mapping[str, str] | None = None
) -> str:
    """What the program prints on a terminal so wide."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchspec", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**environment(), "TERM": "xterm", "COLUMNS": str(columns), **(variables or {})},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the last writer has closed it
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def test_rows_sentences_and_links(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_answer(ANSWER)
    print_links(tmp_path / "a b.md", tmp_path / "page.html")
    assert capsys.readouterr().out == (
        "Disks\n\nReads: rate (1/s)\n"
        "target  value                  difference  verdict\n"
        "old     100.5 (98.5 to 102.5)\n"
        "new     120                    +19 %       higher\n\n"
        "- On new the mean rate is higher.\n\n"
        f"Markdown  {tmp_path.as_uri()}/a%20b.md\nHTML      {tmp_path.as_uri()}/page.html\n"
    )


def test_problems_in_a_pipe_are_the_bare_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"a.yaml:1:2 [BS101] $.a: {'found ' * 40}"
    print_problems(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_diagnostics_are_coloured_and_wrapped_between_words() -> None:
    shown = on_terminal("validate", str(BAD), columns=90)
    assert COLOR in shown
    bare = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    piped = subprocess.run(
        [sys.executable, "-m", "benchspec", "validate", str(BAD)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert bare.split() == (piped.stdout + piped.stderr).split(), "no word is broken"
    wide = [line for line in bare.splitlines() if len(line) > 90 and not line.startswith("  | ")]
    assert all(" " not in line.strip()[:80] for line in wide), "only what is one word"


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"FORCE_COLOR": "1"}, True)],
)
def test_the_users_wish_for_colours_is_obeyed(variables: dict[str, str], colored: bool) -> None:
    assert (COLOR in on_terminal("validate", str(BAD), variables=variables)) == colored


def test_no_name_of_a_plan_is_cut_at_80_columns() -> None:
    shown = on_terminal(
        "plan", str(ROOT / "specs" / "constellation-azure.yaml"), variables={"NO_COLOR": "1"}
    )
    assert "\u2026" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "iops.read{job=randread}" in shown
