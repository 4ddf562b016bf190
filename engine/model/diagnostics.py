"""What is wrong with a spec and where: problems by path, diagnostics by line, and the error that
carries them.

Specs are hostile input: every text that comes from one is escaped and shortened before it enters a
message.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TypeAlias

from .errors import SpecError

Path: TypeAlias = tuple[str | int, ...]
"""Where a value lies in a document: the keys and list indices that lead to it."""

LONGEST_QUOTE = 80
LONGEST_PATH = 300
MOST_ALTERNATIVES = 12
MOST_COMPARED = 300
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)


class Severity(StrEnum):
    """How much a diagnostic weighs; only an error makes a spec unusable."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class At(StrEnum):
    """Which part of the text a problem points at: the value, its key, or the key (or item) that
    holds the mapping.
    """

    VALUE = "value"
    KEY = "key"
    HOLDER = "holder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong at ``path`` of a document; :mod:`benchspec.engine.language.load` finds its
    line and severity.
    """

    code: str
    path: Path
    found: str
    expected: str
    hint: str = ""
    at: At = At.VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A problem with its place: ``line`` and ``column`` count from 1; ``excerpt`` is that line,
    ``caret`` the offset in it to point at.
    """

    code: str
    severity: Severity
    path: str
    file: str
    line: int
    column: int
    found: str
    expected: str
    hint: str = ""
    excerpt: str = ""
    caret: int = 0

    @property
    def message(self) -> str:
        """``found X, expected Y; hint``."""
        text = (
            f"found {self.found}, expected {self.expected}"
            if self.expected
            else f"found {self.found}"
        )
        return f"{text}; {self.hint}" if self.hint else text

    def __str__(self) -> str:
        suffix = "" if self.severity is Severity.ERROR else f" ({self.severity})"
        head = (
            f"{escape(self.file, LONGEST_PATH)}:{self.line}:{self.column} [{self.code}]"
            f" {self.path}: {self.message}{suffix}"
        )
        return f"{head}\n  | {self.excerpt}\n  | {' ' * self.caret}^" if self.excerpt else head


class InvalidSpec(SpecError):
    """A spec with at least one error (exit 2). ``diagnostics`` holds every problem found, warnings
    too, in order of place.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """``diagnostics`` by place, then code, each once; those of the command line (``--set``) come
    last.
    """
    return tuple(
        sorted(
            dict.fromkeys(diagnostics),
            key=lambda d: (
                d.file.startswith("--set"),
                d.file,
                d.line,
                d.column,
                d.code,
                d.path,
                d.found,
            ),
        )
    )


def escape(text: str, longest: int = LONGEST_QUOTE) -> str:
    """``text`` without anything a terminal would obey, at most ``longest`` characters."""
    shown = text if len(text) <= longest else text[: longest - 3] + "..."
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode("ascii")
        for c in shown
    )


def quote(value: object) -> str:
    """``value`` as it may appear in a message: texts in quotes, mappings and lists by their size
    only.
    """
    if isinstance(value, str):
        return f'"{escape(value)}"'
    if isinstance(value, dict):
        return f"a mapping with {len(value)} keys" if len(value) != 1 else "a mapping with 1 key"
    if isinstance(value, list | tuple):
        return f"a list with {len(value)} items" if len(value) != 1 else "a list with 1 item"
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    return escape(
        format(value, ".17g")
        if isinstance(value, float) and not isinstance(value, int)
        else _digits(value)
    )


def _digits(value: object) -> str:
    """A whole number as text; Python refuses to print one of thousands of digits."""
    return (
        f"a number of {value.bit_length()} bits"
        if isinstance(value, int) and value.bit_length() > 256
        else str(value)
    )


def path_text(path: Path) -> str:
    """``$.targets.aks.limits[0]``: the JSONPath of ``path``; unusual keys in brackets and
    quotes.
    """
    return escape("$" + "".join(_step(step) for step in path), LONGEST_PATH)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f'["{escape(step)}"]'


def alternatives(known: Iterable[str], conjunction: str = "one of ") -> str:
    """The names in ``known`` for a message, shortened when there are many."""
    names = list(known)
    if not names:
        return "none"
    shown = ", ".join(escape(name) for name in names[:MOST_ALTERNATIVES])
    rest = len(names) - MOST_ALTERNATIVES
    listed = f"{shown} and {rest} more" if rest > 0 else shown
    return listed if len(names) == 1 else conjunction + listed


OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "blocksize": ("bs",),
    "filename": ("path",),
    "ioengine": ("engine",),
    "iterations": ("trials", "sessions"),
    "jobs": ("numjobs",),
    "k8s": ("kubernetes",),
    "localhost": ("local",),
    "queuedepth": ("iodepth",),
    "repeat": ("sessions", "trials"),
    "repetitions": ("sessions", "trials"),
    "runs": ("sessions", "trials"),
    "storageclass": ("class", "storage"),
    "storageclassname": ("class", "storage"),
    "threads": ("numjobs",),
}
"""What other programs call a thing, and its names here: the first that is known at a place is
meant there, however near another looks.
"""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """``did you mean "x"?`` for the nearest of ``known``, or nothing. Case and the choice of ``-``,
    ``_`` and ``.`` do not count.
    """
    if not isinstance(word, str) or len(word) > LONGEST_QUOTE:
        return ""
    by_shape = {_shape(name): name for name in islice(known, MOST_COMPARED)}
    for meant in OTHER_WORDS.get(_shape(word), ()):
        if _shape(word) not in by_shape and meant in by_shape:
            return f'did you mean "{meant}"?'
    near = difflib.get_close_matches(_shape(word), by_shape, n=3, cutoff=0.6)
    swapped = [
        shape for shape in near if sorted(shape) == sorted(_shape(word))
    ]  # letters in another order: the most likely slip
    return f'did you mean "{escape(by_shape[(swapped or near)[0]])}"?' if near else ""


def _shape(word: str) -> str:
    return re.sub(r"[-_. ]", "", word.lower())
