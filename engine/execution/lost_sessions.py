"""Sessions in which a target lost its trials for a reason from outside while those that it is
compared with were measured: half a pair says nothing of a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model.results import Trial, TrialKind, TrialStatus
from ..model.spec import Experiment


def lost_sessions(
    experiments: Sequence[Experiment], trials: Iterable[Trial], last: int
) -> dict[int, tuple[str, ...]]:
    """The experiments (ids) of every cell that lost a pair, by session, up to session ``last``.

    Only where each experiment of the cell has results in the last session: what still fails would
    lose another one.
    """
    results: set[tuple[str, int]] = set()
    from_outside: set[tuple[str, int]] = set()
    for trial in trials:
        place = trial.experiment_id, trial.session
        if trial.kind is not TrialKind.MEASURED:
            continue
        if trial.status in (TrialStatus.VALID, TrialStatus.INVALID):
            results.add(place)
        elif trial.failure is not None and trial.failure.is_from_outside:
            from_outside.add(place)
    cells: dict[str, list[str]] = {}
    for experiment in experiments:
        cells.setdefault(experiment.cell, []).append(experiment.id)
    found: dict[int, list[str]] = {}
    for mine in cells.values():
        if not all((one, last) in results for one in mine):
            continue
        for session in range(1, last):
            lost = [one for one in mine if (one, session) in from_outside - results]
            if lost and any((one, session) in results for one in mine):
                found.setdefault(session, []).extend(mine)
    return {session: tuple(found[session]) for session in sorted(found)}
