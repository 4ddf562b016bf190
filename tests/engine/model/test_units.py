"""Quantities: read strictly, written so that they read back the same, and never converted
silently.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.model.errors import SpecError, UnitError
from benchspec.engine.model.units import (
    LONGEST_QUANTITY,
    UNITS,
    Dimension,
    QuantityError,
    expectation,
    format_exact,
    parse_any,
    parse_quantity,
    scale_for,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("60 s", Dimension.TIME, 60.0),
        ("60s", Dimension.TIME, 60.0),
        ("1.5 ms", Dimension.TIME, 0.0015),
        ("5 min", Dimension.TIME, 300.0),
        ("3 µs", Dimension.TIME, 3e-6),
        ("2 d", Dimension.TIME, 172800.0),
        ("400 GiB", Dimension.BYTES, 400 * 2.0**30),
        ("1 MB", Dimension.BYTES, 1e6),
        ("1 KiB", Dimension.BYTES, 1024.0),
        ("10 Gbit/s", Dimension.BIT_RATE, 1e10),
        ("1 Mibit/s", Dimension.BIT_RATE, 2.0**20),
        ("60 MB/s", Dimension.BYTE_RATE, 6e7),
        ("500 1/s", Dimension.RATE, 500.0),
        ("2 k/s", Dimension.RATE, 2000.0),
        ("600 IOPS", Dimension.RATE, 600.0),
        ("2 %", Dimension.RATIO, 0.02),
        ("0.02", Dimension.RATIO, 0.02),
        (0.02, Dimension.RATIO, 0.02),
        (1, Dimension.RATIO, 1.0),
        ("1_000 s", Dimension.TIME, 1000.0),
        ("  5   s  ", Dimension.TIME, 5.0),
        ("1e3 B", Dimension.BYTES, 1000.0),
        (".5 s", Dimension.TIME, 0.5),
        ("-3 s", Dimension.TIME, -3.0),
        ("+3 s", Dimension.TIME, 3.0),
    ],
)
def test_values_in_base_units(text: str | float, dimension: Dimension, value: float) -> None:
    assert parse_quantity(text, dimension) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "dimension", "hint"),
    [
        ("10 Mb", Dimension.BYTES, "did you mean 'MB'?"),
        ("10 Gbps", Dimension.BIT_RATE, "did you mean 'Gbit/s'?"),
        ("10 Gbps", Dimension.BYTE_RATE, "did you mean 'GB/s'?"),
        ("4k", Dimension.BYTES, "did you mean 'KiB' or 'kB'?"),
        ("16 Gi", Dimension.BYTES, "did you mean 'GiB'?"),
        ("5 sec", Dimension.TIME, "did you mean 's'?"),
        ("2 percent", Dimension.RATIO, "did you mean '%'?"),
        ("100 iops", Dimension.RATE, "did you mean 'IOPS'?"),
        ("1 fortnight", Dimension.TIME, ""),
        ("10 MB", Dimension.BIT_RATE, "did you mean 'Mbit/s'?"),
        ("10 M", Dimension.BYTES, "did you mean 'MiB' or 'MB'?"),
        ("1 KB", Dimension.BYTES, "did you mean 'kB'?"),
    ],
)
def test_near_misses_are_refused_with_what_was_probably_meant(
    text: str, dimension: Dimension, hint: str
) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text, dimension)
    assert caught.value.hint == hint
    assert caught.value.expected == expectation(dimension)
    assert isinstance(caught.value, UnitError | SpecError)
    assert str(caught.value).startswith("found ")


NO_TIMES = [
    True,
    60,
    60.5,
    "60",
    "s",
    "",
    "sixty s",
    "1 2 s",
    "1,5 s",
    "nan s",
    "inf s",
    "9" * 400 + " s",
    "1 s" + " " * 99 + "x",
]


@pytest.mark.parametrize("value", NO_TIMES)
def test_what_is_no_time(value: str | float) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(value, Dimension.TIME)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, True, "1e999"])
def test_what_is_no_ratio(value: float) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(value, Dimension.RATIO)


def test_any_dimension() -> None:
    assert parse_any("60 MB/s") == (6e7, Dimension.BYTE_RATE)
    refused = {
        "60": "'60' without a unit",
        "60 gbps": "unknown unit 'gbps' in '60 gbps'",
        "x": "'x'",
        "1e308 GB": "'1e308 GB', which is not finite",
    }
    for text, said in refused.items():
        with pytest.raises(QuantityError) as caught:
            parse_any(text)
        assert caught.value.found == said
    with pytest.raises(QuantityError, match="did you mean 'Gbit/s' or 'GB/s'"):
        parse_any("60 gbps")


@given(FINITE, st.sampled_from(list(Dimension)))
def test_what_is_written_reads_back_the_identical_float(value: float, dimension: Dimension) -> None:
    assert parse_quantity(format_exact(value, dimension), dimension) == value


@given(FINITE, st.sampled_from(sorted(UNITS)))
def test_a_unit_is_read_in_its_dimension_and_no_other(value: float, unit: str) -> None:
    dimension, factor = UNITS[unit]
    text = f"{value!r} {unit}"
    for other in Dimension:
        if other is not dimension:
            with pytest.raises(QuantityError):
                parse_quantity(text, other)
    if math.isfinite(value * factor):
        assert parse_quantity(text, dimension) == value * factor
        assert parse_any(text) == (value * factor, dimension)


@given(st.text(max_size=2 * LONGEST_QUANTITY), st.sampled_from(list(Dimension)))
def test_any_text_is_a_finite_number_or_a_short_refusal(text: str, dimension: Dimension) -> None:
    try:
        told = str(parse_quantity(text, dimension))
    except QuantityError as error:
        told = str(error)
    assert told not in ("nan", "inf", "-inf")
    assert len(told) < 20 * LONGEST_QUANTITY


def test_bits_and_bytes_decimal_and_binary_are_four_different_things() -> None:
    assert parse_quantity("1 MB", Dimension.BYTES) == 1_000_000
    assert parse_quantity("1 MiB", Dimension.BYTES) == 1_048_576
    for text, dimension in (
        ("1 Mbit/s", Dimension.BYTE_RATE),
        ("1 MB/s", Dimension.BIT_RATE),
        ("1 MB", Dimension.BYTE_RATE),
    ):
        with pytest.raises(QuantityError):
            parse_quantity(text, dimension)


@given(st.lists(FINITE, max_size=5), st.sampled_from(list(Dimension)))
def test_one_scale_fits_the_largest_value(values: list[float], dimension: Dimension) -> None:
    factor, unit = scale_for(values, dimension)
    assert UNITS[unit] == (dimension, factor)
    largest = max((abs(value) for value in values), default=0.0)
    smaller = [f for d, f in UNITS.values() if d is dimension and f <= largest]
    assert largest >= factor or not [f for f in smaller if f >= factor]


def test_scales_that_people_expect() -> None:
    assert scale_for([0.0023, 0.01], Dimension.TIME) == (1e-3, "ms")
    assert scale_for([1.2e9], Dimension.BIT_RATE) == (1e9, "Gbit/s")
    assert scale_for([], Dimension.BYTES) == (1.0, "B")
    assert scale_for([math.nan, 5e7], Dimension.BYTE_RATE) == (1e6, "MB/s")
