"""Parameters of a workload as numbers: quantities such as ``"60 s"`` in base units, whole where a
tool takes whole numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.model.errors import UnitError
from ...engine.model.spec import Json
from ...engine.model.units import Dimension, parse_quantity


def quantity(
    parameters: Mapping[str, Json], name: str, dimension: Dimension, default: str | None = None
) -> float | None:
    """Parameter ``name`` in the base unit of ``dimension``; ``default`` when it is not given, None
    without either.

    Raises:
        UnitError: it is not a quantity of that dimension.
    """
    value = parameters.get(name, default)
    if value is None:
        return None
    if not isinstance(value, str | int | float):
        raise UnitError(f"{name}: found {value!r}, expected a quantity")
    return parse_quantity(value, dimension)


def seconds(parameters: Mapping[str, Json], name: str, default: str) -> float:
    """Parameter ``name`` in s. Raises UnitError."""
    value = quantity(parameters, name, Dimension.TIME, default)
    return 0.0 if value is None else value


def whole_seconds(parameters: Mapping[str, Json], name: str, default: str) -> int:
    """Parameter ``name`` in s, for tools that take whole seconds. Raises UnitError, also when it is
    not whole.
    """
    value = seconds(parameters, name, default)
    if not value.is_integer():
        raise UnitError(
            f"{name}: found {value!r} s, expected whole seconds",
            remedy=f"write {name} as whole seconds: the tool rounds others away",
        )
    return int(value)


def whole_bytes(
    parameters: Mapping[str, Json], name: str, default: str | None = None
) -> int | None:
    """Parameter ``name`` in B, or None when it is not given. Raises UnitError, also when it is not
    whole.
    """
    value = quantity(parameters, name, Dimension.BYTES, default)
    if value is None:
        return None
    if not value.is_integer():
        raise UnitError(f"{name}: found {value!r} B, expected whole bytes")
    return int(value)


def integer(parameters: Mapping[str, Json], name: str, default: int) -> int:
    """Parameter ``name``, a whole number without unit (checked by the schema)."""
    value = parameters.get(name, default)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def flag(parameters: Mapping[str, Json], name: str, default: bool) -> bool:
    """Parameter ``name``, a boolean (checked by the schema)."""
    value = parameters.get(name, default)
    return value if isinstance(value, bool) else default


def text(parameters: Mapping[str, Json], name: str, default: str = "") -> str:
    """Parameter ``name``, a string (checked by the schema)."""
    value = parameters.get(name, default)
    return value if isinstance(value, str) else default
