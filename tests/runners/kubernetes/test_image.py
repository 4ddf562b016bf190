"""images/Containerfile: what it installs is what workloads look for. Built, and used on a cluster,
by with_image.py beside this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchspec.engine.model.contract.values import Tool
from benchspec.engine.model.spec import Json
from benchspec.workloads.registry import MODULES, get_workload

ROOT = Path(__file__).parents[3]
ELSEWHERE = {"command", "diskspd", "vault-benchmark"}
"""Whatever a spec names, a program of Windows, and one that no Debian package has."""


def tools() -> list[Tool]:
    """The programs that the image must have."""
    asked: Mapping[str, Mapping[str, Json]] = {"fortio": {"server": "nginx", "api": "rest"}}
    return [
        tool
        for name in sorted(MODULES.keys() - ELSEWHERE)
        for tool in get_workload(name).tools(asked.get(name, {}))
    ]


def test_it_has_the_package_of_every_tool() -> None:
    text = (ROOT / "images" / "Containerfile").read_text()
    words = re.split(r"[\s/]+", text)
    assert {tool.package for tool in tools()} <= set(words)
    for folder, module in (("fortio", "fortio.org/fortio v1.66.5"), ("k6", "go.k6.io/k6 v1.8.1")):
        required = (ROOT / "tests" / "cluster" / "go" / folder / "go.mod").read_text()
        assert f"require {module}\n" in required
        assert module.replace(" ", "@") in text
