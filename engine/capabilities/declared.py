"""What the schemas of tools and runners declare that a value does: the keyword ``x-capability``.

Its value is a :class:`~benchspec.engine.capabilities.model.Kind`, or a mapping with ``kind`` and
``says`` (the words, in which ``{}`` is the value), or ``none``: looked at, and harmless. A schema
that declares anything has ``"x-capability": "declared"`` at its top; of one that has not, such as a
plug-in's, nothing is known, and what uses it is asked for as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..model.spec import Json
from ..model.text.json_access import mapping, text
from .model import Capability, Kind, capability

KEYWORD = "x-capability"
DECLARED = "declared"
_TOLD_ELSEWHERE = ("none", "step", "secret", DECLARED)
"""Values of the keyword that are no kind. ``step``: told with the program it is part of;
``secret``: told with the reference that it holds.
"""


def declared(value: Json, document: Mapping[str, Any], where: str) -> Iterator[Capability]:
    """What ``value``, which the schema ``document`` describes, does; ``where`` is its place."""
    if document.get(KEYWORD) != DECLARED:
        title = document.get("title") or "something"
        yield capability(Kind.UNKNOWN, f"{title}: {json.dumps(value)}", where)
        return
    yield from _walk(value, document, document, where, ())


def _walk(
    value: Json,
    schema: Mapping[str, Any],
    whole: Mapping[str, Any],
    where: str,
    path: tuple[str, ...],
) -> Iterator[Capability]:
    schema = resolved(schema, whole)
    about = schema.get(KEYWORD)
    if about is not None and about not in _TOLD_ELSEWHERE:
        yield from _capabilities(value, about, where, path)
    if isinstance(value, Mapping):
        named, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            inner = named.get(key, others)
            if isinstance(inner, Mapping) and not key.startswith("x-"):
                yield from _walk(item, inner, whole, where, (*path, key))
    elif isinstance(value, list | tuple):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for item in value:
                yield from _walk(item, items, whole, where, path)


def resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """``schema`` with what its reference leads to; its own keywords win."""
    reference = schema.get("$ref", "")
    if not reference.startswith("#/$defs/"):
        return schema
    return {**resolved(whole["$defs"][reference.removeprefix("#/$defs/")], whole), **schema}


def _capabilities(
    value: Json, about: Any, where: str, path: tuple[str, ...]
) -> Iterator[Capability]:
    if value is False or value is None:
        return
    kind = Kind(text(mapping(about).get("kind")) or about)
    says = text(mapping(about).get("says")) or "{}"
    place = f"{where}: {'.'.join(path)}"
    for one in value if isinstance(value, list | tuple) and kind is not Kind.EXECUTES else [value]:
        shown = one if isinstance(one, str) else json.dumps(one)
        if kind is Kind.EXECUTES and isinstance(one, str):  # a script, whose words are many
            lines = len(one.splitlines())
            yield capability(kind, says.format(f"a script of {lines} lines"), place, one.encode())
        else:
            yield capability(kind, says.replace("{}", shown), place)
