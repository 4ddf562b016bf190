"""What the journal of a run says has happened: trials done, intents without an end, allocations made, numbers given out."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from ..codec import decode
from ..journal import Record
from ..results import FactSet, Trial
from .observe import FACTS
from .outcome import Intent
from .slots import Slot
from .trial import FINISHED, LOST, STARTED

EXTENDED = "plan.extended"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Sessions that a two-stage run adds to its plan: up to session ``sessions``, with trial numbers from ``first_sequence``."""

    sessions: int
    first_sequence: int


class History:
    """The state a run goes on from. It is empty for a new run. ``facts`` are the first that were observed of each target on each node."""

    def __init__(self, records: Sequence[Record], run_id: str) -> None:
        self.started = bool(records)
        self.trials: dict[int, Trial] = {}
        self.intents: dict[int, Intent] = {}
        self.extension: Extension | None = None
        self.facts: dict[tuple[str, str, str], FactSet] = {}
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
            self._last = max(self._last, trial.sequence)
        elif record.type == LOST:
            self.intents.pop(record.data["sequence"], None)
        elif record.type == EXTENDED:
            self.extension = decode(Extension, record.data)
        elif record.type == FACTS:
            facts = decode(FactSet, record.data)
            if not facts.allocation_id:
                self.facts.setdefault(facts.place, facts)
        elif record.type == "allocation.started":
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

    def next_attempt(self, sequence: int) -> int:
        """How often the trial was started, this time included: a lost trial is started again under another job id."""
        self._attempts[sequence] += 1
        return self._attempts[sequence]

    def next_allocation(self, session: int, experiment_id: str) -> int:
        """The number of the next allocation of an experiment in a session; 1 unless an earlier one was cut short."""
        self._allocations[session, experiment_id] += 1
        return self._allocations[session, experiment_id]
