"""How a program is started on this host: detached, in a session of its own, with a small
environment, on chosen CPUs.

Between the controller and the program stands the agent's wrapper (agent/wrapper.sh), one POSIX
shell that outlives the controller and writes down how the program ended. It is started from here
and not by the agent's script: that would cost a trial several shells more (docs/adr/0017). CPUs are
set by this thread lending the child its own affinity, which costs nothing, needs no ``taskset`` and
is in force before the first instruction.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from ...engine.model.contract.values import Command, Problem
from ...engine.model.errors import MissingTool, RunFailed, Unsupported
from ..agent.scripts import own
from .door import SHELL as SHELL
from .state import storing

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_ONLINE = Path("/sys/devices/system/cpu/online")


def environment(command: Command, markers: Mapping[str, str]) -> dict[str, str]:
    """PATH, HOME, LC_ALL=C, what the command asks for, its secrets, and the markers by which its
    processes are found again.
    """
    return {
        "PATH": os.environ.get("PATH") or DEFAULT_PATH,
        "HOME": os.environ.get("HOME") or "/",
        "LC_ALL": "C",
        **command.env,
        **command.secrets,
        **markers,
    }


def find_program(command: Command, workdir: Path) -> str:
    """The path of the command's program, looked up in the PATH it will have. Raises MissingTool."""
    name = command.argv[0]
    path = environment(command, {})["PATH"]
    # an absolute path keeps the wrapper from taking one of the shell's builtins for the program
    found = shutil.which(os.path.join(workdir, name) if "/" in name else name, path=path)
    if found is None:
        raise MissingTool(
            f"no program {name!r} in PATH={path}",
            where=f"role {command.role}",
            remedy=f"install the package that has {name}, or correct its name",
        )
    return os.path.abspath(found)


def spawn(
    argv: Sequence[str],
    directory: Path,
    workdir: Path,
    env: Mapping[str, str],
    cpus: Sequence[int],
    *,
    delay_s: float = 0.0,
    group: str = "",
) -> subprocess.Popen[bytes]:
    """Start the wrapper around ``argv``, to begin after ``delay_s`` and in the control group
    ``group``; its output goes to files in ``directory``.

    Raises:
        RunFailed: the kernel refuses, as for arguments that are too long.
        StorageError: the files cannot be made.
    """
    with ExitStack() as stack:
        stdout, stderr = (_output(directory / name, stack) for name in ("stdout", "stderr"))
        stack.enter_context(pinned(cpus))
        try:
            return subprocess.Popen(
                wrapped(argv, workdir, env["PATH"], delay_s, group),
                cwd=directory,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise RunFailed(
                f"cannot be started: {error.strerror}",
                where=argv[0],
                remedy="shorten its arguments, or free processes and memory of this user",
            ) from error


def wrapped(
    argv: Sequence[str], workdir: Path, path: str, delay_s: float = 0.0, group: str = ""
) -> list[str]:
    """``argv`` in the wrapper. Whoever started it looks for what it leaves, and knows the time: the
    wrapper need not, but for a program that has to wait.
    """
    hold = math.ceil((_uptime_s() + delay_s) * 100) if delay_s > 0 else 0
    fine = "fine" if hold else ""
    mine = f"{path}:{DEFAULT_PATH}"
    variables = (str(workdir), mine, str(hold), "others look", "0", "", group, fine)
    return [SHELL, "-c", own("wrapper"), "benchspec-job", *variables, *argv]


def _uptime_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _output(path: Path, stack: ExitStack) -> int:
    with storing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_APPEND, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor


@contextmanager
def pinned(cpus: Sequence[int]) -> Iterator[None]:
    """Put the calling thread on ``cpus`` for a moment, so that a child inherits them
    (sched_setaffinity(2) works per thread).

    Raises:
        Unsupported: the host has not got all of these CPUs, or this process may not use them.
    """
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        try:
            os.sched_setaffinity(0, cpus)
        except (OSError, ValueError, OverflowError):
            raise unavailable(cpus) from None
        # the kernel drops CPUs that it has not got without a word, as long as one remains
        if os.sched_getaffinity(0) != set(cpus):
            raise unavailable(cpus)
        yield
    finally:
        os.sched_setaffinity(0, before)


def unavailable(cpus: Sequence[int]) -> Unsupported:
    """The error for CPUs that cannot be had."""
    problem = cpu_problem(cpus)
    return Unsupported(problem.message, remedy=problem.remedy)


def cpu_problem(cpus: Sequence[int]) -> Problem:
    """Say that ``cpus`` cannot be had."""
    return Problem(
        message=(
            f"found CPUs {', '.join(map(str, cpus))}, expected some of those this process may use:"
            f" {online()}"
        ),
        remedy=(
            "change `cpus` in the spec, or run where these CPUs exist (cpusets of containers count)"
        ),
    )


def online() -> str:
    """The CPUs of this host as the kernel lists them, such as ``0-3``."""
    return _ONLINE.read_text().strip()


@cache
def available(cpus: tuple[int, ...]) -> bool:
    """Whether a process can be put on exactly ``cpus``; tried, since a cpuset shows in no list."""
    try:
        with pinned(cpus):
            return True
    except Unsupported:
        return False
