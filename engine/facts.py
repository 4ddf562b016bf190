"""Observing a host: one shell script that runs every fact's source command, and the pure parser of what it prints.

A fact is a name with a type, a unit and a description (schemas/facts.schema.json, their only home) and a source command (fact_commands.py). What a
host does not tell is None, "unknown": never an empty string and never 0. Any transport works: run :func:`script` with ``sh``, hand its stdout to
:func:`parse`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Required, TypedDict, cast

from .fact_commands import COMMANDS
from .results import Fact

TIMEOUT_S = 5.0
"""How long a host may take to tell its facts; those it has not told by then are unknown."""

_LONGEST = 2000


Described = TypedDict("Described", {"description": Required[str], "type": Required[list[str]], "x-unit": str, "x-moves": bool}, total=False)
"""How the schema describes one fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactKind:
    """What a fact is: the JSON type of its value (string, integer, number, boolean), its unit, and whether it moves by itself within a session."""

    name: str
    description: str
    type: str
    unit: str | None
    moves: bool
    command: str

    @property
    def source(self) -> str:
        """The source command as one would type it."""
        return self.command.replace("$ROOT", "")


@cache
def fact_kinds() -> Mapping[str, FactKind]:
    """Every host fact by name, in the order in which they are shown."""
    schema = json.loads((files(f"{__package__.partition('.')[0]}.schemas") / "facts.schema.json").read_text(encoding="utf-8"))
    return {name: _fact_kind(name, described) for name, described in cast("Mapping[str, Described]", schema["properties"]).items()}


def _fact_kind(name: str, described: Described) -> FactKind:
    return FactKind(
        name=name,
        description=described["description"],
        type=described["type"][0],
        unit=described.get("x-unit"),
        moves=described.get("x-moves", False),
        command=COMMANDS[name],
    )


def script() -> str:
    """The shell script that prints every fact as ``name NUL value NUL``; an empty value is unknown.

    Each command runs in a subshell of its own, and complaints are dropped: a missing file is nothing but an unknown fact. ``$DIR`` names the
    directory whose disk is meant, ``$ROOT`` (normally unset) another machine's files.
    """
    # a command that reads its input must not read the script, which may come that way
    lines = [f"printf '%s\\0%s\\0' {name} \"$({{ {command}; }} </dev/null)\"" for name, command in COMMANDS.items()]
    return "\n".join(["exec 2>/dev/null", *lines, ""])


def parse(output: bytes) -> tuple[Fact, ...]:
    """Read what :func:`script` printed, also when it was cut short; every known fact is in the result, unknown ones with None."""
    fields = output.decode("utf-8", "replace").split("\0")[:-1]  # what follows the last NUL was cut short
    said = dict(zip(fields[0::2], fields[1::2], strict=False))
    return tuple(
        Fact(name=kind.name, value=convert(said.get(kind.name, ""), kind.type), source=kind.source, unit=kind.unit) for kind in fact_kinds().values()
    )


def convert(text: str, kind: str) -> str | int | float | bool | None:
    """The value of JSON type ``kind`` that a source command printed as ``text``; None when it is empty or no such value."""
    text = " ".join(text.split())[:_LONGEST]
    try:
        match kind:
            case "boolean":
                return {"true": True, "false": False}.get(text)
            case "integer":
                return int(text)
            case "number":
                number = float(text)
                return number if math.isfinite(number) else None
            case _:
                return text or None
    except ValueError:
        return None
