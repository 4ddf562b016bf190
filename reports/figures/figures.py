"""What every figure has in common: rows to plot, limits as reference lines, and the words that say
what a drawing shows.

Every figure is drawn from session values and carries a description for those who cannot see it; the
table beside it on the page holds the same numbers. What was not measured is written as such, never
drawn as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.analysis.model import Summary
from ..wording.numbers import Scale, write_declared
from .svg import MUTED, PALETTE, WIDTH, Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One drawing: a file name without extension, a title, a description in words, and the SVG."""

    name: str
    title: str
    description: str
    svg: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plotted:
    """One row: what it is called, its place in the palette, and the summary it shows, or None with
    the reason in ``absent``.
    """

    label: str
    colour: int
    summary: Summary | None
    absent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that belong together under a small heading (empty: none)."""

    label: str
    rows: tuple[Plotted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A documented limit as a line, in base units."""

    value: float
    label: str


def ends_of(summary: Summary) -> tuple[float, ...]:
    """The bounds of the interval; empty without one."""
    return () if summary.interval is None else (summary.interval.low, summary.interval.high)


def in_view(
    reference: Reference | None, values: Sequence[float], scale: Scale, *, zero: bool
) -> Reference | None:
    """The limit, unless drawing it would squeeze the data into less than half of the axis."""
    if reference is None or not values:
        return None
    low, high, value = 0.0 if zero else min(values), max(values), scale.of(reference.value)
    return reference if low - (high - low) <= value <= high + (high - low) else None


def write_subtitle(what: str, scale: Scale, rows: Sequence[Plotted]) -> str:
    """The muted line below the title: unit, what is drawn, how many sessions."""
    counts = sorted({len(row.summary.values) for row in rows if row.summary})
    sessions = (
        ""
        if not counts
        else (
            f"; {counts[0]} sessions"
            if len(counts) == 1
            else f"; {counts[0]} to {counts[-1]} sessions"
        )
    )
    unit = f"{scale.unit}; " if scale.unit else ""
    return f"{unit}{what}{sessions}"


def confidence_of(rows: Sequence[Plotted]) -> str:
    """``95 % `` when all intervals have one level; empty otherwise."""
    levels = {
        row.summary.interval.confidence for row in rows if row.summary and row.summary.interval
    }
    return f"{write_declared(levels.pop())} " if len(levels) == 1 else ""


def colour_of(row: Plotted) -> str:
    """The row's colour."""
    return PALETTE[row.colour % len(PALETTE)]


def write_value_of(summary: Summary, scale: Scale) -> str:
    """The centre with its unit, with the digits its interval supports."""
    decimals = (
        scale.decimals(summary.centre, summary.interval.low, summary.interval.high)
        if summary.interval
        else None
    )
    return f"{scale.write(summary.centre, decimals)} {scale.unit}".rstrip()


def describe_groups(groups: Sequence[Group], scale: Scale, reference: Reference | None) -> str:
    """What the drawing shows, in words, for those who cannot see it."""
    parts = [
        f"{group.label + ', ' if group.label else ''}{row.label}: {_describe_row(row, scale)}"
        for group in groups
        for row in group.rows
    ]
    if reference:
        parts.append(reference.label)
    return "; ".join(parts)


def _describe_row(row: Plotted, scale: Scale) -> str:
    if row.summary is None:
        return row.absent or "not measured"
    if row.summary.interval is None:
        return write_value_of(row.summary, scale)
    return (
        f"{write_value_of(row.summary, scale)}"
        f" ({scale.interval(row.summary.centre, row.summary.interval.low, row.summary.interval.high)[0]})"
    )


def finish_figure(
    canvas: Canvas,
    name: str,
    title: str,
    words: str,
    reference: Reference | None,
    shown: Reference | None,
) -> Figure:
    """Close the drawing; a limit that did not fit is named below it."""
    if reference and not shown:
        note = f"{reference.label} lies off this axis"
        canvas.text(
            WIDTH - 20,
            canvas.height - 12,
            note,
            size=11,
            colour=MUTED,
            anchor="end",
            width=WIDTH - 40,
        )
    return Figure(name=name, title=title, description=words, svg=canvas.finish(name, title, words))
