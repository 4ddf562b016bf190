"""How a program is started at a place: detached, in a session of its own, with a small environment,
exactly once per job.

Between whoever starts it and the program stands one POSIX shell, the wrapper, which outlives
connection and controller and writes down how the program ended (wrapper.sh). What the job consists
of reaches the starting script (start.sh) through its standard input, as assignments that it
evaluates: so neither an argument nor a file ever holds a secret.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from .scripts import own

MORE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""What is added to the PATH that a host gives to commands, which often leaves the administrator's
programs out.
"""

START = (
    f'exec env -i PATH="${{PATH:+$PATH:}}{MORE_PATH}" HOME="${{HOME:-/}}" LC_ALL=C'
    ' ${BENCHSPEC_SH:+"BENCHSPEC_SH=$BENCHSPEC_SH"} "${BENCHSPEC_SH:-/bin/sh}" -c'
    " 'eval \"$(cat)\"' benchspec-start"
)
"""Starts the job that :func:`starter` describes. Idempotent: whoever sends it again attaches.

``BENCHSPEC_SH`` names the shell where there is no /bin/sh, as in an image that is one program.
"""


def starter(
    variables: Mapping[str, str], environment: Mapping[str, str], argv: Sequence[str]
) -> bytes:
    """What :data:`START` reads: the variables of start.sh, the program's environment beside PATH,
    HOME and LC_ALL, its arguments.
    """
    lines = [
        f"{name}={shlex.quote(value)}"
        for name, value in {**variables, "wrapper": own("wrapper")}.items()
    ]
    exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
    lines += [
        f"environment() {{ export {exports}; }}",
        f"set -- {shlex.join(argv)}",
        own("start"),
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def cpu_list(cpus: Sequence[int]) -> str:
    """CPU numbers as the kernel lists them, such as ``0-2,5``."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
