"""Which runners there are. A runner is imported when it is first asked for, so that validating or
reporting never pays for a transport.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from ..engine.model.contract.runner import Runner
from ..engine.model.errors import Unsupported

RUNNERS: dict[str, str] = {"kubernetes": ".kubernetes", "local": ".local", "ssh": ".ssh"}
"""Kind of a site to the module (relative to this package) that offers ``RUNNER``."""

ENTRY_POINTS = "benchspec.runners"


def get_runner(kind: str) -> Runner:
    """Return the runner for sites of ``kind``.

    Raises:
        Unsupported: nobody has heard of the kind.
    """
    if kind in RUNNERS:
        return cast(Runner, import_module(RUNNERS[kind], __package__).RUNNER)
    for entry in entry_points(group=ENTRY_POINTS, name=kind):
        return cast(Runner, entry.load())
    raise Unsupported(
        f"there is no runner of kind {kind!r}",
        remedy=(
            f"use one of {', '.join(known_kinds())}, or install a package that offers it as an"
            f" entry point of {ENTRY_POINTS!r}"
        ),
    )


def known_kinds() -> tuple[str, ...]:
    """The kinds a spec may name, sorted: built in, and offered by installed packages."""
    return tuple(sorted({*RUNNERS, *(entry.name for entry in entry_points(group=ENTRY_POINTS))}))
