"""Diagnostics and errors for people: coloured and wrapped between words on a terminal, bare text
elsewhere.
"""

from __future__ import annotations

import re
import textwrap

import click

from .terminal import has_color, plain, width

_HEAD = re.compile(
    r"^(?P<lead>error: )?(?P<place>\S.*?:\d+:\d+) \[(?P<code>[A-Z]+\d+)\] (?P<path>\$[^ ]*): "
)
_ADVICE = re.compile(r"did you mean [^?]*\?|^  what to do: ")


def print_problems(text: str, *, err: bool = False) -> None:
    """Print ``text``, diagnostics or an error as they are written everywhere."""
    columns = width(err=err)
    colors = has_color(err=err)
    for line in plain(text).split("\n"):
        for part in _wrap(line, columns):
            shown = _paint(part, warning=line.endswith(" (warning)")) if colors else part
            click.echo(shown, err=err)


def _wrap(line: str, columns: int) -> list[str]:
    """The line in parts that fit; an excerpt of the spec stays in one, its caret points into it."""
    if not columns or len(line) < columns or line.startswith("  | "):
        return [line]
    return textwrap.wrap(
        line,
        max(40, columns - 1),
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _paint(line: str, *, warning: bool) -> str:
    """The line with colours: where in bold, which rule in red or yellow, advice in green."""
    if line.startswith("  | "):
        bare = line[4:].strip()
        return click.style(line, fg="green" if bare == "^" else None, dim=bare != "^")
    head = _HEAD.match(line)
    if head is not None:
        code = click.style(f"[{head['code']}]", fg="yellow" if warning else "red", bold=True)
        place = click.style(head["place"], bold=True)
        rest = _advise(line[head.end() :])
        return f"{_lead(head['lead'] or '')}{place} {code} {head['path']}: {rest}"
    if line.startswith("error: "):
        return _lead("error: ") + _advise(line.removeprefix("error: "))
    return _advise(line)


def _lead(text: str) -> str:
    return click.style(text, fg="red", bold=True) if text else ""


def _advise(text: str) -> str:
    return _ADVICE.sub(lambda match: click.style(match[0], fg="green"), text)
