"""The runs that the index knows, and how the results of a spec went on from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.history.acks import Ack, read_acks
from ..engine.history.entry import RunRow
from ..engine.history.index import RunIndex
from ..engine.model.codec import encode
from ..engine.model.errors import GateFailed, UsageError
from ..engine.model.spec import Json
from ..engine.store.manifest import MANIFEST
from .settings import File

if TYPE_CHECKING:
    from ..engine.history.lines import Lines, Point


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run as the index knows it, and whether its directory is still where it was."""

    run: RunRow
    is_there: bool

    @property
    def state(self) -> str:
        """In a few words."""
        if not self.is_there:
            return "directory gone"
        return "complete" if self.run.complete else "cut short"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    """Runs in the order of time."""

    runs: tuple[ListedRun, ...]

    def to_json(self) -> dict[str, Json]:
        """What `benchspec list --json` prints."""
        return {"runs": [{**encode(one.run), "state": one.state} for one in self.runs]}


def list_(name: str | None = None) -> RunList:
    """The runs in the index, or those of the spec called ``name``, in the order of time.

    Raises:
        UsageError: BENCHSPEC_STORE names no database.
        StorageError: the index cannot be used.
    """
    return RunList(
        runs=tuple(
            ListedRun(run=run, is_there=Path(run.path, MANIFEST).is_file())
            for run in RunIndex().runs(name)
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The lines of a spec, one for each target, cell and series."""

    name: str
    found: Lines

    @property
    def alarming(self) -> tuple[tuple[str, Point], ...]:
        """Results that a change which nobody acknowledged begins with or that lie outside of what
        was to be expected, each with the name of its line.
        """
        return tuple(
            (f"{line.target}, {line.cell}, {line.series}", point)
            for line in self.found.lines
            for point in line.points
            if point.mark.alarming
        )

    def require_steady(self) -> None:
        """Raise GateFailed when the newest result of a line lies outside of what was to be
        expected, or belongs to a level that nobody acknowledged.
        """
        failed = []
        for line in self.found.lines:
            last = line.points[-1].mark
            begins = [p for p in line.points if p.mark.change is not None or p.mark.acknowledged]
            if last.alarming or (begins and begins[-1].mark.alarming):
                failed.append(f"{line.target}, {line.cell}, {line.series}")
        if failed:
            raise GateFailed(
                f"results changed, and nobody acknowledged it: {'; '.join(failed)}",
                remedy="look for the cause; a change that is known belongs into acks.yaml",
            )

    def to_json(self) -> dict[str, Json]:
        """What `benchspec history --json` prints; values are in base units."""
        return {
            "spec": self.name,
            "lines": [
                {
                    "target": line.target,
                    "cell": line.cell,
                    "series": line.series,
                    "unit": line.unit,
                    "better": line.better,
                    "points": [_point(point) for point in line.points],
                }
                for line in self.found.lines
            ],
            "expired": _acks(self.found.expired),
            "unused": _acks(self.found.unused),
        }


def history(spec: File, *, everything: bool = False, today: date | None = None) -> History:
    """The results of all runs of ``spec`` (its file, or its name) over time: primary series, or
    ``everything``. What changed is marked; ``acks.yaml`` beside the file says which changes are
    known (``today`` decides which of them still count).

    Raises:
        SpecError: the spec or acks.yaml cannot be used.
        UsageError: the index has no run of it, or BENCHSPEC_STORE names no database.
        StorageError: the index cannot be used.
    """
    from ..engine.history.lines import make_lines  # with SciPy: for this, not for a list of runs
    from ..engine.language.load import load_spec

    path = Path(spec)
    is_file = path.is_file()
    name = load_spec(path).spec.name if is_file else str(spec)
    acks = read_acks(path.parent) if is_file else ()
    store = RunIndex()
    runs = store.runs(name)
    if not runs:
        raise UsageError(
            f"the index has no run of a spec called {name!r}",
            where=store.place,
            remedy="`benchspec index DIRECTORY` loads runs that are there; `benchspec list` shows"
            " what the index has",
        )
    rows = store.series(name, everything=everything)
    return History(name=name, found=make_lines(runs, rows, acks, today or date.today()))


def _point(point: Point) -> dict[str, Json]:
    mark, row = point.mark, point.row
    return {
        "run": point.run.run_id,
        "path": point.run.path,
        "measured_at": point.run.measured_at,
        "complete": point.run.complete,
        "sessions": row.sessions,
        "value": row.centre,
        "low": row.low,
        "high": row.high,
        "expected": None if mark.expected is None else list(mark.expected),
        "outside": mark.outside,
        "change": mark.change,
        "change_is_ratio": mark.is_ratio,
        "acknowledged": mark.acknowledged,
    }


def _acks(acks: Sequence[Ack]) -> list[Json]:
    return [{"run": ack.run, "reason": ack.reason, "until": ack.until.isoformat()} for ack in acks]
