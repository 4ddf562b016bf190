"""Every error benchspec raises on purpose, each with its exit code.

Messages say where, what was found, what was expected and what to do. Only ``cli`` catches these and
prints them; anything else that reaches ``cli`` is our bug (exit 1).
"""

from __future__ import annotations

from typing import ClassVar

from .failures import FailureClass


class BenchspecError(Exception):
    """Root of all typed errors: a message, optionally where it arose and what to do about it.
    ``failure``: of which class a trial is that fails by it.
    """

    exit_code: ClassVar[int] = 1
    failure: FailureClass = FailureClass.WORKLOAD

    def __init__(
        self, message: str, *, where: str | None = None, remedy: str | None = None
    ) -> None:
        self.message = message
        self.where = where
        self.remedy = remedy
        super().__init__(message)

    @property
    def headline(self) -> str:
        """Where and what, without the remedy, to stand within another message."""
        return f"{self.where}: {self.message}" if self.where else self.message

    def __str__(self) -> str:
        return f"{self.headline}\n  what to do: {self.remedy}" if self.remedy else self.headline


class UsageError(BenchspecError):
    """A command line that cannot be carried out: unknown selector, bad ``--set`` path (exit 2)."""

    exit_code = 2


class SpecError(BenchspecError):
    """A spec that cannot be used (exit 2); :class:`benchspec.engine.model.diagnostics.InvalidSpec`
    carries the diagnostics.
    """

    exit_code = 2


class UnitError(SpecError):
    """A quantity whose unit is unknown, ambiguous, or of another dimension (exit 2)."""


class GateFailed(BenchspecError):
    """The run finished, and every trial of some experiment failed its validity gates (exit 3)."""

    exit_code = 3


class RunFailed(BenchspecError):
    """The run or one of its operations failed (exit 4)."""

    exit_code = 4


class ParseError(RunFailed):
    """A tool's output holds no measurement, or one that cannot be trusted (exit 4)."""


class MissingTool(RunFailed):
    """A program that a workload needs is not on the target (exit 4)."""


class JobTimeout(RunFailed):
    """A job ran past its deadline; its whole process group was killed (exit 4)."""


class TransportLost(RunFailed):
    """The connection to a target broke and could not be restored (exit 4)."""

    failure = FailureClass.TRANSIENT


class FromOutside(RunFailed):
    """Something that is not the workload ended it or kept it from starting (exit 4)."""

    failure = FailureClass.INFRASTRUCTURE


class Unsupported(RunFailed):
    """The plan asks for something this runner cannot do; nothing was created (exit 4)."""


class StorageError(RunFailed):
    """The run directory cannot be written: full disk, missing rights (exit 4). What was written
    stays.
    """


class DriftError(BenchspecError):
    """A declared fact contradicts the observed one (exit 5)."""

    exit_code = 5


class Locked(BenchspecError):
    """Another process holds the run directory or the host (exit 6)."""

    exit_code = 6


class NotComparable(BenchspecError):
    """The results differ in a fact that must match, or were measured on one node at the same time
    (exit 7).
    """

    exit_code = 7


class Inconclusive(BenchspecError):
    """No verdict could be established, and the caller asked to be told by exit code (exit 8)."""

    exit_code = 8


class IntegrityError(BenchspecError):
    """A stored byte is not what was written: corrupt journal, raw file whose sha256 differs (exit
    9).
    """

    exit_code = 9


class Incomplete(BenchspecError):
    """The run finished, and planned trials are missing (exit 10)."""

    exit_code = 10


class Interrupted(BenchspecError):
    """SIGINT or SIGTERM ended the run after it was cleaned up (exit 130 or 143)."""

    exit_code = 130

    def __init__(
        self,
        message: str,
        *,
        signal_number: int,
        where: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number  # type: ignore[misc]
