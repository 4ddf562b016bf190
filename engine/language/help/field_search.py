"""Finding fields of the spec language by path, across the schemas of the language, its tools and
its runners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model import schema_files
from ...model.diagnostics import alternatives, did_you_mean
from ...model.errors import UsageError
from ..schema import registry as schema
from .fields import Field, root, split_path

SPEC = "spec"
_HOSTS = {"parameters": "workloads", "site": "runners"}
"""Definitions whose further keys come from the schemas of a room: ``with`` of a workload, and a
site or inline runner.
"""


def find_fields(path: str) -> tuple[Field, ...]:
    """The fields that ``path`` means: ``targets[].cvm``, ``targets.aks.cvm``,
    ``$.targets.aks.cvm``, ``fio.bs``, ``local.workdir``.

    Any name may stand for an entry of a mapping by name. A parameter under ``with`` is looked up in
    every tool, and an option of a site in every runner; all that have it are returned.

    Raises:
        UsageError: there is no such field.
    """
    steps = split_path(path)
    start, rest = _start(steps)
    found = tuple(_walk(start, rest))
    if not found:
        raise _unknown(path, start, rest)
    return found


def guests(field: Field) -> tuple[str, ...]:
    """The tools or runners whose own schema says which further keys ``field`` takes; empty for most
    fields.
    """
    return tuple(
        name
        for definition, room in _HOSTS.items()
        if definition in field.definitions
        for name in schema_files.known(room)
    )


def spec_root() -> Field:
    """The whole spec."""
    return root(SPEC, schema.benchmark_schema().document)


def named_root(name: str) -> Field | None:
    """The parameters of a tool, the options of a runner or what a run stores; None if there is no
    schema of that name.
    """
    check = schema.workload_schema(name) or schema.runner_schema(name) or schema.run_schema(name)
    return None if check is None else root(name, check.document)


def _start(steps: Sequence[str]) -> tuple[Field, Sequence[str]]:
    top = spec_root()
    if not steps or steps[0] == SPEC:
        return top, steps[1:]
    if top.step(steps[0]) is None:
        named = named_root(steps[0])
        if named is not None:
            return named, steps[1:]
    return top, steps


def _walk(field: Field, steps: Sequence[str]) -> Iterator[Field]:
    """Every field ``steps`` leads to from ``field``; readings that leave out a name or an index
    come first.
    """
    if not steps:
        yield field
        return
    first, rest = steps[0], steps[1:]
    for reading in (field.holder().step(first), field.step(first)):
        found = tuple(_walk(reading, rest)) if reading is not None else ()
        if found:
            yield from found
            return
    for name in guests(field):
        below = named_root(name)
        if below is not None:
            yield from _walk(below, steps)


def _unknown(path: str, start: Field, steps: Sequence[str]) -> UsageError:
    """Say where ``path`` leaves what is known, and what there is at that place."""
    field = start
    for wrong in steps:
        below = field.step(wrong) or field.holder().step(wrong)
        if below is None:
            break
        field = below
    known = [each.name for each in field.fields()]
    for name in guests(field):
        below = named_root(name)
        known += (
            [each.name for each in below.fields() if each.name not in known]
            if below is not None
            else []
        )
    if field.path == SPEC:
        known += [*schema_files.known("workloads"), *schema_files.known("runners")]
    hint = did_you_mean(wrong, known)
    listed = (
        f"{field.path} has {alternatives(known, '')}" if known else f"{field.path} has no fields"
    )
    return UsageError(
        f"found no field {wrong!r} in {field.path}", where=path, remedy=f"{hint} {listed}".strip()
    )
