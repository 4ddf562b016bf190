"""Facts, claims and parameters as plain text for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from ...engine.model.results import ClaimState, Metric
from ...engine.model.spec import Json
from ...engine.model.units import Dimension
from .numbers import scale_column, write_number

LONGEST = 240
SMALL = 10_000
"""Below so many bytes a size is counted, not scaled: an MTU of 1400 B is no 1.37 KiB."""
UNITS_OF_CLAIMS = {"memory.total": "B", "storage.size": "B", "net.link": "bit/s"}
STATES = {
    ClaimState.MATCH: "confirmed",
    ClaimState.MISMATCH: "contradicted",
    ClaimState.UNKNOWN: "unknown",
}


def write_value(value: Json, unit: str | None = None) -> str:
    """A JSON value on one line: ``unknown`` for None, ``yes``/``no``, quantities in a readable
    unit, long text cut with an ellipsis.
    """
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return (
            _write_quantity(float(value), unit)
            if unit not in (None, "", "1")
            else _write_bare(value)
        )
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, Mapping):
        return cut(", ".join(f"{key}: {write_value(value[key])}" for key in sorted(value)))
    return (
        cut(", ".join(write_value(item) for item in value))
        if isinstance(value, Sequence)
        else str(value)
    )


def unit_of(fact: str) -> str | None:
    """The base unit of a claim by its fact name (with or without a ``GROUP/`` prefix); None for a
    plain value.
    """
    return UNITS_OF_CLAIMS.get(fact.rpartition("/")[2])


def cut(text: str, longest: int = LONGEST) -> str:
    """``text`` on one line of at most ``longest`` characters, cut between words unless one word is
    most of it; an ellipsis says that it was cut.
    """
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    whole = line[:longest].rpartition(" ")[0]
    return (whole if len(whole) > longest // 2 else line[: longest - 1]) + "…"


def flatten(parameters: Mapping[str, Json], prefix: str = "") -> tuple[tuple[str, Json], ...]:
    """Nested mappings as dotted names, sorted."""
    rows: list[tuple[str, Json]] = []
    for key in sorted(parameters):
        value = parameters[key]
        rows += (
            flatten(value, f"{prefix}{key}.")
            if isinstance(value, Mapping)
            else [(f"{prefix}{key}", value)]
        )
    return tuple(rows)


def make_slugs(names: Iterable[str]) -> dict[str, str]:
    """Names for files and anchors: lower-case ASCII letters, digits and dashes. Of names that would
    collide, later ones get a digest.
    """
    slugs: dict[str, str] = {}
    for name in names:
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
        tidy = "-".join(part for part in plain.split("-") if part)[:60].strip("-") or "x"
        if name not in slugs:
            slugs[name] = (
                f"{tidy}-{sha256(name.encode()).hexdigest()[:8]}"
                if tidy in slugs.values()
                else tidy
            )
    return slugs


def title_of(metric: Metric) -> str:
    """The metric's title, or its name when it has none."""
    return metric.title or metric.name


def _write_bare(value: int | float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.12g}"


def _write_quantity(value: float, unit: str | None) -> str:
    if unit == "B" and abs(value) < SMALL:
        return f"{_write_bare(value)} B"
    if unit is not None and unit in set(Dimension):
        scale = scale_column([value], unit)
        shown = scale.of(value)
        return f"{write_number(shown, 0 if shown == int(shown) else 2)} {scale.unit}"
    return f"{_write_bare(int(value) if value.is_integer() else value)} {unit}"
