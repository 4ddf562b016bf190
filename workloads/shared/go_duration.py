"""Go's durations (``1m0s``, ``1.5s``, ``640.232µs``), as tools written in Go take and print them.

Format: https://pkg.go.dev/time#ParseDuration and #Duration.String.
"""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1e9,
    "us": 1e6,
    "µs": 1e6,
    "μs": 1e6,
    "ms": 1e3,
    "s": 1.0,
    "m": 1 / 60,
    "h": 1 / 3600,
}
"""How many of each make a second; micro is written with U+00B5, U+03BC or ``u``."""
_PART = re.compile(r"(\d{1,18}(?:\.\d{0,18})?)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


def read_duration(text: str) -> float | None:
    """The duration in s, or None when ``text`` is none; durations are never negative here."""
    total, position = 0.0, 0
    while match := _PART.match(text, position):
        total, position = total + float(match[1]) / _UNITS[match[2]], match.end()
    if text == "0":
        return 0.0
    return total if position == len(text) and position > 0 else None


def write_duration(duration_s: float) -> str:
    """``60s``, or whole nanoseconds where seconds do not suffice; Go reads both."""
    return f"{int(duration_s)}s" if duration_s.is_integer() else f"{round(duration_s * 1e9)}ns"
