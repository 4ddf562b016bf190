"""Observing a host: one shell script that runs every fact's source command, and the pure parser of
what it prints.

What a fact is (name, type, unit, description, whether it may be published, whether it moves by
itself, whether pages always show it) stands in schemas/facts.schema.json alone; its source command
stands in commands/. What a host does not tell is None, "unknown": never an
empty string and never 0. Any transport works: run :func:`script` with ``sh``, hand its stdout to
:func:`parse`.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Required, TypedDict, cast

from ..model.results import Fact
from ..model.spec import Role
from .commands.host import COMMANDS, DISK_FACTS, PROBES
from .commands.path import PATH_COMMANDS

TIMEOUT_S = 10.0
"""How long a host may take to tell its facts; those it has not told by then are unknown. An idle
host takes half a second.
"""

PATH_TIMEOUT_S = 20.0
"""How long a node may take to tell its path to a peer: a second for each size of packet that
vanishes on the way.
"""

_LONGEST = 2000
_PROCESSES_SOURCE = "a control group that is made, entered and left"
_CONNECTION_SOURCE = "the SSH connection"
_CLUSTER_SOURCE = "the Kubernetes API"
_PROGRAM_SOURCE = "the program itself"
_CLOCK_SOURCE = "the controller's clock held against `date` on the node over the connection"


class Scope(StrEnum):
    """What a fact is about: a host; the path from a node to a peer; the volume that is measured,
    where it is not that of the work directories; a node's clock, which the session holds against
    the controller's; the way in; the processes that a run starts; a cluster and its objects, as its
    API shows them.
    """

    HOST = "host"
    PATH = "path"
    VOLUME = "volume"
    CLOCK = "clock"
    CONNECTION = "connection"
    PROCESSES = "processes"
    CLUSTER = "cluster"


Described = TypedDict(
    "Described",
    {
        "description": Required[str],
        "type": Required[list[str]],
        "x-unit": str,
        "x-private": bool,
        "x-moves": bool,
        "x-main": bool,
        "x-scope": str,
    },
    total=False,
)
"""How the schema describes one fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactKind:
    """What a fact is.

    ``type``: the JSON type of its value (string, integer, number, boolean). ``private``: it names
    what is on no page and in no export, or its schema does not say. ``moves``: it changes by itself
    within a session. ``main``: pages show it of every target.
    """

    name: str
    description: str
    type: str
    unit: str | None
    private: bool
    moves: bool
    main: bool
    scope: Scope
    command: str

    @property
    def source(self) -> str:
        """The source command as one would type it; of a fact that shares a probe with others, where
        to read that.
        """
        return (
            f"a probe, which `benchspec explain {self.name}` prints"
            if _read_by(self.command)
            else self.command.replace("$ROOT", "")
        )

    @property
    def whole(self) -> str:
        """The source command with the probes that it shares with others."""
        return (
            "".join(f"{variable}=$({PROBES[variable]}); " for variable in _read_by(self.command))
            + self.command
        ).replace("$ROOT", "")


@cache
def fact_kinds() -> Mapping[str, FactKind]:
    """Every fact by name, in the order in which they are shown."""
    return {
        name: _fact_kind(name, described, _command(name, _scope(described)))
        for name, described in _schema()["properties"].items()
    }


@cache
def find_kind(name: str) -> FactKind | None:
    """What the fact ``name`` is; None where the schema does not know it. Facts that a program tells
    of itself are known by a pattern of their names.
    """
    for pattern, described in _schema().get("patternProperties", {}).items():
        if re.search(pattern, name):
            return _fact_kind(name, described, _PROGRAM_SOURCE)
    return fact_kinds().get(name)


def is_published(name: str) -> bool:
    """Whether pages and exports may show the fact ``name``: only where its schema says so."""
    kind = find_kind(name)
    return kind is not None and not kind.private


@cache
def _schema() -> Mapping[str, Mapping[str, Described]]:
    path = files(f"{__package__.partition('.')[0]}.schemas") / "facts.schema.json"
    return cast(
        "Mapping[str, Mapping[str, Described]]", json.loads(path.read_text(encoding="utf-8"))
    )


def _scope(described: Described) -> Scope:
    return Scope(described.get("x-scope", Scope.HOST))


def _command(name: str, scope: Scope) -> str:
    match scope:
        case Scope.HOST:
            return COMMANDS[name]
        case Scope.PATH:
            return PATH_COMMANDS[name]
        case Scope.VOLUME:
            return DISK_FACTS[name.removeprefix("storage.")]
        case Scope.CLOCK:
            return _CLOCK_SOURCE
        case Scope.CONNECTION:
            return _CONNECTION_SOURCE
        case Scope.PROCESSES:
            return _PROCESSES_SOURCE
        case Scope.CLUSTER:
            return _CLUSTER_SOURCE


def _fact_kind(name: str, described: Described, command: str) -> FactKind:
    return FactKind(
        name=name,
        description=described["description"],
        type=described["type"][0],
        unit=described.get("x-unit"),
        private=described.get("x-private", True) is not False,  # what is not said is not published
        moves=described.get("x-moves", False),
        main=described.get("x-main", False),
        scope=_scope(described),
        command=command,
    )


def _read_by(command: str) -> tuple[str, ...]:
    return tuple(variable for variable in PROBES if f"${variable}" in command)


def script() -> str:
    """The shell script that prints every fact of a host as ``name NUL value NUL``; an empty value
    is unknown.

    Each command runs in a subshell of its own, and complaints are dropped: a missing file is
    nothing but an unknown fact. ``$DIR`` names the directory whose disk is meant, ``$ROOT``
    (normally unset) another machine's files.
    """
    probes = [f"{variable}=$({{ {probe}; }} </dev/null)" for variable, probe in PROBES.items()]
    alone = {name: command for name, command in COMMANDS.items() if not _read_by(command)}
    shared = {name: command for name, command in COMMANDS.items() if name not in alone}
    return "\n".join(
        ["exec 2>/dev/null", *_lines(alone), *probes, *_lines(shared), ""]
    )  # what may take long comes last


def cvm_script() -> str:
    """The part of :func:`script` that looks for confidential VMs alone; :func:`parse` reads it."""
    commands = {name: command for name, command in COMMANDS.items() if name.startswith("cvm.")}
    return "\n".join(
        ["exec 2>/dev/null", f"CVM=$({{ {PROBES['CVM']}; }} </dev/null)", *_lines(commands), ""]
    )


def path_script(peer: str) -> str:
    """The script that prints the facts of the path from here to ``peer``, an address or a name, in
    the same way.
    """
    return "\n".join(["exec 2>/dev/null", f"PEER={shlex.quote(peer)}", *_lines(PATH_COMMANDS), ""])


def volume_script(directory: str) -> str:
    """The script that prints the facts of the volume that holds ``directory`` in the same way;
    nothing where there is no such directory.
    """
    commands = {f"storage.{word}": command for word, command in DISK_FACTS.items()}
    return "\n".join(
        [
            "exec 2>/dev/null",
            f"DIR={shlex.quote(directory)}",
            '[ -d "$DIR" ] || exit 0',
            *_lines(commands),
            "",
        ]
    )


def _lines(commands: Mapping[str, str]) -> list[str]:
    # a command that reads its input must not read the script, which may come that way
    return [
        f"printf '%s\\0%s\\0' {name} \"$({{ {command}; }} </dev/null)\""
        for name, command in commands.items()
    ]


def parse(output: bytes) -> tuple[Fact, ...]:
    """Read what :func:`script` printed, also when it was cut short; every fact of a host is in the
    result, unknown ones with None.
    """
    return _read(output, Scope.HOST)


def parse_path(output: bytes) -> tuple[Fact, ...]:
    """Read what :func:`path_script` printed, also when it was cut short; every fact of a path is in
    the result, unknown ones with None.
    """
    return _read(output, Scope.PATH)


def parse_volume(output: bytes) -> tuple[Fact, ...]:
    """Read what :func:`volume_script` printed, also when it was cut short; every fact of a volume
    is in the result, unknown ones with None.
    """
    return _read(output, Scope.VOLUME)


def clock_facts(offset_s: float | None, bound_s: float | None) -> tuple[Fact, ...]:
    """The facts of a node's clock, as a session measured them (None, or bounded by nothing: it
    could not).
    """
    if bound_s is not None and not math.isfinite(bound_s):
        offset_s = bound_s = None
    values = {"clock.offset": offset_s, "clock.offset_bound": bound_s}
    return tuple(
        _fact(kind, values[kind.name])
        for kind in fact_kinds().values()
        if kind.scope is Scope.CLOCK
    )


def connection_facts(host_key: str, trust: str, greeting: str) -> tuple[Fact, ...]:
    """The facts of the way into a host: its key, who vouches for it, and what it printed unasked
    ("": nothing).
    """
    values = {"ssh.host_key": host_key, "ssh.trust": trust, "ssh.greeting": greeting or None}
    return tuple(
        _fact(kind, values[kind.name])
        for kind in fact_kinds().values()
        if kind.scope is Scope.CONNECTION
    )


def process_facts(boundary: str | None) -> tuple[Fact, ...]:
    """The fact of by what the processes of a run are known on a node."""
    return tuple(
        _fact(kind, boundary) for kind in fact_kinds().values() if kind.scope is Scope.PROCESSES
    )


def far_end(role: Role, roles: Collection[Role]) -> Role | None:
    """The role among ``roles`` whose path from ``role`` is asked for: the one it sends its traffic
    to or gets it from; None: it has no such path.
    """
    return next((peer for peer in _FAR_ENDS.get(role, ()) if peer in roles), None)


_FAR_ENDS: Mapping[Role, tuple[Role, ...]] = {
    Role.CLIENT: (Role.SERVER, Role.STORAGE),
    Role.LOAD_GENERATOR: (Role.SERVER, Role.STORAGE),
    Role.SERVER: (Role.CLIENT, Role.LOAD_GENERATOR),
    Role.STORAGE: (Role.CLIENT, Role.LOAD_GENERATOR),
}


def _read(output: bytes, scope: Scope) -> tuple[Fact, ...]:
    fields = output.decode("utf-8", "replace").split("\0")[
        :-1
    ]  # what follows the last NUL was cut short
    said = dict(zip(fields[0::2], fields[1::2], strict=False))
    return tuple(
        _fact(kind, convert(said.get(kind.name, ""), kind.type))
        for kind in fact_kinds().values()
        if kind.scope is scope
    )


def _fact(kind: FactKind, value: str | float | None) -> Fact:
    return Fact(name=kind.name, value=value, source=kind.source, unit=kind.unit)


def convert(text: str, kind: str) -> str | int | float | bool | None:
    """The value of JSON type ``kind`` that a source command printed as ``text``; None when it is
    empty or no such value.
    """
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
