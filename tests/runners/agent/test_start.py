"""The starting script by itself, in a shell of this machine: a starter that outlived its controller
and comes late.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchspec.runners.agent.scripts import own
from benchspec.runners.agent.start import START, starter
from tests.runners.ssh.conftest import until

# A mkfifo that is slow on this machine, for one of the starters
SLOW = """#!/bin/sh
if [ -e "{here}/hold" ] && mkdir "{here}/held" 2>/dev/null; then while [ -e "{here}/hold" ]; do sleep 0.02; done; fi
exec /usr/bin/mkfifo "$@"
"""


class Place:
    """Directories of jobs and of work, and starters there."""

    def __init__(self, here: Path) -> None:
        self.here = here
        self.started: list[subprocess.Popen[bytes]] = []
        for name in ("jobs", "work", "bin"):
            (here / name).mkdir()
        slow = here / "bin" / "mkfifo"
        slow.write_text(SLOW.format(here=here))
        slow.chmod(0o755)

    def start(self, token: str, *argv: str, job: str = "one") -> subprocess.Popen[bytes]:
        """A starter on its way."""
        variables = {
            "jobs": str(self.here / "jobs"),
            "job": job,
            "run": "run",
            "token": token,
            "lock": "",
            "work": str(self.here / "work"),
            "cpus": "",
            "hold": "0",
            "ttl": "600",
            "lasting": "",
            "fifos": "end life",
            "tell": "",
            "group": "",
            "away": "setsid -f",
            "port": "",
            "addresses": "",
            "record": "record",
        }
        marks = {
            "BENCHSPEC_JOB": f"{job}-{uuid.uuid4().hex}",
            "BENCHSPEC_RUN": "run",
            "BENCHSPEC_SITE": "site",
        }
        process = subprocess.Popen(
            ["/bin/sh", "-c", START],
            env={"PATH": f"{self.here / 'bin'}:{os.environ['PATH']}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(starter(variables, marks, argv))
        process.stdin.close()
        process.stdin = None
        self.started.append(process)
        return process

    def attach(self, token: str, job: str = "one") -> str:
        """What attaching to the job says."""
        asked = subprocess.run(
            ["/bin/sh", "-c", own("attach"), "sh", str(self.here / "jobs"), job, token],
            capture_output=True,
            timeout=60,
            check=True,
        )
        return asked.stdout.decode().split("\n")[0]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    (tmp_path / "hold").unlink(missing_ok=True)
    for process in made.started:
        process.wait(60)


def said(process: subprocess.Popen[bytes]) -> str:
    return process.communicate(timeout=60)[0].decode().strip()


def test_a_starter_that_was_overtaken_leaves_its_successors_job_alone(place: Place) -> None:
    (place.here / "hold").touch()
    late = place.start("dead-controller", "sh", "-c", "echo run >>counter")
    until((place.here / "held").exists, "the first starter's mkfifo")
    assert place.attach("successor") == "never"
    assert said(place.start("successor", "sh", "-c", "echo run >>counter; echo done")) == "started"
    rc = place.here / "jobs" / "one" / "rc"
    until(rc.exists, "the job's end")
    (place.here / "hold").unlink()
    assert said(late) == "withdrawn"
    assert (place.here / "work" / "counter").read_text() == "run\n"
    assert (rc.parent / "stdout").read_text() == "done\n"
    assert [path.name for path in (place.here / "jobs").iterdir()] == ["one"]


def test_a_start_that_is_refused_leaves_nothing(place: Place) -> None:
    assert said(place.start("controller", "sh", "-c", "exit", "x" * 200_000)).startswith("refused")
    assert list((place.here / "jobs").iterdir()) == []
