"""Runs that the tests of the use cases share; nothing that a use case does is printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import benchspec
from tests.engine.execution.bench import spec_document, write_spec


@pytest.fixture(autouse=True)
def silent(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Use cases tell observers and callers; they print nothing."""
    yield
    assert tuple(capfd.readouterr()) == ("", "")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory: two targets, five sessions of one trial."""
    folder = tmp_path_factory.mktemp("finished")
    method = {"sessions": 5, "trials": 1, "warmups": 0, "seed": 7}
    spec = write_spec(folder / "spec.yaml", spec_document(folder / "counter", method=method))
    return benchspec.run(spec, out=folder / "run", consent=lambda lines: True).directory
