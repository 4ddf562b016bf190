"""What is tried less often in the suite is tried whole by a command of its own."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from tests.repeats import repeats

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"


@pytest.mark.parametrize(
    ("environment", "number"),
    [
        ({}, 3),
        ({"BENCHSPEC_WHOLE": "1"}, 20),
        ({"BENCHSPEC_WHOLE": ""}, 3),
        ({"BENCHSPEC_TRIED": "7"}, 7),
        ({"BENCHSPEC_TRIED": "7", "BENCHSPEC_WHOLE": "1"}, 7),
    ],
)
def test_how_often(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], number: int
) -> None:
    for name in ("BENCHSPEC_WHOLE", "BENCHSPEC_TRIED"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert repeats("TRIED", 3, whole=20) == number


def test_the_whole_numbers_are_those_of_all_files_that_have_shares() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    run = set(re.findall(r"tests/\S+\.py", tox["testenv:whole"]["commands"]))
    used = {
        str(path.relative_to(ROOT))
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__) and re.search(r"\brepeats\(", path.read_text())
    }
    assert run == used
