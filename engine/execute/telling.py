"""Telling what was found: durable in the journal first, then to whoever watches."""

from __future__ import annotations

from ..journal import Journal
from ..results import Finding
from .events import Event, Observer
from .records import FINDING


def tell(finding: Finding, journal: Journal, observer: Observer) -> None:
    """Journal and show ``finding``. Raises StorageError."""
    journal.append(FINDING, finding)
    data = {"code": finding.code, "level": finding.level.value}
    observer.notify(Event(kind=FINDING, message=f"[{finding.code}] {finding.message}", data=data))
