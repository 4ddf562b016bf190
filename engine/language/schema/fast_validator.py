"""Says fast whether a value satisfies a JSON Schema (draft 2020-12), and nothing more.

A schema is compiled once into nested functions, some thirty times faster than a validator that has
to explain itself; only what is refused here is given to ``jsonschema``, which says why. A keyword
this module does not know raises :class:`UnknownKeyword`, and the caller uses ``jsonschema`` alone:
the acceptor may be left behind by a schema, but never accepts what the schema forbids (a test holds
both side by side).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import lru_cache
from typing import Any, TypeAlias

from ...model.units import Dimension, QuantityError, parse_any, parse_quantity

Accepts: TypeAlias = Callable[[Any], bool]
Schema: TypeAlias = "Mapping[str, Any] | bool"
_Compile: TypeAlias = "Callable[[Any, Mapping[str, Any], Compiler], Accepts]"


class UnknownKeyword(Exception):
    """A schema uses a keyword that the acceptor does not know."""


ANY_DIMENSION = "any"
_UNITS = frozenset(dimension.value for dimension in Dimension)
QUANTITY = "x-quantity"
"""The keyword that says a text is a quantity; its value is the base unit, or ``any``."""

_END = re.compile(r"(?<!\\)\$(?=[|)]|\Z)")
_ANNOTATIONS = frozenset(
    (
        "title",
        "description",
        "examples",
        "default",
        "$schema",
        "$id",
        "$defs",
        "$comment",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
    )
)


def check_quantity(value: object, unit: str) -> QuantityError | None:
    """Why ``value`` is no quantity in ``unit`` (a base unit, or ``any``); None if it is one. A
    negative quantity is refused.
    """
    try:
        if unit == ANY_DIMENSION:
            number = _any_quantity(value)
        elif unit in _UNITS and isinstance(value, str | int | float):
            number = (
                _quantity(value, Dimension(unit))
                if isinstance(value, str)
                else parse_quantity(value, Dimension(unit))
            )
        else:
            return None
    except QuantityError as error:
        return error
    return QuantityError(repr(value), "no negative quantity") if number < 0 else None


def _any_quantity(value: object) -> float:
    return _parsed_any(value) if isinstance(value, str) else 0.0


_quantity = lru_cache(maxsize=4096)(parse_quantity)


@lru_cache(maxsize=4096)
def _parsed_any(text: str) -> float:
    return parse_any(text)[0]


@lru_cache(maxsize=1024)
def search(pattern: str) -> Callable[[str], object]:
    """A function that finds ``pattern`` in a text as ECMA 262 reads it: ``$`` is the very end, and
    classes such as ``\\d`` are ASCII.
    """
    return re.compile(_END.sub(r"\\Z", pattern), re.ASCII).search


def equal(one: object, other: object) -> bool:
    """JSON equality: ``true`` is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            equal(value, other[key]) for key, value in one.items()
        )
    return one == other


def compile_schema(schema: Schema) -> Accepts:
    """A function that tells whether a value satisfies ``schema``. Raises UnknownKeyword."""
    return Compiler(schema).compile(schema)


class Compiler:
    """Compiles the parts of one schema; ``$ref`` may name ``#`` and what lies under it."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._references: dict[str, Accepts] = {}

    def compile(self, schema: Schema) -> Accepts:
        """The function for one subschema."""
        if isinstance(schema, bool):
            return lambda value: schema
        checks = [
            _KEYWORDS[keyword](argument, schema, self)
            for keyword, argument in schema.items()
            if self._tests(keyword, schema)
        ]
        return _all(checks)

    def _tests(self, keyword: str, schema: Mapping[str, Any]) -> bool:
        if (
            keyword in _ANNOTATIONS
            or keyword in _PARTS
            or (keyword.startswith("x-") and keyword != QUANTITY)
        ):
            return False
        if keyword not in _KEYWORDS:
            raise UnknownKeyword(keyword)
        return True

    def reference(self, pointer: str) -> Accepts:
        """The function for ``$ref``; looked up when first called, so that schemas may refer to
        themselves.
        """
        if not pointer.startswith("#"):
            raise UnknownKeyword(f"$ref {pointer}")
        if pointer not in self._references:
            self._references[pointer] = lambda value: self._references[pointer](value)
            self._references[pointer] = self.compile(resolve(self._root, pointer))
        return self._references[pointer]


def resolve(root: Schema, pointer: str) -> Schema:
    """The subschema that the JSON pointer ``#/...`` names."""
    found: Any = root
    for step in pointer.lstrip("#").split("/")[1:]:
        found = found[step.replace("~1", "/").replace("~0", "~")]
    result: Schema = found
    return result


def _all(checks: Sequence[Accepts]) -> Accepts:
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)

    def accepts(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - a generator would cost a third more
            if not check(value):
                return False
        return True

    return accepts


_TYPES: dict[str, Accepts] = {
    "string": lambda value: value.__class__ is str,
    "object": lambda value: value.__class__ is dict,
    "array": lambda value: value.__class__ is list,
    "boolean": lambda value: value is True or value is False,
    "null": lambda value: value is None,
    "number": lambda value: value.__class__ is int or value.__class__ is float,
    "integer": lambda value: (
        value.__class__ is int or (value.__class__ is float and value.is_integer())
    ),
}


def _type(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    if isinstance(argument, str):
        return _TYPES[argument]
    checks = [_TYPES[name] for name in argument]
    return lambda value: any(check(value) for check in checks)


def _enum(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    if all(isinstance(item, str) for item in argument):
        texts = frozenset(argument)
        return lambda value: value.__class__ is str and value in texts
    return lambda value: any(equal(value, item) for item in argument)


def _const(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    return lambda value: equal(value, argument)


def _pattern(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    found = search(argument)
    return lambda value: value.__class__ is not str or found(value) is not None


def _quantity_keyword(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    return lambda value: check_quantity(value, argument) is None


def _size(kind: type[Sized], holds: Callable[[int, int], bool]) -> _Compile:
    def compile_size(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
        return lambda value: not isinstance(value, kind) or holds(len(value), argument)

    return compile_size


def _bound(holds: Callable[[float, float], bool]) -> _Compile:
    def compile_bound(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
        return lambda value: (
            (value.__class__ is not int and value.__class__ is not float) or holds(value, argument)
        )

    return compile_bound


def _unique(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    return lambda value: value.__class__ is not list or not argument or not repeated(value)


def repeated(items: Sequence[Any]) -> list[Any]:
    """The items that stand in the list before."""
    try:
        if len(set(items)) == len(items):
            return []
    except TypeError:  # mappings and lists have no hash
        pass
    return [
        item
        for index, item in enumerate(items)
        if any(equal(item, before) for before in items[:index])
    ]


def _items(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    item = compiler.compile(argument)
    return lambda value: value.__class__ is not list or all(map(item, value))


def _required(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    names = frozenset(argument)
    return lambda value: value.__class__ is not dict or names <= value.keys()


def _dependent(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    return lambda value: (
        value.__class__ is not dict
        or all(value.keys() >= set(names) for key, names in argument.items() if key in value)
    )


def _property_names(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    name = compiler.compile(argument)
    return lambda value: value.__class__ is not dict or all(map(name, value))


def _properties(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    """``properties``, ``patternProperties`` and ``additionalProperties`` together, whichever of
    them comes first in the schema.
    """
    if argument is not next(schema[keyword] for keyword in schema if keyword in _OBJECT):
        return lambda value: True
    patterns = [
        (search(pattern), compiler.compile(part))
        for pattern, part in schema.get("patternProperties", {}).items()
    ]
    other = compiler.compile(schema.get("additionalProperties", True))

    def check_of(name: str, own: list[Accepts]) -> Accepts:
        return _all(own + [part for found, part in patterns if found(name)] or [other])

    known = {
        name: check_of(name, [compiler.compile(part)])
        for name, part in schema.get("properties", {}).items()
    }

    def accepts(value: Any) -> bool:
        if value.__class__ is not dict:
            return True
        for key, item in value.items():
            check = known.get(key)
            if not (check or (check_of(key, []) if patterns else other))(item):
                return False
        return True

    return accepts


def _if(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    condition = compiler.compile(argument)
    then, otherwise = (
        compiler.compile(schema.get("then", True)),
        compiler.compile(schema.get("else", True)),
    )
    return lambda value: then(value) if condition(value) else otherwise(value)


def _all_of(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    return _all([compiler.compile(part) for part in argument])


def _any_of(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    parts = [compiler.compile(part) for part in argument]
    return lambda value: any(part(value) for part in parts)


def _one_of(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    parts = [compiler.compile(part) for part in argument]
    return lambda value: sum(part(value) for part in parts) == 1


def _not(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    part = compiler.compile(argument)
    return lambda value: not part(value)


def _reference(argument: Any, schema: Mapping[str, Any], compiler: Compiler) -> Accepts:
    return compiler.reference(argument)


_OBJECT = ("properties", "patternProperties", "additionalProperties")
_PARTS = frozenset(("then", "else"))
_KEYWORDS: dict[str, _Compile] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    QUANTITY: _quantity_keyword,
    "minLength": _size(str, lambda size, bound: size >= bound),
    "maxLength": _size(str, lambda size, bound: size <= bound),
    "minItems": _size(list, lambda size, bound: size >= bound),
    "maxItems": _size(list, lambda size, bound: size <= bound),
    "minProperties": _size(dict, lambda size, bound: size >= bound),
    "maxProperties": _size(dict, lambda size, bound: size <= bound),
    "minimum": _bound(lambda value, bound: value >= bound),
    "maximum": _bound(lambda value, bound: value <= bound),
    "exclusiveMinimum": _bound(lambda value, bound: value > bound),
    "exclusiveMaximum": _bound(lambda value, bound: value < bound),
    "uniqueItems": _unique,
    "items": _items,
    "required": _required,
    "dependentRequired": _dependent,
    "propertyNames": _property_names,
    "properties": _properties,
    "patternProperties": _properties,
    "additionalProperties": _properties,
    "if": _if,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "$ref": _reference,
}
