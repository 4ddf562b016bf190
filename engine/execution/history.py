"""What the journal of a run says has happened: trials done, intents without an end, allocations
made, numbers given out.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from ..model.codec import decode
from ..model.results import FactSet, Trial, TrialKind, TrialStatus, UsedCommands
from ..model.spec import Experiment
from ..store.directory import RunDirectory
from ..store.journal import Record, read_records
from ..store.records import (
    ALLOCATED,
    COMMANDS,
    DEPOSITED,
    EXTENDED,
    FACTS,
    FINISHED,
    LOST,
    SESSION_ADDED,
    STARTED,
)
from .slots import Slot
from .trial_result import Intent


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Sessions that a two-stage run adds to its plan: up to session ``sessions``, with trial
    numbers from ``first_sequence``.
    """

    sessions: int
    first_sequence: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AddedSession:
    """A session beyond the plan, of ``experiments`` (ids) alone, since one of them lost session
    ``makes_up_for`` for a reason from outside and the others did not.
    """

    session: int
    first_sequence: int
    makes_up_for: int
    experiments: tuple[str, ...]


class History:
    """The state a run goes on from. It is empty for a new run. ``facts`` are the first that were
    observed of each target on each node; ``deposited`` names the sites that have a copy of all
    trials; ``commands`` are all that were told.
    """

    def __init__(self, records: Sequence[Record], run_id: str) -> None:
        self.started = bool(records)
        self.trials: dict[int, Trial] = {}
        self._stands_in: dict[int, int] = {}
        self.intents: dict[int, Intent] = {}
        self.extension: Extension | None = None
        self.added: list[AddedSession] = []
        self.facts: dict[tuple[str, str, str], FactSet] = {}
        self.deposited: set[str] = set()
        self.commands: list[UsedCommands] = []
        self._attempts: Counter[int] = Counter()
        self._allocations: Counter[tuple[int, str]] = Counter()
        self._last = 0
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        if record.type == STARTED:
            intent = decode(Intent, record.data)
            self.intents[intent.slot.sequence] = intent
            self._attempts[intent.slot.sequence] += 1
            self._last = max(self._last, intent.slot.sequence)
        elif record.type == FINISHED:
            trial = decode(Trial, record.data)
            self.record(trial)
            self.deposited.clear()
            self._last = max(self._last, trial.sequence)
        elif record.type == LOST:
            self.intents.pop(record.data["sequence"], None)
        elif record.type == EXTENDED:
            self.extension = decode(Extension, record.data)
        elif record.type == SESSION_ADDED:
            self.added.append(decode(AddedSession, record.data))
        elif record.type == FACTS:
            facts = decode(FactSet, record.data)
            if not facts.allocation_id:
                self.facts.setdefault(facts.place, facts)
        elif record.type == DEPOSITED:
            self.deposited.add(record.data["site"])
        elif record.type == COMMANDS:
            self.commands.append(decode(UsedCommands, record.data))
        elif record.type == ALLOCATED:
            self._allocations[record.data["session"], record.data["experiment_id"]] += 1

    def record(self, trial: Trial) -> None:
        """Count a trial that has a record."""
        self.trials[trial.sequence] = trial
        if trial.replaces is not None:
            self._stands_in[trial.replaces] = trial.sequence

    def unfinished(self) -> tuple[Slot, ...]:
        """Slots that were started and have no result."""
        return tuple(
            intent.slot for sequence, intent in self.intents.items() if sequence not in self.trials
        )

    def reserve(self, last: int) -> None:
        """Numbers up to ``last`` belong to planned slots."""
        self._last = max(self._last, last)

    def extend(self, sessions: int) -> Extension:
        """Decide the second stage; its trial numbers follow all that were given out."""
        self.extension = Extension(sessions=sessions, first_sequence=self._last + 1)
        return self.extension

    def add_session(
        self, session: int, makes_up_for: int, experiments: Sequence[str]
    ) -> AddedSession:
        """Decide on a session that makes up for another; its trial numbers follow all that were
        given out.
        """
        one = AddedSession(
            session=session,
            first_sequence=self._last + 1,
            makes_up_for=makes_up_for,
            experiments=tuple(experiments),
        )
        self.added.append(one)
        return one

    def additional(self, slot: Slot, *, replaces: int | None = None) -> Slot:
        """A slot beyond the plan, like ``slot`` but with a number of its own."""
        self._last += 1
        return dataclasses.replace(slot, sequence=self._last, replaces=replaces)

    def replacements(self, slots: Sequence[Slot]) -> list[Trial]:
        """The trials that were measured in place of invalid ones of a round."""
        return [trial for trial in self._family(slots) if self.is_replacement(trial.replaces)]

    def is_replacement(self, replaced: int | None) -> bool:
        """Whether what is measured in place of ``replaced`` stands for an invalid trial."""
        before = None if replaced is None else self.trials.get(replaced)
        return before is not None and before.status is TrialStatus.INVALID

    def _family(self, slots: Sequence[Slot]) -> list[Trial]:
        """The trials of a round that were recorded, and all that were measured in their place."""
        found = []
        for slot in slots:
            sequence: int | None = slot.sequence
            while sequence is not None and (trial := self.trials.get(sequence)) is not None:
                found.append(trial)
                sequence = self._stands_in.get(sequence)
        return found

    def due_repeats(self, slots: Sequence[Slot]) -> list[Slot]:
        """Slots in place of the trials of a round that failed for a reason from outside, each
        once.
        """
        family = self._family(slots)
        replaced = {trial.replaces for trial in family}
        return [
            self.additional(_slot_of(trial), replaces=trial.sequence)
            for trial in family
            if trial.kind is TrialKind.MEASURED
            and trial.sequence not in replaced
            and trial.failure is not None
            and trial.failure.is_from_outside
        ]

    def due_replacements(self, slots: Sequence[Slot], allowed: int) -> list[Slot]:
        """Slots in place of the invalid trials of a round that were not replaced yet, so that there
        are at most as many as ``allowed`` for it.
        """
        made = self.replacements(slots)
        replaced = {trial.replaces for trial in made}
        due = [
            t
            for t in self._family(slots)
            if t.status is TrialStatus.INVALID
            and t.kind is TrialKind.MEASURED
            and t.sequence not in replaced
        ]
        return [
            self.additional(_slot_of(trial), replaces=trial.sequence)
            for trial in due[: max(0, allowed - len(made))]
        ]

    def origin(self, sequence: int) -> int:
        """The planned trial that ``sequence`` replaces in the end."""
        while (replaced := self.trials[sequence].replaces) is not None and replaced in self.trials:
            sequence = replaced
        return sequence

    def next_attempt(self, sequence: int) -> int:
        """How often the trial was started, this time included: a lost trial is started again under
        another job id.
        """
        self._attempts[sequence] += 1
        return self._attempts[sequence]

    def next_allocation(self, session: int, experiment_id: str) -> int:
        """The number of the next allocation of an experiment in a session; 1 unless an earlier one
        was cut short.
        """
        self._allocations[session, experiment_id] += 1
        return self._allocations[session, experiment_id]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OpenTrials:
    """Trials that may still go on: started, and nobody saw them end since the connection to their
    client was lost. ``lost``: the sites that were lost so far.
    """

    directory: RunDirectory
    experiments: Mapping[str, Experiment]
    lost: Mapping[str, object]

    def find(self) -> list[Experiment]:
        """The experiments of such trials."""
        if not self.lost:
            return []
        history = History(read_records(self.directory.journal_path)[0], self.directory.run_id)
        return [self.experiments[slot.experiment_id] for slot in history.unfinished()]

    def keep_busy(self, target: str) -> bool:
        """Whether there is one on ``target``."""
        return any(experiment.target == target for experiment in self.find())


def _slot_of(trial: Trial) -> Slot:
    return Slot(
        sequence=trial.sequence,
        session=trial.session,
        experiment_id=trial.experiment_id,
        kind=trial.kind,
        index=trial.index,
    )
