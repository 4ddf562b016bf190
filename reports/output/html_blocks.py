"""The blocks of a page as HTML, a line for each element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from markupsafe import Markup

from ..figures.svg import escape
from ..page.blocks import (
    Align,
    Block,
    Bullet,
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

_CLASSES = {Align.TEXT: "", Align.NUMBER: "n", Align.WIDE: "w"}


def write_html(sections: Iterable[Section]) -> Markup:
    """What stands between a page's head and its end; an empty line between sections."""
    return Markup("\n".join("".join(map(_lines, section)) for section in sections))


def _lines(block: Block) -> str:
    return "".join(f"{line}\n" for line in _block(block))


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading(level=level, text=text, anchor=anchor):
            yield f"<h{level}{_attribute('id', anchor)}>{_text(text)}</h{level}>"
        case Paragraph(text=text, manner=manner, anchor=anchor):
            kind = "" if manner is Manner.PLAIN else manner.value
            yield f"<p{_attribute('id', anchor)}{_attribute('class', kind)}>{_text(text)}</p>"
        case Bullets(items=items):
            yield from _list(items)
        case Table():
            yield from _scrolled((_head(block.columns), *_rows(block)))
        case Pairs(items=pairs):
            cells = ((escape(item.name), escape(item.text)) for item in pairs)
            yield from _scrolled(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in cells)
        case Drawing(figure=figure):
            yield f"<figure>{figure.svg.decode()}</figure>"  # escaped when it was drawn
        case Fold(title=title, blocks=blocks):
            yield f"<details><summary>{_text(title)}</summary>"
            yield from (line for each in blocks for line in _block(each))
            yield "</details>"
        case PerFormat(html=blocks):
            yield from (line for each in blocks for line in _block(each))
        case _:
            assert_never(block)


def _list(items: tuple[Bullet, ...]) -> Iterator[str]:
    toned = any(item.tone for item in items)
    yield f"<ul{_attribute('class', 'summary' if toned else '')}>"
    yield from (f"<li{_attribute('class', item.tone)}>{_text(item.text)}</li>" for item in items)
    yield "</ul>"


def _scrolled(rows: Iterable[str]) -> Iterator[str]:
    yield '<div class="scroll"><table>'
    yield from rows
    yield "</table></div>"


def _head(columns: tuple[Column, ...]) -> str:
    cells = (
        f"<th{_attribute('class', _CLASSES[column.align])}>{_text(column.title)}</th>"
        for column in columns
    )
    return f"<tr>{''.join(cells)}</tr>"


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = "".join(_cells(row, table.columns))
        yield f"<tr{_attribute('id', row.anchor)}>{cells}</tr>"


def _cells(row: Row, columns: tuple[Column, ...]) -> Iterator[str]:
    at = 0
    for cell in row.cells:
        yield f"<td{_attributes(cell, columns[at])}>{_text(cell.text)}</td>"
        at += cell.columns


def _attributes(cell: Cell, column: Column) -> str:
    if cell.columns > 1:
        return f' colspan="{cell.columns}"'
    kind = cell.state or ("muted" if column.muted else _CLASSES[column.align])
    return _attribute("class", kind) + _hint(cell.hint)


def _hint(hint: Text) -> str:
    return f' title="{_text(hint)}"' if hint else ""


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value)}"' if value else ""


def _text(text: Text) -> str:
    return "".join(map(_span, text))


def _span(span: Span) -> str:
    match span:
        case str():
            return escape(span)
        case Words(text=words):
            return words
        case Code(text=code):
            return f"<code>{escape(code)}</code>"
        case Link(text=text, anchor=anchor, hint=hint, aside=aside):
            kind = _attribute("class", "muted" if aside else "")
            return f'<a{kind} href="#{escape(anchor)}"{_hint(hint)}>{_text(text)}</a>'
        case LineBreak():
            return " "
        case _:
            assert_never(span)
