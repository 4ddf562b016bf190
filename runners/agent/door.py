"""The way to a place where programs run: what the agent asks of a runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...engine.model.errors import FromOutside, RunFailed
from .clock import Stamp
from .record import Record

NO_ROOM = 73
"""The exit code of a script that found no room, or no right to write; what its stderr says last is
the reason.
"""

SCRIPT_TIMEOUT_S = 120.0

_TAIL = 2000


class PlaceLost(FromOutside):
    """A place ended or vanished with what ran in it."""


class HostDiskFull(FromOutside):
    """There is no room, or no right to write, where the work directories of a place are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a script ended: its exit code and the raw bytes of its output streams."""

    exit_code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """What differs from one kind of place to another. ``missing``: what to do about a program that
    is not there. ``lost``, ``remedy``: why a program may die without an exit code, and what to do.
    ``broken``: what to do when a script fails. ``told``: the file at the place that is told when a
    job ends, or "". ``fifos``: what is opened to wait for an end there, and for a ttl.
    """

    missing: str
    lost: str
    remedy: str
    told: str = ""
    fifos: str = ""
    broken: str | None = None


class Door(Protocol):
    """The way to one place: scripts go in, with what they read, and what they print comes out."""

    @property
    def manner(self) -> Manner:
        """What is special about such a place."""
        ...

    def at(self, what: str) -> str:
        """Where ``what`` is, for messages: ``host node1: job x``."""
        ...

    def sh(
        self,
        script: str,
        arguments: Sequence[str] = (),
        data: bytes = b"",
        *,
        timeout_s: float = SCRIPT_TIMEOUT_S,
    ) -> Answer:
        """Run a script with ``arguments`` and ``data`` on its standard input. It may be run again
        where the way there broke: the second time finds what the first did.

        Raises:
            TransportLost, RunFailed: it cannot be run, or nobody knows how it ended.
        """
        ...

    def await_end(self, jobs: str, job_id: str, timeout_s: float) -> str | None:
        """Wait for at most ``timeout_s`` without disturbing the place. Says ``ended``, or how it is
        with a job that never will; None when it runs on.
        """
        ...

    def moment(self, stamp: Stamp, record: Record) -> float:
        """A moment that the place saw, in Unix s by the controller's clock."""
        ...


def ask(
    door: Door,
    script: str,
    arguments: Sequence[str] = (),
    data: bytes = b"",
    *,
    timeout_s: float = SCRIPT_TIMEOUT_S,
) -> bytes:
    """What a script prints.

    Raises:
        HostDiskFull: it found no room, or no right to write.
        RunFailed: it failed otherwise.
    """
    answer = door.sh(script, arguments, data, timeout_s=timeout_s)
    if answer.exit_code == 0:
        return answer.stdout
    said = answer.stderr[-_TAIL:].decode("utf-8", "replace").strip()
    if answer.exit_code == NO_ROOM:
        raise HostDiskFull(
            f"cannot be written: {said.splitlines()[-1] if said else 'it does not say why'}",
            where=door.at(""),
            remedy=(
                "free space there, or name a place where this user may write with the option"
                " `workdir`"
            ),
        )
    raise RunFailed(
        f"a script ended with exit code {answer.exit_code}: {said or 'it said nothing'}",
        where=door.at(""),
        remedy=door.manner.broken,
    )


def word(
    door: Door,
    script: str,
    arguments: Sequence[str] = (),
    data: bytes = b"",
    *,
    timeout_s: float = SCRIPT_TIMEOUT_S,
) -> tuple[str, str]:
    """The first word that a script says, and the rest."""
    said = ask(door, script, arguments, data, timeout_s=timeout_s)
    first, _, rest = said.decode("utf-8", "surrogateescape").strip("\n").partition(" ")
    return first, rest
