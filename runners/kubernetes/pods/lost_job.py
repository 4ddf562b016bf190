"""A job that went with its pod."""

from __future__ import annotations

from ....engine.model.contract.values import Completed
from ..failures import PodLost


class LostJob:
    """A job whose pod is gone: it may have run, so it is never run again under its id."""

    def __init__(self, job_id: str, why: str) -> None:
        self.job_id = job_id
        self._why = why

    def wait(self, timeout_s: float) -> None:
        """Raises PodLost."""
        raise PodLost(
            self._why, where=f"job {self.job_id}", remedy="under this id it is not run again"
        )

    def cancel(self) -> None:
        """Nothing runs any more."""

    def collect(self) -> Completed:
        """Raises PodLost."""
        raise PodLost(self._why, where=f"job {self.job_id}")

    def discard(self) -> None:
        """Its files went with its pod."""
