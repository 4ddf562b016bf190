"""How a program is started on this host: detached, in a session of its own, with a small environment, on chosen CPUs.

Between the controller and the program stands one POSIX shell, which outlives the controller and writes down the exit code. It costs one process per
job (about 1 ms). CPUs are set by this thread lending the child its own affinity, which costs nothing, needs no ``taskset`` and is in force before the
first instruction.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from ...engine.errors import MissingTool, RunFailed, Unsupported
from ...engine.ports import Command, Problem
from .state import storing

SHELL = "/bin/sh"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Started in the job's directory; $1 is that directory's path, $2 the work directory, the rest is the program.
# - `set -C` makes `> pid` an O_EXCL creation: of several wrappers of one job exactly one runs the program, the others exit. The
#   relative name binds to the directory itself: a wrapper whose job was withdrawn (directory removed, perhaps made anew) finds nothing to write to.
# - The pid file is the wrapper's own line of /proc, so the start time that guards against pid reuse comes with it.
# - File descriptor 3 keeps the program's stderr apart from the shell's own remarks ("Terminated", "Killed"); dash would redirect these with the
#   program if the redirection were not inside the subshell.
# - The traps let the shell survive the SIGTERM meant for the group and report how the program really ended.
# - One write of "CODE UPTIME\n" is complete when its newline is there, which saves the process that `mv` would cost: every reader checks it. The
#   uptime tells how long the program ran even when the wall clock was set meanwhile.
WRAPPER = """exec 3>&2 2>/dev/null
set -C
read -r s </proc/$$/stat && echo "$s" >pid || exit 125
set +C
d=$1 w=$2
shift 2
trap : HUP INT QUIT TERM
cd "$w" && unset OLDPWD || { echo "benchspec: the work directory $w is gone" >&3; echo 126 >"$d/rc"; exit 126; }
(exec "$@" 2>&3 3>&-)
c=$? u=
read -r u _ </proc/uptime
echo "$c $u" >"$d/rc"
"""

# What a program that waits for a common start is run by: $1 is how long in s, $2 the job's directory. The time of the file `began` is when it began.
# A wait that is cut short ends the job: the program never runs. `exec` gives the program the shell's process.
HOLD = 'sleep "$1" || exit; : >"$2/began"; shift 2; exec "$@"'

_ONLINE = Path("/sys/devices/system/cpu/online")


def environment(command: Command, markers: Mapping[str, str]) -> dict[str, str]:
    """PATH, HOME, LC_ALL=C, what the command asks for, its secrets, and the markers by which its processes are found again."""
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
            f"no program {name!r} in PATH={path}", where=f"role {command.role}", remedy=f"install the package that has {name}, or correct its name"
        )
    return os.path.abspath(found)


def spawn(argv: Sequence[str], directory: Path, workdir: Path, env: Mapping[str, str], cpus: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start the wrapper around ``argv``; its output goes to files in ``directory``.

    Raises:
        RunFailed: the kernel refuses, as for arguments that are too long.
        StorageError: the files cannot be made.
    """
    with ExitStack() as stack:
        stdout, stderr = (_output(directory / name, stack) for name in ("stdout", "stderr"))
        stack.enter_context(pinned(cpus))
        try:
            return subprocess.Popen(
                [SHELL, "-c", WRAPPER, "benchspec-job", str(directory), str(workdir), *argv],
                cwd=directory, env=dict(env), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise RunFailed(
                f"cannot be started: {error.strerror}", where=argv[0], remedy="shorten its arguments, or free processes and memory of this user"
            ) from error


def held(argv: Sequence[str], directory: Path, delay_s: float) -> tuple[str, ...]:
    """``argv`` behind a wait of ``delay_s``, which leaves the file ``began`` in the job's directory when it is over."""
    return (SHELL, "-c", HOLD, "benchspec-hold", f"{max(0.0, delay_s):.6f}", str(directory), *argv)


def _output(path: Path, stack: ExitStack) -> int:
    with storing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_APPEND, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor


@contextmanager
def pinned(cpus: Sequence[int]) -> Iterator[None]:
    """Put the calling thread on ``cpus`` for a moment, so that a child inherits them (sched_setaffinity(2) works per thread).

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
        message=f"found CPUs {', '.join(map(str, cpus))}, expected some of those this process may use: {online()}",
        remedy="change `cpus` in the spec, or run where these CPUs exist (cpusets of containers count)",
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
