"""Why lifecycle steps cannot be carried out: asked before anything is reached or created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model.contract.runner import ChartKeeper, StepRunner
from ...model.contract.values import Problem
from ...model.errors import RunFailed, SpecError, Unsupported
from ...model.spec import Spec, Step, Target
from ..outputs import check_captures, references
from .order import REMOVAL, RUN, SESSION, OwnStep, all_steps, steps_per
from .places import Runners, StepPlace, places_of, steered_site


def find_step_problems(spec: Spec, targets: Iterable[str], runners: Runners) -> Iterator[Problem]:
    """Why steps of these targets cannot be carried out. Pure: nothing is reached, nothing is
    created.
    """
    for target in (spec.target(name) for name in targets):
        yield from _mixed_outputs(target)
        for own in all_steps(target):
            if (
                REMOVAL not in own.step.arguments
            ):  # what keeps a chart from being removed keeps it from being installed
                yield from _problems(target, own.step, runners)


def _problems(target: Target, step: Step, runners: Runners) -> Iterator[Problem]:
    try:
        places = places_of(target, step, runners)
    except Unsupported:
        return  # told for its experiments
    except RunFailed as error:
        yield _problem(target, step, error.message, error.remedy or "correct the step")
        return
    if step.action == "chart":
        yield from _of_chart(target, step, runners)
    else:
        for place in {place.site.name: place for place in places}.values():
            yield from _of_runner(target, step, place, runners)
    yield from _own_problems(target, step)


def _of_runner(target: Target, step: Step, place: StepPlace, runners: Runners) -> Iterator[Problem]:
    carrier = runners(place.site.runner)
    if not isinstance(carrier, StepRunner):
        yield _problem(
            target,
            step,
            f"the {place.site.runner} runner carries out no lifecycle steps yet",
            "prepare the target by hand",
        )
        return
    for problem in carrier.unsupported_step(step, place.site):
        yield Problem(message=f"target {target.name}: {problem.message}", remedy=problem.remedy)


def _of_chart(target: Target, step: Step, runners: Runners) -> Iterator[Problem]:
    """A chart is installed from the controller, on the site that the step is about."""
    site = steered_site(target, step, runners)
    carrier = None if site is None else runners(site.runner)
    if site is None or not isinstance(carrier, ChartKeeper) or not isinstance(carrier, StepRunner):
        remedy = (
            "name one of the target's clusters (`site`), or put the target on a runner of kind"
            " kubernetes"
        )
        yield _problem(
            target,
            step,
            "found chart, expected run, script or another wait: there is no one cluster that it"
            " is for",
            remedy,
        )
        return
    for problem in carrier.unsupported_step(step, site):
        yield Problem(message=f"target {target.name}: {problem.message}", remedy=problem.remedy)


def _own_problems(target: Target, step: Step) -> Iterator[Problem]:
    if references(step.arguments, "secret") and step.action != "wait":
        message = "found a secret in an argument, where every user of the host can read it"
        yield _problem(target, step, message, "hand it over in the step's env")
    if step.capture and step.action == "wait" and not {"http", "condition"} & step.arguments.keys():
        yield _problem(
            target,
            step,
            "found capture at a wait that prints nothing",
            "capture from a run step, or from wait: http or condition",
        )
    try:
        check_captures(step)
    except SpecError as error:
        yield _problem(target, step, error.message, error.remedy or "correct the capture")


def _mixed_outputs(target: Target) -> Iterator[Problem]:
    """What stands for the whole run cannot use what a session captures."""
    of_sessions = {
        (own.step.name, name) for own in steps_per(target, SESSION) for name in own.step.capture
    }
    for own in steps_per(target, RUN):
        for used in sorted(_outputs(own)):
            step, _, rest = used.partition(".")
            if (step, rest.rpartition(".")[2]) in of_sessions:
                message = f"found ${{output:{used}}}, which only exists within a session"
                yield _problem(target, own.step, message, "give both lifecycles the same `per`")


def _outputs(own: OwnStep) -> frozenset[str]:
    return references(own.step.arguments, "output") | references(own.step.env, "output")


def _problem(target: Target, step: Step, message: str, remedy: str) -> Problem:
    return Problem(message=f"target {target.name}: step {step.name}: {message}", remedy=remedy)
