"""What the journal of a run says has happened: trials done, intents without an end, allocations made, numbers given out."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from ..codec import decode
from ..journal import Record
from ..results import FactSet, Trial, TrialKind, TrialStatus
from .outcome import Intent
from .records import ALLOCATED, DEPOSITED, EXTENDED, FACTS, FINISHED, LOST, STARTED
from .slots import Slot


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Sessions that a two-stage run adds to its plan: up to session ``sessions``, with trial numbers from ``first_sequence``."""

    sessions: int
    first_sequence: int


class History:
    """The state a run goes on from. It is empty for a new run. ``facts`` are the first that were observed of each target on each node;
    ``deposited`` names the sites that have a copy of all trials.
    """

    def __init__(self, records: Sequence[Record], run_id: str) -> None:
        self.started = bool(records)
        self.trials: dict[int, Trial] = {}
        self.intents: dict[int, Intent] = {}
        self.extension: Extension | None = None
        self.facts: dict[tuple[str, str, str], FactSet] = {}
        self.deposited: set[str] = set()
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
            self.trials[trial.sequence] = trial
            self.deposited.clear()
            self._last = max(self._last, trial.sequence)
        elif record.type == LOST:
            self.intents.pop(record.data["sequence"], None)
        elif record.type == EXTENDED:
            self.extension = decode(Extension, record.data)
        elif record.type == FACTS:
            facts = decode(FactSet, record.data)
            if not facts.allocation_id:
                self.facts.setdefault(facts.place, facts)
        elif record.type == DEPOSITED:
            self.deposited.add(record.data["site"])
        elif record.type == ALLOCATED:
            self._allocations[record.data["session"], record.data["experiment_id"]] += 1

    def unfinished(self) -> tuple[Slot, ...]:
        """Slots that were started and have no result."""
        return tuple(intent.slot for sequence, intent in self.intents.items() if sequence not in self.trials)

    def reserve(self, last: int) -> None:
        """Numbers up to ``last`` belong to planned slots."""
        self._last = max(self._last, last)

    def extend(self, sessions: int) -> Extension:
        """Decide the second stage; its trial numbers follow all that were given out."""
        self.extension = Extension(sessions=sessions, first_sequence=self._last + 1)
        return self.extension

    def additional(self, slot: Slot, *, replaces: int | None = None) -> Slot:
        """A slot beyond the plan, like ``slot`` but with a number of its own."""
        self._last += 1
        return dataclasses.replace(slot, sequence=self._last, replaces=replaces)

    def replacements(self, slots: Sequence[Slot]) -> list[Trial]:
        """The trials that were measured in place of invalid ones of a round."""
        mine = {slot.sequence for slot in slots}
        return [trial for trial in self.trials.values() if trial.replaces is not None and self._origin(trial.sequence) in mine]

    def due_replacements(self, slots: Sequence[Slot], allowed: int) -> list[Slot]:
        """Slots in place of the invalid trials of a round that were not replaced yet, so that there are at most as many as ``allowed`` for it."""
        made = self.replacements(slots)
        replaced = {trial.replaces for trial in made}
        mine = [*(self.trials[slot.sequence] for slot in slots if slot.sequence in self.trials), *made]
        due = [t for t in mine if t.status is TrialStatus.INVALID and t.kind is TrialKind.MEASURED and t.sequence not in replaced]
        return [self.additional(_slot_of(trial), replaces=trial.sequence) for trial in due[: max(0, allowed - len(made))]]

    def _origin(self, sequence: int) -> int:
        """The planned trial that ``sequence`` replaces in the end."""
        while (replaced := self.trials[sequence].replaces) is not None and replaced in self.trials:
            sequence = replaced
        return sequence

    def next_attempt(self, sequence: int) -> int:
        """How often the trial was started, this time included: a lost trial is started again under another job id."""
        self._attempts[sequence] += 1
        return self._attempts[sequence]

    def next_allocation(self, session: int, experiment_id: str) -> int:
        """The number of the next allocation of an experiment in a session; 1 unless an earlier one was cut short."""
        self._allocations[session, experiment_id] += 1
        return self._allocations[session, experiment_id]


def _slot_of(trial: Trial) -> Slot:
    return Slot(sequence=trial.sequence, session=trial.session, experiment_id=trial.experiment_id, kind=trial.kind, index=trial.index)
