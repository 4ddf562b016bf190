from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.spec import Json
from benchspec.engine.model.text.json_output import child, figure, last_document, quote


@pytest.mark.parametrize(
    ("data", "document"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'note: text\n{"a": 1}\ntext after: {x}\n', {"a": 1}),
        (b'{"a": 1}\n{"a": 2}\n', {"a": 2}),
        (b'{"a": 1}{"a": 2}', {"a": 1}),
        (b'[  5] local 127.0.0.1\n[ID] Interval\n{"a": 1}\n', {"a": 1}),
        (b'PVC created\n[\n  {"a": 1}\n]\nElapsed time- 3s\n', [{"a": 1}]),
        (b'  {"a": {"b": [1, 2]}}', {"a": {"b": [1, 2]}}),
        (
            b'{"a": -nan, "b": nan, "c": [inf, -Infinity], "d": NaN}',
            {"a": None, "b": None, "c": [None, None], "d": None},
        ),
        (b'{"a": "x: nan,"}', {"a": "x: nan,"}),
        (b'{"0.00": 0, "0.00": 0, "a": "\\u003e=64"}', {"0.00": 0, "a": ">=64"}),
        (b'{"a": "\xff"}', {"a": "�"}),
    ],
)
def test_the_last_document_is_found(data: bytes, document: Json) -> None:
    assert last_document(data, "x") == document


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "found no JSON in the output of x: nothing"),
        (b"\xff\x00plain text", "found no JSON in the output of x: '"),
        (b"[  5] local", "found no JSON"),
        (b'{"a": 1', "cut or malformed: .* at line 1"),
        (b'{"a": 1}\n{"a": {\n  "b": 2\n', "cut or malformed: .* at line"),
        (b'{"a": ' + b"9" * 5000 + b"}", "numbers too long to be real"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"{\n" * 1000, "cut or malformed"),
    ],
)
def test_what_is_no_document_says_so(data: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        last_document(data, "x")


def test_a_whole_document_after_a_broken_one_counts() -> None:
    assert last_document(b'{"a": \n  x\n{"a": 2}', "x") == {"a": 2}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"  \n\n", "nothing"),
        (b"a\n\nb\na\n", "'a | b'"),
        (b"a\x1b[0m", "'a?[0m'"),
        (b"x" * 300, f"'{'x' * 100} ... {'x' * 100}'"),
    ],
)
def test_quotes_are_short_and_printable(data: bytes, text: str) -> None:
    assert quote(data) == text


@given(
    value=st.none()
    | st.booleans()
    | st.text()
    | st.floats(max_value=-1e-300)
    | st.just(float("inf"))
    | st.just(10**400)
)
def test_what_is_no_figure_is_absent(value: Json) -> None:
    assert figure({"a": value}, "a") is None
    assert figure({}, "a") is None


def test_child_of_what_is_not_there_is_empty() -> None:
    assert child({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert child({"a": [1]}, "a", "b") == {}
    assert child(None, "a") == {}
