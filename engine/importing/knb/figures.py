"""Figures in knb's archives and texts, which awk and shell wrote."""

from __future__ import annotations

from ...model.errors import ParseError
from ...model.text.strict_numbers import decimal


def figure(cell: str, where: str) -> float | None:
    """The number in ``cell``; None for an empty one, and for the ``nan`` that awk makes of nothing.
    Raises ParseError naming ``where``.
    """
    if not cell or cell.lstrip("-+").lower() in ("nan", "inf"):
        return None
    number = decimal(cell)
    if number is None:
        raise ParseError(f"{where}: found {cell[:40]!r}, expected a number")
    return number
