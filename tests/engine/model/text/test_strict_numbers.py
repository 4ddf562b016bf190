import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.model.spec import Json
from benchspec.engine.model.text.strict_numbers import decimal, json_count, json_number


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), (" -1.50 ", -1.5), (".5", 0.5), ("2.", 2.0), ("1e3", 1000.0), ("+7", 7.0)],
)
def test_plain_numbers(text: str, value: float) -> None:
    assert decimal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "nan",
        "-nan",
        "inf",
        "Infinity",
        "1_000",
        "0x10",
        "1,5",
        "1e999",
        "N/A",
        "１",
        "1 2",
        "9" * 400,
    ],
)
def test_everything_else_is_not_measured(text: str) -> None:
    assert decimal(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes_is_read_back(value: float) -> None:
    assert decimal(repr(value)) == value
    assert json_number(json.loads(json.dumps(value))) == value


@given(st.text())
def test_no_text_raises(text: str) -> None:
    assert decimal(text) is None or isinstance(decimal(text), float)
    assert json_count(text) is None or isinstance(json_count(text), int)


@pytest.mark.parametrize("value", [True, None, "1", [], {}, float("nan"), float("inf"), 10**400])
def test_no_json_number(value: Json) -> None:
    assert json_number(value) is None


@pytest.mark.parametrize(("value", "count"), [(48, 48), ("17988", 17988), (3.0, 3), (0, 0)])
def test_counts(value: Json, count: int) -> None:
    assert json_count(value) == count


@pytest.mark.parametrize("value", [-1, 1.5, True, "-1", "1.0", "", "9" * 30, None, "²"])
def test_no_counts(value: Json) -> None:
    assert json_count(value) is None
