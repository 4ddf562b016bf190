"""The rounds of a run: those of its plan, and those that the wished precision adds once the planned ones are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..journal import Journal
from ..plan import Plan, arrange_session
from ..ports import Workload
from ..spec import Spec
from .history import History
from .precision import sessions_wanted
from .records import EXTENDED
from .slots import Round, number_slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Numbers the trials of one run; no number is given twice."""

    spec: Spec
    plan: Plan
    workloads: Mapping[str, Workload]
    journal: Journal
    history: History

    def planned(self) -> tuple[Round, ...]:
        """The rounds of the plan."""
        return self._reserved(number_slots(self.plan.order))

    def second_stage(self) -> tuple[Round, ...]:
        """The rounds that the wished precision adds; decided once, after the planned ones, and journalled."""
        if self.spec.method.precision is None:
            return ()
        if self.history.extension is None:
            wanted = sessions_wanted(self.spec, self.plan, tuple(self.history.trials.values()), self.workloads)
            self.journal.append(EXTENDED, self.history.extend(wanted))
        return self.added()

    def added(self) -> tuple[Round, ...]:
        """The rounds of the second stage as far as it is decided."""
        extension, method = self.history.extension, self.plan.method
        if extension is None:
            return ()
        sessions = range(method.sessions + 1, extension.sessions + 1)
        order = [allocation for session in sessions for allocation in arrange_session(self.plan.experiments, method, session)]
        return self._reserved(number_slots(order, extension.first_sequence))

    def _reserved(self, rounds: tuple[Round, ...]) -> tuple[Round, ...]:
        self.history.reserve(max((slot.sequence for round_ in rounds for slot in round_.slots), default=0))
        return rounds
