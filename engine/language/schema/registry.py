"""The schemas of the spec language, its tools, its runners and what a run stores: read as package
data, compiled once per process.

The bytes a validator works with here are the bytes that ``benchspec schema`` prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from ...model.diagnostics import Path as DocumentPath
from ...model.diagnostics import Problem, did_you_mean
from ...model.errors import UsageError
from ...model.schema_files import PACKAGE, ROOMS, SUFFIX, find_schema, known
from .fast_validator import Accepts, UnknownKeyword, compile_schema

BENCHMARK = "benchmark"
RUN: Mapping[str, str] = {
    "journal": "record",
    "manifest": "manifest",
    "plan": "plan",
    "trial": "trial",
}
"""What a run stores, and the schema of it below ``schemas/run``: for the journal that of one
line.
"""


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
                from .explain import accepts

                self._accepts = accepts(self.document)
        return self._accepts(value)

    def problems(self, value: object, path: DocumentPath = ()) -> tuple[Problem, ...]:
        """Everything wrong with ``value``, which lies at ``path`` of its document; empty if it is
        accepted.
        """
        if self.accepts(value):
            return ()
        from .explain import problems

        return problems(self.document, value, path)


def read_schema_bytes(name: str = BENCHMARK) -> bytes:
    """The bytes of the schema of ``benchmark``, a tool, a runner or what a run stores
    (:data:`RUN`).

    Raises:
        UsageError: there is no schema of that name.
    """
    if name in RUN:
        return resources.files(PACKAGE).joinpath("run", f"{RUN[name]}{SUFFIX}").read_bytes()
    for room in ("", *ROOMS):
        found = find_schema(room, name)
        if found is not None:
            return found
    names = schema_names()
    raise UsageError(
        f"there is no schema {name!r}",
        remedy=did_you_mean(name, names) or f"use one of {', '.join(names)}",
    )


def schema_names() -> tuple[str, ...]:
    """Every name :func:`read_schema_bytes` knows: the language first, then tools, runners and what
    a run stores.
    """
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
    found = find_schema(room, name)
    return None if found is None else SchemaCheck(json.loads(found))
