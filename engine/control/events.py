"""What a run tells whoever watches it. Observers never influence the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..model.spec import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened: a kind such as ``trial.finished``, a line for people, and data for
    machines.
    """

    kind: str
    message: str
    data: Mapping[str, Json] = field(default_factory=dict)


class Observer(Protocol):
    """Receives every event of a run, in order, on the run's own thread."""

    def notify(self, event: Event) -> None:
        """Show or record ``event``; must return quickly and never raise."""
        ...
