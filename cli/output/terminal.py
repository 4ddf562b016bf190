"""Printing: what a spec, a tool or a file name says must not steer the terminal it is shown on."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Mapping

import click

from ...api.settings import wants_color

_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line feed, the marks that reverse the direction of text, and what
is no character at all.
"""

TONES: Mapping[str, str] = {"better": "green", "worse": "red", "void": "yellow"}
"""The colour of a verdict by its tone; a neutral one has none."""


def plain(text: str) -> str:
    """``text`` with every character that a terminal would obey as ``\\uXXXX``, which in JSON text
    means the same character.
    """
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def warn(text: object) -> None:
    """Print one line, made :func:`plain`; red where the terminal shows colours."""
    shown = plain(str(text))
    click.echo(click.style(shown, fg="red") if has_color() else shown)


def echo(text: object = "", *, err: bool = False, bold: bool = False) -> None:
    """Print one line, made :func:`plain`; ``bold`` where the terminal shows colours."""
    shown = plain(str(text))
    click.echo(click.style(shown, bold=True) if bold and has_color(err=err) else shown, err=err)


def has_color(*, err: bool = False) -> bool:
    """Whether what is printed may have colours: the user's wish (NO_COLOR, FORCE_COLOR, the
    configuration), else whether it goes to a terminal that knows them.
    """
    stream = sys.stderr if err else sys.stdout
    return wants_color(terminal=stream.isatty())


def width(*, err: bool = False) -> int:
    """Columns of the terminal, or of COLUMNS; 0 where nothing has to fit, as in a pipe."""
    stream = sys.stderr if err else sys.stdout
    return shutil.get_terminal_size().columns if stream.isatty() else 0


def print_wrapped(text: str, *, first: str = "", rest: str = "") -> None:
    """Print ``text`` with line ends between words where the terminal is too narrow for it; the
    first line begins with ``first``, further ones with ``rest``.
    """
    columns = width()
    lines = (
        textwrap.wrap(
            plain(text),
            max(40, columns - 1),
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if columns
        else [first + text]
    )
    for line in lines:
        echo(line)
