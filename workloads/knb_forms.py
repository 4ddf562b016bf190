"""The forms that knb writes a result in, as one: the shape of its JSON.

``-o json`` is written by ``echo``: a test that failed leaves ``"bandwidth": ,``, a test that was not asked for a comma before the closing brace, and
versions before 1.5 a carriage return inside strings. All of that is read; a document that is cut is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ..engine.errors import ParseError
from ..engine.spec import Json
from .documents import as_mapping, quote
from .knb_archive import read_archive
from .knb_text import read_text

MAX_INPUT = 64 * 2**20
"""Larger results are not read: B. Real ones have some 5 KB."""

_GZIP = b"\x1f\x8b"
# a whole string, a colon with nothing behind it, or a comma with nothing behind it
_GAPS = re.compile(r'("(?:[^"\\]|\\.)*")|:(?=\s*[,}])|,(?=\s*[}\]])', re.DOTALL)


def read(data: bytes) -> Mapping[str, Json]:
    """The result as knb's JSON would be if it were always whole; what was not measured is null or absent.

    Raises:
        ParseError: it is none of knb's forms, or broken.
    """
    if len(data) > MAX_INPUT:
        raise ParseError(f"found {len(data)} B, expected at most {MAX_INPUT}: this is no result of knb")
    if data.startswith(_GZIP):
        return read_archive(data)
    text = data.decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip().startswith("{"):
        return _read_json(text)
    if "Benchmark Results" in text:
        return read_text(text)
    raise ParseError(f"found no JSON, data or text of knb: {quote(data)}", remedy="write the result with `knb -o json -f FILE`")


def _read_json(text: str) -> Mapping[str, Json]:
    try:
        return as_mapping(json.loads(_GAPS.sub(lambda gap: gap[1] or (": null" if gap[0] == ":" else ""), text), strict=False))
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1].strip()
        message = f"knb's JSON is broken at line {error.lineno} column {error.colno}: {error.msg}; the line is {line[:80]!r}"
        raise ParseError(message, remedy="the run was probably stopped; `knb -o data` keeps what was measured") from error
    except (ValueError, RecursionError) as error:
        raise ParseError("knb's JSON is nested too deeply, or has numbers too long to be real") from error
