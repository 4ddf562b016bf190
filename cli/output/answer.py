"""What a run says, in the terminal: a table of verdicts, the sentences, and links to the pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .tables import print_table
from .terminal import TONES, echo, print_wrapped

if TYPE_CHECKING:
    from ...api.reporting import Written
    from ...reports.page.answer import Answer, AnswerRow


def show_written(written: Written, *, quiet: bool) -> None:
    """Print what was written: the answer and links, or the path of the Markdown page alone."""
    if quiet:
        echo(written.page)
        return
    print_answer(written.answer)
    print_links(written.page, written.html)


def print_answer(answer: Answer) -> None:
    """Print the rows of each workload and point below its title, then the sentences."""
    cells: dict[str, list[AnswerRow]] = {}
    for row in answer.rows:
        cells.setdefault(_heading(row), []).append(row)
    echo(answer.title, bold=True)
    for heading, rows in cells.items():
        echo(f"\n{heading}")
        several = len({row.baseline for row in rows if row.baseline}) > 1
        if not any(row.verdict for row in rows):
            print_table(("target", "value"), [(row.target, row.value) for row in rows])
            continue
        print_table(
            ("target", "value", "difference", "verdict"),
            [
                (row.target, row.value, row.difference, _verdict(row, several=several))
                for row in rows
            ],
            styles=[("", "", *[TONES.get(row.tone, "")] * 2) for row in rows],
        )
    if answer.sentences:
        echo()
    for sentence in answer.sentences:
        print_wrapped(sentence, first="- ", rest="  ")


def print_links(page: Path, html: Path) -> None:
    """Print where the pages are, as links that a terminal opens."""
    echo(f"\nMarkdown  {page.resolve().as_uri()}")
    echo(f"HTML      {html.resolve().as_uri()}")


def _heading(row: AnswerRow) -> str:
    metric = f": {row.metric}" if row.metric else ""
    return f"{row.cell}{metric}{f' ({row.unit})' if row.unit else ''}"


def _verdict(row: AnswerRow, *, several: bool) -> str:
    if not row.verdict:
        return ""
    return f"{row.verdict} (against {row.baseline})" if several else row.verdict
