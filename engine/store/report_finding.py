"""Reporting what was found: durable in the journal first, then to whoever watches."""

from __future__ import annotations

from ..control.events import Event, Observer
from ..model.results import Finding
from .journal import Journal
from .records import FINDING


def report_finding(finding: Finding, journal: Journal, observer: Observer) -> None:
    """Journal and show ``finding``. Raises StorageError."""
    journal.append(FINDING, finding)
    data = {"code": finding.code, "level": finding.level.value}
    observer.notify(Event(kind=FINDING, message=f"[{finding.code}] {finding.message}", data=data))
