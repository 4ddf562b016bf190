"""The layout of a page: the order of its sections, and what is left out where there is nothing to
say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchspec.reports.output.html import render_page as render_html
from benchspec.reports.output.markdown import render_page as render_markdown
from benchspec.reports.page.blocks import (
    Block,
    Bullets,
    Fold,
    Heading,
    Link,
    Paragraph,
    PerFormat,
    Row,
    Table,
    Text,
    Words,
)
from benchspec.reports.page.layout import lay_out
from benchspec.reports.page.model import View
from benchspec.reports.page.view import build_view
from tests.reports.hostile_run import make_hostile_analysis, make_hostile_run
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
VIEW = build_view(RUN, make_analysis(RUN))
HOSTILE_RUN = make_hostile_run()
HOSTILE_VIEW = build_view(HOSTILE_RUN, make_hostile_analysis(HOSTILE_RUN))
BARE = replace(
    VIEW,
    summary=(),
    cautions=(),
    excluded=(),
    not_measured=(),
    differences=(),
    loads=(),
    containers=(),
    claims=(),
    findings=(),
    confidential=(),
    configurations=(),
)


def blocks(view: View) -> Iterator[Block]:
    def inside(block: Block) -> Iterator[Block]:
        yield block
        match block:
            case Fold(blocks=more) | PerFormat(markdown=more):
                for each in more:
                    yield from inside(each)
            case _:
                return

    for section in lay_out(view):
        for block in section:
            yield from inside(block)


def said(text: Text) -> Iterator[str]:
    """The page's own words in ``text``."""
    for span in text:
        match span:
            case Words(text=words):
                yield words
            case Link(text=inner):
                yield from said(inner)
            case _:
                continue


def own_words(block: Block) -> Iterator[str]:
    match block:
        case Heading(text=text) | Paragraph(text=text) | Fold(title=text):
            yield from said(text)
        case Bullets(items=items):
            yield from (words for item in items for words in said(item.text))
        case Table(columns=columns, rows=rows):
            yield from (words for column in columns for words in said(column.title))
            yield from (words for row in rows for cell in row.cells for words in said(cell.text))
        case _:
            return


def headings(view: View, level: int = 2) -> list[str]:
    found = [block for block in blocks(view) if isinstance(block, Heading)]
    return ["".join(said(heading.text)) for heading in found if heading.level == level]


def test_the_sections_come_in_one_order() -> None:
    assert headings(VIEW) == [
        "Summary",
        "Results",
        "Not measured",
        "Excluded trials",
        "Observed differences, not causes",
        "Configuration",
        "Claims",
        "Findings",
        "Method",
        "Raw data",
    ]


def test_a_section_without_anything_to_say_is_left_out() -> None:
    expected = ["Summary", "Results", "Configuration", "Findings", "Method", "Raw data"]
    assert headings(BARE) == expected


@pytest.mark.parametrize("view", [VIEW, BARE], ids=["sample", "bare"])
def test_both_formats_have_every_heading_of_the_layout(view: View) -> None:
    markdown, html = render_markdown(view).decode(), render_html(view).decode()
    places = [(markdown.index(f"\n## {h}\n"), html.index(f">{h}</h2>")) for h in headings(view)]
    assert places == sorted(places)
    assert [place for _, place in places] == sorted(place for _, place in places)


@pytest.mark.parametrize("view", [VIEW, HOSTILE_VIEW, BARE], ids=["sample", "hostile", "bare"])
def test_every_row_of_a_table_is_as_wide_as_its_head(view: View) -> None:
    def width(row: Row) -> int:
        return sum(cell.columns for cell in row.cells)

    tables = [block for block in blocks(view) if isinstance(block, Table)]
    assert tables
    for table in tables:
        assert {width(row) for row in table.rows} <= {len(table.columns)}


def test_the_pages_own_words_never_hold_what_a_run_says() -> None:
    """Own words are printed as they stand, so a hostile run gets those of a tame one, or none."""
    tame, hostile = (
        {words for block in blocks(view) for words in own_words(block)}
        for view in (VIEW, HOSTILE_VIEW)
    )
    assert len(tame) > 20
    # the tame run has no fact beside the main ones that is the same on all targets
    assert hostile <= tame | {"Also observed, the same on all targets: "}
