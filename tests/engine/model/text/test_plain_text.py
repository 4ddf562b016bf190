"""What belongs to terminals and shells and not to a tool is taken away, and nothing else."""

from __future__ import annotations

import gzip

import pytest

from benchspec.engine.model.text.plain_text import normalised

TEXT = "a 1 µs\nb 2\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r\r\n").encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        TEXT.replace("\n", "\r\n").encode("utf-16"),
    ],
)
def test_one_text(data: bytes) -> None:
    assert normalised(data) == TEXT.encode()


def test_what_is_packed_stays() -> None:
    packed = gzip.compress(b"a\r\nb")
    assert normalised(packed) == packed


def test_a_return_inside_a_line_stays() -> None:
    assert normalised(b"1 %\r2 %\n") == b"1 %\r2 %\n"
    assert normalised(b"cut between the two\r") == b"cut between the two"
