"""Any program as a workload: its argv, and rules that say which figures of its output are metrics.

The metrics are the parameters' own (``extract``); ``duration``, the time the program took, comes
with every one and is the primary metric of a program without rules.
"""

from __future__ import annotations

import math
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
from ...engine.model.contract.workload import ReadsFiles, SpeaksHttp, Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import as_mapping, as_sequence, quote
from ..shared.quantities import seconds, text
from . import extraction

NAME = "command"
_DURATION = Metric(
    name="duration", title="Time the program took", unit="s", direction=Direction.LOWER
)
METRICS: Sequence[Metric] = (_DURATION,)
ROLES: Sequence[Role] = (Role.CLIENT,)
DEFAULT_GATES: Mapping[str, float] = {}
HTTP = True
STORAGE = "STORAGE_PATH"
"""The variable that tells a program the target's ``storage.path``."""
_GRACE_S = 60.0
_PATIENCE = 3.0


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """The metrics that ``extract`` declares, and ``duration`` unless it is one of them. Raises
    SpecError for an unknown unit.
    """
    own = tuple(extraction.declared(name, rule) for name, rule in _rules(parameters).items())
    return own if any(metric.name == _DURATION.name for metric in own) else (*own, _DURATION)


def _rules(parameters: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
    return {
        name: as_mapping(rule)
        for name, rule in as_mapping(parameters.get("extract")).items()
        if not name.startswith("x-")
    }


def _check_rules(parameters: Mapping[str, Json]) -> None:
    for name, rule in _rules(parameters).items():
        extraction.check(name, rule)


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """The program itself; no package is known to hold it unless ``package`` says so."""
    program = _argv(parameters)[0]
    version = tuple(str(word) for word in as_sequence(parameters.get("version"))) or (
        program,
        "--version",
    )
    return (
        Tool(
            executable=program,
            package=text(parameters, "package", program),
            version_argv=version,
            roles=(Role.CLIENT,),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """``primary`` if given, else the first rule's series, else ``duration``. Raises SpecError for a
    rule that is wrong.
    """
    _check_rules(parameters)
    if chosen := text(parameters, "primary"):
        return chosen
    for name, rule in _rules(parameters).items():
        labels = {key: str(value) for key, value in as_mapping(rule.get("labels")).items()}
        return Measurement(metric=name, value=0.0, unit="1", labels=labels).series
    return _DURATION.name


def duration_s(parameters: Mapping[str, Json]) -> float:
    """How long the author expects it to take, in s. Raises UnitError."""
    return seconds(parameters, "duration", "10 s")


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """The program, with its files placed and its rules checked. Raises SpecError."""
    parameters = experiment.parameters
    _check_rules(parameters)
    cpus = next((place.cpus for place in experiment.roles if place.role is Role.CLIENT), ())
    client = Command(
        argv=_argv(parameters),
        role=Role.CLIENT,
        timeout_s=seconds(
            parameters, "timeout", f"{_PATIENCE * duration_s(parameters) + _GRACE_S} s"
        ),
        env=_environment(experiment),
        fetch=tuple(name for name in output_files(parameters) if name != "stderr"),
        cpus=cpus,
    )
    placed = as_mapping(parameters.get("files")).items()
    return Commands(
        clients=(client,),
        files=tuple(
            PlacedFile(role=Role.CLIENT, name=name, data=str(data).encode())
            for name, data in placed
        ),
    )


def _environment(experiment: Experiment) -> dict[str, str]:
    """What the spec says, and where the target's volume is."""
    own = {name: str(value) for name, value in as_mapping(experiment.parameters.get("env")).items()}
    path = text(experiment.storage, "path")
    return {STORAGE: path, **own} if path else own


def _argv(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    argv = tuple(str(word) for word in as_sequence(parameters.get("run")))
    if not argv:
        raise SpecError(
            "a command workload must say what it runs",
            remedy="set run to a list: the program and its arguments",
        )
    return argv


def output_files(parameters: Mapping[str, Json]) -> Sequence[str]:
    """What rules read besides stdout, in order, each once."""
    named = (text(rule, "from", "stdout") for rule in _rules(parameters).values())
    return tuple(dict.fromkeys(name for name in named if name != "stdout"))


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """The figures that the rules find, and how long the program took.

    Raises:
        ParseError: the program failed, or a rule found nothing, several values or no number; a rule
            that is itself wrong is told the same way.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} outputs, expected one")
    process = completed[0]
    accepted = [
        code for code in as_sequence(parameters.get("exit_codes")) if isinstance(code, int)
    ] or [0]
    if process.exit_code not in accepted:
        raise ParseError(
            f"the program ended with exit code {process.exit_code}; stderr: {quote(process.stderr)}"
        )
    sources = {"stdout": process.stdout, "stderr": process.stderr, **process.files}
    found = [
        measurement
        for name, rule in _rules(parameters).items()
        for measurement in _extract(name, rule, sources)
    ]
    if process.duration_s > 0 and all(
        measurement.metric != _DURATION.name for measurement in found
    ):
        found.append(Measurement(metric=_DURATION.name, value=process.duration_s, unit="s"))
    if not found:
        raise ParseError("nothing was measured: there is no rule, and no time was taken")
    return found


def _extract(
    name: str, rule: Mapping[str, Json], sources: Mapping[str, bytes]
) -> list[Measurement]:
    try:
        found = extraction.extract(name, rule, sources)
    except SpecError as error:
        raise ParseError(f"{name}: {error.message}", remedy=error.remedy) from error
    if not all(math.isfinite(measurement.value) for measurement in found):
        raise ParseError(f"{name}: found a value too large to be real")
    return found


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_files: ReadsFiles = _this
    _held_http: SpeaksHttp = _this
