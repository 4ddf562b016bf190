"""The forms that knb writes a result in, as one: the shape of its JSON.

``-o json`` is written by ``echo``: a test that failed leaves ``"bandwidth": ,``, a test that was
not asked for a comma before the closing brace, and versions before 1.5 a carriage return inside
strings. All of that is read; a document that is cut is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import yaml

from ...model.errors import ParseError
from ...model.spec import Json
from ...model.text.json_output import as_mapping, quote
from .archive import read_archive
from .figures import figure
from .text import read_text

MAX_INPUT = 64 * 2**20
"""Larger results are not read: B. Real ones have some 5 KB."""

_FIGURES = frozenset(("bandwidth", "total", "user", "nice", "system", "iowait", "steal", "ram"))
_GZIP = b"\x1f\x8b"
# a whole string, a colon with nothing behind it, or a comma with nothing behind it
_GAPS = re.compile(
    r'("(?:[^"\\]|\\.)*")|:(?=\s*[,}])|,(?=\s*[}\]])|[+-]?(?:nan|inf)\b', re.DOTALL | re.IGNORECASE
)


def read(data: bytes) -> Mapping[str, Json]:
    """The result as knb's JSON would be if it were always whole; what was not measured is null or
    absent.

    Raises:
        ParseError: it is none of knb's forms, or broken.
    """
    if len(data) > MAX_INPUT:
        raise ParseError(
            f"found {len(data)} B, expected at most {MAX_INPUT}: this is no result of knb"
        )
    if data.startswith(_GZIP):
        return read_archive(data)
    text = data.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        return _read_json(text)
    if "Benchmark Results" in text:
        return read_text(text)
    if re.search(r"^metadata:$", text, re.MULTILINE):
        return _read_yaml(text)
    raise ParseError(
        f"found no JSON, YAML, data or text of knb: {quote(data)}",
        remedy="write the result with `knb -o json -f FILE`",
    )


def _filled(gap: re.Match[str]) -> str:
    """A string as it is, null for what has no value or the nan of awk, nothing for a lost comma."""
    return gap[1] or {":": ": null", ",": ""}.get(gap[0], "null")


def _read_json(text: str) -> Mapping[str, Json]:
    try:
        return as_mapping(
            json.loads(
                _GAPS.sub(_filled, text),
                strict=False,
            )
        )
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1].strip()
        message = (
            f"knb's JSON is broken at line {error.lineno} column {error.colno}: {error.msg}; the"
            f" line is {line[:80]!r}"
        )
        raise ParseError(
            message, remedy="the run was probably stopped; `knb -o data` keeps what was measured"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ParseError(
            "knb's JSON is nested too deeply, or has numbers too long to be real"
        ) from error


def _read_yaml(text: str) -> Mapping[str, Json]:
    """``-o yaml``: the same keys. Read without tags, so that nothing is built of what it says."""
    try:
        document = yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ParseError(
            f"knb's YAML is broken: {quote(str(error).encode())}",
            remedy="the run was probably stopped; `knb -o data` keeps what was measured",
        ) from error
    if not text.endswith("\n"):
        raise ParseError("knb's YAML is cut: its last line has no end")
    return as_mapping(_with_numbers(document))


def _with_numbers(value: object) -> Json:
    """The figures of tests as numbers; all texts of YAML's plainest schema are strings."""
    if isinstance(value, dict):
        return {
            str(key): figure(inner.strip(), str(key))
            if key in _FIGURES and isinstance(inner, str)
            else _with_numbers(inner)
            for key, inner in value.items()
        }
    return value if isinstance(value, str) else None
