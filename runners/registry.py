"""Which runners there are. A runner is imported when it is first asked for, so that validating or reporting never pays for a transport."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from ..engine.errors import Unsupported
from ..engine.ports import Runner

RUNNERS: dict[str, str] = {"local": ".local", "ssh": ".ssh"}
"""Kind of a site to the module (relative to this package) that offers ``RUNNER``."""

ANNOUNCED: dict[str, str] = {
    "kubernetes": "run benchspec inside a pod with `runner: local`",
}
"""Kinds that specs may name (they validate, plan and render) but that cannot be connected to yet, with what to do until then."""

ENTRY_POINTS = "benchspec.runners"


def get_runner(kind: str) -> Runner:
    """Return the runner for sites of ``kind``.

    Raises:
        Unsupported: the kind is announced but not part of this version, or nobody has heard of it.
    """
    if kind in RUNNERS:
        return cast(Runner, import_module(RUNNERS[kind], __package__).RUNNER)
    if kind in ANNOUNCED:
        raise Unsupported(f"the {kind} runner is not part of this version yet", remedy=ANNOUNCED[kind])
    for entry in entry_points(group=ENTRY_POINTS, name=kind):
        return cast(Runner, entry.load())
    raise Unsupported(
        f"there is no runner of kind {kind!r}",
        remedy=f"use one of {', '.join(known_kinds())}, or install a package that offers it as an entry point of {ENTRY_POINTS!r}",
    )


def known_kinds() -> tuple[str, ...]:
    """The kinds a spec may name, sorted: built in, announced, and offered by installed packages."""
    return tuple(sorted({*RUNNERS, *ANNOUNCED, *(entry.name for entry in entry_points(group=ENTRY_POINTS))}))
