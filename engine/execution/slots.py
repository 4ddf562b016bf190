"""The planned trials of a run, numbered once and for all, so that a resumed run knows exactly what
is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.results import TrialKind
from ..planning.order import PlannedAllocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One planned trial. ``index`` counts within its allocation and kind, from 1. ``replaces`` is
    the sequence of an invalid trial.
    """

    sequence: int
    session: int
    experiment_id: str
    kind: TrialKind
    index: int
    replaces: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One planned allocation and its slots, in order."""

    planned: PlannedAllocation
    slots: tuple[Slot, ...]


def number_slots(order: Sequence[PlannedAllocation], first: int = 1) -> tuple[Round, ...]:
    """All rounds of ``order``; sequences count from ``first`` in that order."""
    rounds = []
    sequence = first - 1
    for planned in order:
        kinds = [(TrialKind.WARMUP, i) for i in range(1, planned.warmups + 1)] + [
            (TrialKind.MEASURED, i) for i in range(1, planned.trials + 1)
        ]
        slots = []
        for kind, index in kinds:
            sequence += 1
            slots.append(
                Slot(
                    sequence=sequence,
                    session=planned.session,
                    experiment_id=planned.experiment_id,
                    kind=kind,
                    index=index,
                )
            )
        rounds.append(Round(planned=planned, slots=tuple(slots)))
    return tuple(rounds)
