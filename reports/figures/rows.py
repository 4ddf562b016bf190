"""Figures with one row per target: bars from 0, and boxes over session values."""

from __future__ import annotations

from collections.abc import Sequence

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
    write_value_of,
)
from .svg import BAND, INK, MUTED, PAPER, WIDTH, Axis, Canvas, draw_x_axis, make_axis

LEFT, RIGHT, TOP = 176.0, 596.0, 76.0


def draw_bars(
    name: str, title: str, groups: Sequence[Group], scale: Scale, reference: Reference | None = None
) -> Figure:
    """Horizontal bars from 0 to the centre, with the interval of the mean as a whisker and the
    value beside it.
    """
    rows = [row for group in groups for row in group.rows]
    values = [
        scale.of(v)
        for row in rows
        if row.summary
        for v in (row.summary.centre, *ends_of(row.summary))
    ]
    shown = in_view(reference, values, scale, zero=True)
    axis = make_axis([*values, *([scale.of(shown.value)] if shown else [])], LEFT, RIGHT, zero=True)
    canvas, bottom = _frame(
        title,
        write_subtitle(f"mean of sessions with its {confidence_of(rows)}interval", scale, rows),
        groups,
        30,
    )
    draw_x_axis(canvas, axis, TOP - 4, bottom)
    y = TOP
    for group in groups:
        y = _group_heading(canvas, group, y)
        for row in group.rows:
            _bar(canvas, axis, row, scale, y + 15)
            y += 30
    _finish_axis(canvas, axis, shown, scale, bottom)
    return finish_figure(
        canvas, name, title, describe_groups(groups, scale, reference), reference, shown
    )


def draw_boxes(
    name: str, title: str, rows: Sequence[Plotted], scale: Scale, reference: Reference | None = None
) -> Figure:
    """Box plots over session values: box from the first to the third quartile, line at the median,
    whiskers to the extremes, every session a dot.
    """
    values = [
        scale.of(v)
        for row in rows
        if row.summary
        for v in (*row.summary.values, *ends_of(row.summary))
    ]
    shown = in_view(reference, values, scale, zero=False)
    axis = make_axis(
        [*values, *([scale.of(shown.value)] if shown else [])], LEFT, RIGHT, zero=False
    )
    groups = (Group(label="", rows=tuple(rows)),)
    canvas, bottom = _frame(
        title,
        write_subtitle(
            "one dot per session, diamond at the mean; axis need not start at 0", scale, rows
        ),
        groups,
        52,
    )
    draw_x_axis(canvas, axis, TOP - 4, bottom)
    for index, row in enumerate(rows):
        _box(canvas, axis, row, scale, TOP + 26 + 52 * index)
    _finish_axis(canvas, axis, shown, scale, bottom)
    return finish_figure(
        canvas, name, title, describe_groups(groups, scale, reference), reference, shown
    )


def _frame(
    title: str, subtitle: str, groups: Sequence[Group], row_height: int
) -> tuple[Canvas, float]:
    bottom = TOP + sum(row_height * len(g.rows) + (26 if g.label else 0) for g in groups) + 4
    canvas = Canvas(height=bottom + 52)
    canvas.heading(title, subtitle)
    return canvas, bottom


def _group_heading(canvas: Canvas, group: Group, y: float) -> float:
    if not group.label:
        return y
    canvas.rect(20, y + 2, WIDTH - 40, 20, fill=BAND, radius=3)
    canvas.text(26, y + 16, group.label, size=11.5, colour=MUTED, weight=600, width=WIDTH - 60)
    return y + 26


def _absent(canvas: Canvas, row: Plotted, y: float) -> None:
    canvas.text(
        LEFT + 8, y + 4, row.absent or "not measured", size=12, colour=MUTED, width=RIGHT - LEFT
    )


def _bar(canvas: Canvas, axis: Axis, row: Plotted, scale: Scale, y: float) -> None:
    canvas.text(LEFT - 10, y + 4, row.label, size=12.5, anchor="end", width=LEFT - 34)
    if row.summary is None:
        return _absent(canvas, row, y)
    end = axis.at(scale.of(row.summary.centre))
    canvas.rect(
        axis.at(0),
        y - 9,
        end - axis.at(0),
        18,
        fill=colour_of(row),
        opacity=0.82,
        radius=2,
        tooltip=write_value_of(row.summary, scale),
    )
    if row.summary.interval:
        low, high = (axis.at(scale.of(v)) for v in ends_of(row.summary))
        canvas.whisker(low, high, y)
        end = max(end, high)
    canvas.text(
        RIGHT + 12, y + 4, write_value_of(row.summary, scale), size=12, width=WIDTH - RIGHT - 20
    )
    return None


def _box(canvas: Canvas, axis: Axis, row: Plotted, scale: Scale, y: float) -> None:
    canvas.text(LEFT - 10, y + 4, row.label, size=12.5, anchor="end", width=LEFT - 34)
    if row.summary is None:
        return _absent(canvas, row, y)
    summary, colour = row.summary, colour_of(row)
    low, q1, median, q3, high = (
        axis.at(scale.of(v))
        for v in (summary.minimum, summary.q1, summary.median, summary.q3, summary.maximum)
    )
    canvas.whisker(low, high, y, colour=colour, cap=6)
    canvas.rect(q1, y - 13, q3 - q1, 26, fill=PAPER, radius=2)
    canvas.rect(q1, y - 13, q3 - q1, 26, fill=colour, opacity=0.2, stroke=colour, radius=2)
    canvas.line(median, y - 13, median, y + 13, colour=colour, width=2.6)
    _dots(canvas, axis, row, scale, y)
    canvas.diamond(axis.at(scale.of(summary.centre)), y, 5.5, fill=INK)
    canvas.text(
        RIGHT + 12, y + 4, write_value_of(summary, scale), size=12, width=WIDTH - RIGHT - 20
    )
    return None


def _dots(canvas: Canvas, axis: Axis, row: Plotted, scale: Scale, y: float) -> None:
    """Session values spread over five heights in a fixed pattern; outliers are rings."""
    summary, colour = row.summary, colour_of(row)
    if summary is None:
        return
    for index, (session, value) in enumerate(zip(summary.sessions, summary.values, strict=False)):
        offset = (0, -7, 7, -4, 4)[index % 5]
        outlier = session in summary.outliers
        fill, stroke = (PAPER, colour) if outlier else (colour, PAPER)
        tooltip = f"{row.label}, session {session}: {scale.quantity(value)}" + (
            " (outlier, kept)" if outlier else ""
        )
        canvas.dot(
            axis.at(scale.of(value)),
            y + offset,
            3.4,
            fill=fill,
            stroke=stroke,
            opacity=1.0 if outlier else 0.75,
            tooltip=tooltip,
        )


def _finish_axis(
    canvas: Canvas, axis: Axis, shown: Reference | None, scale: Scale, bottom: float
) -> None:
    canvas.text((LEFT + RIGHT) / 2, bottom + 36, scale.unit, size=11, colour=MUTED, anchor="middle")
    if shown:
        x = axis.at(scale.of(shown.value))
        canvas.line(x, TOP - 10, x, bottom, colour=INK, width=1.3, dash="5 4")
        right = x > (LEFT + RIGHT) / 2
        start, anchor, room = (x - 6, "end", x - 20) if right else (x + 6, "start", WIDTH - 20 - x)
        canvas.text(start, TOP - 7, shown.label, size=11, anchor=anchor, width=room)
