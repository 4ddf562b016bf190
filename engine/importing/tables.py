"""Figures that exist only as a table: CSV with a line for each.

Columns, in any order: ``target`` (unless the command line names it), ``metric`` and ``unit``, and
either ``value`` with ``session`` and ``trial`` (numbers or words; without them each line of a
series is a session), or ``mean`` with ``sd`` and ``n``: a published summary, which is one figure
without repetitions. ``workload`` tells experiments apart, ``direction`` says which way is better
(``higher``, ``lower``), ``labels`` are ``key=value;key=value``, ``limit`` is the class of
documented limits that bounds the figure, such as ``storage.iops``. Lines that begin with ``#`` are
skipped.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model.errors import ParseError
from ..model.results import Direction, Measurement, Metric, Statistic
from ..model.text.plain_text import normalised
from ..model.text.strict_numbers import decimal
from ..model.units import UNITS

NAME = "csv"
_METRIC = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_KNOWN = frozenset(
    (
        "target",
        "workload",
        "session",
        "trial",
        "metric",
        "value",
        "unit",
        "labels",
        "direction",
        "limit",
    )
) | {"mean", "sd", "n", "source", "date", "note", "title"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line in base units. ``session`` and ``trial`` are "" where the table does not say."""

    target: str
    workload: str
    session: str
    trial: str
    measurements: tuple[Measurement, ...]
    metrics: tuple[Metric, ...]


def read(data: bytes, target: str) -> list[Row]:
    """Every line. ``target`` is that of a table without such a column.

    Raises:
        ParseError: no table, a column that is not known or missing, or a line with what is no
            number, unit or direction; the message names the line.
    """
    text = normalised(data).decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    try:
        table = list(csv.DictReader(io.StringIO("\n".join(lines)), strict=True))
    except csv.Error as error:
        raise ParseError(f"the table is broken: {error}") from error
    if not table:
        raise ParseError("the table has no lines")
    columns = {column or "" for column in table[0]}
    if unknown := columns - _KNOWN:
        raise ParseError(
            f"found the columns {', '.join(sorted(unknown))}, expected some of"
            f" {', '.join(sorted(_KNOWN))}"
        )
    needed = {"metric", "unit"} | ({"mean"} if "mean" in columns else {"value"})
    if missing := needed - columns:
        raise ParseError(f"the table lacks the columns {', '.join(sorted(missing))}")
    return [_row(dict(line), target, number) for number, line in enumerate(table, start=2)]


def _row(line: Mapping[str, str | None], target: str, number: int) -> Row:
    said = {key: (value or "").strip() for key, value in line.items() if key}
    where = f"line {number}"
    unit = said.get("unit", "")
    if unit != "1" and unit not in UNITS:
        raise ParseError(f"{where}: found the unit {unit!r}, expected one such as ms or Mbit/s")
    base, factor = ("1", 1.0) if unit == "1" else (UNITS[unit][0].value, UNITS[unit][1])
    if not (who := said.get("target") or target):
        raise ParseError(f"{where}: found no target")
    labels = dict(_labels(said.get("labels", ""), where))
    metric = said.get("metric", "")
    if not _METRIC.fullmatch(metric):
        raise ParseError(f"{where}: found the metric {metric!r}, expected a name such as iops.read")
    figures = {"": said.get("value") or said.get("mean") or ""}
    figures |= {name: said[name] for name in ("sd", "n") if said.get(name)}
    direction = _direction(said.get("direction", ""), where)
    found = [
        _measured(f"{metric}.{kind}" if kind else metric, word, kind, base, factor, labels, where)
        for kind, word in figures.items()
    ]
    metrics = [
        Metric(
            name=one.metric,
            title=(said.get("title") or metric) + _TITLES[kind],
            unit=one.unit,
            direction=Direction.NEITHER if kind else direction,
            statistic=Statistic.ARITHMETIC_MEAN,
            limits=(said["limit"],) if said.get("limit") and not kind else (),
        )
        for one, kind in zip(found, figures, strict=True)
    ]
    return Row(
        target=who,
        workload=said.get("workload", "") or "figures",
        session=said.get("session", ""),
        trial=said.get("trial", ""),
        measurements=tuple(found),
        metrics=tuple(metrics),
    )


_TITLES = {"": "", "sd": ", published standard deviation", "n": ", published number of runs"}


def _measured(
    name: str,
    word: str,
    kind: str,
    base: str,
    factor: float,
    labels: Mapping[str, str],
    where: str,
) -> Measurement:
    value = decimal(word)
    if value is None:
        raise ParseError(f"{where}: found {word[:40]!r}, expected a number")
    plain = kind == "n"
    return Measurement(
        metric=name,
        value=value if plain or factor == 1 else _scaled(value, factor),
        unit="1" if plain else base,
        labels=labels,
    )


def _scaled(value: float, factor: float) -> float:
    """Divided where a unit is a fraction of the base unit: 25 us is then the very float 2.5e-05."""
    inverse = round(1 / factor)
    return value / inverse if factor < 1 and abs(inverse * factor - 1) < 1e-12 else value * factor


def _direction(word: str, where: str) -> Direction:
    if word not in ("", "higher", "lower", "neither"):
        raise ParseError(f"{where}: found the direction {word!r}, expected higher or lower")
    return Direction(word or "neither")


def _labels(text: str, where: str) -> Iterator[tuple[str, str]]:
    for pair in filter(None, text.split(";")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ParseError(f"{where}: found the label {pair!r}, expected key=value")
        yield key.strip(), value.strip()


def metrics_of(rows: Sequence[Row]) -> dict[str, Metric]:
    """Every metric of the table by its name; the first line of each says what it is."""
    found: dict[str, Metric] = {}
    for row in rows:
        for metric in row.metrics:
            found.setdefault(metric.name, metric)
    return found
