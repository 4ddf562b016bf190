"""Where lifecycle steps run, in which order, and why some cannot: pure questions about a spec."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ..build_target import ANY_ROLE
from ..codec import encode
from ..errors import SpecError, Unsupported
from ..estimate import lifecycles
from ..ports import Problem, Runner, StepRunner
from ..spec import Json, Lifecycle, Role, RolePlace, Site, Spec, Step, Target
from .captures import check_captures, references

CONTROLLER = "controller"
SESSION, RUN = "session", "run"


class Phase(StrEnum):
    """The parts of a lifecycle."""

    BOOTSTRAP = "bootstrap"
    READY = "ready"
    DESTROY = "destroy"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    """A step of a target, and the phase it belongs to."""

    target: str
    phase: Phase
    step: Step


def lifecycles_of(target: Target, per: str) -> tuple[Lifecycle, ...]:
    """The lifecycles with this ``per``, in the order in which they are brought up: components as written, then the target's own."""
    own, *components = lifecycles(target)
    return tuple(lifecycle for lifecycle in (*components, own) if lifecycle.per == per)


def rising(target: Target, per: str) -> Iterator[OwnStep]:
    """What brings the target up: every bootstrap, then every ready."""
    found = lifecycles_of(target, per)
    for phase in (Phase.BOOTSTRAP, Phase.READY):
        for lifecycle in found:
            for step in lifecycle.bootstrap if phase is Phase.BOOTSTRAP else lifecycle.ready:
                yield OwnStep(target=target.name, phase=phase, step=step)


def falling(target: Target, per: str) -> Iterator[OwnStep]:
    """What takes it down: the lifecycles the other way round, the steps of each as written."""
    for lifecycle in reversed(lifecycles_of(target, per)):
        for step in lifecycle.destroy:
            yield OwnStep(target=target.name, phase=Phase.DESTROY, step=step)


def all_steps(target: Target) -> Iterator[OwnStep]:
    """Every step of ``target``, in the order in which they run."""
    for per in (RUN, SESSION):
        yield from rising(target, per)
    for per in (SESSION, RUN):
        yield from falling(target, per)


def place_of(target: Target, step: Step) -> tuple[Site, Role] | None:
    """The site and role ``step`` runs on; None when the target has not got them. The controller is the target's first role."""
    roles = {role: site for role, site in target.sites.items() if role != ANY_ROLE}
    everywhere = target.sites.get(ANY_ROLE)
    if step.on not in (None, CONTROLLER):
        site = roles.get(str(step.on), everywhere)
        return (site, Role(step.on)) if site is not None and step.site in (None, site.name) else None
    candidates = [(site, Role(role)) for role, site in roles.items()] + ([(everywhere, Role.CLIENT)] if everywhere else [])
    return next((found for found in candidates if step.site in (None, found[0].name)), None)


def role_places(target: Target, site: str) -> tuple[RolePlace, ...]:
    """The roles that the steps of ``target`` use on ``site``."""
    found = (place_of(target, own.step) for own in all_steps(target))
    return tuple(RolePlace(role=role, site=site) for role in dict.fromkeys(place[1] for place in found if place and place[0].name == site))


def step_sites(targets: Iterable[Target]) -> frozenset[str]:
    """The names of all sites on which steps of ``targets`` run."""
    return frozenset(place[0].name for target in targets for own in all_steps(target) if (place := place_of(target, own.step)))


def find_step_problems(spec: Spec, targets: Iterable[str], runner: Callable[[str], Runner]) -> Iterator[Problem]:
    """Why steps of these targets cannot be carried out. Pure: nothing is reached, nothing is created."""
    for target in (spec.target(name) for name in targets):
        yield from _mixed_outputs(target)
        for own in all_steps(target):
            yield from _problems(target, own.step, runner)


def _problems(target: Target, step: Step, runner: Callable[[str], Runner]) -> Iterator[Problem]:
    place = place_of(target, step)
    if place is None:
        where = " ".join(text for text in (step.on and f"on: {step.on}", step.site and f"site: {step.site}") if text)
        yield _problem(target, step, f"found {where}, which the target has not got", "name one of the roles and sites of the target")
        return
    try:
        carrier = runner(place[0].runner)
    except Unsupported:
        return  # told for its experiments
    if isinstance(carrier, StepRunner):
        for problem in carrier.unsupported_step(step, place[0]):
            yield Problem(message=f"target {target.name}: {problem.message}", remedy=problem.remedy)
    else:
        yield _problem(target, step, f"the {place[0].runner} runner carries out no lifecycle steps yet", "prepare the target by hand")
    yield from _own_problems(target, step)


def _own_problems(target: Target, step: Step) -> Iterator[Problem]:
    if references(step.arguments, "secret") and step.action != "wait":
        message = "found a secret in an argument, where every user of the host can read it"
        yield _problem(target, step, message, "hand it over in the step's env")
    if step.capture and step.action == "wait" and "http" not in step.arguments:
        yield _problem(target, step, "found capture at a wait that prints nothing", "capture from a run step, or from wait: http")
    try:
        check_captures(step)
    except SpecError as error:
        yield _problem(target, step, error.message, error.remedy or "correct the capture")


def _mixed_outputs(target: Target) -> Iterator[Problem]:
    """What stands for the whole run cannot use what a session captures."""
    of_sessions = {f"{own.step.name}.{name}" for way in (rising, falling) for own in way(target, SESSION) for name in own.step.capture}
    for own in (*rising(target, RUN), *falling(target, RUN)):
        used = references(own.step.arguments, "output") | references(own.step.env, "output")
        for name in sorted(used & of_sessions):
            yield _problem(target, own.step, f"found ${{output:{name}}}, which only exists within a session", "give both lifecycles the same `per`")


def _problem(target: Target, step: Step, message: str, remedy: str) -> Problem:
    return Problem(message=f"target {target.name}: step {step.name}: {message}", remedy=remedy)


def describe_step(own: OwnStep, scripts: str) -> str:
    """One line for people: target, phase, name, and what is executed. ``scripts`` is the folder in which script files are."""
    step = own.step
    return f"{own.target}: {own.phase} {step.name}: {_action(step, scripts)}{_environment(step)}"


def _action(step: Step, scripts: str) -> str:
    if step.action == "run":
        return shlex.join(argument_words(step))
    if step.action == "script":
        path = f"{scripts}/{step.arguments.get('file')}"
        return f"script {shlex.quote(path)}"
    if step.action == "wait":
        return "wait for " + ", ".join(f"{kind} {value}" for kind, value in step.arguments.items() if not kind.startswith("x-"))
    return f"{step.action} {encode(step.arguments)}"


def _environment(step: Step) -> str:
    return f" with {' '.join(f'{name}={shlex.quote(value)}' for name, value in step.env.items())}" if step.env else ""


def argument_words(step: Step) -> list[str]:
    """The words of a ``run`` step as written."""
    words: Json = step.arguments.get("argv")
    return [str(word) for word in words] if isinstance(words, list | tuple) else []
