"""Job files of ``[section]`` and ``option=value`` lines, held against a closed table of options.

What such a file may say is data as long as no option starts a program, loads a library or reads
another file; so those that may stand in it are listed, and all others refused. The program's own
reading is kept in mind: fio (HOWTO, "Job file format") splits lines of more than 4095 bytes, puts
environment variables in for ``${NAME}``, and hands arithmetic on its keywords (``$ncpus``) to a
shell, so long lines and ``$``, quotes and the like are refused wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

LONGEST = 1000
"""Characters of a line; programs that read line by line have buffers."""

_SECTION = re.compile(r"\[[^\[\]]{1,200}\]")
_VALUE = re.compile(r"[\w.,:%/+*@ -]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The options that may stand in a file; for some of them the values they may have; and those
    whose values are names of files below the working folder.
    """

    options: Collection[str]
    values: Mapping[str, Collection[str]]
    files: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a line (from 1) may not stand in the file."""

    line: int
    found: str
    expected: str


def refused(given: str, table: Table) -> Iterator[Refused]:
    """The lines of ``given`` that ``table`` does not allow, in order."""
    for number, raw in enumerate(given.split("\n"), 1):
        line = raw.strip(" \t\r")
        why = _why_not(line, table)
        if why is not None:
            yield Refused(line=number, found=why[0], expected=why[1])


def _why_not(line: str, table: Table) -> tuple[str, str] | None:
    """What was found and expected of a line that is refused."""
    if len(line) > LONGEST:
        return "a line that is too long", f"at most {LONGEST} characters"
    if not line.replace("\t", " ").isprintable():
        return "a control character", "printable characters"
    if not line or line[0] in ";#" or _SECTION.fullmatch(line):
        return None
    name, _, value = (part.strip() for part in line.partition("="))
    if name not in table.options:
        return f"the option {name[:60]!r}", "an option that says how to read and write"
    if not _VALUE.fullmatch(value):
        return f"{name}={value[:60]}", "letters, digits and . , : % / + * @ - _ alone"
    if name in table.values and value not in table.values[name]:
        return f"{name}={value[:60]}", f"one of {', '.join(table.values[name])}"
    if name in table.files and any(_leaves(part) for part in value.split(":")):
        return f"{name}={value[:60]}", "the name of a file in the working folder"
    return None


def _leaves(path: str) -> bool:
    return path.startswith("/") or ".." in path.split("/")
