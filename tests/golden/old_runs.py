"""Run directories that an earlier state of the project made (tests/data/old-runs), and what is
rendered of them: nothing is replaced there but where they lie.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from .program import benchspec_in
from .runs import render

OLD_RUNS = Path(__file__).parents[1] / "data" / "old-runs"


def copy(name: str, folder: Path) -> Path:
    """A copy of an old run directory in ``folder``, which is made if need be."""
    return Path(shutil.copytree(OLD_RUNS / name, folder / name))


def observe_old_run(name: str, folder: Path) -> dict[str, bytes]:
    """The pages, figures and exports of an old run directory: all of the finished one, the page of
    the others.
    """
    copy(name, folder)
    return render(folder, name) if name == "finished" else render(folder, name, ("markdown",))


def observe_old_comparison(folder: Path) -> dict[str, bytes]:
    """Two old run directories compared with each other, and the targets of one with another
    baseline.
    """
    for name in ("finished", "finished-later"):
        copy(name, folder)
    lines = (
        "compare finished finished-later",
        "compare finished finished-later --json",
        "compare finished --baseline large",
    )
    return {
        f"{number}-compare.txt": benchspec_in(folder, *line.split())
        .transcript(lambda text: text.replace(str(folder), "<folder>"))
        .encode()
        for number, line in enumerate(lines, 1)
    }
