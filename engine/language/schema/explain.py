"""Why a value does not satisfy a schema, as coded problems. Slow and careful; only called for what
the acceptor has refused.

``jsonschema`` finds the errors; here each becomes what was found, what was expected and what was
probably meant. Of alternatives (``anyOf``, ``oneOf``) only the branch that came furthest is
explained.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from ...model.diagnostics import At, Path, Problem, alternatives, did_you_mean, escape, quote
from ...model.text.json_access import items, mapping
from ..interpolation import has_reference
from .fast_validator import QUANTITY, Accepts, check_quantity, repeated, search

LEFT_OUT = "it to be left out beside the other values given here"
MOST_PROBLEMS = 500
MOST_HINTS = 50
"""For so many unknown keys of one mapping the nearest known one is looked for, which takes time."""

MOST_SHOWN = 60
"""A longer text is not repeated in a hint."""

QUOTE_IT = "put it in quotes"
"""The hint for a number or boolean where a text belongs; the loader adds how it was written."""

_Error: TypeAlias = Any
"""A ValidationError; its types allow every attribute to be unset, which it is not once an error is
reported.
"""

_Explain: TypeAlias = "Callable[[_Error, Path], Iterator[Problem]]"


def _check_pattern(
    validator: Any, pattern: str, instance: object, schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not search(pattern)(instance):
        yield ValidationError("pattern")


def _check_quantity(
    validator: Any, unit: str, instance: object, schema: object
) -> Iterator[ValidationError]:
    if check_quantity(instance, unit) is not None:
        yield ValidationError("quantity")


def _check_properties(
    validator: Any, properties: Mapping[str, Any], instance: object, schema: object
) -> Iterator[ValidationError]:
    """As in the library, which does not tell the name of a property whose schema is ``false``."""
    for name, part in properties.items():
        if isinstance(instance, Mapping) and name in instance:
            if part is False:
                yield ValidationError(
                    "false", validator=FORBIDDEN, path=(name,), instance=instance[name], schema=part
                )
            else:
                yield from validator.descend(instance[name], part, path=name, schema_path=name)


FORBIDDEN = "false"

_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"pattern": _check_pattern, QUANTITY: _check_quantity, "properties": _check_properties},
)


def accepts(schema: Mapping[str, Any]) -> Accepts:
    """Like :func:`benchspec.engine.language.schema.fast_validator.compile_schema`, for schemas with
    keywords that one does not know.
    """
    validator = _Validator(schema)
    return lambda value: bool(validator.is_valid(value))


def problems(schema: Mapping[str, Any], value: object, path: Path) -> tuple[Problem, ...]:
    """Everything that ``schema`` finds wrong with ``value``, which lies at ``path``, each thing
    once.
    """
    explained = (
        problem
        for error in _Validator(schema).iter_errors(value)
        for problem in _explain(error, path)
    )
    return tuple(dict.fromkeys(islice(explained, MOST_PROBLEMS)))


def _explain(error: _Error, base: Path) -> Iterator[Problem]:
    path = (*base, *error.absolute_path)
    if isinstance(error.instance, str) and has_reference(error.instance):
        return  # what it stands for is known only when it runs
    if error.validator != QUANTITY and _is_bad_quantity(error):
        return
    if "propertyNames" in error.absolute_schema_path:
        yield _bad_name(error, path)
    elif error.validator in ("anyOf", "oneOf") and error.context:
        yield from _explain(max(error.context, key=lambda inner: len(inner.absolute_path)), base)
    else:
        yield from _EXPLAIN.get(str(error.validator), _other)(error, path)


def _is_bad_quantity(error: _Error) -> bool:
    schema = error.schema
    return (
        isinstance(schema, Mapping)
        and QUANTITY in schema
        and check_quantity(error.instance, schema[QUANTITY]) is not None
    )


def _schema(error: _Error) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _bad_name(error: _Error, path: Path) -> Problem:
    name, schema = str(error.instance), _schema(error)
    allowed = schema.get("enum", ())
    expected = alternatives(allowed) if allowed else schema.get("x-expected", "another name")
    code = "BS101" if allowed else "BS105"
    hint = did_you_mean(name, allowed) or _respelt(name, error)
    return Problem(
        code=code,
        path=(*path, name),
        found=f"the key {quote(name)}",
        expected=expected,
        hint=hint,
        at=At.KEY,
    )


def _respelt(name: str, error: _Error) -> str:
    """``did you mean "x"?`` with lower-case letters and '-' for the rest, where that has the form
    that is asked for.
    """
    near = "".join(c if c.isascii() and c.isalnum() else "-" for c in name[:64].lower()).strip("-")
    fits = error.validator == "pattern" and len(name) < 64 and search(error.validator_value)(near)
    return f'did you mean "{near}"?' if fits else ""


def _unknown_keys(error: _Error, path: Path) -> Iterator[Problem]:
    schema, instance = _schema(error), error.instance
    known = list(schema.get("properties", {}))
    asked = 0
    for key in instance:
        if key not in known and not any(
            search(pattern)(key) for pattern in schema.get("patternProperties", {})
        ):
            asked += 1
            hint = (
                (
                    did_you_mean(key, [name for name in known if name not in instance])
                    or did_you_mean(key, known)
                )
                if asked <= MOST_HINTS
                else ""
            )
            yield Problem(
                code="BS101",
                path=(*path, key),
                found=f"the unknown key {quote(key)}",
                expected=alternatives(known),
                hint=hint or _outside(path),
                at=At.KEY,
            )


def _outside(path: Path) -> str:
    """Where a key belongs that a workload does not know: most are parameters of its tool."""
    is_workload = len(path) == 2 and path[0] == "workloads"
    return "a parameter of the tool belongs into `with`" if is_workload else ""


def _missing_keys(error: _Error, path: Path) -> Iterator[Problem]:
    for name in error.validator_value:
        if name not in error.instance:
            yield _missing(name, path, example=_example_of(error, name))


def _example_of(error: _Error, name: str) -> str:
    """`` such as NAME: EXAMPLE`` from the schema of the missing key, where that is short."""
    example = next(
        iter(items(mapping(mapping(_schema(error).get("properties")).get(name)).get("examples"))),
        None,
    )
    return (
        f", such as {name}: {escape(str(example))}"
        if isinstance(example, str | int | float) and not isinstance(example, bool)
        else ""
    )


def _missing_dependents(error: _Error, path: Path) -> Iterator[Problem]:
    for key, names in error.validator_value.items():
        for name in names if key in error.instance else ():
            if name not in error.instance:
                yield _missing(name, path, beside=f" beside {quote(key)}")


def _missing(name: str, path: Path, *, beside: str = "", example: str = "") -> Problem:
    found, expected = f"a mapping without {quote(name)}", f"the key {quote(name)}{beside}{example}"
    return Problem(code="BS102", path=path, found=found, expected=expected, at=At.HOLDER)


_TYPE_NAMES = {
    "string": "a text",
    "object": "a mapping",
    "array": "a list",
    "boolean": "true or false",
    "number": "a number",
    "integer": "a whole number",
}


def _wrong_type(error: _Error, path: Path) -> Iterator[Problem]:
    wanted = (
        error.validator_value
        if isinstance(error.validator_value, list)
        else [error.validator_value]
    )
    expected = " or ".join(_TYPE_NAMES.get(str(name), str(name)) for name in wanted)
    example = next(iter(_schema(error).get("examples", ())), None)
    if isinstance(example, int | float) and not isinstance(example, bool):
        expected += f" such as {quote(example)}"
    hint = QUOTE_IT if "string" in wanted and isinstance(error.instance, int | float) else ""
    hint = hint or _around(error, wanted)
    yield Problem(
        code="BS103", path=path, found=_with_kind(error.instance), expected=expected, hint=hint
    )


def _around(error: _Error, wanted: Sequence[object]) -> str:
    """How to write a lone text where a mapping or a list is wanted, or a list of names where they
    are keys.
    """
    value, schema = error.instance, _schema(error)
    if "object" in wanted and isinstance(value, list):
        return "write each as `NAME: {...}`, without a dash"
    if not isinstance(value, str) or len(value) > MOST_SHOWN:
        return ""
    if "object" in wanted and "name" in mapping(schema.get("properties")):
        return f"write {{name: {escape(value)}}}"
    if schema.get("x-capability") == "step":  # a command line
        return _as_words(value)
    return f"write [{escape(value)}]" if "array" in wanted else ""


def _as_words(text: str) -> str:
    """A command line as a list of the words that a shell would make of it."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is never closed
        words = [text]
    return f"write [{', '.join(map(escape, words))}]"


def _with_kind(value: object) -> str:
    if isinstance(value, str):
        return f"the text {quote(value)}"
    return (
        f"the number {quote(value)}"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else quote(value)
    )


def _not_among(error: _Error, path: Path) -> Iterator[Problem]:
    allowed = [error.validator_value] if error.validator == "const" else error.validator_value
    texts = [item for item in allowed if isinstance(item, str)]
    expected = alternatives([item if isinstance(item, str) else quote(item) for item in allowed])
    if (
        isinstance(error.instance, int | float)
        and not isinstance(error.instance, bool)
        and str(error.instance) in texts
    ):
        yield Problem(
            code="BS103",
            path=path,
            found=_with_kind(error.instance),
            expected="a text",
            hint=QUOTE_IT,
        )
    else:
        yield Problem(
            code="BS104",
            path=path,
            found=quote(error.instance),
            expected=expected,
            hint=did_you_mean(error.instance, texts),
        )


def _no_match(error: _Error, path: Path) -> Iterator[Problem]:
    expected = (
        _schema(error).get("x-expected")
        or f"text that matches {escape(str(error.validator_value), 120)}"
    )
    hint = _respelt(error.instance, error) if len(error.instance) > 1 else ""
    if not hint and str(expected).startswith("a list") and len(error.instance) <= MOST_SHOWN:
        hint = f"write [{escape(error.instance)}]"
    yield Problem(
        code="BS105", path=path, found=quote(error.instance), expected=expected, hint=hint
    )


_RANGES = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "a text of at least {} characters",
    "maxLength": "a text of at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
    "maxProperties": "at most {} keys",
}


def _out_of_range(error: _Error, path: Path) -> Iterator[Problem]:
    expected = _RANGES[str(error.validator)].format(error.validator_value)
    found = (
        f"a text of {len(error.instance)} characters"
        if isinstance(error.instance, str)
        else quote(error.instance)
    )
    yield Problem(
        code="BS106",
        path=path,
        found=found,
        expected=expected.replace("least 1 items", "least 1 item").replace(
            "least 1 keys", "least 1 key"
        ),
    )


def _not_unique(error: _Error, path: Path) -> Iterator[Problem]:
    twice = ", ".join(quote(item) for item in repeated(error.instance)[:3])
    yield Problem(
        code="BS106", path=path, found=f"{twice} more than once", expected="every item once"
    )


def _bad_quantity(error: _Error, path: Path) -> Iterator[Problem]:
    why = check_quantity(error.instance, error.validator_value)
    if why is not None:
        yield Problem(
            code="BS110",
            path=path,
            found=escape(why.found, 160),
            expected=why.expected,
            hint=escape(why.hint),
        )


def _forbidden(error: _Error, path: Path) -> Iterator[Problem]:
    """``not: {required: [...]}``, alone or in ``anyOf``, forbids keys beside what the schema's
    condition asks for.
    """
    parts = (
        error.validator_value.get("anyOf", [error.validator_value])
        if isinstance(error.validator_value, Mapping)
        else []
    )
    instance = error.instance if isinstance(error.instance, Mapping) else {}
    named = [
        name
        for part in parts
        if isinstance(part, Mapping)
        for name in part.get("required", ())
        if name in instance
    ]
    for name in named:
        yield Problem(
            code="BS109",
            path=(*path, name),
            found=f"the key {quote(name)}",
            expected=_why(error),
            at=At.KEY,
        )
    if not named:
        yield Problem(code="BS109", path=path, found=quote(error.instance), expected=_why(error))


def _why(error: _Error) -> str:
    schema = _schema(error)
    said: str = schema.get("x-expected") or schema.get("description") or LEFT_OUT
    return escape(said, 200)


def _nothing_allowed(error: _Error, path: Path) -> Iterator[Problem]:
    yield Problem(
        code="BS109", path=path, found=f"the key {quote(path[-1])}", expected=LEFT_OUT, at=At.KEY
    )


def _other(error: _Error, path: Path) -> Iterator[Problem]:
    rule = (
        "no value"
        if error.validator is None
        else f"what the schema's {escape(str(error.validator))} asks for"
    )
    yield Problem(code="BS109", path=path, found=quote(error.instance), expected=rule)


_EXPLAIN: dict[str, _Explain] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "dependentRequired": _missing_dependents,
    "type": _wrong_type,
    "enum": _not_among,
    "const": _not_among,
    "pattern": _no_match,
    "uniqueItems": _not_unique,
    QUANTITY: _bad_quantity,
    "not": _forbidden,
    FORBIDDEN: _nothing_allowed,
    **dict.fromkeys(_RANGES, _out_of_range),
}
