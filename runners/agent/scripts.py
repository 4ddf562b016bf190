"""The shell scripts that are carried out at a place: files beside the modules that use them.

A line ``. "${0%/*}/NAME.sh"`` stands for the text of that file, so that each script can also be run
by its path. What reaches a place is one text, without comments and indentation.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_INCLUDE = re.compile(r'\. "\$\{0%/\*\}/([a-z_./]+\.sh)"')


@cache
def script(path: Path) -> str:
    """The text of a script with all that it includes, each file once."""
    return "\n".join(_lines(path, set())) + "\n"


def here(module: str, name: str) -> str:
    """The script ``name`` beside the module whose ``__file__`` is given."""
    return script(Path(module).with_name(f"{name}.sh"))


def own(name: str) -> str:
    """A script of the agent."""
    return here(__file__, name)


def _lines(path: Path, seen: set[Path]) -> list[str]:
    path = path.resolve()
    if path in seen:
        return []
    seen.add(path)
    lines: list[str] = []
    for line in map(str.strip, path.read_text(encoding="utf-8").splitlines()):
        if (included := _INCLUDE.fullmatch(line)) is not None:
            lines += _lines(path.parent / included[1], seen)
        elif line and not line.startswith("#"):
            lines.append(line)
    return lines
