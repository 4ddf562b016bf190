"""The fields of the spec as its JSON Schemas describe them: found by path, told in words. Pure; the
schemas come from the caller.

Only what the shipped schemas use is understood: ``$ref`` into the same document, ``properties``,
``additionalProperties`` as a schema (a mapping by name), ``items``, and ``if``/``then``/``else``
for values that may be short or long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from ...model.spec import Comparison, Json, Lifecycle, Method, ReportOptions, Step
from ...model.units import Dimension, expectation

Schema: TypeAlias = Mapping[str, Json]

NAME_STEP = "NAME"
LIST_STEP = "[]"
_STEP = re.compile(r"\[[^\]]*\]|[^.\[\]]+")
_TYPES = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "null": "nothing",
    "object": "mapping",
    "array": "list",
}
_QUANTITIES = {
    Dimension.TIME: "time",
    Dimension.BYTES: "size",
    Dimension.BYTE_RATE: "rate in bytes",
    Dimension.BIT_RATE: "rate in bits",
    Dimension.RATE: "rate",
    Dimension.RATIO: "ratio",
}
_ANY_QUANTITY = "any"
_BRANCHES = ("then", "else")
_MODELS: Mapping[str, object] = {
    "method": Method(),
    "compare": Comparison(baseline=""),
    "report": ReportOptions(),
    "lifecycle": Lifecycle(),
    "step": Step(name="", action="", arguments={}),
}
"""Definition of the schema to a model with nothing but defaults: the model says what holds when a
field is left out.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One place of a document: its canonical path, its schema with references resolved, and the
    document the references point into.

    ``definition`` is the name under ``$defs`` when the schema is a reference, ``around`` that of
    the mapping it is a key of; ``required`` says whether that mapping must have it.
    """

    path: str
    schema: Schema
    document: Schema
    definition: str | None = None
    around: str | None = None
    required: bool = False

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self.path.rpartition(".")[2]

    @property
    def definitions(self) -> frozenset[str]:
        """The definitions its schema, or one of its branches, refers to."""
        branches = (cast(Schema, self.schema.get(branch, {})).get("$ref") for branch in _BRANCHES)
        return frozenset(
            {
                *([self.definition] if self.definition else []),
                *(_definition(ref) for ref in branches if ref is not None),
            }
        )

    @property
    def description(self) -> str:
        """What it is, in the schema's words."""
        return str(self.schema.get("description", ""))

    @property
    def quantity(self) -> str | None:
        """What kind of quantity it takes, with examples; None for anything else."""
        unit = self.schema.get("x-quantity")
        if unit == _ANY_QUANTITY:
            return "a number with the unit of its metric, such as '500 1/s' or '1.25 Gbit/s'"
        return None if unit is None else expectation(Dimension(str(unit)))

    @property
    def unit(self) -> str | None:
        """The base unit it is stored in; None for anything but a quantity of one dimension."""
        unit = self.schema.get("x-quantity")
        return None if unit in (None, _ANY_QUANTITY) else str(unit)

    @property
    def values(self) -> tuple[Json, ...]:
        """The only values allowed; empty when there are others."""
        if "const" in self.schema:
            return (self.schema["const"],)
        return _listed(self.schema.get("enum"))

    @property
    def examples(self) -> tuple[Json, ...]:
        """Values that validate."""
        return _listed(self.schema.get("examples"))

    @property
    def default(self) -> Json:
        """What holds when it is left out; None when nothing does, or when the description says
        it.
        """
        if "default" in self.schema or self.required:
            return self.schema.get("default")
        model = _MODELS.get(self.around or "")
        for name, unit in ((self.name, self.unit), (f"{self.name}_s", "s")):
            value = getattr(model, name, None)
            if isinstance(value, bool | int | float | str):
                return _with_unit(value, unit)
        return None

    @property
    def kind(self) -> str:
        """The type in words."""
        if self.quantity is not None:
            return _QUANTITIES[Dimension(self.unit)] if self.unit else "quantity"
        if self.values:
            return "one of"
        types = self.schema.get("type", "object" if "properties" in self.schema else None)
        names = [str(t) for t in (types if isinstance(types, list) else [types]) if t is not None]
        return " or ".join(self._type_in_words(name) for name in names) or "any value"

    def _type_in_words(self, name: str) -> str:
        if name == "array":
            item = self.step(LIST_STEP)
            return (
                f"list of {item.kind}" if item is not None and item.kind != "any value" else "list"
            )
        if name == "object" and not self._has_keys() and self.step(NAME_STEP) is not None:
            return "mapping by name"
        return _TYPES.get(name, name)

    @property
    def bounds(self) -> str:
        """Limits of a number or of a list's length, in words; empty when there are none."""
        words = {
            "minimum": "at least",
            "exclusiveMinimum": "above",
            "maximum": "at most",
            "exclusiveMaximum": "below",
            "minItems": "length at least",
        }
        return ", ".join(
            f"{word} {self.schema[key]}" for key, word in words.items() if key in self.schema
        )

    def fields(self) -> tuple[Field, ...]:
        """The fields a mapping here may have, in the schema's order; those of its items when this
        is a list or a mapping by name.
        """
        return tuple(self._properties()) or tuple(
            field for below in self._unnamed() for field in below.fields()
        )

    def holder(self) -> Field:
        """The place whose mapping has the fields: this one, or the items of a list or of a mapping
        by name.
        """
        if self._has_keys():
            return self
        return next((below.holder() for below in self._unnamed() if below.fields()), self)

    def step(self, name: str) -> Field | None:
        """The field one step below: a key, ``[]`` (or any index), or any name in a mapping by name.
        None if there is none.
        """
        if name.startswith("["):
            return next(self._unnamed(), None)
        found = next((field for field in self._properties() if field.name == name), None)
        if found is not None or self._has_keys():
            return found
        return self._below("additionalProperties", f"{self.path}.{NAME_STEP}")

    def _has_keys(self) -> bool:
        return next(self._properties(), None) is not None

    def _properties(self) -> Iterator[Field]:
        for variant in self._variants():
            required = _listed(variant.get("required"))
            for name, schema in cast(Schema, variant.get("properties", {})).items():
                yield self._field(f"{self.path}.{name}", schema, required=name in required)

    def _unnamed(self) -> Iterator[Field]:
        """What lies below without a fixed key: items of a list, values of a mapping by name."""
        for key, suffix in (("items", LIST_STEP), ("additionalProperties", f".{NAME_STEP}")):
            below = self._below(key, f"{self.path}{suffix}")
            if below is not None:
                yield below

    def _below(self, key: str, path: str) -> Field | None:
        found = next(
            (variant[key] for variant in self._variants() if isinstance(variant.get(key), Mapping)),
            None,
        )
        return None if found is None else self._field(path, found)

    def _variants(self) -> Iterator[Schema]:
        """The schema itself, then its branches for short and long values."""
        yield self.schema
        for branch in _BRANCHES:
            if branch in self.schema:
                yield _resolve(cast(Schema, self.schema[branch]), self.document)[0]

    def _field(self, path: str, schema: Json, *, required: bool = False) -> Field:
        resolved, definition = _resolve(cast(Schema, schema), self.document)
        return Field(
            path=path,
            schema=resolved,
            document=self.document,
            definition=definition,
            around=self.definition,
            required=required,
        )


def root(name: str, document: Schema) -> Field:
    """The field of a whole document, called ``name`` in paths."""
    return Field(path=name, schema=document, document=document)


def split_path(path: str) -> tuple[str, ...]:
    """The steps of a path such as ``targets[].cvm``, ``$.targets.aks.limits[0]``; list steps keep
    their brackets.
    """
    return tuple(_STEP.findall(path.removeprefix("$").lstrip(".")))


def one_line(value: Json) -> str:
    """``value`` on one line of YAML, as it may stand in a spec."""
    import json

    import yaml

    if isinstance(value, str) and "\n" in value:
        return json.dumps(value, ensure_ascii=False)  # a quoted text of YAML too
    text = yaml.safe_dump(
        value, default_flow_style=True, width=100_000, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _resolve(schema: Schema, document: Schema) -> tuple[Schema, str | None]:
    """``schema`` with its reference followed; what stands beside a reference wins. Also the name of
    the definition it first refers to.
    """
    reference = schema.get("$ref")
    if reference is None:
        return schema, None
    name = _definition(reference)
    definition, _ = _resolve(cast(Schema, cast(Schema, document["$defs"])[name]), document)
    return {**definition, **{key: value for key, value in schema.items() if key != "$ref"}}, name


def _definition(reference: Json) -> str:
    return str(reference).removeprefix("#/$defs/")


def _with_unit(value: bool | int | float | str, unit: str | None) -> Json:
    if unit is None or isinstance(value, str):
        return str(value) if isinstance(value, str) else value
    return f"{value * 100:g} %" if unit == Dimension.RATIO.value else f"{value:g} {unit}"


def _listed(value: Json) -> tuple[Json, ...]:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
