"""The figure of comparisons: percent differences with their intervals over the equivalence margin,
each beside its verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..wording.numbers import Percent, steady, write_declared
from ..wording.verdict_words import Tone
from .figures import Figure
from .svg import INK, MUTED, PAPER, Axis, Canvas, draw_x_axis, make_axis

LEFT, RIGHT, TOP, ROW = 196.0, 470.0, 76.0, 40
TONES = {
    Tone.BETTER: "#0072b2",
    Tone.WORSE: "#d55e00",
    Tone.NEUTRAL: "#5a6672",
    Tone.VOID: "#9aa5b1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioRow:
    """One comparison: percent with interval, or None with the reason in ``words``; ``words`` is the
    verdict.
    """

    label: str
    percent: Percent | None
    words: str
    tone: Tone


def draw_ratios(
    name: str, title: str, subtitle: str, rows: Sequence[RatioRow], equivalence: float
) -> Figure:
    """Percent differences against the baseline with their intervals, over a band that is the
    equivalence margin; the verdict stands beside each.
    """
    low, high = 100 * (1 / (1 + equivalence) - 1), 100 * equivalence
    bounds = [
        b
        for row in rows
        if row.percent
        for b in (row.percent.value, row.percent.low, row.percent.high)
        if b is not None
    ]
    axis = make_axis([*bounds, 1.4 * low, 1.4 * high], LEFT, RIGHT, zero=True, wanted=5)
    bottom = TOP + ROW * len(rows)
    canvas = Canvas(height=bottom + 48)
    canvas.heading(title, subtitle)
    canvas.rect(
        axis.at(low), TOP - 4, axis.at(high) - axis.at(low), bottom - TOP + 4, fill="#dde3e9"
    )
    draw_x_axis(canvas, axis, TOP - 4, bottom, percent=True)
    canvas.line(axis.at(0), TOP - 4, axis.at(0), bottom, colour=INK, width=1.2)
    for index, row in enumerate(rows):
        _ratio(canvas, axis, row, TOP + 20 + ROW * index)
    canvas.text(
        (LEFT + RIGHT) / 2,
        bottom + 36,
        f"grey band: the {write_declared(equivalence)} margin",
        size=11,
        colour=MUTED,
        anchor="middle",
    )
    words = "; ".join(f"{row.label}: {_ratio_words(row)}" for row in rows)
    return Figure(name=name, title=title, description=words, svg=canvas.finish(name, title, words))


def _ratio(canvas: Canvas, axis: Axis, row: RatioRow, y: float) -> None:
    canvas.text(182, y + 4, row.label, size=12.5, anchor="end", width=164)
    colour = TONES[row.tone]
    if row.percent is None:
        canvas.text(492, y + 4, row.words, size=11.5, colour=MUTED, width=220)
        return
    x = axis.at(steady(row.percent.value))
    if row.percent.low is not None and row.percent.high is not None:
        canvas.whisker(
            axis.at(row.percent.low), axis.at(row.percent.high), y, colour=colour, width=2.2, cap=5
        )
    decided = row.tone in (Tone.BETTER, Tone.WORSE)
    canvas.dot(
        x,
        y,
        5.5,
        fill=colour if decided else PAPER,
        stroke=PAPER if decided else colour,
        tooltip=_ratio_words(row),
    )
    canvas.text(492, y - 2, row.percent.signed(), size=12.5, weight=600, colour=INK)
    canvas.text(492, y + 13, row.words, size=11, colour=MUTED, width=220)


def _ratio_words(row: RatioRow) -> str:
    return (
        row.words
        if row.percent is None
        else f"{row.percent.signed()} ({row.percent.signed_interval()}), {row.words}"
    )
