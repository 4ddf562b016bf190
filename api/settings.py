"""What use cases are told by name, and the command line names alike. Cheap to import."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

File = str | os.PathLike[str]
"""A path, as a text or an object."""

RUNS = Path("runs")
"""Where run directories are made and looked for, relative to the working directory."""

MOST_EXPERIMENTS = 10_000
"""A larger plan is refused unless more are allowed."""


def wants_color(*, terminal: bool) -> bool:
    """Whether to print colours: NO_COLOR, then FORCE_COLOR (https://no-color.org,
    https://force-color.org), else on a ``terminal`` that is not dumb.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


class Keep(StrEnum):
    """Whether a run leaves its targets standing."""

    ALWAYS = "always"
    FAILED = "failed"
    NEVER = "never"
