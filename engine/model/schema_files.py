"""The files in which schemas stand: package data, and those of installed plug-ins.

A plug-in's schema lies beside its module, as ``NAME.schema.json``; it is read without importing the
module, so looking at a spec never runs a stranger's code.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SUFFIX = ".schema.json"
ROOMS = ("workloads", "runners")
PACKAGE = f"{__package__.partition('.')[0]}.schemas"


@lru_cache(maxsize=2)
def known(room: str) -> tuple[str, ...]:
    """The names with a schema in ``workloads`` or ``runners``, sorted; those of plug-ins too."""
    shipped = (
        item.name.removesuffix(SUFFIX)
        for item in resources.files(PACKAGE).joinpath(room).iterdir()
        if item.name.endswith(SUFFIX)
    )
    return tuple(sorted({*shipped, *plugins(room)}))


@lru_cache(maxsize=2)
def plugins(room: str) -> Mapping[str, EntryPoint]:
    """The entry points of installed packages for ``workloads`` or ``runners``, by name."""
    from importlib.metadata import (
        entry_points,
    )  # 12 ms, and only asked for names that are not shipped

    return {entry.name: entry for entry in entry_points(group=f"benchspec.{room}")}


def find_schema(room: str, name: str) -> bytes | None:
    """The bytes of a schema of this package, else of an installed plug-in; None where there is
    none. ``room`` is one of :data:`ROOMS`, or empty.
    """
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        return None
    file = (
        resources.files(PACKAGE).joinpath(room, f"{name}{SUFFIX}")
        if room
        else resources.files(PACKAGE).joinpath(f"{name}{SUFFIX}")
    )
    if file.is_file():
        return file.read_bytes()
    entry = plugins(room).get(name) if room else None
    return None if entry is None else _beside(entry)


def _beside(entry: EntryPoint) -> bytes | None:
    """The schema beside the module of ``entry``. Only the top-level package is looked up; nothing
    is imported.
    """
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
