from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.reports.wording.numbers import (
    Percent,
    Scale,
    decimals_for,
    plain_decimals,
    scale_column,
    write_declared,
    write_number,
    write_p,
    write_sequences,
    write_share,
)

FINITE = st.floats(min_value=1e-9, max_value=1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("half_width", "decimals"),
    [
        (2.95, 1),
        (0.73, 2),
        (15.2, 0),
        (0.0094, 4),
        (310.0, -1),
        (1.0, 1),
        (0.0, 0),
        (math.inf, 0),
        (math.nan, 0),
    ],
)
def test_two_digits_of_the_half_width_are_shown(half_width: float, decimals: int) -> None:
    assert decimals_for(half_width) == decimals


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (-13.031, 2, "\u221213.03"),
        (93.08, 1, "93.1"),
        (149203.0, -2, "149\u202f200"),
        (9999.0, 0, "9999"),
        (0.0, 1, "0.0"),
        (-0.04, 1, "0.0"),
    ],
)
def test_numbers_are_written_with_a_real_minus_and_spaced_thousands(
    value: float, decimals: int, shown: str
) -> None:
    assert write_number(value, decimals) == shown


def test_a_sign_is_written_on_request_and_never_on_zero() -> None:
    assert write_number(2.0, 1, sign=True) == "+2.0"
    assert write_number(0.01, 1, sign=True) == "0.0"


@given(FINITE)
def test_the_last_bits_of_a_value_do_not_change_what_is_shown(value: float) -> None:
    decimals = plain_decimals(value)
    assert (
        plain_decimals(math.nextafter(value, math.inf)) == decimals
        or math.log10(value).is_integer()
    )
    assert write_number(math.nextafter(value, math.inf), decimals) == write_number(value, decimals)


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ([1.02e9, 0.89e9], "bit/s", Scale(factor=1e9, unit="Gbit/s")),
        ([58.1e6], "B/s", Scale(factor=1e6, unit="MB/s")),
        ([0.0214], "s", Scale(factor=1e-3, unit="ms")),
        ([0.31], "ratio", Scale(factor=0.01, unit="%")),
        ([500.0], "1", Scale(factor=1.0, unit="")),
        ([500.0], "furlong", Scale(factor=1.0, unit="furlong")),
        ([], "s", Scale(factor=1.0, unit="")),
    ],
)
def test_a_column_has_one_unit(values: list[float], unit: str, expected: Scale) -> None:
    assert scale_column(values, unit) == expected


def test_an_interval_decides_the_digits() -> None:
    scale = Scale(factor=1e9, unit="Gbit/s")
    assert scale.interval(1.02e9, 1.01674e9, 1.02721e9) == ("1.0167 to 1.0272", 4)
    assert scale.interval(0.004e9, -0.3e9, 0.4e9) == ("\u22120.300 to 0.400", 3), (
        "the centre would read as 0.00"
    )
    assert scale.interval(0.0, -0.3e9, 0.4e9)[1] == 2
    assert scale.quantity(1.25e9) == "1.250 Gbit/s"
    assert scale.declared(1.25e9) == "1.25 Gbit/s"


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (0.9885, "98.8 %"),
        (0.9993, "99.9 %"),
        (0.99996, "99.99 %"),
        (1.0, "100 %"),
        (1.0001, "100 %"),
        (0.0, "0 %"),
        (2.48, "248 %"),
    ],
)
def test_a_share_is_never_rounded_up_to_the_whole(ratio: float, shown: str) -> None:
    assert write_share(ratio) == shown


def test_declared_ratios_keep_their_digits() -> None:
    assert [write_declared(r) for r in (0.02, 0.95, 0.001, 0.025)] == [
        "2 %",
        "95 %",
        "0.1 %",
        "2.5 %",
    ]


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.0, "< 0.001"),
        (0.000999, "< 0.001"),
        (0.0123, "= 0.012"),
        (0.31, "= 0.31"),
        (1.0, "= 1.00"),
    ],
)
def test_a_p_value_is_never_zero(p: float, shown: str) -> None:
    assert write_p(p) == shown


def test_a_p_value_stays_on_its_side_of_the_level() -> None:
    assert (write_p(0.04996), write_p(0.0504), write_p(0.05)) == (
        "= 0.04996",
        "= 0.0504",
        "= 0.050",
    )
    assert (write_p(0.009999, 0.01), write_p(0.0101, 0.01)) == ("= 0.009999", "= 0.0101")


@given(st.floats(min_value=0.001, max_value=1.0))
def test_what_is_written_of_a_p_value_decides_as_it_does(p: float) -> None:
    assert (float(write_p(p).removeprefix("= ")) < 0.05) == (p < 0.05)


def test_percent_follows_the_interval() -> None:
    percent = Percent.of(1.931, 1.902, 1.961)
    assert (percent.size(), percent.size_interval()) == ("93.1 %", "90.2 % to 96.1 %")
    lower = Percent.of(0.88, 0.86, 0.9)
    assert (lower.signed(), lower.signed_interval(), lower.size_interval()) == (
        "\u221212.0 %",
        "\u221214.0 % to \u221210.0 %",
        "10.0 % to 14.0 %",
    )


def test_percent_without_an_interval_has_no_interval_words() -> None:
    percent = Percent.of(1.0117, None, None)
    assert (percent.signed(), percent.signed_interval(), percent.size_interval()) == (
        "+1.17 %",
        "",
        "",
    )


@given(st.floats(min_value=1e-5, max_value=0.5), st.floats(min_value=1e-3, max_value=0.5))
def test_an_interval_off_zero_is_never_written_with_a_zero_bound(
    nearest: float, width: float
) -> None:
    percent = Percent.of(1 + nearest + width / 2, 1 + nearest, 1 + nearest + width)
    assert percent.size_interval().split(" ")[0].strip("0.") != ""


@given(st.sets(st.integers(min_value=0, max_value=300)))
def test_sequences_are_joined_and_nothing_is_lost(numbers: set[int]) -> None:
    found: set[int] = set()
    for part in filter(None, write_sequences(numbers).split(", ")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    assert found == numbers
