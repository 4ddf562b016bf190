"""An argv as one PowerShell command that hands every argument over unchanged.

PowerShell (about_Quoting_Rules) expands nothing in single quotes, ends them at ``'`` and also at
the typographic quotes U+2018 to U+201B, and writes each of these as two. Windows PowerShell 5.1
then builds the native command line itself: it drops empty arguments, does not escape ``"``, and
wraps arguments with spaces in quotes that a trailing backslash would escape. Such arguments are
refused, not mangled.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.errors import SpecError

_QUOTES = "'\u2018\u2019\u201a\u201b"


def call(argv: Sequence[str]) -> str:
    """``& 'PROGRAM' 'ARGUMENT' ...``.

    Raises:
        SpecError: an argument that PowerShell cannot hand over to a program.
    """
    return " ".join(("&", *(_quoted(argument) for argument in argv)))


def literal(text: str) -> str:
    """``text`` as one of PowerShell's own strings, in which every character stands for itself."""
    return (
        "'"
        + "".join(character * 2 if character in _QUOTES else character for character in text)
        + "'"
    )


def _quoted(argument: str) -> str:
    if not argument or '"' in argument or any(ord(character) < 32 for character in argument):
        raise SpecError(
            f"found the argument {argument!r}: PowerShell cannot hand over empty ones, double"
            " quotes or control characters"
        )
    if argument.endswith("\\") and any(character.isspace() for character in argument):
        raise SpecError(
            f"found the argument {argument!r}, which has a space and ends with a backslash:"
            " PowerShell cannot hand it over"
        )
    return literal(argument)
