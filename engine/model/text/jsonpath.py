"""A subset of JSONPath (RFC 9535) for picking figures out of a document: ``$.a.b[0]``, ``['odd
key']``, ``[-1]``, ``[*]`` and ``.*``.

No filters, slices, or ``..``: a path names the values it means. Evaluation takes time proportional
to the values it visits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import SpecError
from ..spec import Json

_STEP = re.compile(
    r"\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|(?P<all>\.\*|\[\*\])|\[(?P<index>-?\d{1,9})\]|\['(?P<single>[^']*)'\]|\[\"(?P<double>[^\"]*)\"\]"
)
_MAX_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Every:
    """``[*]``: each element of an array, each value of an object."""


Step: TypeAlias = str | int | Every
"""A key, an index (negative from the end), or every element."""


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of ``path``.

    Raises:
        SpecError: it is not of this subset.
    """
    if not path.startswith("$") or len(path) > _MAX_LENGTH:
        raise SpecError(
            f"found the JSONPath {path[:80]!r}, expected one that starts with $ and has at most"
            f" {_MAX_LENGTH} characters"
        )
    steps: list[Step] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            message = (
                f"found {path[position:][:40]!r} in the JSONPath {path!r}, expected .name,"
                " ['name'], [0], [-1], [*] or .*"
            )
            raise SpecError(
                message, remedy="filters, slices and .. are not supported: name the values"
            )
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return Every()
    if match["index"]:
        return int(match["index"])
    return next(key for key in (match["name"], match["single"], match["double"]) if key is not None)


def select(document: Json, steps: Sequence[Step]) -> list[Json]:
    """The values at ``steps`` in ``document``, in document order; a step that leads nowhere selects
    nothing.
    """
    values: list[Json] = [document]
    for step in steps:
        values = [child for value in values for child in _children(value, step)]
    return values


def _children(value: Json, step: Step) -> Iterable[Json]:
    match step, value:
        case Every(), Mapping():
            return value.values()
        case Every(), list() | tuple():
            return value
        case str(), Mapping() if step in value:
            return (value[step],)
        case int(), list() | tuple() if -len(value) <= step < len(value):
            return (value[step],)
        case _:
            return ()
