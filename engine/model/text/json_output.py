"""JSON documents inside what a tool printed: text before, between and after them is skipped, and a
cut document is an error.

A document starts at a line that begins with ``{``, or with ``[`` before a ``{``, as every tool here
prints it. fio and iperf3 put notes on the same stream (``note: both iodepth >= 1 ...``, ``iperf3:
error - ...``), and fio prints one document per ``--status-interval``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ..errors import ParseError
from ..spec import Json
from .strict_numbers import json_number

_START = re.compile(r"^[ \t]*(?:\{|\[(?=\s{0,99}\{))", re.MULTILINE)
_NOT_A_NUMBER = re.compile(
    r"(?<=[:\[,])(\s*)[+-]?(?:nan|inf(?:inity)?)(?=\s*[,}\]\n\r])", re.IGNORECASE
)
_FAILURES = 32
"""Lines that look like a start and are not; bounds the work on hostile text, in which every line
may look like one.
"""

_decoder = json.JSONDecoder(parse_constant=lambda _: None)


def last_document(data: bytes, producer: str) -> Json:
    """The last JSON document in ``data``; ``producer`` names the tool in messages. A figure such as
    ``-nan`` reads as null.

    Raises:
        ParseError: there is no document, or the last one is cut or malformed (an earlier one would
            be an interim result).
    """
    return documents(data, producer)[-1]


def only_document(data: bytes, producer: str) -> Json:
    """The one JSON document in ``data``.

    Raises:
        ParseError: there is none, one is cut or malformed, or there are several: results of several
            runs that were appended to one file.
    """
    found = documents(data, producer)
    if len(found) > 1:
        raise ParseError(
            f"found {len(found)} results of {producer} in one output, expected one",
            remedy="keep the output of every run in a file of its own",
        )
    return found[0]


def documents(data: bytes, producer: str) -> list[Json]:
    """Every whole document in ``data``, in order, at least one.

    Raises:
        ParseError: there is none, or the last one is cut or malformed.
    """
    text = data.decode("utf-8", "replace")
    found, broken = _all(text)
    if broken is not None and _NOT_A_NUMBER.search(text):
        found, broken = _all(_NOT_A_NUMBER.sub(r"\1null", text))
    if broken is not None:
        raise ParseError(
            f"the JSON that {producer} printed is cut or malformed: {broken}",
            remedy="the tool was probably stopped",
        )
    if not found:
        raise ParseError(f"found no JSON in the output of {producer}: {quote(data)}")
    return found


def _all(text: str) -> tuple[list[Json], str | None]:
    """The documents, and what is wrong when the last one is broken."""
    found: list[Json] = []
    broken: str | None = None
    for document, problem in _documents(text):
        if problem is None:
            found.append(document)
            broken = None
        else:
            broken = problem
    return found, broken


def _documents(text: str) -> Iterator[tuple[Json, str | None]]:
    """Each document, or what is wrong with it."""
    position, failures = 0, 0
    while failures < _FAILURES and (start := _START.search(text, position)) is not None:
        opening = start.end() - 1
        try:
            document, position = _decoder.raw_decode(text, opening)
            yield document, None
        except (ValueError, RecursionError) as error:
            yield None, _describe(error, opening)
            position, failures = _next_flush_left(text, start.end()), failures + 1


def _describe(error: ValueError | RecursionError, opening: int) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    return (
        f"the document at character {opening} is nested too deeply or has numbers too long to be"
        " real"
    )


def _next_flush_left(text: str, position: int) -> int:
    """Skip the inside of a broken document: its inner lines are indented, the next document is
    not.
    """
    following = text.find("\n{", position)
    return len(text) if following < 0 else following


def quote(data: bytes, limit: int = 200) -> str:
    """Beginning and end of ``data`` for a message: printable, each line once, or ``nothing``."""
    lines = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
    text = " | ".join(dict.fromkeys(line for line in lines if line))
    printable = "".join(c if c.isprintable() else "?" for c in text)
    if not printable:
        return "nothing"
    return (
        f"'{printable}'"
        if len(printable) <= limit
        else f"'{printable[: limit // 2]} ... {printable[-limit // 2 :]}'"
    )


def as_mapping(value: Json) -> Mapping[str, Json]:
    """``value`` if it is a JSON object, else an empty one: what is not there has not been
    measured.
    """
    return value if isinstance(value, Mapping) else {}


def as_sequence(value: Json) -> Sequence[Json]:
    """``value`` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list | tuple) else ()


def figure(block: Mapping[str, Json], key: str) -> float | None:
    """The finite number at ``key`` that is not negative; None for anything else: it has not been
    measured.
    """
    number = json_number(block.get(key))
    return number if number is not None and number >= 0 else None


def child(value: Json, *keys: str) -> Mapping[str, Json]:
    """The object at ``keys`` below ``value``; an empty one when any step is missing or no
    object.
    """
    for key in keys:
        value = as_mapping(value).get(key)
    return as_mapping(value)
