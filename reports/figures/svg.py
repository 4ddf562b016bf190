"""Drawing in SVG 1.1 by hand: text, shapes, axes. Deterministic bytes, no fonts to load, nothing
from a network, every string escaped.

Presentation attributes only (no style attributes), so that a page with a strict content security
policy can carry a drawing inline.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..wording.numbers import MINUS, write_number

WIDTH = 720
INK, MUTED, GRID, BAND, PAPER = "#1c2733", "#5a6672", "#e3e7eb", "#eef1f4", "#ffffff"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b4c9a", "#000000")
"""Okabe and Ito's colours (2008), which people with any colour vision can tell apart; the first is
the baseline's.
"""
FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', Helvetica, Arial, sans-serif"

_DIRECTION = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def clean(text: str) -> str:
    """Text on one line: white space joined, control characters and direction overrides replaced by
    U+FFFD.
    """
    return "".join("\ufffd" if _is_control(c) else c for c in " ".join(text.split()))


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn"} or character in _DIRECTION


def escape(text: str) -> str:
    """Cleaned text for XML content and double-quoted attributes."""
    return clean(text).translate(_XML)


def text_width(text: str, size: float) -> float:
    """An estimate in px, on the wide side: no font is at hand. East Asian wide characters count
    double.
    """
    return sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.56 for c in text) * size


def fit(text: str, width: float, size: float) -> str:
    """``text`` cut with an ellipsis to about ``width`` px."""
    text = clean(text)
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def px(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{round(value, 1) + 0.0:g}"


@dataclass(slots=True)
class Canvas:
    """A drawing in the making: elements are appended in order and written by :meth:`finish`."""

    height: float = 0.0
    elements: list[str] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        colour: str = INK,
        anchor: str = "start",
        weight: int = 400,
        width: float | None = None,
    ) -> None:
        """Text with its baseline at ``y``, cut to ``width`` px; a cut text keeps its whole wording
        as a tooltip.
        """
        shown = clean(text) if width is None else fit(text, width, size)
        tooltip = f"<title>{escape(text)}</title>" if shown != clean(text) else ""
        extra = ("" if anchor == "start" else f' text-anchor="{anchor}"') + (
            "" if weight == 400 else f' font-weight="{weight}"'
        )
        self.elements.append(
            f'<text x="{px(x)}" y="{px(y)}" font-size="{px(size)}"'
            f' fill="{colour}"{extra}>{tooltip}{escape(shown)}</text>'
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        *,
        colour: str = INK,
        width: float = 1.0,
        dash: str = "",
    ) -> None:
        """A straight line."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.elements.append(
            f'<line x1="{px(x1)}" y1="{px(y1)}" x2="{px(x2)}" y2="{px(y2)}" stroke="{colour}"'
            f' stroke-width="{px(width)}"{dashes}/>'
        )

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str,
        opacity: float = 1.0,
        stroke: str = "",
        radius: float = 0.0,
        tooltip: str = "",
    ) -> None:
        """A rectangle; widths below 0 are drawn as 0."""
        extra = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        extra += f' stroke="{stroke}" stroke-width="1.5"' if stroke else ""
        extra += f' rx="{px(radius)}"' if radius else ""
        shape = (
            f'<rect x="{px(x)}" y="{px(y)}" width="{px(max(0.0, width))}" height="{px(height)}"'
            f' fill="{fill}"{extra}'
        )
        self.elements.append(
            f"{shape}><title>{escape(tooltip)}</title></rect>" if tooltip else f"{shape}/>"
        )

    def dot(
        self,
        x: float,
        y: float,
        radius: float,
        *,
        fill: str,
        opacity: float = 1.0,
        stroke: str = PAPER,
        tooltip: str = "",
    ) -> None:
        """A circle with a thin rim."""
        extra = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        shape = (
            f'<circle cx="{px(x)}" cy="{px(y)}" r="{px(radius)}" fill="{fill}"{extra}'
            f' stroke="{stroke}" stroke-width="1.2"'
        )
        self.elements.append(
            f"{shape}><title>{escape(tooltip)}</title></circle>" if tooltip else f"{shape}/>"
        )

    def diamond(self, x: float, y: float, radius: float, *, fill: str) -> None:
        """A square on its corner with a white rim."""
        points = " ".join(
            f"{px(x + dx * radius)},{px(y + dy * radius)}"
            for dx, dy in ((0, -1), (1, 0), (0, 1), (-1, 0))
        )
        self.elements.append(
            f'<polygon points="{points}" fill="{fill}" stroke="{PAPER}" stroke-width="1"/>'
        )

    def polyline(
        self,
        points: Sequence[tuple[float, float]],
        *,
        colour: str,
        width: float = 1.8,
        dash: str = "",
    ) -> None:
        """A broken line through ``points``."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        path = " ".join(f"{px(x)},{px(y)}" for x, y in points)
        self.elements.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{px(width)}"'
            f' stroke-linejoin="round"{dashes}/>'
        )

    def whisker(
        self,
        low: float,
        high: float,
        y: float,
        *,
        colour: str = INK,
        width: float = 1.6,
        cap: float = 4.0,
    ) -> None:
        """A horizontal interval with caps."""
        self.line(low, y, high, y, colour=colour, width=width)
        for x in (low, high):
            self.line(x, y - cap, x, y + cap, colour=colour, width=width)

    def heading(self, title: str, subtitle: str) -> None:
        """The drawing's own title and a muted line below it."""
        self.text(20, 28, title, size=15, weight=600, width=WIDTH - 40)
        self.text(20, 47, subtitle, size=12, colour=MUTED, width=WIDTH - 40)

    def finish(self, identifier: str, title: str, description: str) -> bytes:
        """The whole drawing as UTF-8. ``identifier`` makes its ids unique on a page that carries
        several drawings inline.
        """
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {px(self.height)}"'
            f' width="{WIDTH}" height="{px(self.height)}" role="img"'
            f' aria-labelledby="{identifier}-t {identifier}-d" font-family="{FONT}">'
        )
        names = (
            f'<title id="{identifier}-t">{escape(title)}</title>\n<desc'
            f' id="{identifier}-d">{escape(description)}</desc>'
        )
        paper = f'<rect width="{WIDTH}" height="{px(self.height)}" rx="6" fill="{PAPER}"/>'
        return "\n".join([head, names, paper, *self.elements, "</svg>", ""]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A linear axis from ``low`` to ``high`` (shown units) over ``start`` to ``end`` px, with round
    ticks.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    decimals: int

    def at(self, value: float) -> float:
        """The coordinate of ``value``."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def label(self, tick: float, *, sign: bool = False) -> str:
        """A tick in words."""
        return write_number(tick, self.decimals, sign=sign)


SMALLEST = 1e-250
"""Below this a value is drawn as 0: steps between ticks could no longer be told from 0."""


def make_axis(
    values: Sequence[float], start: float, end: float, *, zero: bool, wanted: int = 6
) -> Axis:
    """An axis whose ends are ticks with steps of 1, 2, 2.5 or 5 times a power of ten, around
    ``values``; ``zero`` includes 0.
    """
    finite = [v if abs(v) >= SMALLEST else 0.0 for v in values if math.isfinite(v)] or [0.0]
    low, high = min(finite), max(finite)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        spread = 0.05 * abs(high) or 1.0
        low, high = (0.0, 1.0) if zero and high == 0 else (low - spread, high + spread)
    step = _round_step((high - low) / wanted)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if round(step, decimals) != round(step, decimals + 1):
        decimals += 1
    ticks = tuple(round(i * step, decimals + 2) for i in range(first, last + 1))
    return Axis(low=ticks[0], high=ticks[-1], start=start, end=end, ticks=ticks, decimals=decimals)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(
        (m * power for m in (1.0, 2.0, 2.5, 5.0) if m * power >= step * (1 - 1e-9)), 10 * power
    )


def draw_x_axis(
    canvas: Canvas, axis: Axis, top: float, bottom: float, *, percent: bool = False
) -> None:
    """Vertical grid lines and tick labels below them."""
    for tick in axis.ticks:
        x = axis.at(tick)
        canvas.line(x, top, x, bottom, colour=GRID)
        label = axis.label(tick, sign=percent) + (" %" if percent else "")
        canvas.text(x, bottom + 16, label, size=11, colour=MUTED, anchor="middle")


def draw_y_axis(canvas: Canvas, axis: Axis, left: float, right: float) -> None:
    """Horizontal grid lines and tick labels left of them."""
    for tick in axis.ticks:
        y = axis.at(tick)
        canvas.line(left, y, right, y, colour=GRID)
        canvas.text(left - 8, y + 4, axis.label(tick), size=11, colour=MUTED, anchor="end")


__all__ = [
    "BAND",
    "GRID",
    "INK",
    "MINUS",
    "MUTED",
    "PALETTE",
    "PAPER",
    "WIDTH",
    "Axis",
    "Canvas",
    "clean",
    "draw_x_axis",
    "draw_y_axis",
    "escape",
    "fit",
    "make_axis",
    "px",
    "text_width",
]
