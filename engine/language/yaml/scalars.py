"""What a plain YAML scalar means: YAML 1.2's core schema, and an error for everything that YAML 1.1
reads differently.

``yes``, ``0755`` and ``1:30`` are a boolean, 493 and 90 to one reader and texts to another, so they
are refused with the spelling that every reader understands. Dates stay texts. See
https://yaml.org/spec/1.2.2/ chapter 10.3.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

LONGEST_NUMBER = 64


@dataclass(frozen=True, slots=True)
class Trap:
    """A scalar that readers of YAML disagree about: the code of the diagnostic, what it is, what to
    do, and the text as written.
    """

    code: str
    found: str
    hint: str
    text: str


_CONSTANTS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
}
_BOOLEANS = {
    "yes": "true",
    "on": "true",
    "true": "true",
    "no": "false",
    "off": "false",
    "false": "false",
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII
)
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+(?:\.[0-9_]*)?", re.ASCII)
_OTHER_BASE = re.compile(r"[-+]?0(?:x[0-9a-fA-F_]+|o[0-7_]+|b[01_]+)", re.ASCII)
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_GROUPED = re.compile(r"(?=.*_)[-+]?\.?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)", re.ASCII)
_NUMERIC_START = frozenset("+-.0123456789")


@lru_cache(maxsize=8192)
def plain_value(text: str) -> str | int | float | bool | Trap | None:
    """The value of the plain (unquoted) scalar ``text``, or why it is refused."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if text[0] in _NUMERIC_START:
        return _number(text)
    meant = _BOOLEANS.get(text.lower())
    if meant is not None:
        return Trap(
            "BS011", text, f'write {meant} for a boolean, "{text}" in quotes for a text', text
        )
    return text


def _number(text: str) -> str | int | float | Trap:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        return (
            value
            if math.isfinite(value)
            else Trap("BS019", f"{text}, which is too large", "write a number below 1e308", text)
        )
    if _NOT_FINITE.fullmatch(text):
        return Trap("BS019", text, "leave the key out where there is no number", text)
    for pattern, what in _AMBIGUOUS:
        if pattern.fullmatch(text):
            return Trap(
                "BS012",
                f"{text}, {what}",
                f'write a decimal number without it, or "{text}" in quotes for a text',
                text,
            )
    return text


_AMBIGUOUS = (
    (_LEADING_ZERO, "which some readers take for octal"),
    (_OTHER_BASE, "a number in another base"),
    (_SEXAGESIMAL, "which some readers take for a number in base 60"),
    (_GROUPED, "which some readers take for a number and others for a text"),
)
