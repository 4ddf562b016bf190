"""Figures in tool output, read strictly: what is not a plain finite number is None, which callers
take as "not measured".

Python's own ``float`` and ``int`` read more than tools write (``1_000``, ``infinity``, full-width
digits) and give up on very long digit strings; nothing here raises on any text or JSON value.
"""

from __future__ import annotations

import math
import re

from ..spec import Json

_DECIMAL = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)


def decimal(text: str) -> float | None:
    """The finite number that ``text`` spells, or None (``N/A``, ``nan``, ``-nan``, empty,
    overflow).
    """
    stripped = text.strip()
    if _DECIMAL.fullmatch(stripped) is None:
        return None
    value = float(stripped)
    return value if math.isfinite(value) else None


def json_number(value: Json) -> float | None:
    """The finite number a JSON value is, or None. Booleans and strings are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def json_count(value: Json) -> int | None:
    """A number of things: a non-negative whole JSON number, or a string of digits (protobuf's JSON
    writes 64-bit counts so).
    """
    if isinstance(value, str):
        return int(value) if _COUNT.fullmatch(value) else None
    number = json_number(value)
    return int(number) if number is not None and number >= 0 and number.is_integer() else None
