"""The steps of a target's lifecycles, in the order in which they are carried out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from ...model.spec import Json, Lifecycle, Step, Target
from ...planning.estimate import lifecycles

SESSION, RUN = "session", "run"


class Phase(StrEnum):
    """The parts of a lifecycle."""

    BOOTSTRAP = "bootstrap"
    READY = "ready"
    DESTROY = "destroy"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    """A step of a target, the phase it belongs to, and whether it is carried out once per ``run``
    or per ``session``.
    """

    target: str
    phase: Phase
    step: Step
    per: str = RUN


def lifecycles_of(target: Target, per: str) -> tuple[Lifecycle, ...]:
    """The lifecycles with this ``per``, in the order in which they are brought up: components as
    written, then the target's own.
    """
    own, *components = lifecycles(target)
    return tuple(lifecycle for lifecycle in (*components, own) if lifecycle.per == per)


def rising(target: Target, per: str) -> Iterator[OwnStep]:
    """What brings the target up: every bootstrap, then every ready."""
    found = lifecycles_of(target, per)
    for phase in (Phase.BOOTSTRAP, Phase.READY):
        for lifecycle in found:
            for step in lifecycle.bootstrap if phase is Phase.BOOTSTRAP else lifecycle.ready:
                yield OwnStep(target=target.name, phase=phase, step=step, per=per)


def falling(target: Target, per: str) -> Iterator[OwnStep]:
    """What takes it down: the lifecycles the other way round, the steps of each as written, then
    its charts, the last first.
    """
    for lifecycle in reversed(lifecycles_of(target, per)):
        charts = [
            step for step in (*lifecycle.bootstrap, *lifecycle.ready) if step.action == "chart"
        ]
        for step in (*lifecycle.destroy, *map(_removal, reversed(charts))):
            yield OwnStep(target=target.name, phase=Phase.DESTROY, step=step, per=per)


def _removal(chart: Step) -> Step:
    """The step that removes what ``chart`` installed; no step of a spec can be called so."""
    arguments = {
        key: value
        for key, value in chart.arguments.items()
        if key in ("name", "release", "namespace")
    }
    return replace(
        chart,
        name=f"{chart.name}.removal",
        arguments={"release": chart.name, **arguments, REMOVAL: True},
        capture={},
    )


REMOVAL = "removal"
"""The argument of a chart step that takes the release away; no spec can give it."""


def steps_per(target: Target, per: str) -> tuple[OwnStep, ...]:
    """What brings up and takes down what is there once for the run, or anew for every session."""
    return (*rising(target, per), *falling(target, per))


def all_steps(target: Target) -> Iterator[OwnStep]:
    """Every step of ``target``, in the order in which they run."""
    for per in (RUN, SESSION):
        yield from rising(target, per)
    for per in (SESSION, RUN):
        yield from falling(target, per)


def short_name(target: Target, own: OwnStep) -> str:
    """A name of the step for job ids, whose length is bounded: its phase and its place among the
    target's steps.
    """
    names = [other.step.name for other in all_steps(target)]
    return f"{own.phase.value[0]}{names.index(own.step.name):03d}"


def argument_words(step: Step) -> list[str]:
    """The words of a ``run`` step as written."""
    words: Json = step.arguments.get("argv")
    return [str(word) for word in words] if isinstance(words, list | tuple) else []


def has_file(step: Step) -> bool:
    """Whether the step is what a file beside the spec says: a script or a manifest."""
    return step.action in ("script", "manifest")


def files_of(step: Step) -> tuple[str, ...]:
    """The files beside the spec that the step needs, as a run keeps them: its script or manifest; a
    chart's values, and the chart as an archive.
    """
    if has_file(step):
        return (script_name(step),)
    if step.action != "chart" or REMOVAL in step.arguments:
        return ()
    values = step.arguments.get("values")
    return tuple(name for name in (chart_archive(step), values) if isinstance(name, str))


def chart_archive(step: Step) -> str | None:
    """The archive of a chart that lies beside the spec (``./charts/echo``, a folder, or
    ``./echo.tgz``); None for one of a repository.
    """
    return (
        f"{chart_source(step).removesuffix('.tgz')}.tgz"
        if str(step.arguments.get("name")).startswith("./")
        else None
    )


def chart_source(step: Step) -> str:
    """The folder or the archive of a chart that lies beside the spec, relative to it."""
    return str(step.arguments.get("name")).removeprefix("./").rstrip("/")


def script_name(step: Step) -> str:
    """The file of a ``script`` or ``manifest`` step, as written."""
    return str(step.arguments.get("file"))
