"""``--set PATH=VALUE``: a value of the document replaced on the command line, checked like what is
written in the file.

A path is keys joined by dots, with list indices in brackets; a key with a dot in it is quoted:
``targets.aks.facts."kernel.release"``. The value is YAML. Keys on the way are created where the
language has a key of that name; names of targets and the like must exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..model.diagnostics import (
    At,
    Diagnostic,
    InvalidSpec,
    Path,
    Problem,
    Severity,
    did_you_mean,
    quote,
)
from ..model.spec import Json
from .schema.registry import benchmark_schema
from .yaml.source import Source, read_value

_KEY = re.compile(
    r'(?:"(?P<quoted>[^"]+)"|(?P<plain>[^.\[\]"=\s]+))(?P<indices>(?:\[[0-9]{1,6}\])*)(?P<end>[.=]|\Z)',
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Override:
    """One ``--set``: where it puts which value. ``source`` is the whole argument, so that problems
    can point into it.
    """

    path: Path
    value: Json
    source: Source

    def covers(self, path: Path) -> bool:
        """Whether ``path`` is what is set, or lies in it."""
        return path[: len(self.path)] == self.path

    def diagnose(self, problem: Problem, severity: Severity) -> Diagnostic:
        """``problem`` at its place in the argument: at the value, or at the path where a key is at
        fault or there is no such value.
        """
        key, node = self.source.key_and_value(problem.path[len(self.path) :])
        if problem.path == self.path and problem.at is At.VALUE:
            key = node
        place = key if problem.at is not At.VALUE else node
        if place is None:
            return self.source.diagnose(problem, severity, 1, 1)
        return self.source.diagnose(
            problem, severity, place.start_mark.line + 1, place.start_mark.column + 1
        )


def read_overrides(texts: Sequence[str]) -> tuple[tuple[Override, ...], tuple[Diagnostic, ...]]:
    """Parse the arguments of ``--set``; those that cannot be read are diagnosed (BS115) and left
    out.
    """
    found: list[Override] = []
    refused: list[Diagnostic] = []
    for number, text in enumerate(texts, start=1):
        try:
            override = _read(text, f"--set {number}")
        except InvalidSpec as error:
            refused += error.diagnostics
        else:
            found.append(override)
            refused += override.source.faults
    return tuple(found), tuple(refused)


def _read(text: str, file: str) -> Override:
    path: list[str | int] = []
    position = 0
    while True:
        match = _KEY.match(text, position)
        if match is None or (match["end"] == "" and match.end() == len(text)):
            raise _unreadable(text, file, position)
        path.append(match["quoted"] or match["plain"])
        path += [int(index) for index in re.findall(r"[0-9]+", match["indices"])]
        position = match.end()
        if match["end"] == "=":
            source = read_value(text, position, file, tuple(path))
            return Override(tuple(path), source.data, source)


def _unreadable(text: str, file: str, position: int) -> InvalidSpec:
    problem = Problem(
        code="BS115", path=(), found=quote(text), expected="PATH=VALUE such as method.sessions=3"
    )
    return InvalidSpec(
        [
            Source(file, text, None, None).diagnose(
                problem, Severity.ERROR, 1, min(position, len(text)) + 1
            )
        ]
    )


def apply_overrides(
    document: Mapping[str, Json], overrides: Sequence[Override]
) -> tuple[Mapping[str, Json], tuple[Problem, ...]]:
    """``document`` with every override in place, in order, and those whose path leads nowhere
    (BS114). The document itself stays as it is.
    """
    problems: list[Problem] = []
    for override in overrides:
        wrong = _wrong_step(document, override.path)
        if wrong is not None:
            problems.append(wrong)
        else:
            document = _replaced(document, override.path, override.value)
    return document, tuple(problems)


def _wrong_step(document: Json, path: Path) -> Problem | None:
    """Why ``path`` leads nowhere in ``document``; None if it leads somewhere, or to a key that the
    language knows.
    """
    found: Any = document
    for depth, step in enumerate(path):
        if isinstance(step, int):
            if not isinstance(found, list) or step >= len(found):
                length = f"a list of {len(found)}" if isinstance(found, list) else "no list"
                return _no_path(
                    path[: depth + 1], f"the index {step} into {length}", "an index that exists"
                )
            found = found[step]
            continue
        if found is not None and not isinstance(found, Mapping):
            return _no_path(
                path[: depth + 1], f"the key {quote(step)} in {quote(found)}", "a mapping there"
            )
        found = found or {}
        if step not in found and (
            step not in language_keys() if depth + 1 < len(path) else path[:depth] == ("vars",)
        ):
            known = [*found, *(language_keys() if depth == 0 else ())]
            return _no_path(
                path[: depth + 1],
                f"the unknown key {quote(step)}",
                "a path that exists",
                did_you_mean(step, known),
            )
        found = found.get(step)
    return None


def _no_path(path: Path, found: str, expected: str, hint: str = "") -> Problem:
    return Problem(code="BS114", path=path, found=found, expected=expected, hint=hint, at=At.KEY)


@lru_cache(maxsize=1)
def language_keys() -> frozenset[str]:
    """Every key that the language has anywhere."""
    return frozenset(_property_names(benchmark_schema().document))


def _property_names(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, Mapping) else ()
        for keyword, part in schema.items():
            yield from _property_names(part) if keyword != "examples" else ()
    elif isinstance(schema, list):
        for part in schema:
            yield from _property_names(part)


def _replaced(value: Any, path: Path, new: Json) -> Any:
    if not path:
        return new
    step, *rest = path
    if isinstance(step, int):
        return [
            _replaced(item, tuple(rest), new) if index == step else item
            for index, item in enumerate(value)
        ]
    held = value or {}
    return {**held, step: _replaced(held.get(step), tuple(rest), new)}
