"""Where the conformance suite runs: one bed per runner, each on a real thing. A new runner plugs in by adding a factory to BEDS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchspec.engine.ports import Completed, Runner
from benchspec.engine.spec import Site
from benchspec.runners.registry import get_runner

CONTROLLER = Path(__file__).with_name("controller.py")


class Run(Protocol):
    """Run a program to its end in the client's role."""

    def __call__(self, *argv: str, env: Mapping[str, str] | None = None, fetch: tuple[str, ...] = (), cpus: tuple[int, ...] = ()) -> Completed: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """A site of one runner, and an independent look at the host behind it."""

    runner: Runner
    site: Site
    run_id: str
    state: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def shell(self, script: str) -> str:
        """Run a script on the site's host, not through the runner under test."""
        done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=30)
        return done.stdout

    def controller(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        """Another controller, in a process of its own, that can be killed."""
        argv = [sys.executable, str(CONTROLLER), self.site.runner, json.dumps(dict(self.site.options)), self.run_id, verb, *arguments]
        env = {**os.environ, **self.environment}
        return subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def marked(self, marker: str) -> Sequence[str]:
        """The processes on the host whose environment holds ``marker``, as ``pid command``."""
        lines = self.shell(
            "for p in /proc/[0-9]*; do "
            f"tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -qx '{marker}' && "
            "! grep -q '^State:.Z' $p/status && echo ${p#/proc/} $(tr '\\0' ' ' <$p/cmdline); done"
        )
        return lines.splitlines()


def local_bed(directory: Path, run_id: str) -> Bed:
    """This host, with a state directory of the test's own (XDG_STATE_HOME is set by the fixture)."""
    return Bed(
        runner=get_runner("local"),
        site=Site(name="here", runner="local"),
        run_id=run_id,
        state=str(directory / "benchspec" / run_id / "here"),
        environment={"XDG_STATE_HOME": str(directory)},
    )


BEDS: Mapping[str, Callable[[Path, str], Bed]] = {"local": local_bed}
