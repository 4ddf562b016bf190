"""Every module and data file of the tree is in the installed package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

ROOMS = ("api", "cli", "engine", "workloads", "runners", "reports", "schemas", "specs")


def test_the_installed_package_is_whole() -> None:
    root = Path(__file__).parents[1]
    package = Path(str(files("benchspec")))
    if package.resolve() == root:
        pytest.skip("these tests run against the checkout itself; tox runs them against the wheel")
    tree = {
        p.relative_to(root)
        for room in ROOMS
        for p in (root / room).rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    installed = {p.relative_to(package) for p in package.rglob("*") if p.is_file()}
    assert tree <= installed, sorted(tree - installed)
    root_files = {Path("__init__.py"), Path("__main__.py"), Path("py.typed")}
    root_files |= {Path("images/Containerfile")}
    assert root_files <= installed
    extra = {p for p in installed - tree - root_files if "__pycache__" not in p.parts}
    assert not extra, sorted(extra)
