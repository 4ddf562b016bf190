"""The schemas of the spec language, its tools, its runners and what a run stores: read as package data, compiled once per process.

The bytes a validator works with here are the bytes that ``benchspec schema`` prints. A plug-in's schema lies beside its module, as
``NAME.schema.json``; it is read without importing the module, so validating never runs a stranger's code.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .acceptor import Accepts, UnknownKeyword, compile_schema
from .diagnostics import Path as DocumentPath
from .diagnostics import Problem, did_you_mean
from .errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BENCHMARK = "benchmark"
SUFFIX = ".schema.json"
ROOMS = ("workloads", "runners")
RUN: Mapping[str, str] = {"journal": "record", "manifest": "manifest", "plan": "plan", "trial": "trial"}
"""What a run stores, and the schema of it below ``schemas/run``: for the journal that of one line."""
_PACKAGE = f"{__package__.partition('.')[0]}.schemas"


class SchemaCheck:
    """One schema, ready to check values. ``document`` is the schema itself."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._accepts: Accepts | None = None

    def accepts(self, value: object) -> bool:
        """Whether ``value`` satisfies the schema."""
        if self._accepts is None:
            try:
                self._accepts = compile_schema(self.document)
            except UnknownKeyword:
                from .schema_problems import accepts

                self._accepts = accepts(self.document)
        return self._accepts(value)

    def problems(self, value: object, path: DocumentPath = ()) -> tuple[Problem, ...]:
        """Everything wrong with ``value``, which lies at ``path`` of its document; empty if it is accepted."""
        if self.accepts(value):
            return ()
        from .schema_problems import problems

        return problems(self.document, value, path)


def read_schema_bytes(name: str = BENCHMARK) -> bytes:
    """The bytes of the schema of ``benchmark``, a tool, a runner or what a run stores (:data:`RUN`).

    Raises:
        UsageError: there is no schema of that name.
    """
    if name in RUN:
        return resources.files(_PACKAGE).joinpath("run", f"{RUN[name]}{SUFFIX}").read_bytes()
    for room in ("", *ROOMS):
        found = _find(room, name)
        if found is not None:
            return found
    names = schema_names()
    raise UsageError(f"there is no schema {name!r}", remedy=did_you_mean(name, names) or f"use one of {', '.join(names)}")


def schema_names() -> tuple[str, ...]:
    """Every name :func:`read_schema_bytes` knows: the language first, then tools, runners and what a run stores."""
    return (BENCHMARK, *known("workloads"), *known("runners"), *RUN)


@lru_cache(maxsize=1)
def benchmark_schema() -> SchemaCheck:
    """The schema of a whole spec."""
    return SchemaCheck(json.loads(read_schema_bytes()))


def workload_schema(tool: str) -> SchemaCheck | None:
    """The schema of a tool's parameters; None if nobody brings that tool."""
    return _check("workloads", tool)


def runner_schema(kind: str) -> SchemaCheck | None:
    """The schema of a runner's options; None if nobody brings that runner."""
    return _check("runners", kind)


def run_schema(name: str) -> SchemaCheck | None:
    """The schema of what a run stores, by a name of :data:`RUN`; None for any other name."""
    return SchemaCheck(json.loads(read_schema_bytes(name))) if name in RUN else None


@lru_cache(maxsize=256)
def _check(room: str, name: str) -> SchemaCheck | None:
    found = _find(room, name)
    return None if found is None else SchemaCheck(json.loads(found))


@lru_cache(maxsize=2)
def known(room: str) -> tuple[str, ...]:
    """The names with a schema in ``workloads`` or ``runners``, sorted; those of plug-ins too."""
    shipped = (item.name.removesuffix(SUFFIX) for item in resources.files(_PACKAGE).joinpath(room).iterdir() if item.name.endswith(SUFFIX))
    return tuple(sorted({*shipped, *plugins(room)}))


@lru_cache(maxsize=2)
def plugins(room: str) -> Mapping[str, EntryPoint]:
    """The entry points of installed packages for ``workloads`` or ``runners``, by name."""
    from importlib.metadata import entry_points  # 12 ms, and only asked for names that are not shipped

    return {entry.name: entry for entry in entry_points(group=f"benchspec.{room}")}


def _find(room: str, name: str) -> bytes | None:
    """The bytes of a schema of this package, else of an installed plug-in."""
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        return None
    file = resources.files(_PACKAGE).joinpath(room, f"{name}{SUFFIX}") if room else resources.files(_PACKAGE).joinpath(f"{name}{SUFFIX}")
    if file.is_file():
        return file.read_bytes()
    entry = plugins(room).get(name) if room else None
    return None if entry is None else _beside(entry)


def _beside(entry: EntryPoint) -> bytes | None:
    """The schema beside the module of ``entry``. Only the top-level package is looked up; nothing is imported."""
    top, *rest = entry.module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    for place in (folder.joinpath(*rest), folder.joinpath(*rest[:-1])):
        file = place / f"{entry.name}{SUFFIX}"
        if file.is_file():
            return file.read_bytes()
    return None
