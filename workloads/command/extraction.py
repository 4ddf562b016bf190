"""Figures out of any program's output, as a spec describes them: by regular expression, JSONPath or
CSV column, with a unit.

Several values of one series are an error unless the spec says how to aggregate them; no value is an
error unless it is optional. A value that is no number is an error always.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric, Statistic
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, as_sequence, last_document
from ...engine.model.text.jsonpath import parse_path, select
from ...engine.model.text.safe_regex import compile_pattern, find
from ...engine.model.text.strict_numbers import decimal, json_number
from ...engine.model.units import UNITS
from ..shared.quantities import flag, text

MAX_INPUT = 64 * 2**20
"""Larger outputs are not searched: B."""

Labels = tuple[tuple[str, str], ...]
Found = Iterator[tuple[Labels, str | float | None]]

_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "min": min,
    "max": max,
    "mean": statistics.fmean,
    "median": statistics.median,
    "sum": sum,
}
_COUNT = "count"


def declared(name: str, rule: Mapping[str, Json]) -> Metric:
    """The metric that ``rule`` declares, in the base unit of its unit."""
    return Metric(
        name=name,
        title=text(rule, "title", name),
        unit=base_unit(rule)[0],
        direction=Direction(text(rule, "direction", "neither")),
        statistic=Statistic(text(rule, "statistic", Statistic.GEOMETRIC_MEAN.value)),
        limits=tuple(str(limit) for limit in as_sequence(rule.get("limits"))),
        declared="unit" in rule and "direction" in rule,
    )


def check(name: str, rule: Mapping[str, Json]) -> None:
    """Find out before anything runs that the rule is wrong.

    Raises:
        SpecError: unknown unit, a pattern or path outside the subset, or no way to find the figure.
    """
    try:
        base_unit(rule)
        for _ in _values(rule, b""):
            pass
    except ParseError:
        return  # nothing is found in nothing
    except SpecError as error:
        raise SpecError(f"{name}: {error.message}", remedy=error.remedy) from error


def base_unit(rule: Mapping[str, Json]) -> tuple[str, float]:
    """The base unit, and what one of the rule's unit is in it. ``1`` is a plain number.

    Raises:
        SpecError: unknown unit.
    """
    unit = text(rule, "unit", "1")
    if unit == "1":
        return unit, 1.0
    if unit not in UNITS:
        raise SpecError(f"found unknown unit {unit!r}, expected one of 1, {', '.join(UNITS)}")
    dimension, factor = UNITS[unit]
    return dimension.value, factor


def extract(name: str, rule: Mapping[str, Json], sources: Mapping[str, bytes]) -> list[Measurement]:
    """The measurements of one rule; ``sources`` are stdout, stderr and the fetched files by name.

    Raises:
        ParseError: the source is missing or too large, nothing matches, values are ambiguous or no
            numbers.
        SpecError: the rule itself is wrong (pattern, path, unit).
    """
    source = text(rule, "from", "stdout")
    groups: dict[Labels, list[str | float | None]] = {}
    if source in sources:
        for labels, value in _values(rule, _bounded(name, sources[source])):
            groups.setdefault(labels, []).append(value)
    aggregate = text(rule, "aggregate", "only")
    if aggregate == _COUNT:
        groups = groups or {(): []}
    if source not in sources or not groups:
        if flag(rule, "optional", False):
            return []
        raise ParseError(
            f"{name}: found nothing"
            + (f" in {source}" if source in sources else f": there is no {source}")
        )
    unit, factor = base_unit(rule)
    fixed = {key: str(value) for key, value in as_mapping(rule.get("labels")).items()}
    return [
        Measurement(
            metric=name,
            value=_aggregate(name, aggregate, values) * factor,
            unit=unit,
            labels={**fixed, **dict(labels)},
        )
        for labels, values in groups.items()
    ]


def _bounded(name: str, data: bytes) -> bytes:
    if len(data) > MAX_INPUT:
        raise ParseError(f"{name}: found {len(data)} B of output, expected at most {MAX_INPUT}")
    return data


def _values(rule: Mapping[str, Json], data: bytes) -> Found:
    if "regex" in rule:
        return _by_regex(text(rule, "regex"), data)
    if "jsonpath" in rule:
        return _by_jsonpath(text(rule, "jsonpath"), data)
    if "csv" in rule:
        return _by_csv(as_mapping(rule["csv"]), data)
    raise SpecError(
        "a rule must say how to find its figure", remedy="give it one of regex, jsonpath and csv"
    )


def _by_regex(source: str, data: bytes) -> Found:
    """The group ``value``, or the only group without a name; every other named group is a label."""
    pattern = compile_pattern(source)
    unnamed = sorted(set(range(1, pattern.groups + 1)) - set(pattern.groupindex.values()))
    if "value" not in pattern.groupindex and len(unnamed) != 1:
        raise SpecError(
            f"found {len(unnamed)} groups without a name in {source!r}, expected one, or one called"
            " value"
        )
    group = pattern.groupindex.get("value") or unnamed[0]
    for match in find(pattern, data.decode("utf-8", "replace")):
        labels = tuple(
            (key, found)
            for key, found in match.groupdict().items()
            if key != "value" and found is not None
        )
        yield labels, match[group]


def _by_jsonpath(path: str, data: bytes) -> Found:
    steps = parse_path(path)
    for value in select(last_document(data, "the program"), steps):
        yield (), value if isinstance(value, str) else json_number(value)


def _by_csv(table: Mapping[str, Json], data: bytes) -> Found:
    """A column by its heading; ``where`` keeps rows with those values, ``by`` makes labels of other
    columns.
    """
    column, where, by = (
        text(table, "column"),
        as_mapping(table.get("where")),
        [str(key) for key in as_sequence(table.get("by"))],
    )
    for row in _rows(data.decode("utf-8-sig", "replace"), text(table, "delimiter", ",")):
        if missing := [key for key in (column, *where, *by) if key not in row]:
            raise ParseError(
                f"the table has no column {missing[0]!r}, only {', '.join(map(repr, row))}"
            )
        if all(row[key] == str(value) for key, value in where.items()):
            yield tuple((key, row[key]) for key in by), row[column]


def _rows(table: str, delimiter: str) -> Iterable[dict[str, str]]:
    """Rows by heading; lines before the first row are not skipped, short rows are an error."""
    try:
        headings, *rows = [
            [cell.strip() for cell in row]
            for row in csv.reader(io.StringIO(table, newline=""), delimiter=delimiter)
            if row
        ] or [[]]
    except csv.Error as error:
        raise ParseError(f"the table is malformed: {error}") from error
    for row in rows:
        if len(row) != len(headings):
            raise ParseError(
                f"found a row of {len(row)} cells, expected {len(headings)} as in the heading"
            )
        yield dict(zip(headings, row, strict=True))


def _aggregate(name: str, aggregate: str, values: Sequence[str | float | None]) -> float:
    if aggregate == _COUNT:
        return float(len(values))
    numbers = [_number(name, value) for value in values]
    if aggregate == "only":
        if len(numbers) > 1:
            raise ParseError(
                f"{name}: found {len(numbers)} values, expected one",
                remedy="narrow the rule, or say how to aggregate them",
            )
        return numbers[0]
    try:
        return float(_AGGREGATES[aggregate](numbers))
    except OverflowError as error:
        raise ParseError(
            f"{name}: the {aggregate} of the values is too large to be real"
        ) from error


def _number(name: str, value: str | float | None) -> float:
    number = decimal(value) if isinstance(value, str) else value
    if number is None:
        raise ParseError(
            f"{name}: found {repr(value[:80]) if isinstance(value, str) else 'something else'},"
            " expected a number"
        )
    return number
