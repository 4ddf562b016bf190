"""The same failure again and again: after three in a row an experiment is not tried any more."""

from __future__ import annotations

import re

from ..model.results import Finding, FindingLevel
from ..model.spec import Experiment

MOST = 3
"""So many failures in a row that read the same end an experiment."""

_VARYING = re.compile(r"[0-9a-f]{8,}|\d+(?:\.\d+)?")
"""Ids and figures, which differ from one trial to the next."""


class SameFailures:
    """Counts, for each experiment of this controller's run, failures in a row that read the same.
    A resumed run starts anew: whoever resumes may have mended something.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}
        self._stopped: set[str] = set()

    def is_stopped(self, experiment_id: str) -> bool:
        """Whether the experiment failed so often that it is given up."""
        return experiment_id in self._stopped

    def take(self, experiment: Experiment, error: str | None) -> Finding | None:
        """Count a trial, or an allocation that did not come up; None: it did not fail. Returns what
        is to be told when this ends the experiment, which is once.
        """
        if error is None:
            self._last.pop(experiment.id, None)
            return None
        kind = _VARYING.sub("#", error)
        before, count = self._last.get(experiment.id, ("", 0))
        count = count + 1 if before == kind else 1
        self._last[experiment.id] = (kind, count)
        if count < MOST or experiment.id in self._stopped:
            return None
        self._stopped.add(experiment.id)
        return Finding(
            code="F523",
            level=FindingLevel.ERROR,
            message=(
                f"{experiment.cell} on {experiment.target} failed {MOST} times in a row in the same"
                f" way, so the rest of it is not measured; `benchspec resume` tries again: {error}"
            ),
            target=experiment.target,
            experiment_id=experiment.id,
        )
