"""Whose doing it was that a trial failed: by it is decided whether the trial is measured again
(FailureClass says what each class means). An error of a runner or a workload brings a class of its
own; here is what only the whole trial shows.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from ..model.contract.values import Completed, Sample
from ..model.errors import BenchspecError
from ..model.failures import FailureClass
from ..store.usage import oom_kills

_ENDED_BY_OTHERS = frozenset({128 + signal.SIGKILL, 128 + signal.SIGTERM})
"""Exit codes of a program that a signal ended which hardly anything sends to itself."""
_LAST_SIGNAL = 128 + signal.SIGRTMAX


def class_of_error(error: BenchspecError | None, finished: bool) -> FailureClass | None:
    """The class of ``error``; None without one. A trial whose programs all ended by themselves
    (``finished``) was measured: who only cannot vouch for it does not measure it again.
    """
    if error is None or not (finished and error.failure.is_from_outside):
        return None if error is None else error.failure
    return FailureClass.INVALID


def class_of(
    failure: FailureClass | None, samples: Mapping[str, Sequence[Sample]]
) -> FailureClass:
    """``failure`` (a workload's unless given), but what the kernel ended for want of memory failed
    by its own doing, whoever tells of it. ``samples`` are those of the monitors by role.
    """
    told = failure or FailureClass.WORKLOAD
    return FailureClass.WORKLOAD if _seen_oom(samples) and told.is_from_outside else told


def how_it_ended(completed: Sequence[Completed]) -> str:
    """The kind of a failure to find a figure (``parse``, ``killed``, ``exit``): the program that
    ended badly comes before its output.
    """
    code = worst_exit(completed) or 0
    if code == 0:
        return "parse"
    return "killed" if 128 < code <= _LAST_SIGNAL else "exit"


def class_of_ending(
    ended: str, code: int | None, samples: Mapping[str, Sequence[Sample]]
) -> FailureClass:
    """A program that a signal ended was killed by somebody, if it is known that the kernel did not
    do it for want of memory.
    """
    by_others = ended == "killed" and code in _ENDED_BY_OTHERS and _seen_oom(samples) is False
    return FailureClass.INFRASTRUCTURE if by_others else FailureClass.WORKLOAD


def worst_exit(completed: Sequence[Completed]) -> int | None:
    """The exit code farthest from 0; None without programs."""
    codes = [c.exit_code for c in completed]
    return max(codes, key=abs) if codes else None


def _seen_oom(samples: Mapping[str, Sequence[Sample]]) -> bool | None:
    """Whether the kernel of any role's host ended a process for want of memory; None when that is
    not known of one.
    """
    counts = [oom_kills(one) for one in samples.values()]
    if any(counts):
        return True
    return False if counts and None not in counts else None
