from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from benchspec.engine.model.errors import Unsupported
from benchspec.runners import registry


@pytest.mark.parametrize("kind", sorted(registry.RUNNERS))
def test_runners_are_there(kind: str) -> None:
    assert kind == registry.get_runner(kind).KIND
    assert registry.get_runner(kind) is registry.get_runner(kind)


def test_an_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(Unsupported, match="'lokal'") as caught:
        registry.get_runner("lokal")
    assert "kubernetes, local, ssh" in str(caught.value)


def test_an_installed_package_can_offer_a_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "benchspec_serial-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: benchspec-serial\nVersion: 1.0\n"
    )
    (package / "entry_points.txt").write_text(
        "[benchspec.runners]\nserial = benchspec_serial:RUNNER\nlocal = benchspec_serial:RUNNER\n"
    )
    (tmp_path / "benchspec_serial.py").write_text(
        "class Serial:\n    KIND = 'serial'\nRUNNER = Serial()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.get_runner("serial").KIND == "serial"
    assert registry.get_runner("local").KIND == "local", "a built-in name cannot be taken over"
    assert "serial" in registry.known_kinds()
    assert (
        EntryPoint(
            name="serial", value="benchspec_serial:RUNNER", group=registry.ENTRY_POINTS
        ).load()
        is sys.modules["benchspec_serial"].RUNNER
    )
