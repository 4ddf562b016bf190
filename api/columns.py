"""The columns of a run's tables: name, type, unit and meaning. docs/python-api.md lists them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``kind`` is the type of its values: text, integer, number or boolean. ``unit`` is a
    base unit, or where it stands.
    """

    name: str
    kind: str
    meaning: str
    unit: str = ""


def axis_column(axis: str) -> Column:
    """The column of an axis of the spec's matrix."""
    return Column(f"axis.{axis}", "text", f"The label of the point on the axis {axis}.")


_OWN = "in the column unit"
_EXPERIMENT = Column("experiment", "text", "The id of the experiment.")
_TARGET = Column("target", "text", "The name of the target.")
_CELL = Column("cell", "text", "Workload and point: what is compared across targets.")
_SERIES = Column("series", "text", "The metric with its labels.")
_UNIT = Column("unit", "text", "The base unit: s, B, B/s, bit/s, 1/s, ratio.")
_PRIMARY = Column("primary", "boolean", "Whether it is the one that carries the verdict.")
_BETTER = Column("better", "text", "Which way is better: higher, lower, neither.")

TRIALS = (
    Column("trial", "integer", "The number of the trial; raw/NUMBER has what it printed."),
    _EXPERIMENT,
    _TARGET,
    Column("workload", "text", "The name of the workload."),
    _CELL,
    Column("session", "integer", "The session it belongs to, from 1."),
    Column("kind", "text", "measured, or warmup, which never counts."),
    Column("status", "text", "valid, which alone counts; or invalid, failed, void."),
    Column("metric", "text", "What was measured."),
    Column("labels", "text", "Which series of the metric, as key=value,key=value."),
    Column("value", "number", "What was measured, exactly as it was stored.", _OWN),
    _UNIT,
    _PRIMARY,
    Column("started_at", "number", "When it began; none: not known.", "s since 1970, UTC"),
    Column("duration", "number", "How long it took; none: not known.", "s"),
    Column("error", "text", "Why there is no measurement."),
)

SESSIONS = (
    _EXPERIMENT,
    _TARGET,
    _CELL,
    _SERIES,
    Column("session", "integer", "The session, from 1."),
    Column("value", "number", "The mean of the session's valid trials.", _OWN),
    _UNIT,
    _BETTER,
    _PRIMARY,
    Column("outlier", "boolean", "Whether it is flagged as an outlier; it counts all the same."),
)

COMPARISONS = (
    _CELL,
    _SERIES,
    Column("baseline", "text", "The target it is compared with."),
    Column("baseline_cell", "text", "The cell of the baseline, where paths are compared."),
    _TARGET,
    _PRIMARY,
    _BETTER,
    Column("ratio", "number", "Target by baseline; percent is 100 (ratio - 1).", "ratio"),
    Column("low", "number", "The lower end of the ratio's interval.", "ratio"),
    Column("high", "number", "The upper end of the ratio's interval.", "ratio"),
    Column("confidence", "number", "The confidence of that interval.", "ratio"),
    Column("bound", "text", "at least or at most: a limit bounds one side, and so the ratio."),
    Column("p", "number", "The p value of the difference.", "ratio"),
    Column("p_holm", "number", "The same, adjusted over the page's primary verdicts.", "ratio"),
    Column("df", "number", "Degrees of freedom."),
    Column("pairs", "integer", "Pairs of sessions, or the smaller number of sessions."),
    Column("paired", "boolean", "Whether sessions were compared block by block."),
    Column("method", "text", "The test."),
    Column(
        "equivalence", "number", "The margin within which a difference does not matter.", "ratio"
    ),
    Column("margin_low", "number", "The lower end of the interval that decides it.", "ratio"),
    Column("margin_high", "number", "The upper end of the interval that decides it.", "ratio"),
    Column("void", "text", "Why there is no verdict; none: there is one."),
    Column("difference", "text", "higher, lower, none established."),
    Column("margin", "text", "inside, outside, undecided."),
    Column("verdict", "text", "The verdict as pages say it."),
    Column("sessions_needed", "integer", "Sessions that would settle the difference seen."),
)

FINDINGS = (
    Column("code", "text", "The code; `benchspec explain CODE` says what it means."),
    Column("level", "text", "note, warning, error."),
    Column("message", "text", "What was found."),
    _TARGET,
    _EXPERIMENT,
    Column("trial", "integer", "The number of the trial it is about."),
)
