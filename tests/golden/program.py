"""The program as a user starts it: a process of its own, with an environment in which its texts are
always the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import benchspec

WIDTH = "100"
"""Columns that help texts and tables are laid out for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One command that has ended."""

    arguments: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes

    def transcript(self, shown: Callable[[str], str] = str) -> str:
        """The command, its exit code and what it printed, as ``shown`` makes it comparable."""
        parts = [f"$ benchspec {' '.join(self.arguments)}\nexit code {self.exit_code}\n"]
        for name, data in (("stdout", self.stdout), ("stderr", self.stderr)):
            if data:
                parts.append(
                    f"--- {name}\n{shown(data.decode())}"
                    + ("" if data.endswith(b"\n") else "\n(no newline at the end)\n")
                )
        return "".join(parts)


def benchspec_in(folder: Path, *arguments: str, state: Path | None = None) -> Done:
    """Run the program in ``folder`` until it ends; what it keeps outside of run directories goes to
    ``state``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(
        [sys.executable, "-m", "benchspec.cli", *arguments],
        cwd=folder,
        env=environment(folder, state or folder / "state"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return Done(
        arguments=arguments, exit_code=ended.returncode, stdout=ended.stdout, stderr=ended.stderr
    )


def environment(folder: Path, state: Path) -> dict[str, str]:
    """This process's environment without what changes a text, in which a child finds the same
    benchspec.
    """
    parent = str(Path(benchspec.__file__).resolve().parent.parent)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BENCHSPEC_", "KUBE", "FORCE_COLOR", "CLICOLOR"))
    }
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), parent]))
    fixed = {
        "COLUMNS": WIDTH,
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "TZ": "UTC",
        "GOLDEN_COUNTERS": str(folder / "counters"),
    }
    return kept | fixed | {"PYTHONPATH": path, "XDG_STATE_HOME": str(state)}


def journal_types(run: Path) -> list[str]:
    """The types of the records in a run's journal, in order."""
    return [
        json.loads(line)["type"]
        for line in (run / "journal.ndjson").read_text("utf-8").splitlines()
    ]
