"""What users and programs see of benchspec is what the golden files say, byte for byte. ``python -m
tests.golden --write`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.files import DIRECTORY, GROUPS, differences


@pytest.mark.parametrize("name", GROUPS)
def test_golden_files(name: str, tmp_path: Path) -> None:
    difference = differences(name, GROUPS[name](tmp_path / "folder"))
    assert not difference, f"`python -m tests.golden --write {name}` accepts this:\n{difference}"


def test_every_golden_file_is_of_a_group() -> None:
    folders = {
        str(path.parent.relative_to(DIRECTORY)) for path in DIRECTORY.rglob("*") if path.is_file()
    } - {"specs", "specs/scripts"}
    assert not [
        folder
        for folder in folders
        if not any(f"{folder}/".startswith(f"{name}/") for name in GROUPS)
    ]
    assert {name for name in GROUPS if not (DIRECTORY / name).is_dir()} == set()
