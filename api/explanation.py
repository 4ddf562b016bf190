"""Explanations for people: of a field of the spec, a fact, a code or a finding."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from ..engine.facts.catalogue import fact_kinds
from ..engine.language.help.explanations import EXIT, explain_code
from ..engine.language.help.field_search import find_fields, guests
from ..engine.language.help.fields import Field, one_line
from ..engine.model.errors import UsageError

WIDTH = 100
"""Characters in a line."""


def explain(what: str = "spec") -> str:
    """Explain a field by its path (``targets[].cvm``, ``fio.bs``), a fact (``net.mtu``), a
    diagnostic (``BS214``), a finding (``F101``) or an exit code (``exit-5``).

    Raises:
        UsageError: there is nothing of that name; it says what is near.
    """
    code = re.fullmatch(r"(?P<kind>BS|F|EXIT-)(?P<number>[0-9]+)", what, re.IGNORECASE)
    lines = _code(code["kind"].upper(), code["number"]) if code else _fact_or_fields(what)
    return "\n".join(lines)


def _code(kind: str, number: str) -> Iterator[str]:
    name = f"{EXIT}{number}" if kind == "EXIT-" else f"{kind}{number}"
    found, near = explain_code(name)
    if found is None:
        raise UsageError(
            f"there is no code {name}",
            remedy=(
                f"did you mean {near}?"
                if near
                else "codes are BS and three digits, F and three digits, or exit- and a number"
            ),
        )
    yield f"{name}: {found.title}"
    if found.severity:
        yield f"  severity: {found.severity}"
    yield from _paragraph(found.explanation)


def _fact_or_fields(what: str) -> Iterator[str]:
    fact = fact_kinds().get(what)
    if fact is None:
        yield from _fields(what)
        return
    yield f"{fact.name}: a fact, {fact.type}{f' in {fact.unit}' if fact.unit else ''}"
    yield from _paragraph(fact.description)
    yield f"  observed by: {fact.whole}"


def _fields(path: str) -> Iterator[str]:
    for number, field in enumerate(find_fields(path)):
        if number:
            yield ""
        yield from _field(field)
        others = guests(field)
        if others:
            yield (
                "\n  further fields by kind:"
                f" {', '.join(f'`benchspec explain {name}`' for name in others)}"
            )


def _field(field: Field) -> Iterator[str]:
    kind = f"{field.kind} {', '.join(map(one_line, field.values))}" if field.values else field.kind
    yield f"{field.path}: {kind}{', required' if field.required else ''}"
    yield from _paragraph(field.description)
    if field.quantity:
        yield (
            "  write:"
            f" {field.quantity}{f'; kept in {field.unit}' if field.unit and field.unit != 'ratio' else ''}"
        )
    if field.bounds:
        yield f"  bounds: {field.bounds}"
    if field.default is not None:
        yield f"  default: {one_line(field.default)}"
    for example in field.examples:
        yield f"  example: {one_line(example)}"
    below = field.fields()
    if below:
        yield f"\n  fields of {field.holder().path}:"
        width = max(len(each.name) for each in below)
        for each in below:
            yield (
                f"    {each.name.ljust(width)} "
                f" {'(required) ' if each.required else ''}{each.description}"
            )


def _paragraph(text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
