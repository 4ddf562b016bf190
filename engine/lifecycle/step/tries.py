"""One try of a lifecycle step on one machine: what was begun there, and why it failed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...model.contract.runner import Job
from ...model.errors import JobTimeout, RunFailed, StorageError, TransportLost
from ...model.spec import Json
from ..state import Standing, StepIntent
from .places import HERE, StepPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One try of a step on one machine that was begun: a job, or a wait or objects to be made,
    which have no job.
    """

    place: StepPlace
    intent: StepIntent
    began: float
    job: Job | None = None
    wait: Mapping[str, Json] | None = None
    objects: tuple[Mapping[str, Json], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a step did not do what it should on one machine, and whether it even began there: only
    then another try may help.
    """

    place: StepPlace
    message: str
    begun: bool = True
    remedy: str | None = None

    def told(self, verb: str) -> str:
        """For people; this machine goes without saying."""
        place = "" if self.place.host == HERE else f" on {self.place.host}"
        return f"{verb if self.begun else 'was not started'}{place}: {self.message}"


@contextlib.contextmanager
def apart(standing: Standing, place: StepPlace, failures: list[Failure]) -> Iterator[None]:
    """What cannot be done on one machine is no reason to leave the others."""
    try:
        yield
    except StorageError:
        raise
    except RunFailed as error:
        if isinstance(error, TransportLost):
            standing.lost[place.key] = error.message
        failures.append(
            Failure(place=place, message=error.message, begun=False, remedy=error.remedy)
        )


def reason_of(error: RunFailed, timeout_s: float) -> str:
    """Why a job or a wait did not end well."""
    return (
        f"did not end within {timeout_s:g} s; its process group was killed"
        if isinstance(error, JobTimeout)
        else error.message
    )


def last_words(stderr: bytes) -> str:
    """The end of what a program complained about, to be added to a reason."""
    text = stderr[-500:].decode("utf-8", "replace").strip()
    return f"; stderr: {text}" if text else ""
