"""Changes that somebody knows of: ``acks.yaml`` beside the spec. Each entry says at which run a new
level begins, of what, why, and until when that is to be believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from ..model.errors import SpecError

NAME = "acks.yaml"
_PATTERNS = ("target", "cell", "series")
_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """A known change: it begins with the run ``run`` (an id), in every series whose target, cell
    and name match. After the day ``until`` it does not count any more.
    """

    run: str
    reason: str
    until: date
    target: str = "*"
    cell: str = "*"
    series: str = "*"

    def covers(self, target: str, cell: str, series: str) -> bool:
        """Whether it is about this series."""
        pairs = ((target, self.target), (cell, self.cell), (series, self.series))
        return all(fnmatchcase(name, pattern) for name, pattern in pairs)


def read_acks(folder: Path) -> tuple[Ack, ...]:
    """The known changes of the spec in ``folder``; none where it has no acks.yaml.

    Raises:
        SpecError: the file is none that says which changes are known.
    """
    path = folder / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", where=str(path)) from error
    if len(data) > _LONGEST:
        raise SpecError("found more than a million bytes", where=str(path))
    try:
        found = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecError(f"found no YAML: {error}", where=str(path)) from error
    rows = found.get("acks") if isinstance(found, dict) and set(found) == {"acks"} else None
    if not isinstance(rows, list):
        raise _wrong(path, "a mapping with the one key `acks`, a list")
    return tuple(_read(row, f"{path}: acks[{place}]") for place, row in enumerate(rows))


def _read(row: Any, where: str) -> Ack:
    if not isinstance(row, dict):
        raise _wrong(where, "a mapping with run, reason and until")
    unknown = [str(key) for key in row if key not in ("run", "reason", "until", *_PATTERNS)]
    if unknown:
        raise _wrong(where, f"run, reason, until, target, cell, series, not {unknown[0]}")
    for key in ("run", "reason"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise _wrong(where, f"a text `{key}`")
    if type(row.get("until")) is not date:
        raise _wrong(where, "a day `until`, as in 2027-01-31")
    for key in _PATTERNS:
        if not isinstance(row.get(key, "*"), str):
            raise _wrong(where, f"a pattern `{key}`, as in storage*")
    return Ack(**row)


def _wrong(where: Path | str, expected: str) -> SpecError:
    return SpecError(
        f"expected {expected}", where=str(where), remedy="docs/history.md shows what it looks like"
    )
