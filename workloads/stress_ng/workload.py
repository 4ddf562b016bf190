"""stress-ng: how many bogus operations its stressors complete, one kind or several at once.

A bogo operation is whatever a stressor does in one round: rates of different stressors, methods or
versions of stress-ng say nothing about each other. stress-ng ends with exit code 0 also when it
skipped a stressor or was stopped early, so that is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import Command, Commands, Completed, Surroundings, Tool
from ...engine.model.contract.workload import PrintsReports, ReadsFiles, Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric, Statistic
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import as_mapping, as_sequence, quote
from ...engine.model.text.strict_numbers import decimal
from ..shared.measurements import measurements
from ..shared.quantities import integer, text, whole_seconds

NAME = "stress-ng"
ROLES: Sequence[Role] = (Role.CLIENT,)
DEFAULT_GATES: Mapping[str, float] = {}
OUTPUT = "stress-ng.yaml"
_GRACE_S = 120.0
_EARLY = 0.9
"""A stressor that ran for less of the time it was told to was stopped."""

METRICS: Sequence[Metric] = (
    Metric(
        name="bogo.rate", title="Bogo operations per second", unit="1/s", direction=Direction.HIGHER
    ),
    Metric(
        name="bogo.rate.cpu",
        title="Bogo operations per second of CPU time",
        unit="1/s",
        direction=Direction.HIGHER,
    ),
    Metric(
        name="cpu.usage",
        title="CPU time of one instance, share of one CPU",
        unit="ratio",
        direction=Direction.NEITHER,
        statistic=Statistic.ARITHMETIC_MEAN,
    ),
    Metric(
        name="memory.peak",
        title="Largest resident set of an instance",
        unit="B",
        direction=Direction.NEITHER,
    ),
    Metric(
        name="own.throughput",
        title="Data per second, as the stressor counts it",
        unit="B/s",
        direction=Direction.HIGHER,
    ),
    Metric(
        name="own.rate",
        title="Events per second, as the stressor counts them",
        unit="1/s",
        direction=Direction.HIGHER,
    ),
    Metric(
        name="own.time",
        title="Time of an event, as the stressor measures it",
        unit="s",
        direction=Direction.LOWER,
    ),
    Metric(
        name="own.value",
        title="Figure of the stressor itself",
        unit="1",
        direction=Direction.NEITHER,
        statistic=Statistic.ARITHMETIC_MEAN,
    ),
    Metric(name="samples", title="Bogo operations", unit="1", direction=Direction.NEITHER),
    Metric(name="duration", title="Measured time", unit="s", direction=Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the stressors."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """stress-ng, from the package of that name."""
    return (
        Tool(
            executable="stress-ng",
            package="stress-ng",
            version_argv=("stress-ng", "--version"),
            roles=(Role.CLIENT,),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """Operations per second of the first stressor. Raises SpecError."""
    return f"bogo.rate{{stressor={_names(parameters)[0]}}}"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """How long every stressor runs, in s. Raises UnitError."""
    return float(whole_seconds(parameters, "duration", "10 s"))


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One stress-ng with all stressors at once; its figures go into a file. Raises SpecError."""
    parameters, workdir = experiment.parameters, surroundings.workdirs[Role.CLIENT]
    cpus = next((place.cpus for place in experiment.roles if place.role is Role.CLIENT), ())
    argv = (
        *(
            "stress-ng",
            "--metrics",
            "--yaml",
            f"{workdir}/{OUTPUT}",
            "--temp-path",
            text(parameters, "directory") or workdir,
        ),
        *("--timeout", f"{whole_seconds(parameters, 'duration', '10 s')}s"),
        *(word for stressor in _stressors(parameters) for word in _stressor_argv(stressor)),
    )
    client = Command(
        argv=argv,
        role=Role.CLIENT,
        timeout_s=duration_s(parameters) + _GRACE_S,
        fetch=(OUTPUT,),
        cpus=cpus,
    )
    return Commands(clients=(client,))


def _stressors(parameters: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    given = [as_mapping(stressor) for stressor in as_sequence(parameters.get("stressors"))] or [
        {"name": "cpu"}
    ]
    names = [text(stressor, "name") for stressor in given]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SpecError(
            f"stressors: found {twice!r} twice, expected each once",
            remedy="raise its workers instead",
        )
    return given


def _names(parameters: Mapping[str, Json]) -> list[str]:
    return [text(stressor, "name") for stressor in _stressors(parameters)]


def _stressor_argv(stressor: Mapping[str, Json]) -> list[str]:
    """``--cpu 2 --cpu-method matrixprod``: options of the stressor alone, so that none can change
    where or how stress-ng itself works.
    """
    name = text(stressor, "name")
    words = [f"--{name}", str(integer(stressor, "workers", 1))]
    for option, value in as_mapping(stressor.get("options")).items():
        if not option.startswith(f"{name}-") or option == f"{name}-ops":
            expected = f"one that starts with {name}-" + (
                ", and no number of operations: the time ends the test"
                if option == f"{name}-ops"
                else ""
            )
            raise SpecError(
                f"stressors: found the option {option!r} of {name}, expected {expected}"
            )
        words += [f"--{option}", *([] if value is True else [str(value)])]
    return words


def output_files(parameters: Mapping[str, Json]) -> Sequence[str]:
    """The file that holds the figures."""
    return (OUTPUT,)


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one stress-ng, labelled ``stressor=NAME``.

    Raises:
        ParseError: it failed, skipped a stressor, was stopped early, or completed no operation.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} stress-ng outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"stress-ng exited with {process.exit_code}: {quote(process.stderr or process.stdout)}"
        )
    found = _blocks((process.files.get(OUTPUT) or process.stdout).decode("utf-8", "replace"))
    if not found:
        raise ParseError(
            f"found no figures of stress-ng: {quote(process.stderr or process.stdout)}",
            remedy="run it with --metrics --yaml FILE",
        )
    expected = _names(parameters) if "stressors" in parameters else list(found)
    if skipped := [name for name in expected if name not in found]:
        raise ParseError(f"stress-ng skipped {', '.join(skipped)}: {quote(process.stderr)}")
    asked = duration_s(parameters) if "duration" in parameters else 0.0
    return [
        measurement
        for name, block in found.items()
        for measurement in (
            *measurements(METRICS, _figures(name, block, asked), {"stressor": name}),
            *_own(name, block),
        )
    ]


def unfinished(report: str) -> str | None:
    """What is missing: YAML's mark for the end of a document."""
    return None if report.rstrip().endswith("\n...") else "it does not end with '...'"


def unread(report: str) -> Sequence[str]:
    """Figures that are no numbers, such as ``nan``, by stressor and name."""
    return [
        f"{name}: {key}"
        for name, block in _blocks(report).items()
        for key, value in block.items()
        if value is None
    ]


_BLOCK = re.compile(r"^ +- stressor: *(\S+)((?:\n +[A-Za-z0-9_.()/%-]+: .*)*)", re.MULTILINE)
_LINE = re.compile(r"^ +([A-Za-z0-9_.()/%-]+): *(\S+)$", re.MULTILINE)
_KNOWN = frozenset(
    (
        "bogo-ops",
        "bogo-ops-per-second-usr-sys-time",
        "bogo-ops-per-second-real-time",
        "wall-clock-time",
        "user-time",
        "system-time",
        "cpu-usage-per-instance",
        "max-rss",
    )
)
_OWN: Sequence[tuple[re.Pattern[str], str, float]] = (
    (re.compile(r"mb-per-sec(?:ond)?\b.*"), "own.throughput", 2.0**20),
    (re.compile(r"gb-per-sec(?:ond)?\b.*"), "own.throughput", 2.0**30),
    (re.compile(r"kb-per-sec(?:ond)?\b.*"), "own.throughput", 2.0**10),
    (re.compile(r"nanosec(?:ond)?s?\b.*"), "own.time", 1e-9),
    (re.compile(r"microsec(?:ond)?s?\b.*"), "own.time", 1e-6),
    (re.compile(r"millisec(?:ond)?s?\b.*"), "own.time", 1e-3),
    (re.compile(r"(?:.*-)?(?:per-sec(?:ond)?|sec(?:ond)?-rate)\b.*"), "own.rate", 1.0),
)
"""What a stressor's own figure is, by its name (the unit in front, as stress-ng writes it; its MB
are 2^20 B), and its factor to base units.
"""


def _own(name: str, block: Mapping[str, float | None]) -> list[Measurement]:
    """The figures that this stressor alone has, labelled ``figure=NAME`` with its own words."""
    found: list[Measurement] = []
    for key, value in block.items():
        if key in _KNOWN or value is None or value < 0:
            continue
        metric, factor = next(
            ((metric, factor) for pattern, metric, factor in _OWN if pattern.fullmatch(key)),
            ("own.value", 1.0),
        )
        found += measurements(METRICS, {metric: value * factor}, {"stressor": name, "figure": key})
    return found


def _blocks(document: str) -> dict[str, dict[str, float | None]]:
    """The figures of each stressor. Read by line: system information above them holds texts that
    YAML takes for comments and times of day.
    """
    metrics_part = re.search(r"^metrics:$", document, re.MULTILINE)
    blocks: dict[str, dict[str, float | None]] = {}
    for name, lines in _BLOCK.findall(document[metrics_part.end() :]) if metrics_part else ():
        if name in blocks:
            raise ParseError(f"found two results of the stressor {name!r}, expected one")
        blocks[name] = {key: decimal(value) for key, value in _LINE.findall(lines)}
    return blocks


def _figures(
    name: str, block: Mapping[str, float | None], asked_s: float
) -> dict[str, float | None]:
    operations, seconds = block.get("bogo-ops"), block.get("wall-clock-time")
    if not operations or operations < 0 or not seconds or seconds < 0:
        raise ParseError(f"the stressor {name!r} completed no operation")
    if seconds < _EARLY * asked_s:
        raise ParseError(
            f"the stressor {name!r} ran for {seconds:g} s, expected {asked_s:g} s: it was stopped"
            " early"
        )
    usage, peak = block.get("cpu-usage-per-instance"), block.get("max-rss")
    return {
        "bogo.rate": _positive(block.get("bogo-ops-per-second-real-time")),
        "bogo.rate.cpu": _positive(block.get("bogo-ops-per-second-usr-sys-time")),
        "cpu.usage": usage / 100 if usage is not None and usage >= 0 else None,
        "memory.peak": peak * 2.0**10 if peak is not None and peak > 0 else None,
        "samples": operations,
        "duration": seconds,
    }


def _positive(value: float | None) -> float | None:
    """0 where a division by no time was left out."""
    return value if value is not None and value > 0 else None


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_files: ReadsFiles = _this
    _held_reports: PrintsReports = _this
