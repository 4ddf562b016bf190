"""What a given fio job file says of itself: its jobs, how long they run and how much they write.
For estimates; fio alone interprets it.

Format: fio HOWTO, "Job file format": sections, ``option=value`` or an option standing alone, ``;``
and ``#`` start comments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_TIMES: Mapping[str, float] = {
    "us": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
}
_SIZES: Mapping[str, float] = {
    "": 1.0,
    "k": 2.0**10,
    "m": 2.0**20,
    "g": 2.0**30,
    "t": 2.0**40,
    "p": 2.0**50,
}
_FILES = ("filename", "directory", "opendir", "filename_format")
_UNTOLD_S = 60.0
_UNTOLD_BYTES = 2.0**30
"""What a job counts that does not say how long it runs or how large its file is."""


def names(given: str) -> tuple[str, ...]:
    """The jobs of the file, in order; ``global`` is none."""
    return tuple(name for name, _ in _sections(given) if name != "global")


def schedule(given: str) -> Sequence[tuple[float, bool]]:
    """For each job its ramp and run time in s, and whether it waits for the jobs before it."""
    return [
        (
            _time(o.get("ramp_time"), 0.0) + _time(o.get("runtime"), _UNTOLD_S),
            "stonewall" in o or "wait_for_previous" in o,
        )
        for o in _jobs(given)
    ]


def file_options(given: str) -> tuple[str, ...]:
    """The options in the file that say which files or directories are used, each once."""
    return tuple(
        dict.fromkeys(name for _, options in _sections(given) for name in _FILES if name in options)
    )


def size_bytes(given: str) -> float:
    """The files of all jobs and their processes, in B."""
    return sum(
        _size(options.get("size")) * _count(options.get("numjobs")) for options in _jobs(given)
    )


def _jobs(given: str) -> list[dict[str, str]]:
    """The options of each job, those of the ``global`` sections before it included."""
    common: dict[str, str] = {}
    found = []
    for name, options in _sections(given):
        if name == "global":
            common |= options
        else:
            found.append(common | options)
    return found


def _sections(given: str) -> list[tuple[str, dict[str, str]]]:
    found: list[tuple[str, dict[str, str]]] = []
    for line in (raw.strip() for raw in given.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            found.append((line[1:-1], {}))
        elif line and line[0] not in ";#" and found:
            key, _, value = line.partition("=")
            found[-1][1][key.strip()] = value.strip().lower()
    return found


def _time(value: str | None, untold_s: float) -> float:
    match = re.fullmatch(r"(\d{1,12})\s*([a-z]*)", value or "", re.ASCII)
    return float(match[1]) * _TIMES[match[2]] if match and match[2] in _TIMES else untold_s


def _size(value: str | None) -> float:
    match = re.fullmatch(r"(\d{1,15})\s*([kmgtp]?)(?:i?b)?i?", value or "", re.ASCII)
    return float(match[1]) * _SIZES[match[2]] if match else _UNTOLD_BYTES


def _count(value: str | None) -> int:
    return int(value) if value and re.fullmatch(r"\d{1,4}", value, re.ASCII) else 1
