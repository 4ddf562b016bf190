"""What the journal says of lifecycles: which target was brought up for which session, what its
steps gave, what still stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..model.codec import decode
from ..model.results import RawFile
from ..model.spec import Role
from ..store.journal import Record
from ..store.records import (
    LIFECYCLE_DESTROYED,
    LIFECYCLE_READY,
    LIFECYCLE_STARTED,
    STEP_FINISHED,
    STEP_STARTED,
)

WHOLE_RUN = 0
"""The session number of what is brought up once for the run."""

StepKey: TypeAlias = tuple[str, str, str]
"""A step on one machine: its name, site and role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bringing:
    """What the journal says before the first step: one attempt to bring a target up, for one
    session or (0) for the run.
    """

    target: str
    session: int
    attempt: int
    allocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """One machine of a step: its site, its name for people, the role that stands for it there, and
    those a step on several hosts means by it.
    """

    site: str = ""
    host: str = ""
    role: str = ""
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepIntent:
    """What the journal says before a step on one machine: ``number`` counts its tries there. A wait
    has neither ``job_id`` nor ``argv``.
    """

    target: str
    session: int
    attempt: int
    phase: str
    step: str
    number: int
    timeout_s: float
    where: Where = Where()
    job_id: str | None = None
    argv: tuple[str, ...] = ()

    @property
    def key(self) -> StepKey:
        """The step on its machine."""
        return self.step, self.where.site, self.where.role


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What became of one try of a step. ``error`` None: it did what it should.

    ``withheld`` names outputs that hold a secret: their values are not in the journal.
    """

    target: str
    session: int
    attempt: int
    phase: str
    step: str
    number: int
    duration_s: float
    where: Where = Where()
    exit_code: int | None = None
    error: str | None = None
    raw: tuple[RawFile, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()

    @property
    def key(self) -> StepKey:
        """The step on its machine."""
        return self.step, self.where.site, self.where.role

    def called(self, output: str) -> tuple[str, ...]:
        """What references call the output: ``STEP.NAME``, or ``STEP.ROLE.NAME`` for every role that
        a step on several hosts means by this one.
        """
        return tuple(f"{self.step}.{role}.{output}" for role in self.where.roles) or (
            f"{self.step}.{output}",
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Standing:
    """One attempt, and how far it got: whether all that brings it up succeeded, outputs by the name
    references use, tries, what is removed.

    ``open`` are steps without an end, with the Unix s at which they were started; ``lost`` are
    machines that could not be reached any more, and why.
    """

    bringing: Bringing
    outputs: dict[str, str] = field(default_factory=dict)
    secret_outputs: dict[str, str] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)
    tries: Counter[StepKey] = field(default_factory=Counter)
    removed: set[StepKey] = field(default_factory=set)
    open: dict[StepKey, tuple[StepIntent, float]] = field(default_factory=dict)
    ready: bool = False
    lost: dict[tuple[str, Role], str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        """Target and session."""
        return self.bringing.target, self.bringing.session

    def start(self, intent: StepIntent, at: float) -> None:
        """A step was started at ``at`` (Unix s)."""
        self.tries[intent.key] += 1
        self.open[intent.key] = intent, at

    def finish(self, result: StepResult) -> None:
        """A step has ended."""
        self.open.pop(result.key, None)
        self.outputs.update(
            {
                name: value
                for output, value in result.outputs.items()
                for name in result.called(output)
            }
        )
        self.withheld.update(name for output in result.withheld for name in result.called(output))
        if result.phase == "destroy" and result.error is None:
            self.removed.add(result.key)


class Standings:
    """Every attempt of a run, from its journal; ``up`` are those not known to be destroyed, in the
    order in which they were begun.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.up: list[Standing] = []
        self.last: dict[tuple[str, int], Standing] = {}
        self._attempts: Counter[tuple[str, int]] = Counter()
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        if record.type == LIFECYCLE_STARTED:
            self.add(decode(Bringing, record.data))
        elif record.type == STEP_STARTED:
            intent = decode(StepIntent, record.data)
            self._attempt(intent.target, intent.session, intent.attempt).start(intent, record.at)
        elif record.type == STEP_FINISHED:
            result = decode(StepResult, record.data)
            self._attempt(result.target, result.session, result.attempt).finish(result)
        elif record.type == LIFECYCLE_READY:
            self._attempt(
                record.data["target"], record.data["session"], record.data["attempt"]
            ).ready = True
        elif record.type == LIFECYCLE_DESTROYED:
            self.drop(
                self._attempt(record.data["target"], record.data["session"], record.data["attempt"])
            )

    def _attempt(self, target: str, session: int, attempt: int) -> Standing:
        everything = [*self.up, *self.last.values()]
        return next(
            s for s in everything if s.key == (target, session) and s.bringing.attempt == attempt
        )

    def next_attempt(self, target: str, session: int) -> int:
        """The number of the next attempt."""
        return self._attempts[target, session] + 1

    def add(self, bringing: Bringing) -> Standing:
        """A new attempt, which counts as up from now on."""
        standing = Standing(bringing=bringing)
        self._attempts[standing.key] = max(self._attempts[standing.key], bringing.attempt)
        self.up.append(standing)
        self.last[standing.key] = standing
        return standing

    def adopt(self, standing: Standing) -> None:
        """What another run brought up for the whole run, and is not this one's to destroy."""
        self.last[standing.key] = standing

    def drop(self, standing: Standing) -> None:
        """It is destroyed."""
        self.up = [other for other in self.up if other is not standing]

    def outputs(self, target: str, session: int) -> Mapping[str, str]:
        """What the latest attempts for the run and for ``session`` captured."""
        found: dict[str, str] = {}
        for key in ((target, WHOLE_RUN), (target, session)):
            if key in self.last:
                found |= self.last[key].outputs
        return found
