"""By what the processes that a run started on a host are known: all of them, or those that keep
something by which they can be told.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model.results import FactSet, Finding, FindingLevel

GROUP = "control group"
"""The fact ``processes.boundary`` of a host where all are known."""
KEPT = "what they keep"
"""The same of a host where a process that gives up everything is not."""
UNKNOWN = (
    "this user can make no control group, so that a process which leaves its session, empties its"
    " environment, and neither works in a directory of the run nor has a file of it open cannot be"
    " told from others: it may outlive the run"
)


def boundary_findings(facts: FactSet) -> Iterator[Finding]:
    """F628 where a process may outlive the run unseen."""
    if facts.value("processes.boundary") == KEPT:
        host = f"{facts.site} {facts.node}" if facts.node else facts.site
        message = f"{host}: {UNKNOWN}"
        yield Finding(code="F628", level=FindingLevel.NOTE, message=message, target=facts.target)
