from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.model.errors import SpecError
from benchspec.engine.model.spec import Json
from benchspec.engine.model.text.jsonpath import parse_path, select

DOCUMENT: Json = {
    "a": {"b": [10, 20, 30], "odd key": {"x.y": 1}},
    "list": [{"v": 1}, {"v": 2}, {"w": 3}, 4],
    "text": "abc",
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$", [DOCUMENT]),
        ("$.a.b[0]", [10]),
        ("$.a.b[-1]", [30]),
        ("$.a.b[*]", [10, 20, 30]),
        ("$.a['odd key'][\"x.y\"]", [1]),
        ("$.list[*].v", [1, 2]),
        ("$.a['odd key'].*", [1]),
        ("$.a.b[3]", []),
        ("$.a.b[-4]", []),
        ("$.text[0]", []),
        ("$.text.a", []),
        ("$.nothing.at[0].all", []),
        ("$.list['v']", []),
    ],
)
def test_select(path: str, values: list[Json]) -> None:
    assert select(DOCUMENT, parse_path(path)) == values


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "$a",
        "$..a",
        "$[?(@.a)]",
        "$[1:2]",
        "$.a b",
        "$['a",
        "$[]",
        "$." + "a" * 300,
        "$.a\n",
    ],
)
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(SpecError, match="JSONPath"):
        parse_path(path)


@given(
    keys=st.lists(
        st.text(st.characters(exclude_characters="'"), max_size=10) | st.integers(0, 9), max_size=5
    )
)
def test_a_written_path_is_read_back(keys: list[str | int]) -> None:
    written = "$" + "".join(f"['{key}']" if isinstance(key, str) else f"[{key}]" for key in keys)
    assert list(parse_path(written)) == keys
