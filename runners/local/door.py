"""The way to this host: a shell of its own for each script."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.model.errors import RunFailed
from ..agent import door
from ..agent.clock import Stamp
from ..agent.door import SCRIPT_TIMEOUT_S, Answer, Manner
from ..agent.record import Record
from ..agent.scripts import own
from ..agent.start import MORE_PATH

SHELL = "/bin/sh"
MANNER = Manner(
    missing="install the package that has {name}, or correct its name",
    lost="killed from outside, or the host was restarted",
    remedy=(
        "look for the out-of-memory killer in the kernel log; under this id it is not run again"
    ),
)

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class LocalDoor:
    """This host, for scripts."""

    manner: Manner = MANNER

    def at(self, what: str) -> str:
        """Where ``what`` is, for messages: there is one host."""
        return what or "this machine"

    def sh(
        self,
        script: str,
        arguments: Sequence[str] = (),
        data: bytes = b"",
        *,
        timeout_s: float = SCRIPT_TIMEOUT_S,
    ) -> Answer:
        """Run a script. Raises RunFailed when it does not end in time, or cannot be run."""
        path = f"{os.environ.get('PATH', '')}:{MORE_PATH}".removeprefix(":")
        env = {"PATH": path, "HOME": os.environ.get("HOME") or "/", "LC_ALL": "C"}
        argv = [SHELL, "-c", script, "benchspec", *arguments]
        try:
            done = subprocess.run(
                argv, input=data, capture_output=True, env=env, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise RunFailed(f"a script did not end within {timeout_s:g} s") from error
        except OSError as error:
            raise RunFailed(f"a script cannot be run: {error.strerror}") from error
        return Answer(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)

    def await_end(self, jobs: str, job_id: str, timeout_s: float) -> str | None:
        """How it is with a job that this process did not start, after at most ``timeout_s``."""
        said, _ = door.word(self, own("state"), (jobs, job_id), timeout_s=timeout_s)
        return None if said == "running" else said

    def moment(self, stamp: Stamp, record: Record) -> float:
        """A moment that this host saw: its clock is the controller's."""
        return record.started_at if stamp.wall_s is None else stamp.wall_s
