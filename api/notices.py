"""What a use case tells beside the events of a run: it is to be seen, whatever else is shown."""

from __future__ import annotations

from threading import Lock

from ..engine.control.events import Event, Observer
from ..engine.model.spec import Json

REPORTED = "run.reported"
"""A run has ended and its pages are written, also where it ended with an error; the message is the
path of the Markdown page, or that of the run directory where nothing was measured. The data are
those of :meth:`benchspec.api.reporting.Written.to_json`, and the run's ``directory``.
"""
KEPT = "targets.kept"
"""Targets were left standing after a run."""
FALLEN = "targets.fallen"
"""Targets that a run used do not stand any more."""
INSTALLING = "tools.installing"
"""Packages are about to be installed on a host."""
STANDING = "targets.standing"
"""Targets were brought up to be left standing; the message is the path of the directory that keeps
them.
"""
NOTED = "plan.noted"
"""What the design of a run cannot show."""
WRITTEN = "file.written"
"""A file of a template was written; the message is its path."""
BUILDING = "image.building"
"""An image is about to be built or pushed."""
UNINDEXED = "run.unindexed"
"""A run has ended and the index of runs could not be used; the message says how it is loaded later.
"""

NOTICES = frozenset(
    {REPORTED, KEPT, FALLEN, INSTALLING, NOTED, STANDING, WRITTEN, BUILDING, UNINDEXED}
)


class Unobserved:
    """An observer that drops every event."""

    def notify(self, event: Event) -> None:
        """Drop ``event``."""


class OneByOne:
    """Passes events on to ``observer``, one at a time, from whatever thread they come."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lock = Lock()

    def notify(self, event: Event) -> None:
        """Pass ``event`` on."""
        with self._lock:
            self._observer.notify(event)


def tell(observer: Observer | None, kind: str, message: str, **data: Json) -> None:
    """Give ``observer``, if there is one, an event of ``kind``."""
    if observer is not None:
        observer.notify(Event(kind=kind, message=message, data=data))
