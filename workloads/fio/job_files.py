"""fio job files: written from structured parameters, deterministically, or taken as given; and how
long they run.

A parameter's value never becomes more than one option's value: options come from a closed table,
numbers are written as numbers, and text that could start a new line is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ...engine.model.errors import SpecError
from ...engine.model.schema_files import find_schema
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, as_sequence
from ...engine.model.text.option_lines import Table, refused
from ...engine.model.units import Dimension, parse_quantity
from ..shared.quantities import flag, quantity, seconds, text, whole_bytes
from . import estimated_jobs as fio_text
from .presets import PRESETS

DEFAULTS: Mapping[str, Json] = {
    "engine": "libaio",
    "direct": True,
    "time_based": True,
    "runtime": "60 s",
    "size": "1 GiB",
    "group_reporting": True,
}
"""What a job is unless the spec says otherwise: timed, direct, asynchronous, processes reported
together.
"""

_LAYOUT_BYTES_PER_S = 20e6
"""Slowest disk on which laying out the files before the first job still fits the deadline."""
_GRACE_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One section of a job file: its name and settings, the defaults included."""

    name: str
    settings: Mapping[str, Json]

    @property
    def length_s(self) -> float:
        """Ramp and run time in s."""
        return seconds(self.settings, "ramp_time", "0 s") + seconds(
            self.settings, "runtime", "60 s"
        )

    @property
    def waits(self) -> bool:
        """Whether it starts only when the jobs before it have ended."""
        return flag(self.settings, "stonewall", True)


def _number(value: Json) -> str:
    return str(value)


def _bytes(value: Json) -> str:
    return str(whole_bytes({"size": value}, "size"))


def _time(value: Json) -> str:
    """In s when whole, else in us, which fio takes too."""
    length = parse_quantity(str(value), Dimension.TIME)
    return f"{int(length)}s" if length.is_integer() else f"{round(length * 1e6)}us"


def _rate(value: Json) -> str:
    return str(round(parse_quantity(str(value), Dimension.BYTE_RATE)))


def _operations(value: Json) -> str:
    return str(round(parse_quantity(str(value), Dimension.RATE)))


def _boolean(value: Json) -> str:
    return "1" if value is True else "0"


_OPTIONS: Mapping[str, tuple[str, Callable[[Json], str]]] = {
    "engine": ("ioengine", _number),
    "rw": ("rw", _number),
    "bs": ("bs", _bytes),
    "iodepth": ("iodepth", _number),
    "numjobs": ("numjobs", _number),
    "size": ("size", _bytes),
    "filename": ("filename", _number),
    "runtime": ("runtime", _time),
    "ramp_time": ("ramp_time", _time),
    "time_based": ("time_based", _boolean),
    "direct": ("direct", _boolean),
    "fsync": ("fsync", _number),
    "fdatasync": ("fdatasync", _number),
    "end_fsync": ("end_fsync", _boolean),
    "rwmixread": ("rwmixread", _number),
    "percentage_random": ("percentage_random", _number),
    "random_distribution": ("random_distribution", _number),
    "randrepeat": ("randrepeat", _boolean),
    "norandommap": ("norandommap", _boolean),
    "rate": ("rate", _rate),
    "rate_iops": ("rate_iops", _operations),
    "buffer_compress_percentage": ("buffer_compress_percentage", _number),
    "refill_buffers": ("refill_buffers", _boolean),
    "gtod_reduce": ("gtod_reduce", _boolean),
    "lat_percentiles": ("lat_percentiles", _boolean),
    "unified_rw_reporting": ("unified_rw_reporting", _boolean),
    "cpus_allowed": ("cpus_allowed", _number),
    "unlink": ("unlink", _boolean),
}
"""Parameter to fio option and how its value is written, in the order of the job file."""


def jobs(parameters: Mapping[str, Json]) -> tuple[Job, ...]:
    """The structured jobs of ``parameters``, in order; a job without a name of its own is called
    after its ``rw``.

    Raises:
        SpecError: there are none, two have one name, or a job does not say what it does (``rw``).
    """
    preset = PRESETS.get(text(parameters, "preset"))
    common = {
        **DEFAULTS,
        **(preset.settings if preset else {}),
        **{k: v for k, v in parameters.items() if k not in ("jobs", "preset")},
    }
    given = [as_mapping(section) for section in as_sequence(parameters.get("jobs"))]
    found = tuple(
        _job({**common, **section}) for section in given or (preset.jobs if preset else ({},))
    )
    names = [job.name for job in found]
    if len(set(names)) != len(names):
        raise SpecError(
            f"found jobs with one name among {', '.join(names)}",
            remedy="give each job a name of its own",
        )
    return found


def _job(settings: Mapping[str, Json]) -> Job:
    rw = settings.get("rw")
    if not isinstance(rw, str):
        raise SpecError(
            "a fio job must say what it does",
            remedy="set rw (such as randread), or jobs, job_text or preset",
        )
    name = settings.get("name", rw)
    return Job(name=str(name), settings=settings)


def job_file(parameters: Mapping[str, Json]) -> bytes:
    """The job file of ``parameters``: ``job_text`` as it is, or one section per structured job.
    Equal parameters give equal bytes.

    Raises:
        SpecError: as :func:`jobs`, or a value that would break its line.
    """
    given = text(parameters, "job_text")
    if given:
        return given.encode()
    sections = [_section(job, first=number == 0) for number, job in enumerate(jobs(parameters))]
    return "\n".join(sections).encode()


def _section(job: Job, *, first: bool) -> str:
    lines = [f"[{job.name}]"]
    lines += [
        f"{option}={write(job.settings[name])}"
        for name, (option, write) in _OPTIONS.items()
        if name in job.settings
    ]
    lines += [name for name in ("thread", "group_reporting") if flag(job.settings, name, False)]
    if not first:
        lines.append(
            "stonewall" if job.waits else "new_group"
        )  # jobs of one group would be reported as one
    for line in lines:
        if not line.isprintable() or (line.startswith("[") and "]" in line[:-1]):
            raise SpecError(
                f"found {line!r}, which is no single line of a fio job file",
                remedy="remove control characters and brackets",
            )
    return "".join(f"{line}\n" for line in lines)


def require_data(parameters: Mapping[str, Json]) -> None:
    """Hold ``job_text`` against the closed table of options, whatever checked the spec before.
    Raises SpecError.
    """
    for line in refused(text(parameters, "job_text"), _table()):
        raise SpecError(
            f"job_text: found {line.found} in line {line.line}, expected {line.expected}",
            remedy="a job file may say how to read and write, and nothing else",
        )


@cache
def _table() -> Table:
    """As the schema has it, which is where it stands."""
    about = json.loads(find_schema("workloads", "fio") or b"{}")["properties"]["job_text"]
    options = about["x-options"]
    return Table(
        options=frozenset(options["allowed"]), values=options["values"], files=options["files"]
    )


def in_place(parameters: Mapping[str, Json]) -> bool:
    """Whether the jobs measure files or devices that are there already, all of which ``destroys``
    must name. Raises SpecError.
    """
    allowed = {path for path in as_sequence(parameters.get("destroys")) if isinstance(path, str)}
    if not allowed:
        return False
    folder = text(parameters, "directory").rstrip("/")
    settings = [] if text(parameters, "job_text") else [job.settings for job in jobs(parameters)]
    paths = [f"{folder}/{text(one, 'filename')}" for one in settings]
    others = [path for path in paths if path not in allowed]
    if others or not paths or not folder:
        raise SpecError(
            f"found {others[0] if others else 'no path'} to measure, expected only what destroys"
            f" names: {', '.join(sorted(allowed))}",
            remedy="give directory, and filename for every job, which together are that path",
        )
    return True


def names(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    """The names of the jobs that the output must have; empty when the parameters do not say (raw
    output parsed on its own).
    """
    if given := text(parameters, "job_text"):
        return fio_text.names(given)
    return (
        tuple(job.name for job in jobs(parameters))
        if parameters.keys() & {"rw", "jobs", "preset"}
        else ()
    )


def file_options(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    """The options by which the jobs say themselves which files they use, each once. Raises
    SpecError.
    """
    around = ("directory",) if "directory" in parameters else ()
    if given := text(parameters, "job_text"):
        return tuple(dict.fromkeys((*around, *fio_text.file_options(given))))
    return (
        *around,
        *(("filename",) if any("filename" in job.settings for job in jobs(parameters)) else ()),
    )


def length_s(parameters: Mapping[str, Json]) -> float:
    """Seconds one execution takes, ramps included, the files being there: jobs add up where they
    wait for each other. Raises SpecError.
    """
    total = longest = 0.0
    for length, waits in _schedule(parameters):
        if waits:
            total, longest = total + longest, 0.0
        longest = max(longest, length)
    return total + longest


def deadline_s(parameters: Mapping[str, Json]) -> float:
    """Seconds after which fio counts as hung: time to write the files on a slow disk, and twice the
    jobs themselves. Raises SpecError.
    """
    given = text(parameters, "job_text")
    size = fio_text.size_bytes(given) if given else sum(_job_bytes(job) for job in jobs(parameters))
    return size / _LAYOUT_BYTES_PER_S + 2 * length_s(parameters) + _GRACE_S


def _job_bytes(job: Job) -> float:
    processes = job.settings.get("numjobs", 1)
    return (quantity(job.settings, "size", Dimension.BYTES) or 0.0) * (
        processes if isinstance(processes, int) else 1
    )


def _schedule(parameters: Mapping[str, Json]) -> Sequence[tuple[float, bool]]:
    """Length in s of each job, and whether it waits for those before it."""
    given = text(parameters, "job_text")
    return (
        fio_text.schedule(given)
        if given
        else [(job.length_s, job.waits) for job in jobs(parameters)]
    )
