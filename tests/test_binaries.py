"""Which of the clusters' programs are built for whom."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cluster import binaries

ROOT = Path(__file__).resolve().parents[1]
GO = """#!/bin/sh
echo "$PWD $*" >>"$0.calls"
while [ "$1" != -o ]; do shift; done
: >"$2"
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A go that writes down what it is asked to build, on a machine where nothing is ready."""
    (tmp_path / "go").write_text(GO)
    (tmp_path / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(binaries, "ready", lambda: None)
    return tmp_path / "go.calls"


def test_fortio_is_built_once_and_alone(go: Path) -> None:
    assert binaries.fortio() == binaries.fortio()
    assert binaries.fortio().name == "fortio"
    (call,) = go.read_text().splitlines()
    assert call.startswith(f"{ROOT}/tests/cluster/go/fortio build ")
    assert call.endswith(" fortio.org/fortio")


def test_a_ready_fortio_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, go: Path) -> None:
    (tmp_path / "ready").mkdir()
    (tmp_path / "ready" / "fortio").write_text("#!/bin/sh\necho ready\n")
    monkeypatch.setattr(binaries, "ready", lambda: tmp_path / "ready")
    assert (
        subprocess.run([str(binaries.fortio())], capture_output=True, text=True, check=True).stdout
        == "ready\n"
    )
    assert not go.exists()
