"""The blocks of a page as Markdown, an empty line between any two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from ..page.blocks import (
    Align,
    Block,
    Bullets,
    Cell,
    Code,
    Column,
    Drawing,
    Fold,
    Heading,
    LineBreak,
    Link,
    Manner,
    Pairs,
    Paragraph,
    PerFormat,
    Row,
    Section,
    Span,
    Table,
    Text,
    Words,
)
from .escape import MarkdownText, code_span, escape_markdown

DASH = "–"
_RULES = {Align.TEXT: "---", Align.NUMBER: "--:", Align.WIDE: "---"}


def write_markdown(sections: Iterable[Section], folder: str) -> MarkdownText:
    """The whole page; its figures lie in ``folder``."""
    blocks = (_block(block, folder) for section in sections for block in section)
    return MarkdownText("\n\n".join(text for text in blocks if text))


def _block(block: Block, folder: str) -> str:
    match block:
        case Heading():
            return _heading(block)
        case Paragraph(text=text, manner=manner):
            return f"**{_text(text)}**" if manner is Manner.WARNING else _text(text)
        case Bullets(items=items):
            return "\n".join(f"- {_text(item.text)}" for item in items)
        case Table():
            return _table(block)
        case Pairs(items=pairs):
            lines = (f"| {_text((item.name,))} | {_text((item.text,))} |" for item in pairs)
            return "\n".join(("| | |", "|---|---|", *lines))
        case Drawing(figure=figure):
            words = _text((figure.title, Words(". "), figure.description))
            return f"![{words}]({_text((folder,))}/{_text((figure.name,))}.svg)"
        case Fold(lead=lead, blocks=blocks):
            return "\n\n".join((_text(lead), *(_block(each, folder) for each in blocks)))
        case PerFormat(markdown=blocks):
            return "\n\n".join(written for each in blocks if (written := _block(each, folder)))
        case _:
            assert_never(block)


def _heading(heading: Heading) -> str:
    """A heading of level 2 is the page's own: its anchor is the one that every renderer makes."""
    line = f"{'#' * heading.level} {_text(heading.text)}"
    named = heading.anchor and heading.level > 2
    return f"{_anchor(heading.anchor)}\n\n{line}" if named else line


def _anchor(anchor: str) -> str:
    return f'<a id="{escape_markdown(anchor)}"></a>'


def _table(table: Table) -> str:
    return "\n".join(
        (
            _line(_text(column.title) for column in table.columns),
            f"|{''.join(f'{_RULES[column.align]}|' for column in table.columns)}",
            *(_line(_cells(row, table.columns)) for row in table.rows),
        )
    )


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: Row, columns: tuple[Column, ...]) -> Iterator[str]:
    """As many cells as there are columns: Markdown has none that takes several."""
    at = 0
    for index, cell in enumerate(row.cells):
        anchor = _anchor(row.anchor) if row.anchor and index == 0 else ""
        yield anchor + _cell(cell, columns[at])
        yield from [DASH] * (cell.columns - 1)
        at += cell.columns


def _cell(cell: Cell, column: Column) -> str:
    text = _text(cell.text)
    if cell.state == "contradicted":
        return f"**{text}**"
    return DASH if column.optional and cell.text == ("",) else text


def _text(text: Text) -> str:
    return "".join(map(_span, text))


def _span(span: Span) -> str:
    match span:
        case str():
            return escape_markdown(span)
        case Words(text=words):
            return words
        case Code(text=code):
            return code_span(code)
        case Link(text=text, anchor=anchor, aside=aside):
            link = f"[{_text(text)}](#{escape_markdown(anchor)})"
            return f"({link})" if aside else link
        case LineBreak():
            return "\n"
        case _:
            assert_never(span)
