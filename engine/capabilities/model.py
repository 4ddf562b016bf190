"""A capability: one thing that a spec does beyond measuring, as whoever runs it is asked for it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..model.spec import Json


class Kind(StrEnum):
    """What can go wrong, the worst first."""

    DESTROYS = "destroys"
    EXECUTES = "executes"
    RIGHTS = "rights"
    SECRETS = "secrets"
    LOADS = "loads"
    WRITES = "writes"
    READS = "reads"
    IMAGES = "images"
    CREDENTIALS = "credentials"
    UNKNOWN = "unknown"


HEADINGS: Mapping[Kind, str] = {
    Kind.DESTROYS: "This spec destroys what is in:",
    Kind.EXECUTES: "This spec executes:",
    Kind.RIGHTS: "This spec takes rights:",
    Kind.SECRETS: "This spec hands out secrets:",
    Kind.LOADS: "This spec sends load or requests to:",
    Kind.WRITES: "This spec writes outside of work directories:",
    Kind.READS: "This spec reads:",
    Kind.IMAGES: "This spec starts images:",
    Kind.CREDENTIALS: "This spec uses credentials:",
    Kind.UNKNOWN: "This spec uses what does not declare what it does:",
}
"""What stands above the capabilities of a kind."""

_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """``what`` is done, in words without characters that cannot be seen; ``where`` in the spec it
    is said; ``sha256`` (hex) of the files that decide what it means, where there are any.
    """

    kind: Kind
    what: str
    where: str = ""
    sha256: str | None = None

    def __str__(self) -> str:
        return f"{self.what}  ({self.where})" if self.where else self.what

    def to_json(self) -> dict[str, Json]:
        """As `plan --capabilities --json` prints it."""
        return {
            "kind": self.kind.value,
            "what": self.what,
            "where": self.where,
            "sha256": self.sha256,
        }


def capability(kind: Kind, what: str, where: str = "", *files: bytes) -> Capability:
    """A capability in visible words. ``files`` are the bytes that it stands for."""
    sums = [hashlib.sha256(data).hexdigest() for data in files]
    whole = sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
    return Capability(
        kind=kind, what=visible(what), where=visible(where), sha256=whole if sums else None
    )


def visible(text: str) -> str:
    """``text`` with line feeds as ``\\n`` and every other character that is not seen as
    ``\\uXXXX``, so that no value can look like a line of benchspec's own.
    """
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character == "\n":
        return "\\n"
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return f"\\u{ord(character):04x}"
    return character


def ordered(found: Iterable[Capability]) -> tuple[Capability, ...]:
    """Each capability once, the worst kind first, otherwise as they came."""
    kinds = list(Kind)
    return tuple(sorted(dict.fromkeys(found), key=lambda one: kinds.index(one.kind)))


def digest(capabilities: Sequence[Capability]) -> str:
    """``sha256:`` and the sum of exactly this list, whatever its order."""
    lines = sorted(json.dumps(one.to_json(), sort_keys=True) for one in set(capabilities))
    return _PREFIX + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def to_lines(capabilities: Sequence[Capability]) -> list[str]:
    """For reading: a heading for each kind that there is, and below it what it is."""
    lines: list[str] = []
    for kind, heading in HEADINGS.items():
        of_kind = [one for one in capabilities if one.kind is kind]
        lines += [heading, *(f"  {one}" for one in of_kind)] if of_kind else []
    return lines
