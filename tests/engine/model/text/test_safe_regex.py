from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.model.errors import SpecError
from benchspec.engine.model.text.safe_regex import MAX_LINE, compile_pattern, find

USEFUL = [
    r"took ([0-9.]+) ms",
    r"^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$",
    r"(?P<cpu>cpu\d+): (?P<value>\d+(?:\.\d+)?)",
    r"latency=(\d+\.?\d*)\s*(?:ms|us)",
    r"\[SUM\].*?(\d+\.\d+) Gbits/sec",
    r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})",
    r"^([^,]*),([^,]*),([^,]*),([^,]*)$",
    r"a{2}b{2,}(?:cd)*[]x^-]+\$",
    r"rate: ([\d.]+)(?:k|M)?B?/s",
]
EXPLOSIVE = [
    r"(a+)+$",
    r"(a*)*",
    r"(a|a)*$",
    r"(a|aa)+$",
    r"(?:a?){40}a{40}",
    r"(\w+\s*)+:",
    r"a*a*a*b",
    r".*.*.*x",
    r"\d*\d*[0-9]*x",
    r".*\w+.*(\d+).*",
    r"a?a?a?a?a?a?a?a?a?aaaa",
    r"(a|b)(a|c)(a|d)(a|e)(a|f)(a|g)(a|h)(a|i)(a|j)(a|k)",
    r"(?:ab)*(?:ab)*(?:ab)*x",
    r"[^x]*é*[中-龥é]*é*y",
]
OUTSIDE = [
    r"(?=a)b",
    r"(?<!a)b",
    r"(a)\1",
    r"(?P<x>a)(?P=x)",
    r"(?i)a",
    r"(?>a)",
    r"(?#c)a",
    r"\x41",
    r"\u0041",
    r"(?(1)a|b)",
]
MALFORMED = [r"(", r"a**", r"[", r"*", r"(?P<1>a)", r"a{3,2}", r"\\\\\\(", r"(?P<a>x)(?P<a>y)"]


@pytest.mark.parametrize("pattern", USEFUL)
def test_useful_patterns_are_taken(pattern: str) -> None:
    assert compile_pattern(pattern).pattern == pattern


@pytest.mark.parametrize("pattern", EXPLOSIVE)
def test_explosive_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(SpecError, match=r"could take very long|inside a repeated group"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", OUTSIDE)
def test_patterns_outside_the_subset_are_refused(pattern: str) -> None:
    with pytest.raises(SpecError, match=r"of the pattern|malformed"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", MALFORMED)
def test_malformed_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(SpecError, match=r"malformed|expected only"):
        compile_pattern(pattern)


def test_long_patterns_are_refused() -> None:
    with pytest.raises(SpecError, match="found a pattern of 301 characters"):
        compile_pattern("a" * 301)


PIECES = [
    *(
        "a",
        "b",
        ".",
        r"\w",
        r"\s",
        "[ab]",
        "[^a]",
        "(a)",
        "(?:ab)",
        "(a|b)",
        "(",
        ")",
        "|",
        "^",
        "$",
        r"\b",
    ),
    *("*", "+", "?", "{2}", "{1,3}", "{,9}", "{", "*?", "++"),
]


@given(pattern=st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(max_examples=400, deadline=None)
def test_any_text_is_refused_or_matches_in_bounded_time(pattern: str) -> None:
    """What is accepted takes at most n^3 steps on a line of n characters: well under a second for
    60.
    """
    try:
        compiled = compile_pattern(pattern)
    except SpecError:
        return
    assert isinstance(compiled, re.Pattern)
    for line in ("a" * 60 + "!", "ab" * 30 + "!", " " * 60 + "!"):
        started = time.process_time()
        find(compiled, line)
        assert time.process_time() - started < 2


def test_a_refused_pattern_would_indeed_have_taken_long() -> None:
    """The limit is not idle: 24 characters already take this many steps, 60 would take years."""
    started = time.process_time()
    re.search(r"(a|a)*$", "a" * 20 + "!")
    assert time.process_time() - started > 0.01


def test_lines_are_searched_one_by_one_and_long_ones_not_at_all() -> None:
    pattern = compile_pattern(r"^x(\d)$")
    assert [match[1] for match in find(pattern, "x1\nx2\r\n" + "y" * MAX_LINE + "x3\nx4")] == [
        "1",
        "2",
        "4",
    ]
