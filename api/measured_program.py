"""Runs one command line in a shell and writes what it took to measured.json: the file that
`benchspec bench` places beside each command. It stands alone, so that it runs where only Python is.

The time is that of the shell and the command, by the monotonic clock, without the start of this
program. The kernel counts a program's peak from that of the process that started it: a peak that
is not above our own is therefore not known, and left out.
"""

import json
import os
import resource
import sys
import time

OUTPUT = "measured.json"
VARIABLE = "BENCH_"


def measure(folder: str, command: str) -> int:
    """Run ``command`` in ``folder``, write :data:`OUTPUT` into the working directory, and return
    the exit code (128+n for a signal). ``{x}`` in it is the variable ``BENCH_x``.
    """
    values = {name: value for name, value in os.environ.items() if name.startswith(VARIABLE)}
    for name, value in values.items():
        command = command.replace(f"{{{name.removeprefix(VARIABLE)}}}", value)
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    began = time.monotonic()
    child = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ)
    _, status, used = os.wait4(child, 0)
    took_s = time.monotonic() - began
    ended = os.waitstatus_to_exitcode(status)
    code = ended if ended >= 0 else 128 - ended
    found = {"time_s": took_s, "cpu_s": used.ru_utime + used.ru_stime, "exit_code": code}
    if used.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        found["peak_memory_kib"] = used.ru_maxrss
    os.fchdir(here)
    with open(OUTPUT, "w", encoding="utf-8") as stream:
        json.dump(found, stream)
    return code


if __name__ == "__main__":
    raise SystemExit(measure(sys.argv[1], sys.argv[2]))
