"""diskspd: operations, data and latency of a disk of a Windows host, with the CPU time they
cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import Command, Commands, Completed, Surroundings, Tool
from ...engine.model.contract.workload import PrintsReports, Workload, WritesVolumes
from ...engine.model.errors import ParseError, UnitError
from ...engine.model.results import Direction, Measurement, Metric, Statistic
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import quote
from ...engine.model.units import Dimension
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, quantity, text, whole_bytes, whole_seconds
from . import text as diskspd_text
from . import xml as diskspd_xml
from .figures import DIRECTIONS, Figures

NAME = "diskspd"
ROLES: Sequence[Role] = (Role.CLIENT,)
VOLUMES: Sequence[Role] = (Role.CLIENT,)
DEFAULT_GATES: Mapping[str, float] = {}
_GRACE_S = 600.0
"""Laying out the test file before the clock starts."""

_STATISTICS = (
    "mean",
    "stddev",
    "min",
    "p25",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p999",
    "p9999",
    "p99999",
    "max",
)
_TITLES = {"": "", ".read": ", reads", ".write": ", writes"}


def _rate(kind: str, suffix: str, title: str, unit: str) -> Metric:
    limits = tuple(dict.fromkeys((f"storage.{kind}{suffix}", f"storage.{kind}")))
    return Metric(
        name=f"{kind}{suffix}",
        title=title + _TITLES[suffix],
        unit=unit,
        direction=Direction.HIGHER,
        limits=limits,
    )


def _cpu(name: str, title: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        unit="ratio",
        direction=Direction.LOWER,
        statistic=Statistic.ARITHMETIC_MEAN,
    )


METRICS: Sequence[Metric] = (
    *(_rate("iops", suffix, "Operations per second", "1/s") for suffix in DIRECTIONS.values()),
    *(_rate("throughput", suffix, "Data rate", "B/s") for suffix in DIRECTIONS.values()),
    *(
        metric
        for suffix in DIRECTIONS.values()
        for metric in latency_metrics(*_STATISTICS, suffix=suffix, title=_TITLES[suffix])
    ),
    _cpu("cpu.usage", "CPU of the host (of all its CPUs)"),
    _cpu("cpu.user", "CPU of the host, user (of all its CPUs)"),
    _cpu("cpu.system", "CPU of the host, kernel (of all its CPUs)"),
    Metric(name="samples", title="I/Os", unit="1", direction=Direction.NEITHER),
    Metric(name="duration", title="Measured time", unit="s", direction=Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """diskspd, a single Windows program."""
    return (
        Tool(
            executable="diskspd.exe",
            package="diskspd",
            version_argv=("diskspd.exe", "-?"),
            roles=(Role.CLIENT,),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """Operations per second, reads and writes together."""
    return "iops"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """Warm-up, measured time and cool-down in s. Raises UnitError."""
    times = {"warmup": "5 s", "duration": "10 s", "cooldown": "0 s"}
    return float(sum(whole_seconds(parameters, name, default) for name, default in times.items()))


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One diskspd, which prints its result. Raises UnitError."""
    argv = _argv(experiment.parameters, surroundings.workdirs[Role.CLIENT])
    cpus = next((place.cpus for place in experiment.roles if place.role is Role.CLIENT), ())
    return Commands(
        clients=(
            Command(
                argv=argv,
                role=Role.CLIENT,
                timeout_s=duration_s(experiment.parameters) + _GRACE_S,
                cpus=cpus,
            ),
        )
    )


_CACHES: Mapping[str, tuple[str, ...]] = {"none": ("-Sh",), "hardware": ("-Su",), "all": ()}


def _argv(parameters: Mapping[str, Json], workdir: str) -> tuple[str, ...]:
    size = whole_bytes(parameters, "file_size")
    return (
        "diskspd.exe",
        *((f"-c{_size(size)}",) if size else ()),
        f"-b{_size(whole_bytes(parameters, 'block_size', '64 KiB') or 0)}",
        *(("-r",) if flag(parameters, "random", True) else ()),
        f"-w{_write_percent(parameters)}",
        *(
            f"-{option}{integer(parameters, name, default)}"
            for option, name, default in (("o", "outstanding", 2), ("t", "threads", 1))
        ),
        *(
            f"-{option}{whole_seconds(parameters, name, default)}"
            for option, name, default in _TIMES
        ),
        *_CACHES[text(parameters, "cache", "none")],
        *(("-Zr",) if flag(parameters, "random_data", False) else ()),
        *(("-L",) if flag(parameters, "latency", True) else ()),
        "-Rxml",
        _target(text(parameters, "path", "diskspd.dat"), workdir),
    )


def _write_percent(parameters: Mapping[str, Json]) -> int:
    percent = 100 * (quantity(parameters, "write_ratio", Dimension.RATIO, "0 %") or 0.0)
    if not math.isclose(percent, round(percent), abs_tol=1e-9):
        raise UnitError(f"write_ratio: found {percent:g} %, expected whole percent")
    return round(percent)


_TIMES = (("W", "warmup", "5 s"), ("d", "duration", "10 s"), ("C", "cooldown", "0 s"))


def _size(size: int) -> str:
    """diskspd's own notation, in which K, M and G are binary."""
    for factor, letter in ((2**30, "G"), (2**20, "M"), (2**10, "K")):
        if size % factor == 0:
            return f"{size // factor}{letter}"
    return str(size)


def _target(path: str, workdir: str) -> str:
    absolute = path[1:2] == ":" or path.startswith(("\\", "/"))
    return path if absolute else f"{workdir}\\{path}"


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one diskspd, from XML or text; with several timespans labelled
    ``timespan=N``.

    Raises:
        ParseError: diskspd failed or printed no complete result.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} diskspd outputs, expected 1")
    job = completed[0]
    if job.exit_code != 0:
        raise ParseError(f"diskspd exited with {job.exit_code}: {quote(job.stderr or job.stdout)}")
    spans = _timespans(job.stdout)
    if len(spans) == 1:
        return measurements(METRICS, spans[0])
    return [
        m
        for number, span in enumerate(spans, start=1)
        for m in measurements(METRICS, span, {"timespan": str(number)})
    ]


def _timespans(data: bytes) -> list[Figures]:
    report = data.decode("utf-8", "replace")
    if diskspd_text.is_report(report):
        return diskspd_text.timespans(report)
    if diskspd_xml.is_report(report):
        return diskspd_xml.timespans(report)
    raise ParseError(
        f"found no diskspd result: {quote(report.encode())}",
        remedy=(
            "look at the arguments: diskspd prints nothing of use when it does not understand them"
        ),
    )


def unfinished(report: str) -> str | None:
    """What is missing at the end of a text report; XML that is cut is no XML."""
    return diskspd_text.unfinished(report) if diskspd_text.is_report(report) else None


def unread(report: str) -> Sequence[str]:
    """Nothing: rows of threads and targets are summed in their totals."""
    return ()


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_reports: PrintsReports = _this
    _held_volumes: WritesVolumes = _this
