"""The shell scripts of the runners, each by itself: two shells read it, and shellcheck has nothing
to say.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from benchspec import runners
from benchspec.runners.agent.scripts import script

FILES = sorted(Path(runners.__file__).parent.rglob("*.sh"))


@pytest.fixture(params=[("dash",), ("busybox", "sh")], ids=["dash", "busybox"])
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found: tuple[str, ...] = request.param
    if shutil.which(found[0]) is None:
        pytest.skip(f"{found[0]} is not installed: run tests/setup")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_it_is_posix_shell(path: Path, shell: tuple[str, ...]) -> None:
    for text in (path.read_text(encoding="utf-8"), script(path)):
        done = subprocess.run(
            [*shell, "-n"], input=text, text=True, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_what_is_included_is_there_once(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "one.sh").write_text("#!/bin/sh\n# says one\necho one\n")
    (tmp_path / "room" / "two.sh").write_text('. "${0%/*}/../one.sh"\n    echo two\n')
    last = tmp_path / "last.sh"
    last.write_text('. "${0%/*}/one.sh"\n. "${0%/*}/room/two.sh"\n')
    assert script(last) == "echo one\necho two\n"
