"""Lifecycle steps for people: what would be executed, on which host, from which file."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable

from ..codec import encode
from ..errors import BenchspecError, RunFailed
from ..spec import Spec, Step
from .step_order import OwnStep, argument_words, has_file, script_name
from .step_places import Runners, places_of

_SUM_DIGITS = 12

Scripts = Callable[[str], tuple[str, bytes]]
"""Gives the path and the bytes of a script by its name beside the spec."""


def describe_step(own: OwnStep, spec: Spec, runners: Runners, scripts: Scripts) -> str:
    """One line: target, phase, name, hosts, and what is executed there; of a script its file and the beginning of the sha256 of its bytes."""
    step = own.step
    return f"{own.target}: {own.phase} {step.name} on {_hosts(own, spec, runners)}: {_action(step, scripts)}{_environment(step)}"


def _hosts(own: OwnStep, spec: Spec, runners: Runners) -> str:
    try:
        return ", ".join(place.host for place in places_of(spec.target(own.target), own.step, runners))
    except RunFailed:  # also Unsupported: a plan can be shown of what cannot be carried out
        on = own.step.on
        return ", ".join(on) if isinstance(on, tuple) else on or own.step.site or own.target


def _action(step: Step, scripts: Scripts) -> str:
    if step.action == "run":
        return shlex.join(argument_words(step))
    if has_file(step):
        return _file(step, scripts)
    if step.action == "wait":
        return "wait for " + ", ".join(f"{kind} {value}" for kind, value in step.arguments.items() if not kind.startswith("x-"))
    return f"{step.action} {encode(step.arguments)}"


def _file(step: Step, scripts: Scripts) -> str:
    try:
        path, data = scripts(script_name(step))
    except BenchspecError:
        return f"{step.action} {shlex.quote(script_name(step))} (which cannot be read)"
    return f"{step.action} {shlex.quote(path)} (sha256 {hashlib.sha256(data).hexdigest()[:_SUM_DIGITS]})"


def _environment(step: Step) -> str:
    return f" with {' '.join(f'{name}={shlex.quote(value)}' for name, value in step.env.items())}" if step.env else ""
