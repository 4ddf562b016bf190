"""The clock of a host against the controller's: how far it is off, with a bound that holds.

Asked as NTP does it, over a channel that is open anyway: each question is answered with the host's
wall clock and uptime. The host read its clock between our asking and our hearing the answer, so
that each answer confines the offset to an interval; all of them together confine it to what these
have in common. No assumption about how long the ways take: under load the intervals grow, and the
bound with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

QUESTIONS = 4
"""How often a clock is asked: the shortest way counts."""

_TICK_S = 0.01
_AGREE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A moment as a host saw it: Unix s by its wall clock (None where its `date` knows whole
    seconds only), and s since it was started.
    """

    wall_s: float | None
    uptime_s: float

    @classmethod
    def parse(cls, wall: str, uptime: str) -> Stamp | None:
        """Read ``date +%s.%N`` and an uptime in 1/100 s; None for what is no time."""
        if not uptime.strip().isdigit():
            return None
        fine = wall.replace(".", "", 1).isdigit() and "." in wall and not wall.endswith(".")
        return cls(wall_s=float(wall) if fine else None, uptime_s=int(uptime) / 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One answer: when it was asked for and heard (Unix s by the controller's clock), and what it
    says.
    """

    asked_at: float
    heard_at: float
    stamp: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value (s) that lies within ``bound_s`` of ``value_s``."""

    value_s: float
    bound_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What was found: ``offset``, the host's wall clock minus the controller's (None: it cannot be
    told), and ``boot``, when its uptime began.
    """

    offset: Interval | None
    boot: Interval

    @classmethod
    def measure(cls, ask: Callable[[], Reading], questions: int = QUESTIONS) -> Clock:
        """Ask several times and confine what the answers allow."""
        readings = [ask() for _ in range(questions)]
        walls = [(r, r.stamp.wall_s) for r in readings if r.stamp.wall_s is not None]
        offset = (
            confine((wall - r.heard_at, wall - r.asked_at) for r, wall in walls) if walls else None
        )
        # the uptime is cut off to its tick: what is meant lies up to a tick later
        boot = confine(
            (r.asked_at - r.stamp.uptime_s - _TICK_S, r.heard_at - r.stamp.uptime_s)
            for r in readings
        )
        return cls(offset=offset, boot=boot)

    def controllers(self, stamp: Stamp) -> float:
        """``stamp`` in Unix s by the controller's clock: from the wall clock, unless that was set
        in between, which the uptime tells.
        """
        coarse = self.boot.value_s + stamp.uptime_s + _TICK_S / 2
        if stamp.wall_s is None or self.offset is None:
            return coarse
        fine = stamp.wall_s - self.offset.value_s
        return fine if abs(fine - coarse) < _AGREE_S + self.boot.bound_s else coarse

    def uptime_at(self, moment: float) -> float:
        """The host's uptime (s) at ``moment`` (Unix s by the controller's clock)."""
        return moment - self.boot.value_s


def duration_s(began: Stamp, ended: Stamp) -> float:
    """From ``began`` to ``ended``: by the wall clock, which is finer, unless it was set in between,
    which the uptime tells.
    """
    coarse = ended.uptime_s - began.uptime_s
    if began.wall_s is None or ended.wall_s is None:
        return coarse
    fine = ended.wall_s - began.wall_s
    return fine if abs(fine - coarse) <= 3 * _TICK_S and fine >= 0 else coarse


def confine(intervals: Iterable[tuple[float, float]]) -> Interval:
    """What all intervals (lowest, highest) have in common; the narrowest of them where a clock was
    set in between and they have nothing.
    """
    found = sorted(intervals, key=lambda interval: interval[1] - interval[0])
    low, high = max(i[0] for i in found), min(i[1] for i in found)
    if low > high:
        low, high = found[0]
    return Interval(value_s=(low + high) / 2, bound_s=(high - low) / 2)
