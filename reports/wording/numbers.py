"""Numbers for people: one unit per column, rounded before any template sees them.

The rule, printed on every page: the half-width of an interval is shown with two significant digits
and the value with as many decimals; a value without an interval has four significant digits. Values
are first cut to ten significant digits, so that the last bits of a floating-point library never
reach a page. What is not 0 is never shown as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ...engine.model.units import Dimension, scale_for

RULE = (
    "The half-width of an interval is shown with two significant digits and the value with as many"
    " decimals; a value without an interval has four significant digits. Digits are added where a"
    " number that is not 0 would read as 0."
)
MINUS, NARROW_SPACE = "\u2212", "\u202f"
ABSENT = "not measured"
OUT_OF_RANGE = "out of range"
MOST_DECIMALS = 9
READABLE = 1e15
"""From here on numbers are written with a power of ten: nobody counts sixteen digits."""


def steady(value: float) -> float:
    """Cut to ten significant digits: far beyond any measurement, short of the last bits that differ
    between libraries.
    """
    return float(f"{value:.10g}")


def decimals_for(half_width: float) -> int:
    """Decimals that show ``half_width`` with two significant digits (negative: tens, hundreds,
    ...); 0 when it is 0 or not finite.
    """
    if not math.isfinite(half_width) or half_width <= 0:
        return 0
    return 1 - math.floor(math.log10(steady(half_width)))


def plain_decimals(value: float, digits: int = 4) -> int:
    """Decimals that show ``value`` with ``digits`` significant digits; whole numbers keep all their
    digits.
    """
    if not math.isfinite(value) or value == 0:
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(steady(value)))))


def write_number(value: float, decimals: int, *, sign: bool = False) -> str:
    """Write ``value`` rounded to ``decimals``, with a real minus and thousands apart by a narrow
    space; ``sign`` adds a plus.
    """
    if not math.isfinite(value):
        return OUT_OF_RANGE
    if abs(value) >= READABLE:
        return f"{value:{'+' if sign else ''}.4g}".replace("-", MINUS)
    rounded = round(steady(value), decimals)
    shown = f"{abs(rounded):.{max(0, decimals)}f}"
    whole, _, fraction = shown.partition(".")
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", NARROW_SPACE)
    prefix = MINUS if rounded < 0 else "+" if sign and rounded > 0 else ""
    return prefix + whole + (f".{fraction}" if fraction else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How one column is shown: base-unit values are divided by ``factor`` and carry ``unit`` (empty
    for plain numbers).
    """

    factor: float
    unit: str

    def of(self, value: float) -> float:
        """``value`` (base unit) in the column's unit."""
        return value / self.factor

    def write(self, value: float, decimals: int | None = None) -> str:
        """``value`` (base unit) in the column's unit, without naming it."""
        shown = self.of(value)
        return write_number(shown, plain_decimals(shown) if decimals is None else decimals)

    def quantity(self, value: float) -> str:
        """``value`` (base unit) with its unit, such as ``941 Mbit/s``."""
        return f"{self.write(value)} {self.unit}".rstrip()

    def declared(self, value: float) -> str:
        """A declared ``value`` (base unit) with its unit and without digits that nobody declared,
        such as ``1.25 Gbit/s``.
        """
        return f"{steady(self.of(value)):.9g} {self.unit}".rstrip()

    def decimals(self, centre: float, low: float, high: float) -> int:
        """The decimals that the half-width of an interval asks for; more where a number that is not
        0 would be shown as 0.

        An interval without width asks for nothing: its value is shown like one without an interval.
        """
        shown = [self.of(value) for value in (centre, low, high)]
        if steady(shown[1]) == steady(shown[2]):
            return plain_decimals(shown[0])
        decimals = decimals_for((shown[2] - shown[1]) / 2)
        smallest = min((abs(value) for value in shown if value != 0), default=0.0)
        while smallest and round(smallest, decimals) == 0 and decimals < MOST_DECIMALS:
            decimals += 1
        return decimals

    def interval(self, centre: float, low: float, high: float) -> tuple[str, int]:
        """``low to high`` in the column's unit, and the decimals all three are shown with."""
        decimals = self.decimals(centre, low, high)
        return f"{self.write(low, decimals)} to {self.write(high, decimals)}", decimals


def scale_column(values: Iterable[float], unit: str) -> Scale:
    """Choose the one unit in which all ``values`` (base unit ``unit``) of a column are shown; none
    for an empty column.

    A unit that is not known is shown as it is.
    """
    if unit == "1":
        return Scale(factor=1.0, unit="")
    try:
        dimension = Dimension(unit)
    except ValueError:
        return Scale(factor=1.0, unit=unit)
    shown = list(values)
    factor, name = scale_for(shown, dimension) if shown else (1.0, "")
    return Scale(factor=factor, unit=name)


def write_share(ratio: float) -> str:
    """A ratio as percent with three significant digits: 0.9885 is ``98.9 %``. Never rounded up to
    100 %.
    """
    percent = steady(100 * ratio)
    decimals = min(3, max(0, plain_decimals(percent, 3)))
    text = write_number(percent, decimals)
    return (
        f"{write_number(math.floor(percent * 100) / 100, 2)} %"
        if text.startswith("100") and percent < 100
        else f"{text} %"
    )


def write_declared(ratio: float) -> str:
    """A declared ratio as percent with all its digits and no more: 0.02 is ``2 %``."""
    return f"{steady(100 * ratio):g} %"


def write_p(p: float, alpha: float = 0.05) -> str:
    """A p value for a sentence: ``< 0.001``, else ``= 0.012``; never ``= 0``, and never on the
    other side of ``alpha`` than it is: 0.04996 is no 0.050.
    """
    if p < 0.001:
        return "< 0.001"
    decimals = 3 if p < 0.1 else 2
    while (float(f"{p:.{decimals}f}") < alpha) != (p < alpha) or (
        p != alpha and float(f"{p:.{decimals}f}") == alpha and decimals < MOST_DECIMALS
    ):
        decimals += 1
    return f"= {p:.{decimals}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Percent:
    """A ratio b/a as percent change 100 (b/a - 1), with its interval, written with the digits the
    interval supports.

    When the interval does not hold 0 its nearer bound is never written as 0: decimals are added
    until it differs. Above 100 % it is written as a factor: ``2.93 times``.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, ratio: float, low: float | None, high: float | None) -> Percent:
        """From ratios b/a."""
        return cls(
            value=100 * (ratio - 1),
            low=None if low is None else 100 * (low - 1),
            high=None if high is None else 100 * (high - 1),
        )

    @property
    def decimals(self) -> int:
        """How many decimals all numbers of this percent, or of its factor, are written with."""
        if self.is_factor:
            return self._factor_decimals()
        if self.low is None or self.high is None or steady(self.low) == steady(self.high):
            return min(3, plain_decimals(self.value, 3))
        digits = max(0, decimals_for((self.high - self.low) / 2))
        nearest = min(abs(self.low), abs(self.high))
        while self.low * self.high > 0 and digits < 6 and round(nearest, digits) == 0:
            digits += 1
        return digits

    @property
    def is_factor(self) -> bool:
        """Whether it is read as a factor: more than twice as much."""
        return self.value > 100

    def signed(self) -> str:
        """``+93.1 %``, with a sign; ``2.93 times`` as a factor."""
        if self.is_factor:
            return f"{self._factor(self.value)} times"
        return f"{write_number(self.value, self.decimals, sign=True)} %"

    def size(self) -> str:
        """``93.1 %``, without a sign; ``2.93 times`` as a factor."""
        return (
            self.signed() if self.is_factor else f"{write_number(abs(self.value), self.decimals)} %"
        )

    def signed_interval(self) -> str:
        """``+90.2 % to +96.1 %``; empty without an interval."""
        if self.low is None or self.high is None:
            return ""
        if self.is_factor:
            return f"{self._factor(self.low)} to {self._factor(self.high)} times"
        return " to ".join(
            f"{write_number(bound, self.decimals, sign=True)} %" for bound in (self.low, self.high)
        )

    def size_interval(self) -> str:
        """Bounds by size, smaller first, for an interval that lies on one side of 0; empty without
        an interval.
        """
        if self.low is None or self.high is None:
            return ""
        if self.is_factor:
            return self.signed_interval()
        return " to ".join(
            f"{write_number(bound, self.decimals)} %"
            for bound in sorted((abs(self.low), abs(self.high)))
        )

    def _factor(self, percent: float) -> str:
        return write_number(1 + percent / 100, self.decimals)

    def _factor_decimals(self) -> int:
        if self.low is None or self.high is None or steady(self.low) == steady(self.high):
            return plain_decimals(1 + self.value / 100, 3)
        return max(0, decimals_for((self.high - self.low) / 200))


def write_sequences(sequences: Iterable[int]) -> str:
    """Sorted numbers with runs joined: ``3, 5-7``."""
    runs: list[list[int]] = []
    for number in sorted(set(sequences)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
