"""``benchspec explain``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .terminal import echo

if TYPE_CHECKING:
    from ..engine.fields import Field

WIDTH = 100


@click.command("explain", short_help=VERBS["explain"])
@click.argument("what", default="spec")
def command(what: str) -> None:
    """Explain WHAT: a field by its path, a fact (net.mtu), a diagnostic (BS214), a finding (F101) or an exit code (exit-5).

    Paths are written as in a spec: `targets[].cvm`, `targets.NAME.cvm`, `workloads[].with`, `fio.bs`, `local.workdir`.
    """
    import re

    code = re.fullmatch(r"(?P<kind>BS|F|EXIT-)(?P<number>[0-9]+)", what, re.IGNORECASE)
    lines = _code(code["kind"].upper(), code["number"]) if code else _fact_or_fields(what)
    echo("\n".join(lines))


def _code(kind: str, number: str) -> Iterator[str]:
    from ..engine.errors import UsageError
    from ..engine.explanations import EXIT, explain_code

    name = f"{EXIT}{number}" if kind == "EXIT-" else f"{kind}{number}"
    found, near = explain_code(name)
    if found is None:
        raise UsageError(
            f"there is no code {name}",
            remedy=f"did you mean {near}?" if near else "codes are BS and three digits, F and three digits, or exit- and a number",
        )
    yield f"{name}: {found.title}"
    if found.severity:
        yield f"  severity: {found.severity}"
    yield from _paragraph(found.explanation)


def _fact_or_fields(what: str) -> Iterator[str]:
    from ..engine.facts import fact_kinds

    fact = fact_kinds().get(what)
    if fact is None:
        yield from _fields(what)
        return
    yield f"{fact.name}: a fact, {fact.type}{f' in {fact.unit}' if fact.unit else ''}"
    yield from _paragraph(fact.description)
    yield f"  observed by: {fact.whole}"


def _fields(path: str) -> Iterator[str]:
    from ..engine.field_search import find_fields, guests

    for number, field in enumerate(find_fields(path)):
        if number:
            yield ""
        yield from _field(field)
        others = guests(field)
        if others:
            yield f"\n  further fields by kind: {', '.join(f'`benchspec explain {name}`' for name in others)}"


def _field(field: Field) -> Iterator[str]:
    from ..engine.fields import one_line

    kind = f"{field.kind} {', '.join(map(one_line, field.values))}" if field.values else field.kind
    yield f"{field.path}: {kind}{', required' if field.required else ''}"
    yield from _paragraph(field.description)
    if field.quantity:
        yield f"  write: {field.quantity}{f'; kept in {field.unit}' if field.unit and field.unit != 'ratio' else ''}"
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
            yield f"    {each.name.ljust(width)}  {'(required) ' if each.required else ''}{each.description}"


def _paragraph(text: str) -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
