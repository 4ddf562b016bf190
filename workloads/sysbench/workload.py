"""sysbench: short measurements of CPU, memory, files, threads and mutexes of one host. Its database
tests are not offered.

Files are laid out before and removed after each trial by a script that is placed beside them; only
the measurement between is timed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import (
    Command,
    Commands,
    Completed,
    PlacedFile,
    Surroundings,
    Tool,
)
from ...engine.model.contract.workload import PrintsReports, Workload
from ...engine.model.errors import ParseError
from ...engine.model.results import Direction, Measurement, Metric, Statistic
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import quote
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, text, whole_bytes, whole_seconds
from . import output as sysbench_output

NAME = "sysbench"
ROLES: Sequence[Role] = (Role.CLIENT,)
DEFAULT_GATES: Mapping[str, float] = {}
_GRACE_S = 120.0
"""Beyond the test: laying out files, and ending threads."""

_FILE_RATE = 20e6
"""B/s at which files are at least expected to be laid out; slower disks run into the deadline."""

_SCRIPT = "sysbench-fileio.sh"
FILEIO_SCRIPT = b"""\
# Lays the files out, measures, and removes them. $1: the folder; the rest: sysbench's options.
set -eu
folder=$(mktemp -d "$1/sysbench.XXXXXX")
trap 'cd / && rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP
shift
cd "$folder"
sysbench fileio "$@" prepare >&2
sysbench fileio "$@" run
"""
"""The script of fileio, which needs its files laid out before it runs."""

_PRIMARY = {"cpu": "events", "memory": "throughput", "threads": "events", "mutex": "completion"}
_EXPECTED: Mapping[str, tuple[str, ...]] = {
    **{test: (name,) for test, name in _PRIMARY.items()},
    "fileio": ("iops.read", "iops.write", "fsyncs"),
    "sql": ("transactions", "queries"),
}
"""What the report of a test has at least one of."""

_OPTIONS: Mapping[str, str] = {
    "cpu_max_prime": "--cpu-max-prime",
    "memory_operation": "--memory-oper",
    "memory_access": "--memory-access-mode",
    "memory_scope": "--memory-scope",
    "file_number": "--file-num",
    "file_mode": "--file-test-mode",
    "file_fsync_every": "--file-fsync-freq",
    "thread_yields": "--thread-yields",
    "thread_locks": "--thread-locks",
    "mutex_number": "--mutex-num",
    "mutex_locks": "--mutex-locks",
    "mutex_loops": "--mutex-loops",
}
"""Parameters that sysbench takes as they are, by the option they are given with."""

_SIZES = {"memory_block_size": "--memory-block-size", "file_block_size": "--file-block-size"}


def _rate(name: str, title: str, unit: str, *limits: str) -> Metric:
    return Metric(name=name, title=title, unit=unit, direction=Direction.HIGHER, limits=limits)


METRICS: Sequence[Metric] = (
    _rate("events", "Events per second", "1/s"),
    _rate("operations", "Memory operations per second", "1/s"),
    _rate("throughput", "Memory read or written", "B/s"),
    _rate("iops.read", "Reads per second", "1/s", "storage.iops.read", "storage.iops"),
    _rate("iops.write", "Writes per second", "1/s", "storage.iops.write", "storage.iops"),
    _rate("fsyncs", "Synchronisations per second", "1/s"),
    _rate("throughput.read", "Data read", "B/s", "storage.throughput.read", "storage.throughput"),
    _rate(
        "throughput.write", "Data written", "B/s", "storage.throughput.write", "storage.throughput"
    ),
    _rate("transactions", "Transactions per second", "1/s"),
    _rate("queries", "Statements per second", "1/s"),
    Metric(
        name="error.ratio",
        title="Share of transactions that met an error",
        unit="ratio",
        direction=Direction.LOWER,
        statistic=Statistic.ARITHMETIC_MEAN,
    ),
    *latency_metrics("min", "mean", "p50", "p75", "p90", "p95", "p99", "max"),
    Metric(
        name="completion",
        title="Time to complete the work",
        unit="s",
        direction=Direction.LOWER,
        statistic=Statistic.GEOMETRIC_MEAN,
    ),
    Metric(name="samples", title="Events", unit="1", direction=Direction.NEITHER),
    Metric(name="duration", title="Measured time", unit="s", direction=Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the test."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """sysbench, from the package of that name."""
    return (
        Tool(
            executable="sysbench",
            package="sysbench",
            version_argv=("sysbench", "--version"),
            roles=(Role.CLIENT,),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """Events of cpu and threads, data of memory, time of mutex; of fileio writes where it only
    writes, else reads.
    """
    test = _test(parameters)
    if test == "fileio":
        return (
            "iops.write" if text(parameters, "file_mode", "rndrd").endswith("wr") else "iops.read"
        )
    return _PRIMARY[test]


def duration_s(parameters: Mapping[str, Json]) -> float:
    """How long the test runs, in s; a mutex test runs until its work is done, for which
    ``duration`` is the estimate. Raises UnitError.
    """
    return float(whole_seconds(parameters, "duration", "10 s"))


def _test(parameters: Mapping[str, Json]) -> str:
    return text(parameters, "test", "cpu")


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One sysbench. fileio has a folder of its own below ``directory``, else the target's storage
    path, else the work directory. Raises UnitError.
    """
    parameters, workdir = experiment.parameters, surroundings.workdirs[Role.CLIENT]
    cpus = next((place.cpus for place in experiment.roles if place.role is Role.CLIENT), ())
    test, options = _test(parameters), _options(parameters)
    if test != "fileio":
        argv = ("sysbench", test, *options, "run")
        return Commands(
            clients=(
                Command(
                    argv=argv,
                    role=Role.CLIENT,
                    timeout_s=duration_s(parameters) + _GRACE_S,
                    cpus=cpus,
                ),
            )
        )
    folder = text(parameters, "directory") or text(experiment.storage, "path") or workdir
    size = whole_bytes(parameters, "file_total_size", "2 GiB") or 0
    argv = ("sh", f"{workdir}/{_SCRIPT}", folder, *options)
    client = Command(
        argv=argv,
        role=Role.CLIENT,
        timeout_s=duration_s(parameters) + _GRACE_S + size / _FILE_RATE,
        cpus=cpus,
    )
    return Commands(
        clients=(client,), files=(PlacedFile(role=Role.CLIENT, name=_SCRIPT, data=FILEIO_SCRIPT),)
    )


def _options(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    test = _test(parameters)
    sizes = {option: whole_bytes(parameters, name) for name, option in _SIZES.items()}
    return (
        *(
            f"--threads={integer(parameters, 'threads', 1)}",
            f"--time={0 if test == 'mutex' else whole_seconds(parameters, 'duration', '10 s')}",
        ),
        *(
            (f"--events={integer(parameters, 'threads', 1)}",) if test == "mutex" else ()
        ),  # each thread does its locks once
        f"--percentile={integer(parameters, 'percentile', 95)}",
        *(
            (f"--memory-total-size={whole_bytes(parameters, 'memory_total_size', '0 B')}",)
            if test == "memory"
            else ()
        ),  # 0: no end but the time
        *(
            (f"--file-total-size={whole_bytes(parameters, 'file_total_size', '2 GiB')}",)
            if test == "fileio"
            else ()
        ),
        *(
            ("--file-test-mode=rndrd",)
            if test == "fileio" and "file_mode" not in parameters
            else ()
        ),
        *(
            f"{option}={parameters[name]}"
            for name, option in _OPTIONS.items()
            if name in parameters
        ),
        *(f"{option}={size}" for option, size in sizes.items() if size is not None),
        *(("--file-extra-flags=direct",) if flag(parameters, "file_direct", False) else ()),
    )


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one sysbench.

    Raises:
        ParseError: it failed, did not end, or measured nothing of what its test measures.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} sysbench outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"sysbench exited with {process.exit_code}: {quote(process.stderr or process.stdout)}"
        )
    output = process.stdout.decode("utf-8", "replace")
    figures = sysbench_output.figures(output)
    test = _test(parameters) if parameters else sysbench_output.test_of(output) or "cpu"
    if test != "mutex":
        figures["completion"] = None  # it ran for as long as it was told to
    if test not in ("cpu", "threads"):
        figures["events"] = None  # operations of several kinds together
    told = [primary(parameters)] if parameters else _EXPECTED[test]
    if all(figures.get(name) is None for name in told):
        raise ParseError(
            f"found no {' or '.join(told)} in the output, expected that of the {test} test:"
            f" {quote(process.stdout)}"
        )
    return measurements(METRICS, figures)


def unfinished(report: str) -> str | None:
    """What is missing at the end."""
    return sysbench_output.unfinished(report)


def unread(report: str) -> Sequence[str]:
    """Nothing: figures are taken by their names, and the others are counts of the same work."""
    return ()


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_reports: PrintsReports = _this
