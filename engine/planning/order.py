"""The order of trials. Pure.

Randomised complete blocks: a session is a block in which every experiment comes once, in an order
drawn with numpy's PCG64. Every session has a stream of its own, derived from the seed and the
session's number, so that sessions added later leave the order of earlier ones alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ..model.spec import Experiment, Method, Order


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAllocation:
    """One allocation: the session it belongs to and its position there (both from 1), and how many
    warm-ups and measured trials it makes.

    Allocations of a session with the same ``group`` run at the same time (duet); None runs alone.
    """

    session: int
    position: int
    experiment_id: str
    warmups: int
    trials: int
    group: int | None = None


def arrange(experiments: Sequence[Experiment], method: Method) -> tuple[PlannedAllocation, ...]:
    """The order of all sessions of ``method``; in sequential order, target after target with all
    its sessions.
    """
    sessions = [
        arrange_session(experiments, method, session) for session in range(1, method.sessions + 1)
    ]
    whole = itertools.chain.from_iterable(sessions)
    if method.order is not Order.SEQUENTIAL:
        return tuple(whole)
    rank = _target_ranks(experiments)
    target = {experiment.id: rank[experiment.target] for experiment in experiments}
    return tuple(sorted(whole, key=lambda allocation: target[allocation.experiment_id]))


def arrange_session(
    experiments: Sequence[Experiment], method: Method, session: int
) -> tuple[PlannedAllocation, ...]:
    """The block of one session (counted from 1): every experiment once. Depends on the seed, the
    session and the experiments alone.
    """
    from numpy.random import PCG64, Generator, SeedSequence

    stream = Generator(PCG64(SeedSequence(method.seed, spawn_key=(session,))))
    drawn = [experiments[index] for index in stream.permutation(len(experiments)).tolist()]
    groups: dict[str, int] = {}
    if method.order is Order.SEQUENTIAL:
        rank = _target_ranks(experiments)
        drawn.sort(key=lambda experiment: rank[experiment.target])
    elif method.order is Order.DUET:
        cells = {
            cell: number
            for number, cell in enumerate(dict.fromkeys(e.cell for e in drawn), start=1)
        }
        drawn.sort(key=lambda experiment: cells[experiment.cell])
        groups = {experiment.id: cells[experiment.cell] for experiment in drawn}
    return tuple(
        PlannedAllocation(
            session=session,
            position=position,
            experiment_id=e.id,
            warmups=method.warmups,
            trials=method.trials,
            group=groups.get(e.id),
        )
        for position, e in enumerate(drawn, start=1)
    )


def _target_ranks(experiments: Sequence[Experiment]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(dict.fromkeys(e.target for e in experiments))}
