"""Trials that failed for a reason from outside are measured again in a fresh allocation, so often
per target and no more.
"""

from __future__ import annotations

import time
from collections import Counter

from ..control.events import Event, Observer
from ..control.interrupts import Interrupts
from ..model.failures import FailureClass
from ..store.journal import Journal
from ..store.records import REPEATED

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0


class Retries:
    """What is left of a run's retries. They are counted anew when a run is resumed: who resumes it
    has seen to the cause.
    """

    def __init__(
        self, allowed: int, journal: Journal, interrupts: Interrupts, observer: Observer
    ) -> None:
        self._allowed = allowed
        self._journal = journal
        self._interrupts = interrupts
        self._observer = observer
        self._used: Counter[str] = Counter()

    def take(self, target: str, failure: FailureClass | None) -> bool:
        """Whether what failed on ``target`` may be measured again; counted if so."""
        if failure is None or not failure.is_from_outside or self._used[target] >= self._allowed:
            return False
        self._used[target] += 1
        return True

    def announce(self, target: str, experiment_id: str, session: int, reason: str) -> None:
        """Say that the rest of a round is measured in a fresh allocation, and wait a little, longer
        each time: what was wrong may pass. Raises Interrupted.
        """
        used = self._used[target]
        self._journal.append(
            REPEATED,
            {
                "target": target,
                "experiment_id": experiment_id,
                "session": session,
                "retry": used,
                "reason": reason,
            },
        )
        message = (
            f"again   session {session} {target}: in a fresh allocation (retry {used} of"
            f" {self._allowed}), since the last one failed from outside: {reason}"
        )
        self._observer.notify(
            Event(kind=REPEATED, message=message, data={"target": target, "retry": used})
        )
        with self._interrupts.waiting():
            time.sleep(min(_FIRST_PAUSE_S * 4 ** (used - 1), _LONGEST_PAUSE_S))
