"""Reading JSON-like values that may be of any type: each accessor gives what has the wanted type,
and nothing else instead of failing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..spec import Json
from ..units import Dimension, QuantityError, parse_any, parse_quantity


def mapping(value: Json) -> Mapping[str, Json]:
    """``value`` if it is a mapping (as YAML and JSON are read: a dict), else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Json) -> Sequence[Json]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def text(value: Json) -> str:
    """``value`` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def whole(value: Json) -> int | None:
    """``value`` if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def quantity(value: Json, dimension: Dimension) -> float | None:
    """``value`` in the base unit of ``dimension``, if it is such a quantity."""
    if not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(value, dimension)
    except QuantityError:
        return None


def any_quantity(value: Json) -> tuple[float, Dimension] | None:
    """``value`` in base units with its dimension, if it is a quantity."""
    if not isinstance(value, str):
        return None
    try:
        return parse_any(value)
    except QuantityError:
        return None
