"""Printing: what a spec, a tool or a file name says must not steer the terminal it is shown on."""

from __future__ import annotations

import re

import click

_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, the marks that reverse the direction of text, and what is no character at all."""


def plain(text: str) -> str:
    """``text`` with every character that a terminal would obey as ``\\uXXXX``, which in JSON text means the same character."""
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def echo(text: object = "", *, err: bool = False) -> None:
    """Print one line, made :func:`plain`."""
    click.echo(plain(str(text)), err=err)
