"""Clocks of nodes held against the controller's: by how much one is off, and how well that is
known.
"""

from __future__ import annotations

from ..model.results import FactSet, Finding, FindingLevel
from ..model.spec import Json

TOLERATED_S = 0.05
"""A clock that is off by no more than this beyond the bound of its measurement is not worth a
word.
"""


def clock_finding(facts: FactSet) -> Finding | None:
    """F521 for a node whose clock is off for certain. Times of trials are corrected by the offset,
    so nothing measured is affected by it.
    """
    offset, bound = _number(facts.value("clock.offset")), _number(facts.value("clock.offset_bound"))
    if offset is None or bound is None or abs(offset) - bound <= TOLERATED_S:
        return None
    node = f"{facts.site} {facts.node}" if facts.node else facts.site
    how = (
        f"{abs(offset) * 1000:.0f} ms {'ahead of' if offset > 0 else 'behind'} the controller's"
        f" (known to within {bound * 1000:.1f} ms)"
    )
    return Finding(
        code="F521",
        level=FindingLevel.WARNING,
        message=f"the clock of {node} is {how}; start a time service there",
        target=facts.target,
    )


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
