"""The rounds of a run: those of its plan, and those that the wished precision adds once the planned
ones are measured, or that make up for lost sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..model.contract.workload import Workload
from ..model.spec import Spec
from ..planning.order import arrange_session
from ..planning.plan import Plan
from ..store.journal import Journal
from ..store.records import EXTENDED, SESSION_ADDED
from .history import AddedSession, History
from .lost_sessions import lost_sessions
from .precision import sessions_wanted
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
        """The rounds that the wished precision adds; decided once, after the planned ones, and
        journalled.
        """
        if self.spec.method.precision is None:
            return ()
        if self.history.extension is None:
            wanted = sessions_wanted(
                self.spec, self.plan, tuple(self.history.trials.values()), self.workloads
            )
            self.journal.append(EXTENDED, self.history.extend(wanted))
        return self._extended()

    def made_up(self) -> tuple[Round, ...]:
        """The rounds of sessions that make up for those that lost a pair; decided and journalled
        here. There are at most as many as the method has retries.
        """
        if self.spec.compare is not None:
            last = self._last_session()
            before = {one.makes_up_for for one in self.history.added}
            before |= {one.session for one in self.history.added}
            lost = lost_sessions(self.plan.experiments, self.history.trials.values(), last)
            for session, experiments in lost.items():
                if session not in before and len(self.history.added) < self.spec.method.retries:
                    last += 1
                    one = self.history.add_session(last, session, experiments)
                    self.journal.append(SESSION_ADDED, one)
                    self._rounds_of(one)
        return tuple(each for one in self.history.added for each in self._rounds_of(one))

    def _last_session(self) -> int:
        extension = self.history.extension
        planned = self.plan.method.sessions if extension is None else extension.sessions
        return max([planned, *(one.session for one in self.history.added)])

    def _rounds_of(self, added: AddedSession) -> tuple[Round, ...]:
        chosen = [one for one in self.plan.experiments if one.id in added.experiments]
        order = arrange_session(chosen, self.plan.method, added.session)
        return self._reserved(number_slots(order, added.first_sequence))

    def added(self) -> tuple[Round, ...]:
        """The rounds beyond the plan as far as they are decided."""
        return (
            *self._extended(),
            *(each for one in self.history.added for each in self._rounds_of(one)),
        )

    def _extended(self) -> tuple[Round, ...]:
        extension, method = self.history.extension, self.plan.method
        if extension is None:
            return ()
        sessions = range(method.sessions + 1, extension.sessions + 1)
        order = [
            allocation
            for session in sessions
            for allocation in arrange_session(self.plan.experiments, method, session)
        ]
        return self._reserved(number_slots(order, extension.first_sequence))

    def _reserved(self, rounds: tuple[Round, ...]) -> tuple[Round, ...]:
        self.history.reserve(
            max((slot.sequence for round_ in rounds for slot in round_.slots), default=0)
        )
        return rounds
