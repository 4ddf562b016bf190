"""Why there is no verdict, no value or no statement, as data that a program can ask.

Nothing here is a sentence: ``reports/wording/reasons.py`` makes the words, and a new reason is a
class here, its name in the union below it, and its words there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from ..model.results import TrialStatus
from ..model.spec import Role, TrafficPath


class Void(StrEnum):
    """The kinds of reasons for giving no verdict."""

    INVALID = "invalid"
    NOT_COMPARABLE = "not comparable"
    LIMIT_BOUND = "limit-bound"
    TOO_FEW = "too few"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """It was left out of the run; ``why`` is what the plan or the runner said."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """No trial of it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReported:
    """There are valid trials, and none of them has this series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialError:
    """What a trial that failed said of it."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedGates:
    """The gates, by name, that a trial did not pass."""

    gates: tuple[str, ...]


Cause: TypeAlias = TrialError | FailedGates | TrialStatus
"""Why one trial gave no valid value: where there is neither error nor gate, its status alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialsNotValid:
    """Of ``trials`` trials none is valid; ``cause`` is the most frequent one, that of ``count``."""

    cause: Cause
    count: int
    trials: int


NoValue: TypeAlias = Skipped | NotRun | NotReported | TrialsNotValid
"""Why a series of an experiment has no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoValidTrial:
    """A side has no valid trial of the series; ``path`` is that of the side where both sides are
    paths of one target. ``why`` is None where the series was never seen there.
    """

    void: ClassVar[Void] = Void.INVALID
    target: str
    path: TrafficPath | None = None
    why: NoValue | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FewValidSessions:
    """Fewer than half of a side's ``attempted`` sessions hold a valid trial."""

    void: ClassVar[Void] = Void.INVALID
    target: str
    path: TrafficPath | None = None
    valid: int
    attempted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresDiffer:
    """The shares of trials that failed for good differ by more than ``budget`` between the sides,
    so those that did not are no fair sample of both.
    """

    void: ClassVar[Void] = Void.INVALID
    target: str
    share: float
    baseline: str
    baseline_share: float
    budget: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a target shows of a fact: its distinct values as canonical JSON. ``declared``: nothing
    was observed there at all, so these are its claims.
    """

    target: str
    values: tuple[str, ...]
    declared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDiffers:
    """A fact that must match and does not: what the target and the baseline show. ``roles`` are
    those on whose nodes it is so (empty: wherever it was looked for).
    """

    fact: str
    target: Shown
    baseline: Shown
    roles: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactUnknown:
    """A fact that must match and is unknown on ``targets``; ``roles`` as above."""

    fact: str
    targets: tuple[str, ...]
    roles: tuple[Role, ...] = ()


Mismatch: TypeAlias = FactDiffers | FactUnknown
"""Why one fact that must match is no match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsDiffer:
    """Facts that the spec wants to be the same are no match."""

    void: ClassVar[Void] = Void.NOT_COMPARABLE
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLimit:
    """The documented limit that explains a side's result: the rate of it that does (``rate``, in
    ``unit``), and its class.
    """

    target: str
    metric: str
    rate: float
    unit: str
    applies_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BothAtLimit:
    """Both sides run at a documented limit, each at its own."""

    void: ClassVar[Void] = Void.LIMIT_BOUND
    baseline: AtLimit
    target: AtLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDeclared:
    """Nobody declared the unit and the direction of the series, so nobody knows what a difference
    of it means.
    """

    void: ClassVar[Void] = Void.INVALID
    series: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfRange:
    """The figures are so large, or so far apart, that no difference of them can be computed."""

    void: ClassVar[Void] = Void.INVALID
    series: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeMode:
    """Everything was run once, to see that it works."""

    void: ClassVar[Void] = Void.TOO_FEW


@dataclass(frozen=True, slots=True, kw_only=True)
class FewSessions:
    """``found`` pairs of sessions (not ``paired``: sessions on the smaller side); ``least`` are
    wanted.
    """

    void: ClassVar[Void] = Void.TOO_FEW
    found: int
    least: int
    paired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRuns:
    """Two sides that were measured in ``found`` runs each; ``least`` are wanted, since the sessions
    of one run share the state of that hour.
    """

    void: ClassVar[Void] = Void.TOO_FEW
    found: int
    least: int


NoVerdict: TypeAlias = (
    NoValidTrial
    | FewValidSessions
    | FailuresDiffer
    | FactsDiffer
    | BothAtLimit
    | NotDeclared
    | OutOfRange
    | SmokeMode
    | FewSessions
    | FewRuns
)
"""Why a comparison carries no verdict. Each class says of which kind it is (``void``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanIsZero:
    """No ratio: every session of ``target`` gave 0."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanNotPositive:
    """No ratio: the mean of ``target`` is not above 0."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanNearZero:
    """No ratio with an interval: the mean of ``target`` cannot be told from 0."""

    target: str


NoRatio: TypeAlias = MeanIsZero | MeanNotPositive | MeanNearZero
"""Why a comparison has no ratio; the difference of the means stands in for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRate:
    """The primary series of a sweep is better when lower: nothing that levels off."""

    series: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPoint:
    """No point of a sweep was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePoint:
    """A sweep of one point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FewSharedSessions:
    """``found`` sessions that two points of a sweep share; ``least`` are wanted."""

    found: int
    least: int


NoLevel: TypeAlias = NoRate | SmokeMode | NoPoint | OnePoint | FewSharedSessions
"""Why nothing can be said about where a rate levels off."""
