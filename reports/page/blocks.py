"""What a page is made of: headings, paragraphs, lists, tables, figures, folds. The layout makes
them once; each format writes them in its own way (``reports/output``).

Plain strings in them are data, from specs, tools and machines: every format escapes them. What the
page itself says is :class:`Words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ..figures.figures import Figure
from .model import Item


@dataclass(frozen=True, slots=True)
class Words:
    """The page's own words, written in the source and never made from data: printed as they
    stand, so they hold nothing that is markup in any format.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Data shown as code."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link to an ``anchor`` of the page. ``hint`` is shown by formats that can show one.
    ``aside``: it only says where the text before it comes from.
    """

    text: Text
    anchor: str
    hint: Text = ()
    aside: bool = False


@dataclass(frozen=True, slots=True)
class LineBreak:
    """A space at which Markdown's source begins a new line."""


Span: TypeAlias = str | Words | Code | Link | LineBreak
Text: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading; ``anchor`` is what links lead to (empty: none does)."""

    level: int
    text: Text
    anchor: str = ""


class Manner(StrEnum):
    """How much a paragraph matters."""

    PLAIN = "plain"
    MUTED = "muted"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph."""

    text: Text
    manner: Manner = Manner.PLAIN
    anchor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullet:
    """One item of a list; ``tone`` is what it may be coloured as."""

    text: Text
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list without numbers."""

    items: tuple[Bullet, ...]


class Align(StrEnum):
    """How a column stands: numbers to the right; wide text may need more room than others."""

    TEXT = "text"
    NUMBER = "number"
    WIDE = "wide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table. ``optional``: a cell may be empty, which Markdown shows as a dash.
    ``muted``: its cells matter less than the others.
    """

    title: Text
    align: Align = Align.TEXT
    optional: bool = False
    muted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell with more to it than its text: ``hint`` as in a link, ``columns`` that it takes, the
    ``state`` that it may be coloured by.
    """

    text: Text
    hint: Text = ()
    columns: int = 1
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table, and what links to it lead to."""

    cells: tuple[Cell, ...]
    anchor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a head."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Names and texts: a table of two columns without a head."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A figure."""

    figure: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What is folded away behind ``title``; a format that cannot fold has ``lead`` before it."""

    title: Text
    lead: Text
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerFormat:
    """The same said in two ways, where the formats differ in more than markup."""

    markdown: tuple[Block, ...] = ()
    html: tuple[Block, ...] = ()


Block: TypeAlias = Heading | Paragraph | Bullets | Table | Pairs | Drawing | Fold | PerFormat
Section: TypeAlias = tuple[Block, ...]
"""Blocks that belong together; HTML's source has an empty line between sections."""


def row(*cells: str | Text | Cell, anchor: str = "") -> Row:
    """A row of cells: bare text is data."""
    return Row(cells=tuple(map(_cell, cells)), anchor=anchor)


def columns(*titles: str, align: Align = Align.TEXT, optional: bool = False) -> tuple[Column, ...]:
    """Columns of one kind with the page's own words as titles."""
    return tuple(Column(title=(Words(title),), align=align, optional=optional) for title in titles)


def joined(texts: tuple[Text, ...], between: str) -> Text:
    """``texts`` with the page's own words ``between`` them."""
    return tuple(
        span
        for index, text in enumerate(texts)
        for span in ((Words(between), *text) if index else text)
    )


def _cell(content: str | Text | Cell) -> Cell:
    match content:
        case Cell():
            return content
        case str():
            return Cell(text=(content,))
        case _:
            return Cell(text=content)
