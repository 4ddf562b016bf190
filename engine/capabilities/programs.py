"""Programs of the spec's own: `command` workloads and lifecycle steps."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..lifecycle.step.order import OwnStep, all_steps, files_of, script_name
from ..lifecycle.step.places import Runners
from ..lifecycle.step.texts import Scripts, describe_step
from ..model.errors import BenchspecError
from ..model.spec import Experiment, Json, Spec
from ..model.text.json_output import as_mapping, as_sequence
from .manifests import rights_of
from .model import Capability, Kind, capability

COMMAND = "command"
"""The tool whose parameters are a program."""


def command_workloads(experiments: Sequence[Experiment]) -> Iterator[Capability]:
    """The programs of `command` workloads, each once per target, with the files they are given."""
    for experiment in experiments:
        if experiment.tool == COMMAND:
            parameters = experiment.parameters
            files = as_mapping(parameters.get("files"))
            data = [json.dumps([name, text]).encode() for name, text in sorted(files.items())]
            for words in _lines(parameters):
                yield capability(Kind.EXECUTES, f"{experiment.target}: {words}", "", *data)


def _lines(parameters: Mapping[str, Json]) -> Iterator[str]:
    """A `command` workload as a shell would have it: environment, program, files; then how its
    version is asked for.
    """
    argv, version = (
        [str(word) for word in as_sequence(parameters.get(key))] for key in ("run", "version")
    )
    env = [
        f"{name}={shlex.quote(str(value))}"
        for name, value in as_mapping(parameters.get("env")).items()
    ]
    placed = ", ".join(map(str, as_mapping(parameters.get("files"))))
    yield " ".join([*env, shlex.join(argv)]) + (
        f"  (beside the spec's files {placed})" if placed else ""
    )
    if version:
        yield f"{shlex.join([argv[0], *version[1:]])}  (for its version)"


def lifecycle_steps(
    spec: Spec, targets: Iterable[str], runners: Runners, scripts: Scripts
) -> Iterator[Capability]:
    """Every lifecycle step of ``targets``, and the rights that its manifest takes."""
    for target in targets:
        for own in all_steps(spec.target(target)):
            yield from step_capabilities(own, spec, runners, scripts)


def step_capabilities(
    own: OwnStep, spec: Spec, runners: Runners, scripts: Scripts
) -> Iterator[Capability]:
    """One step, with the sums of its files; nothing for a wait that reaches no host."""
    if own.step.action == "wait" and not own.step.arguments.keys() & {"http", "tcp"}:
        return  # time passes, or a cluster is asked
    files = [data for name in files_of(own.step) if (data := _read(scripts, name)) is not None]
    is_wait = own.step.action == "wait"
    yield capability(
        Kind.LOADS if is_wait else Kind.EXECUTES,
        describe_step(own, spec, runners, scripts),
        "",
        *files,
    )
    if own.step.action == "manifest" and files:
        where = f"{own.target}: {own.step.name}: {script_name(own.step)}"
        yield from rights_of(files[0], where)


def _read(scripts: Scripts, name: str) -> bytes | None:
    """The bytes of a step's file; None where it cannot be read, which the step's line says."""
    try:
        return scripts(name)[1]
    except BenchspecError:
        return None
