"""Moments at which the controller's wall clock was set while a run went on: each record has both
clocks, and the monotonic one cannot be set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..model.results import Finding, FindingLevel
from .journal import Record

LEAST_STEP_S = 2.0
"""A smaller difference between the clocks may be a time service that slews."""
_SLEW = 0.001


def clock_steps(records: Sequence[Record]) -> Iterator[Finding]:
    """A finding for each step between two records of one boot. Durations are by the monotonic
    clock, so no figure is affected; times of day are.
    """
    for before, after in pairwise(records):
        if before.boot != after.boot or after.mono < before.mono:
            continue
        passed = after.mono - before.mono
        step = (after.at - before.at) - passed
        if abs(step) > LEAST_STEP_S + _SLEW * passed:
            yield Finding(
                code="F515",
                level=FindingLevel.WARNING,
                message=(
                    f"the controller's clock was set {'forward' if step > 0 else 'back'} by"
                    f" {abs(step):.0f} s between records {before.n} and {after.n}, or the machine"
                    " slept: times of day before and after do not go together"
                ),
            )
