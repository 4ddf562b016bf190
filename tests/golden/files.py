"""All golden files: how each group is observed, written and compared."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from .old_runs import observe_old_comparison, observe_old_run
from .replacements import is_same
from .runs import CASES, observe_case
from .texts import SHIPPED, observe_help, observe_plan, observe_printed, observe_schemas

DIRECTORY = Path(__file__).parents[1] / "data" / "golden"

Observe: TypeAlias = Callable[[Path], dict[str, bytes]]
"""Makes golden files by name, in a folder that does not exist yet or is empty."""

GROUPS: Mapping[str, Observe] = {
    "help": observe_help,
    "schemas": observe_schemas,
    "printed": observe_printed,
    **{f"plans/{spec.with_suffix('')}": partial(observe_plan, spec) for spec in SHIPPED},
    **{
        f"old-runs/{name}": partial(observe_old_run, name)
        for name in ("finished", "finished-later", "interrupted")
    },
    "old-runs/comparison": observe_old_comparison,
    **{f"runs/{name}": partial(observe_case, case) for name, case in CASES.items()},
}
"""Every group of golden files by its folder below tests/data/golden."""


def write(name: str, files: Mapping[str, bytes]) -> None:
    """Replace a group of golden files."""
    shutil.rmtree(DIRECTORY / name, ignore_errors=True)
    for file, data in files.items():
        path = DIRECTORY / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def read(name: str) -> dict[str, bytes]:
    """A group of golden files as it is kept."""
    folder = DIRECTORY / name
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def differences(name: str, found: Mapping[str, bytes]) -> str:
    """How ``found`` differs from what is kept, as a unified diff; empty when it is the same."""
    kept = read(name)
    return "".join(
        _difference(f"{name}/{file}", kept.get(file, b""), found.get(file, b""))
        for file in sorted(kept.keys() | found.keys())
        if file not in kept or file not in found or not is_same(kept[file], found[file])
    )


def _difference(name: str, kept: bytes, found: bytes) -> str:
    before, after = (
        data.decode("utf-8", "backslashreplace").splitlines(keepends=True) for data in (kept, found)
    )
    return (
        "".join(difflib.unified_diff(before, after, f"golden/{name}", f"found/{name}", n=1))
        or f"golden/{name}: there or not there\n"
    )
