"""Whether anybody of an allocation is still there, told without a shell: by its control group, or,
where this user can make none, by whether this host has any process that it had not before.

Only where somebody may be there are the agent's scripts asked who: they cost a trial much more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..agent import door
from ..agent.scripts import own
from . import process
from .door import LocalDoor

_NUMBERS = 2**14
"""So many processes may have been started meanwhile without a number being given twice: half of the
least that a kernel gives.
"""


@cache
def home() -> Path | None:
    """The directory below which this user can make control groups, if there is one."""
    said = door.ask(LocalDoor(), own("home")).decode().strip("\n")
    return Path(said) if said else None


def make(path: Path) -> bool:
    """Make a control group; whether it could be made."""
    for _ in range(2):  # another run may take away a directory above it that holds no other
        with suppress(OSError):
            path.mkdir(parents=True, exist_ok=True)
            return True
    return False


def remove(path: Path) -> bool:
    """Remove an empty control group and the directories above it that hold no other; whether it is
    gone.
    """
    try:
        path.rmdir()
    except OSError:  # a program made groups of its own in it, or somebody is there
        with suppress(OSError):
            for inner in sorted(path.glob("**/"), reverse=True):
                inner.rmdir()
    with suppress(OSError):
        for above in list(path.parents)[:3]:
            above.rmdir()
    return not path.exists()


@dataclass(frozen=True, slots=True)
class Before:
    """The processes of this host at a moment, and how many it had ever started by then."""

    numbers: frozenset[int]
    started: int

    @classmethod
    def look(cls) -> Before:
        """As it is now."""
        return cls(frozenset(process.numbers()), process.started())

    def is_all(self, but: Sequence[int] = ()) -> bool:
        """Whether nobody came since who has not ended, but this process and ``but``."""
        if process.started() - self.started > _NUMBERS:
            return False
        new = set(process.numbers()) - self.numbers - {os.getpid(), *but}
        return all((found := process.look_up(pid)) is None or found.dead for pid in new)
