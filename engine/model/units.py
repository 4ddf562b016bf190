"""Quantities with units: parsed strictly, stored in base units.

Base units are s, B, B/s, bit/s, 1/s and ratio. Bits and bytes, and decimal and binary prefixes, are
different units and are never converted silently: ``MB`` is 10^6 B, ``MiB`` 2^20 B, ``Mbit`` 10^6
bit; ``Mb``, ``Gbps`` and a bare ``M`` or ``K`` are refused with the spelling that was probably
meant. Prefixes follow IEC 80000-13 and SI.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum

from .errors import UnitError


class Dimension(StrEnum):
    """What a quantity measures; the value is the base unit it is stored in."""

    TIME = "s"
    BYTES = "B"
    BYTE_RATE = "B/s"
    BIT_RATE = "bit/s"
    RATE = "1/s"
    RATIO = "ratio"


_SI = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_IEC = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}

UNITS: dict[str, tuple[Dimension, float]] = {
    "ns": (Dimension.TIME, 1e-9),
    "us": (Dimension.TIME, 1e-6),
    "µs": (Dimension.TIME, 1e-6),
    "ms": (Dimension.TIME, 1e-3),
    "s": (Dimension.TIME, 1.0),
    "min": (Dimension.TIME, 60.0),
    "h": (Dimension.TIME, 3600.0),
    "d": (Dimension.TIME, 86400.0),
    "%": (Dimension.RATIO, 0.01),
    "ratio": (Dimension.RATIO, 1.0),
    "1/s": (Dimension.RATE, 1.0),
    "k/s": (Dimension.RATE, 1e3),
    "IOPS": (Dimension.RATE, 1.0),
    **{f"{p}B": (Dimension.BYTES, f) for p, f in (_SI | _IEC).items()},
    **{f"{p}B/s": (Dimension.BYTE_RATE, f) for p, f in (_SI | _IEC).items()},
    **{f"{p}bit/s": (Dimension.BIT_RATE, f) for p, f in (_SI | _IEC).items()},
}

_QUANTITY = re.compile(
    r"^\s*(?P<number>[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>\S.*?)?\s*$",
    re.ASCII,
)


class QuantityError(UnitError):
    """A refused quantity in the parts of its message: what was found, what was expected and, where
    one is near, the spelling meant.
    """

    def __init__(self, found: str, expected: str, hint: str = "") -> None:
        self.found = found
        self.expected = expected
        self.hint = hint
        super().__init__(f"found {found}, expected {expected}" + (f"; {hint}" if hint else ""))


LONGEST_QUANTITY = 100


def parse_quantity(text: str | int | float, dimension: Dimension) -> float:
    """Return ``text`` (such as ``"400 GiB"``) in the base unit of ``dimension``.

    A bare number is accepted for ratios only (0.02 is 2 %).

    Raises:
        QuantityError: no number, no unit, an unknown or ambiguous unit, or a unit of another
            dimension.
    """
    if isinstance(text, bool):
        raise QuantityError(str(text).lower(), expectation(dimension))
    if isinstance(text, int | float):
        return _bare_number(text, dimension)
    number, unit = _split(text, expectation(dimension))
    if unit is None:
        return _bare_number(number, dimension)
    known = UNITS.get(unit)
    if known is None:
        raise QuantityError(
            f"unknown unit {unit!r} in {text!r}", expectation(dimension), _suggest(unit, dimension)
        )
    found, factor = known
    if found is not dimension:
        raise QuantityError(
            f"{text!r} in {found.value}", expectation(dimension), _suggest(unit, dimension)
        )
    return _finite(number * factor, text, expectation(dimension))


def parse_any(text: str) -> tuple[float, Dimension]:
    """Return ``text`` in the base unit of whatever dimension its unit has, and that dimension.

    Raises:
        QuantityError: no number, no unit, or an unknown or ambiguous unit.
    """
    number, unit = _split(text, ANY_EXPECTATION)
    if unit is None:
        raise QuantityError(f"{text!r} without a unit", ANY_EXPECTATION)
    known = UNITS.get(unit)
    if known is None:
        raise QuantityError(f"unknown unit {unit!r} in {text!r}", ANY_EXPECTATION, _suggest(unit))
    return _finite(number * known[1], text, ANY_EXPECTATION), known[0]


def _split(text: str, expected: str) -> tuple[float, str | None]:
    """The number and the unit of ``text``. Long texts are refused unread: matching them could take
    quadratic time.
    """
    match = _QUANTITY.match(text) if len(text) <= LONGEST_QUANTITY else None
    if match is None:
        raise QuantityError(
            repr(text)
            if len(text) <= LONGEST_QUANTITY
            else f"{text[:20]!r} and {len(text) - 20} more characters",
            expected,
        )
    return float(match["number"].replace("_", "")), match["unit"]


def _bare_number(number: int | float, dimension: Dimension) -> float:
    if dimension is Dimension.RATIO and -1e308 < number < 1e308:
        return float(number)
    shown = (
        f"{number:g}"
        if isinstance(number, float)
        else str(number)
        if number.bit_length() < 256
        else "a very large number"
    )
    raise QuantityError(
        f"{shown} without a unit" if dimension is not Dimension.RATIO else shown,
        expectation(dimension),
    )


def _finite(value: float, text: str, expected: str) -> float:
    if not math.isfinite(value):
        raise QuantityError(f"{text!r}, which is not finite", expected)
    return value


ANY_EXPECTATION = "a number with its unit such as '500 1/s', '60 MB/s' or '10 Gbit/s'"
"""What :func:`parse_any` says it expects."""

_EXAMPLES = {
    Dimension.TIME: "a time such as '60 s', '10 ms' or '5 min'",
    Dimension.BYTES: "a size such as '400 GiB' or '1 GB'",
    Dimension.BYTE_RATE: "a data rate in bytes such as '60 MB/s' or '100 MiB/s'",
    Dimension.BIT_RATE: "a data rate in bits such as '10 Gbit/s'",
    Dimension.RATE: "a rate such as '500 1/s'",
    Dimension.RATIO: "a ratio such as '2 %' or 0.02",
}


def expectation(dimension: Dimension) -> str:
    """Say in words what a quantity of ``dimension`` looks like."""
    return _EXAMPLES[dimension]


_SPELLINGS = {
    "kb": ("kB", "kbit/s"),
    "mb": ("MB", "Mbit/s"),
    "gb": ("GB", "Gbit/s"),
    "tb": ("TB", "Tbit/s"),
    "k": ("KiB", "kB"),
    "m": ("MiB", "MB"),
    "g": ("GiB", "GB"),
    "t": ("TiB", "TB"),
    "ki": ("KiB",),
    "mi": ("MiB",),
    "gi": ("GiB",),
    "ti": ("TiB",),
    "kib": ("KiB",),
    "mib": ("MiB",),
    "gib": ("GiB",),
    "tib": ("TiB",),
    "kbps": ("kbit/s", "kB/s"),
    "mbps": ("Mbit/s", "MB/s"),
    "gbps": ("Gbit/s", "GB/s"),
    "tbps": ("Tbit/s",),
    "kbit": ("kbit/s",),
    "mbit": ("Mbit/s",),
    "gbit": ("Gbit/s",),
    "kbits/s": ("kbit/s",),
    "mbits/s": ("Mbit/s",),
    "gbits/s": ("Gbit/s",),
    "mb/s": ("MB/s", "Mbit/s"),
    "gb/s": ("GB/s", "Gbit/s"),
    "kb/s": ("kB/s", "kbit/s"),
    "mib/s": ("MiB/s",),
    "gib/s": ("GiB/s",),
    "kib/s": ("KiB/s",),
    "sec": ("s",),
    "secs": ("s",),
    "second": ("s",),
    "seconds": ("s",),
    "msec": ("ms",),
    "usec": ("us",),
    "minute": ("min",),
    "minutes": ("min",),
    "hour": ("h",),
    "hours": ("h",),
    "hz": ("1/s",),
    "iops": ("IOPS",),
    "qps": ("1/s",),
    "rps": ("1/s",),
    "percent": ("%",),
}


def _suggest(unit: str, dimension: Dimension | None = None) -> str:
    candidates = [c for c in _SPELLINGS.get(unit.lower(), ()) if dimension in (None, UNITS[c][0])]
    return f"did you mean {' or '.join(repr(c) for c in candidates)}?" if candidates else ""


_READABLE: dict[Dimension, tuple[tuple[float, str], ...]] = {
    Dimension.TIME: (
        (86400.0, "d"),
        (3600.0, "h"),
        (60.0, "min"),
        (1.0, "s"),
        (1e-3, "ms"),
        (1e-6, "us"),
        (1e-9, "ns"),
    ),
    Dimension.BYTES: (
        (2.0**40, "TiB"),
        (2.0**30, "GiB"),
        (2.0**20, "MiB"),
        (2.0**10, "KiB"),
        (1.0, "B"),
    ),
    Dimension.BYTE_RATE: ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    Dimension.BIT_RATE: ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    Dimension.RATE: ((1.0, "1/s"),),
    Dimension.RATIO: ((0.01, "%"),),
}


def scale_for(values: list[float], dimension: Dimension) -> tuple[float, str]:
    """Choose one factor and unit in which all of ``values`` (base units) read well: ``shown = value
    / factor``.
    """
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    steps = _READABLE[dimension]
    usable = [s for s in steps if largest >= s[0]]
    return usable[0] if usable else steps[-1]


def format_exact(value: float, dimension: Dimension) -> str:
    """Write ``value`` (base units) so that :func:`parse_quantity` reads the identical float
    back.
    """
    return f"{value!r} {dimension.value}"
