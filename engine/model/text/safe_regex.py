"""Regular expressions from a spec: a subset of Python's that cannot be made to run for hours.

Allowed: literals, ``.``, classes, ``\\d \\w \\s`` and their negations, ``^ $ \\b``, groups (plain,
``(?:...)``, ``(?P<name>...)``), alternation, and the quantifiers ``* + ? {m,n}``, greedy or lazy.
Refused: look-around, back-references, flags, a quantifier inside a repeated group, and a run of
more than two open-ended repeats (or of many choices) that can match the same character with nothing
fixed between them: such a run of k repeats is what makes a backtracking matcher take n^k steps.
Matching is by line and long lines are not searched, so n is bounded as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..errors import SpecError

MAX_PATTERN = 300
MAX_LINE = 1000
"""Longer lines are not searched."""

_MAX_REPEATS = 2
_MAX_CHOICES = 8
_OPEN_ENDED = 2
"""``{m,n}`` with n - m of this or more counts as open-ended."""

_ALPHABET = "".join(map(chr, range(32, 127))) + "\t\x00é中"
_EVERY = frozenset(_ALPHABET)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?!\})\d*(?:,\d*)?\})[?+]?")
_GROUP = re.compile(r"\((?:\?:|\?P<[A-Za-z_]\w*>|(?!\?))")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\\\]])*\]")
_ESCAPE = re.compile(r"\\(?:[dDwWsStn]|[^A-Za-z0-9])")
_ANCHOR = re.compile(r"\^|\$|\\[bBAZ]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One piece of a pattern: the characters of the sample alphabet it accepts, whether it can be
    skipped, and how it can vary.
    """

    accepts: frozenset[str]
    skippable: bool = False
    choice: bool = False
    repeats: bool = False


def compile_pattern(text: str) -> re.Pattern[str]:
    """``text`` compiled; ``\\d`` and friends mean ASCII.

    Raises:
        SpecError: it is malformed, outside the subset, or could take too long.
    """
    if len(text) > MAX_PATTERN:
        raise SpecError(
            f"found a pattern of {len(text)} characters, expected at most {MAX_PATTERN}"
        )
    try:
        pattern = re.compile(text, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise SpecError(f"found the malformed pattern {text!r}: {error}") from error
    reader = _Reader(text)
    items = reader.alternatives()
    _refuse_explosive(text, items)
    return pattern


def _refuse_explosive(text: str, items: Sequence[_Item]) -> None:
    """For each character: the longest stretch of items that can all match it must not vary too
    much.
    """
    for character in _ALPHABET:
        repeats = choices = 0
        for item in items:
            if character in item.accepts:
                repeats, choices = repeats + item.repeats, choices + item.choice
            elif not item.skippable:
                repeats = choices = 0
            if repeats > _MAX_REPEATS or choices > _MAX_CHOICES:
                message = (
                    f"the pattern {text!r} could take very long: too many of its repeats in a row"
                    f" can match {character!r}"
                )
                raise SpecError(
                    message,
                    remedy=(
                        "use narrower classes (\\d, [^ ]), put fixed text between repeats, leave"
                        " out .* at the ends"
                    ),
                )


class _Reader:
    """Reads a pattern (already known to be well-formed) into its items, groups flattened."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def alternatives(self) -> list[_Item]:
        """Items up to the end or the closing parenthesis; alternatives one after the other, each
        skippable.
        """
        sequences = [self._sequence()]
        while self.text[self.position : self.position + 1] == "|":
            self.position += 1
            sequences.append(self._sequence())
        if len(sequences) == 1:
            return sequences[0]
        fork = _Item(accepts=_EVERY, skippable=True, choice=True)
        return [
            fork,
            *(replace(item, skippable=True) for sequence in sequences for item in sequence),
        ]

    def _sequence(self) -> list[_Item]:
        items: list[_Item] = []
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            if self._take(_ANCHOR) is None:
                items += self._quantified(self._piece())
        return items

    def _piece(self) -> list[_Item]:
        if self.text[self.position] == "(":
            if self._take(_GROUP) is None:
                self._refuse("only (...), (?:...) and (?P<name>...) groups")
            inner = self.alternatives()
            self.position += 1
            return inner
        atom = self._take(_CLASS) or self._take(_ESCAPE)
        if atom is None:
            if self.text[self.position] == "\\":
                self._refuse(
                    "only \\d \\w \\s \\b, their negations, \\t, \\n and escaped punctuation"
                )
            atom = self.text[self.position]
            self.position += 1
        return [_Item(accepts=_accepted(atom if atom not in "{}]" else re.escape(atom)))]

    def _quantified(self, piece: list[_Item]) -> list[_Item]:
        quantifier = self._take(_QUANTIFIER)
        if quantifier is None:
            return piece
        least, most = _bounds(
            quantifier[0] if quantifier[0] in "*+?" else quantifier[: quantifier.index("}") + 1]
        )
        if most > 1 and any(item.choice or item.repeats or item.skippable for item in piece):
            self._refuse("no quantifier or alternation inside a repeated group")
        accepts = frozenset[str]().union(*(item.accepts for item in piece))
        if most - least >= _OPEN_ENDED:
            return [_Item(accepts=accepts, skippable=least == 0 or len(piece) > 1, repeats=True)]
        if least == most:
            return (
                piece
                if least == 1
                else [replace(item, skippable=least == 0 or len(piece) > 1) for item in piece]
            )
        return [
            _Item(accepts=accepts, skippable=True, choice=True),
            *(replace(item, skippable=least == 0 or len(piece) > 1) for item in piece),
        ]

    def _take(self, kind: re.Pattern[str]) -> str | None:
        match = kind.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match[0]

    def _refuse(self, expected: str) -> None:
        found = self.text[self.position : self.position + 10]
        raise SpecError(
            f"found {found!r} at character {self.position} of the pattern {self.text!r}, expected"
            f" {expected}"
        )


def _bounds(quantifier: str) -> tuple[int, float]:
    """Least and greatest number of repetitions of ``*``, ``+``, ``?``, ``{m}``, ``{m,}``, ``{,n}``
    or ``{m,n}``.
    """
    if quantifier in ("*", "+", "?"):
        return {"*": (0, float("inf")), "+": (1, float("inf")), "?": (0, 1.0)}[quantifier]
    least, comma, most = quantifier[1:-1].partition(",")
    return int(least or 0), float(most) if most else float("inf") if comma else float(least)


@lru_cache(maxsize=1024)
def _accepted(atom: str) -> frozenset[str]:
    """The characters of the sample alphabet that ``atom`` (a character, an escape or a class)
    matches.
    """
    pattern = re.compile(atom, re.ASCII)
    return frozenset(character for character in _ALPHABET if pattern.fullmatch(character))


def find(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Every match of ``pattern`` in ``text``, line by line."""
    return [
        match
        for line in text.splitlines()
        if len(line) <= MAX_LINE
        for match in pattern.finditer(line)
    ]
