"""The figures of a page: bars, boxes, ratios, sessions in order of time, and distributions; hand-made SVG with words that say the same.

Every figure is drawn from session values and carries a description for those who cannot see it; the table beside it on the page holds the
same numbers. What was not measured is written as such, never drawn as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..engine.analysis.model import Summary
from .numbers import Percent, Scale, steady
from .sentences import Tone
from .svg import BAND, INK, MUTED, PALETTE, PAPER, WIDTH, Axis, Canvas, draw_x_axis, draw_y_axis, fit, make_axis, text_width

LEFT, RIGHT, TOP = 176.0, 596.0, 66.0
TONES = {Tone.BETTER: "#0072b2", Tone.WORSE: "#d55e00", Tone.NEUTRAL: "#5a6672", Tone.VOID: "#9aa5b1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One drawing: a file name without extension, a title, a description in words, and the SVG."""

    name: str
    title: str
    description: str
    svg: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plotted:
    """One row: what it is called, its place in the palette, and the summary it shows, or None with the reason in ``absent``."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioRow:
    """One comparison: percent with interval, or None with the reason in ``words``; ``words`` is the verdict."""

    label: str
    percent: Percent | None
    words: str
    tone: Tone


def draw_bars(name: str, title: str, groups: Sequence[Group], scale: Scale, reference: Reference | None = None) -> Figure:
    """Horizontal bars from 0 to the centre, with the interval of the mean as a whisker and the value beside it."""
    rows = [row for group in groups for row in group.rows]
    values = [scale.of(v) for row in rows if row.summary for v in (row.summary.centre, *_ends(row.summary))]
    shown = _visible(reference, max(values, default=0.0) * scale.factor)
    axis = make_axis([*values, *([scale.of(shown.value)] if shown else [])], LEFT, RIGHT, zero=True)
    canvas, bottom = _frame(title, _subtitle("mean of sessions with its 95 % interval", scale, rows), groups, 30)
    draw_x_axis(canvas, axis, TOP - 4, bottom)
    y = TOP
    for group in groups:
        y = _group_heading(canvas, group, y)
        for row in group.rows:
            _bar(canvas, axis, row, scale, y + 15)
            y += 30
    _finish_axis(canvas, axis, shown, scale, bottom)
    return _figure(canvas, name, title, _describe(groups, scale, reference), reference, shown, scale)


def draw_boxes(name: str, title: str, rows: Sequence[Plotted], scale: Scale, reference: Reference | None = None) -> Figure:
    """Box plots over session values: box from the first to the third quartile, line at the median, whiskers to the extremes, every session a dot."""
    values = [scale.of(v) for row in rows if row.summary for v in (*row.summary.values, *_ends(row.summary))]
    shown = _visible(reference, max(values, default=0.0) * scale.factor, near=True)
    axis = make_axis([*values, *([scale.of(shown.value)] if shown else [])], LEFT, RIGHT, zero=False)
    groups = (Group(label="", rows=tuple(rows)),)
    canvas, bottom = _frame(title, _subtitle("one dot per session, diamond at the mean; axis need not start at 0", scale, rows), groups, 52)
    draw_x_axis(canvas, axis, TOP - 4, bottom)
    for index, row in enumerate(rows):
        _box(canvas, axis, row, scale, TOP + 26 + 52 * index)
    _finish_axis(canvas, axis, shown, scale, bottom)
    return _figure(canvas, name, title, _describe(groups, scale, reference), reference, shown, scale)


def draw_ratios(name: str, title: str, subtitle: str, rows: Sequence[RatioRow], equivalence: float) -> Figure:
    """Percent differences against the baseline with their intervals, over a band that is the equivalence margin; the verdict stands beside each."""
    low, high = 100 * (1 / (1 + equivalence) - 1), 100 * equivalence
    bounds = [b for row in rows if row.percent for b in (row.percent.value, row.percent.low, row.percent.high) if b is not None]
    left, right, height = 206.0, 500.0, 40
    axis = make_axis([*bounds, low, high], left, right, zero=True, wanted=5)
    bottom = TOP + height * len(rows)
    canvas = Canvas(height=bottom + 48)
    canvas.heading(title, subtitle)
    canvas.rect(axis.at(low), TOP - 4, axis.at(high) - axis.at(low), bottom - TOP + 4, fill="#dde3e9")
    draw_x_axis(canvas, axis, TOP - 4, bottom, percent=True)
    canvas.line(axis.at(0), TOP - 4, axis.at(0), bottom, colour=INK, width=1.2)
    for index, row in enumerate(rows):
        _ratio(canvas, axis, row, TOP + 20 + height * index)
    canvas.text((left + right) / 2, bottom + 36, f"grey band: the {100 * equivalence:g} % margin", size=11, colour=MUTED, anchor="middle")
    words = "; ".join(f"{row.label}: {_ratio_words(row)}" for row in rows)
    return Figure(name=name, title=title, description=words, svg=canvas.finish(name, title, words))


def draw_sessions(name: str, title: str, rows: Sequence[Plotted], scale: Scale, reference: Reference | None = None) -> Figure:
    """Session values in order of time, one line per target."""
    values = [scale.of(v) for row in rows if row.summary for v in row.summary.values]
    shown = _visible(reference, max(values, default=0.0) * scale.factor, near=True)
    top, bottom, left, right = TOP + 24, TOP + 264, 84.0, 690.0
    y_axis = make_axis([*values, *([scale.of(shown.value)] if shown else [])], bottom, top, zero=False, wanted=5)
    numbers = [float(s) for row in rows if row.summary for s in row.summary.sessions] or [1.0]
    canvas = Canvas(height=bottom + 52)
    canvas.heading(title, _subtitle("session values in order of time; axis need not start at 0", scale, rows))
    _legend(canvas, rows, left)
    draw_y_axis(canvas, y_axis, left, right)
    x_axis = _session_axis(canvas, numbers, left + 18, right - 18, bottom)
    for row in rows:
        _session_line(canvas, x_axis, y_axis, row, scale)
    if shown:
        y = y_axis.at(scale.of(shown.value))
        canvas.line(left, y, right, y, colour=INK, width=1.2, dash="5 4")
        canvas.text(right, y - 5, shown.label, size=11, anchor="end", width=400)
    groups = (Group(label="", rows=tuple(rows)),)
    return _figure(canvas, name, title, _describe(groups, scale, reference), reference, shown, scale)


def draw_distribution(name: str, title: str, rows: Sequence[Plotted], scale: Scale) -> Figure:
    """Empirical distributions of session values: the share of sessions at or below each value."""
    values = [scale.of(v) for row in rows if row.summary for v in row.summary.values]
    top, bottom, left, right = TOP + 24, TOP + 264, 84.0, 690.0
    x_axis = make_axis(values, left, right, zero=False)
    y_axis = Axis(low=0.0, high=100.0, start=bottom, end=top, ticks=(0.0, 25.0, 50.0, 75.0, 100.0), decimals=0)
    canvas = Canvas(height=bottom + 52)
    canvas.heading(title, _subtitle("% of sessions at or below a value", scale, rows))
    _legend(canvas, rows, left)
    draw_y_axis(canvas, y_axis, left, right)
    draw_x_axis(canvas, x_axis, top, bottom)
    for row in rows:
        _steps(canvas, x_axis, y_axis, row, scale)
    canvas.text((left + right) / 2, bottom + 36, scale.unit, size=11, colour=MUTED, anchor="middle")
    words = _describe((Group(label="", rows=tuple(rows)),), scale, None)
    return Figure(name=name, title=title, description=words, svg=canvas.finish(name, title, words))


def _ends(summary: Summary) -> tuple[float, ...]:
    return () if summary.interval is None else (summary.interval.low, summary.interval.high)


def _visible(reference: Reference | None, largest: float, *, near: bool = False) -> Reference | None:
    """The limit, if drawing it does not squeeze the data into a corner; a plot that need not start at 0 only takes a near one."""
    factor = 1.25 if near else 2.5
    return reference if reference and largest > 0 and largest / factor <= reference.value <= largest * factor else None


def _subtitle(what: str, scale: Scale, rows: Sequence[Plotted]) -> str:
    counts = sorted({len(row.summary.values) for row in rows if row.summary})
    sessions = "" if not counts else f"; {counts[0]} sessions" if len(counts) == 1 else f"; {counts[0]} to {counts[-1]} sessions"
    unit = f"{scale.unit}; " if scale.unit else ""
    return f"{unit}{what}{sessions}"


def _frame(title: str, subtitle: str, groups: Sequence[Group], row_height: int) -> tuple[Canvas, float]:
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


def _colour(row: Plotted) -> str:
    return PALETTE[row.colour % len(PALETTE)]


def _absent(canvas: Canvas, row: Plotted, y: float) -> None:
    canvas.text(LEFT + 8, y + 4, row.absent or "not measured", size=12, colour=MUTED, width=RIGHT - LEFT)


def _bar(canvas: Canvas, axis: Axis, row: Plotted, scale: Scale, y: float) -> None:
    canvas.text(LEFT - 10, y + 4, row.label, size=12.5, anchor="end", width=LEFT - 34)
    if row.summary is None:
        return _absent(canvas, row, y)
    end = axis.at(scale.of(row.summary.centre))
    canvas.rect(axis.at(0), y - 9, end - axis.at(0), 18, fill=_colour(row), opacity=0.82, radius=2, tooltip=_value(row.summary, scale))
    if row.summary.interval:
        low, high = (axis.at(scale.of(v)) for v in _ends(row.summary))
        canvas.whisker(low, high, y)
        end = max(end, high)
    canvas.text(RIGHT + 12, y + 4, _value(row.summary, scale), size=12, width=WIDTH - RIGHT - 20)
    return None


def _value(summary: Summary, scale: Scale) -> str:
    decimals = scale.interval(summary.interval.low, summary.interval.high)[1] if summary.interval else None
    return f"{scale.write(summary.centre, decimals)} {scale.unit}".rstrip()


def _box(canvas: Canvas, axis: Axis, row: Plotted, scale: Scale, y: float) -> None:
    canvas.text(LEFT - 10, y + 4, row.label, size=12.5, anchor="end", width=LEFT - 34)
    if row.summary is None:
        return _absent(canvas, row, y)
    summary, colour = row.summary, _colour(row)
    low, q1, median, q3, high = (
        axis.at(scale.of(v)) for v in (summary.minimum, summary.q1, summary.median, summary.q3, summary.maximum)
    )
    canvas.whisker(low, high, y, colour=colour, cap=6)
    canvas.rect(q1, y - 13, q3 - q1, 26, fill=PAPER, radius=2)
    canvas.rect(q1, y - 13, q3 - q1, 26, fill=colour, opacity=0.2, stroke=colour, radius=2)
    canvas.line(median, y - 13, median, y + 13, colour=colour, width=2.6)
    _dots(canvas, axis, row, scale, y)
    canvas.diamond(axis.at(scale.of(summary.centre)), y, 5.5, fill=INK)
    canvas.text(RIGHT + 12, y + 4, _value(summary, scale), size=12, width=WIDTH - RIGHT - 20)
    return None


def _dots(canvas: Canvas, axis: Axis, row: Plotted, scale: Scale, y: float) -> None:
    """Session values spread over five heights in a fixed pattern; outliers are rings."""
    summary, colour = row.summary, _colour(row)
    if summary is None:
        return
    for index, (session, value) in enumerate(zip(summary.sessions, summary.values, strict=False)):
        offset = (0, -7, 7, -4, 4)[index % 5]
        outlier = session in summary.outliers
        fill, stroke = (PAPER, colour) if outlier else (colour, PAPER)
        tooltip = f"{row.label}, session {session}: {scale.quantity(value)}" + (" (outlier, kept)" if outlier else "")
        canvas.dot(axis.at(scale.of(value)), y + offset, 3.4, fill=fill, stroke=stroke, opacity=1.0 if outlier else 0.75, tooltip=tooltip)


def _finish_axis(canvas: Canvas, axis: Axis, shown: Reference | None, scale: Scale, bottom: float) -> None:
    canvas.text((LEFT + RIGHT) / 2, bottom + 36, scale.unit, size=11, colour=MUTED, anchor="middle")
    if shown:
        x = axis.at(scale.of(shown.value))
        canvas.line(x, TOP - 6, x, bottom, colour=INK, width=1.3, dash="5 4")
        wide = text_width(shown.label, 11)
        canvas.text(min(x + 5, WIDTH - 12 - wide) if x < RIGHT - 120 else x + 5, TOP - 8, fit(shown.label, WIDTH - 16 - x, 11), size=11)


def _ratio(canvas: Canvas, axis: Axis, row: RatioRow, y: float) -> None:
    canvas.text(194, y + 4, row.label, size=12.5, anchor="end", width=176)
    colour = TONES[row.tone]
    if row.percent is None:
        canvas.text(516, y + 4, row.words, size=11.5, colour=MUTED, width=192)
        return
    x = axis.at(steady(row.percent.value))
    if row.percent.low is not None and row.percent.high is not None:
        canvas.whisker(axis.at(row.percent.low), axis.at(row.percent.high), y, colour=colour, width=2.2, cap=5)
    decided = row.tone in (Tone.BETTER, Tone.WORSE)
    canvas.dot(x, y, 5.5, fill=colour if decided else PAPER, stroke=PAPER if decided else colour, tooltip=_ratio_words(row))
    canvas.text(516, y - 2, row.percent.signed(), size=12.5, weight=600, colour=INK)
    canvas.text(516, y + 13, row.words, size=11, colour=MUTED, width=192)


def _ratio_words(row: RatioRow) -> str:
    return row.words if row.percent is None else f"{row.percent.signed()} ({row.percent.signed_interval()}), {row.words}"


def _legend(canvas: Canvas, rows: Sequence[Plotted], left: float) -> None:
    x = left
    for row in rows:
        label = fit(row.label if row.summary else f"{row.label}: {row.absent or 'not measured'}", 220, 12)
        canvas.line(x, TOP + 2, x + 18, TOP + 2, colour=_colour(row), width=3)
        canvas.dot(x + 9, TOP + 2, 3.6, fill=_colour(row))
        canvas.text(x + 24, TOP + 6, label, size=12)
        x += 44 + text_width(label, 12)


def _session_axis(canvas: Canvas, numbers: Sequence[float], start: float, end: float, bottom: float) -> Axis:
    low, high = min(numbers), max(numbers)
    step = max(1, round((high - low) / 12))
    ticks = tuple(float(n) for n in range(int(low), int(high) + 1, step))
    axis = Axis(low=low, high=high if high > low else low + 1, start=start, end=end, ticks=ticks, decimals=0)
    for tick in ticks:
        canvas.text(axis.at(tick), bottom + 18, axis.label(tick), size=11, colour=MUTED, anchor="middle")
    canvas.text((start + end) / 2, bottom + 38, "session", size=11, colour=MUTED, anchor="middle")
    return axis


def _session_line(canvas: Canvas, x_axis: Axis, y_axis: Axis, row: Plotted, scale: Scale) -> None:
    if row.summary is None:
        return
    pairs = sorted(zip(row.summary.sessions, row.summary.values, strict=False))
    points = [(x_axis.at(float(session)), y_axis.at(scale.of(value))) for session, value in pairs]
    canvas.polyline(points, colour=_colour(row), width=2, dash=("", "6 3", "2 3", "8 3 2 3")[row.colour % 4])
    for (x, y), (session, value) in zip(points, pairs, strict=True):
        canvas.dot(x, y, 4, fill=_colour(row), tooltip=f"{row.label}, session {session}: {scale.quantity(value)}")


def _steps(canvas: Canvas, x_axis: Axis, y_axis: Axis, row: Plotted, scale: Scale) -> None:
    if row.summary is None:
        return
    ordered = sorted(scale.of(v) for v in row.summary.values)
    points = [(x_axis.at(ordered[0]), y_axis.at(0.0))]
    for index, value in enumerate(ordered):
        points += [(x_axis.at(value), points[-1][1]), (x_axis.at(value), y_axis.at(100 * (index + 1) / len(ordered)))]
    canvas.polyline(points, colour=_colour(row), width=2, dash=("", "6 3", "2 3", "8 3 2 3")[row.colour % 4])


def _describe(groups: Sequence[Group], scale: Scale, reference: Reference | None) -> str:
    parts = [f"{group.label + ', ' if group.label else ''}{row.label}: {_describe_row(row, scale)}" for group in groups for row in group.rows]
    if reference:
        parts.append(f"{reference.label}: {scale.quantity(reference.value)}")
    return "; ".join(parts)


def _describe_row(row: Plotted, scale: Scale) -> str:
    if row.summary is None:
        return row.absent or "not measured"
    if row.summary.interval is None:
        return _value(row.summary, scale)
    return f"{_value(row.summary, scale)} ({scale.interval(row.summary.interval.low, row.summary.interval.high)[0]})"


def _figure(canvas: Canvas, name: str, title: str, words: str, reference: Reference | None, shown: Reference | None, scale: Scale) -> Figure:
    if reference and not shown:
        note = f"{reference.label} ({scale.quantity(reference.value)}) is off this axis"
        canvas.text(WIDTH - 20, canvas.height - 12, note, size=11, colour=MUTED, anchor="end", width=WIDTH - 40)
    return Figure(name=name, title=title, description=words, svg=canvas.finish(name, title, words))
