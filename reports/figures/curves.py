"""Figures with one line per target: sessions in order of time, the distribution of session values,
and the means of a sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...engine.analysis.model import Summary
from ..wording.numbers import Scale
from .figures import (
    Figure,
    Group,
    Plotted,
    Reference,
    colour_of,
    confidence_of,
    describe_groups,
    ends_of,
    finish_figure,
    in_view,
    write_subtitle,
)
from .svg import INK, MUTED, Axis, Canvas, draw_x_axis, draw_y_axis, fit, make_axis, text_width

LEFT, RIGHT, TOP, BOTTOM = 84.0, 690.0, 100.0, 340.0
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def draw_sessions(
    name: str, title: str, rows: Sequence[Plotted], scale: Scale, reference: Reference | None = None
) -> Figure:
    """Session values in order of time, one line per target."""
    values = [scale.of(v) for row in rows if row.summary for v in row.summary.values]
    shown = in_view(reference, values, scale, zero=False)
    y_axis = make_axis(
        [*values, *([scale.of(shown.value)] if shown else [])], BOTTOM, TOP, zero=False, wanted=5
    )
    numbers = [float(s) for row in rows if row.summary for s in row.summary.sessions] or [1.0]
    canvas = Canvas(height=BOTTOM + 52)
    canvas.heading(
        title,
        write_subtitle("session values in order of time; axis need not start at 0", scale, rows),
    )
    _legend(canvas, rows)
    draw_y_axis(canvas, y_axis, LEFT, RIGHT)
    x_axis = _session_axis(canvas, numbers, LEFT + 18, RIGHT - 18, BOTTOM)
    for row in rows:
        _session_line(canvas, x_axis, y_axis, row, scale)
    if shown:
        y = y_axis.at(scale.of(shown.value))
        canvas.line(LEFT, y, RIGHT, y, colour=INK, width=1.2, dash="5 4")
        canvas.text(RIGHT, y - 5, shown.label, size=11, anchor="end", width=400)
    groups = (Group(label="", rows=tuple(rows)),)
    return finish_figure(
        canvas, name, title, describe_groups(groups, scale, reference), reference, shown
    )


def draw_distribution(name: str, title: str, rows: Sequence[Plotted], scale: Scale) -> Figure:
    """Empirical distributions of session values: the share of sessions at or below each value."""
    values = [scale.of(v) for row in rows if row.summary for v in row.summary.values]
    x_axis = make_axis(values, LEFT, RIGHT, zero=False)
    y_axis = Axis(
        low=0.0, high=100.0, start=BOTTOM, end=TOP, ticks=(0.0, 25.0, 50.0, 75.0, 100.0), decimals=0
    )
    canvas = Canvas(height=BOTTOM + 52)
    canvas.heading(title, write_subtitle("% of sessions at or below a value", scale, rows))
    _legend(canvas, rows)
    draw_y_axis(canvas, y_axis, LEFT, RIGHT)
    draw_x_axis(canvas, x_axis, TOP, BOTTOM)
    for row in rows:
        _steps(canvas, x_axis, y_axis, row, scale)
    canvas.text((LEFT + RIGHT) / 2, BOTTOM + 36, scale.unit, size=11, colour=MUTED, anchor="middle")
    words = describe_groups((Group(label="", rows=tuple(rows)),), scale, None)
    return Figure(name=name, title=title, description=words, svg=canvas.finish(name, title, words))


@dataclass(frozen=True, slots=True)
class Swept:
    """One line of a sweep: what it is called, its place in the palette, and a summary at each
    position of the axis.
    """

    label: str
    colour: int
    points: tuple[tuple[float, Summary], ...]


def draw_sweep(
    name: str,
    title: str,
    axis: str,
    lines: Sequence[Swept],
    scale: Scale,
    reference: Reference | None = None,
) -> Figure:
    """Means with their intervals along an axis, one line per target."""
    known = [point for line in lines for point in line.points]
    values = [scale.of(v) for _, summary in known for v in (summary.centre, *ends_of(summary))]
    shown = in_view(reference, values, scale, zero=True)
    y_axis = make_axis(
        [*values, *([scale.of(shown.value)] if shown else [])], BOTTOM, TOP, zero=True, wanted=5
    )
    x_axis = make_axis([x for x, _ in known], LEFT + 18, RIGHT - 18, zero=True)
    rows = [
        Plotted(
            label=line.label, colour=line.colour, summary=line.points[0][1] if line.points else None
        )
        for line in lines
    ]
    canvas = Canvas(height=BOTTOM + 52)
    canvas.heading(title, write_subtitle(f"mean with {confidence_of(rows)}interval", scale, rows))
    _legend(canvas, rows)
    draw_y_axis(canvas, y_axis, LEFT, RIGHT)
    draw_x_axis(canvas, x_axis, TOP, BOTTOM)
    for line, row in zip(lines, rows, strict=True):
        _sweep_line(canvas, x_axis, y_axis, line, row, scale)
    if shown:
        y = y_axis.at(scale.of(shown.value))
        canvas.line(LEFT, y, RIGHT, y, colour=INK, width=1.2, dash="5 4")
        canvas.text(RIGHT, y - 5, shown.label, size=11, anchor="end", width=400)
    canvas.text((LEFT + RIGHT) / 2, BOTTOM + 36, axis, size=11, colour=MUTED, anchor="middle")
    groups = [
        Group(label=f"{axis} {x:g}", rows=(replace(row, summary=s),))
        for line, row in zip(lines, rows, strict=True)
        for x, s in line.points
    ]
    return finish_figure(
        canvas, name, title, describe_groups(groups, scale, reference), reference, shown
    )


def _sweep_line(
    canvas: Canvas, x_axis: Axis, y_axis: Axis, line: Swept, row: Plotted, scale: Scale
) -> None:
    path = [(x_axis.at(x), y_axis.at(scale.of(summary.centre))) for x, summary in line.points]
    canvas.polyline(path, colour=colour_of(row), width=2, dash=DASHES[row.colour % len(DASHES)])
    for (px, py), (x, summary) in zip(path, line.points, strict=True):
        for low, high in [ends_of(summary)] if summary.interval else []:
            canvas.line(
                px,
                y_axis.at(scale.of(low)),
                px,
                y_axis.at(scale.of(high)),
                colour=colour_of(row),
                width=1.6,
            )
        canvas.dot(
            px,
            py,
            4,
            fill=colour_of(row),
            tooltip=f"{row.label}, {x:g}: {scale.quantity(summary.centre)}",
        )


def _legend(canvas: Canvas, rows: Sequence[Plotted]) -> None:
    x = LEFT
    for row in rows:
        label = fit(
            row.label if row.summary else f"{row.label}: {row.absent or 'not measured'}", 220, 12
        )
        canvas.line(x, TOP - 22, x + 18, TOP - 22, colour=colour_of(row), width=3)
        canvas.dot(x + 9, TOP - 22, 3.6, fill=colour_of(row))
        canvas.text(x + 24, TOP - 18, label, size=12)
        x += 44 + text_width(label, 12)


def _session_axis(
    canvas: Canvas, numbers: Sequence[float], start: float, end: float, bottom: float
) -> Axis:
    low, high = min(numbers), max(numbers)
    step = max(1, round((high - low) / 12))
    ticks = tuple(float(n) for n in range(int(low), int(high) + 1, step))
    axis = Axis(
        low=low, high=high if high > low else low + 1, start=start, end=end, ticks=ticks, decimals=0
    )
    for tick in ticks:
        canvas.text(
            axis.at(tick), BOTTOM + 18, axis.label(tick), size=11, colour=MUTED, anchor="middle"
        )
    canvas.text((start + end) / 2, BOTTOM + 38, "session", size=11, colour=MUTED, anchor="middle")
    return axis


def _session_line(canvas: Canvas, x_axis: Axis, y_axis: Axis, row: Plotted, scale: Scale) -> None:
    if row.summary is None:
        return
    pairs = sorted(zip(row.summary.sessions, row.summary.values, strict=False))
    points = [(x_axis.at(float(session)), y_axis.at(scale.of(value))) for session, value in pairs]
    canvas.polyline(points, colour=colour_of(row), width=2, dash=DASHES[row.colour % len(DASHES)])
    for (x, y), (session, value) in zip(points, pairs, strict=True):
        canvas.dot(
            x,
            y,
            4,
            fill=colour_of(row),
            tooltip=f"{row.label}, session {session}: {scale.quantity(value)}",
        )


def _steps(canvas: Canvas, x_axis: Axis, y_axis: Axis, row: Plotted, scale: Scale) -> None:
    if row.summary is None:
        return
    ordered = sorted(scale.of(v) for v in row.summary.values)
    points = [(x_axis.at(ordered[0]), y_axis.at(0.0))]
    for index, value in enumerate(ordered):
        points += [
            (x_axis.at(value), points[-1][1]),
            (x_axis.at(value), y_axis.at(100 * (index + 1) / len(ordered))),
        ]
    canvas.polyline(points, colour=colour_of(row), width=2, dash=DASHES[row.colour % len(DASHES)])
