"""The version of a program, read from what it says when it is asked."""

from __future__ import annotations

import re

_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+~-]*")


def read_version(said: str) -> str | None:
    """The first number with a dot in it, else the first line; None for a program that says
    nothing.
    """
    text = said.strip()
    number = _VERSION.search(text)
    return number[0] if number else text.partition("\n")[0] or None
