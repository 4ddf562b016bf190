"""Frozen dataclasses to JSON values and back. Both ways are compiled once per type, so a million
measurements stay cheap.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import IntegrityError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Decoder = Callable[[Any], Any]
Encoder = Callable[[Any], Any]


def encode(value: object) -> Any:
    """Return ``value`` as JSON values: dataclasses as objects without their None and empty fields,
    enums as their value.
    """
    return _encoder(typing.cast(Any, type(value)))(value)


@cache
def _encoder(kind: type) -> Encoder:
    if dataclasses.is_dataclass(kind):
        return _dataclass_encoder(kind)
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, Mapping):
        return lambda value: {str(encode(key)): encode(item) for key, item in value.items()}
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes):
        return lambda value: [encode(item) for item in value]
    return _as_is


def _dataclass_encoder(cls: type[DataclassInstance]) -> Encoder:
    fields = _fields(cls)

    def encode_fields(value: Any) -> Any:
        return {
            name: encode(found)
            for name, default in fields
            if (found := getattr(value, name)) is not default and found != default
        }

    return encode_fields


_REQUIRED = object()


def _fields(cls: type[DataclassInstance]) -> tuple[tuple[str, object], ...]:
    return tuple((f.name, _default(f)) for f in dataclasses.fields(cls))


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _REQUIRED


def decode(cls: type[T], value: Any) -> T:
    """Build a ``cls`` from what :func:`encode` made of it.

    Raises:
        IntegrityError: the value does not have the shape of ``cls``.
    """
    try:
        return typing.cast(T, _decoder(typing.cast(Any, cls))(value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise IntegrityError(
            f"found {_excerpt(value)}, expected a {cls.__name__}: {error}"
        ) from error


def _excerpt(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


@cache
def _decoder(kind: Any) -> Decoder:
    if dataclasses.is_dataclass(kind):
        return _dataclass_decoder(typing.cast(type, kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_decoder(arguments)
    if origin is tuple:
        return _tuple_decoder(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_decoder(*arguments)
    return _as_is


def _as_is(value: Any) -> Any:
    return value


def _union_decoder(arguments: tuple[Any, ...]) -> Decoder:
    inner = [a for a in arguments if a is not type(None)]
    if len(inner) != 1:  # Json and the like: plain values
        return _as_is
    item = _decoder(inner[0])
    return lambda value: None if value is None else item(value)


def _tuple_decoder(arguments: tuple[Any, ...]) -> Decoder:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _decoder(arguments[0])
        return tuple if item is _as_is else lambda value: tuple(map(item, value))
    items = tuple(map(_decoder, arguments))
    return lambda value: tuple(
        decode_item(found) for decode_item, found in zip(items, value, strict=True)
    )


def _mapping_decoder(key: Any, item: Any) -> Decoder:
    decode_key, decode_item = _decoder(key), _decoder(item)
    if decode_key is _as_is and decode_item is _as_is:
        return dict
    return lambda value: {decode_key(k): decode_item(v) for k, v in value.items()}


def _dataclass_decoder(cls: type[DataclassInstance]) -> Decoder:
    hints = typing.get_type_hints(cls)
    known = {f.name: _decoder(hints[f.name]) for f in dataclasses.fields(cls)}

    def build(value: Any) -> Any:
        return cls(**{name: known[name](found) for name, found in value.items()})

    return build
