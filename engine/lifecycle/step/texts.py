"""Lifecycle steps for people: what would be executed, on which host, from which file."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable

from ...model.codec import encode
from ...model.contract.runner import ChartKeeper
from ...model.errors import BenchspecError, RunFailed
from ...model.spec import Spec, Step
from .commands import chart_use
from .order import OwnStep, argument_words, files_of, has_file, script_name
from .places import Runners, places_of, steered_site

_SUM_DIGITS = 12

Scripts = Callable[[str], tuple[str, bytes]]
"""Gives the path and the bytes of a script by its name beside the spec."""


def describe_step(own: OwnStep, spec: Spec, runners: Runners, scripts: Scripts) -> str:
    """One line: target, phase, name, hosts, and what is executed there; of a script its file and
    the beginning of the sha256 of its bytes.
    """
    step = own.step
    action = (
        _chart(own, spec, runners, scripts) if step.action == "chart" else _action(step, scripts)
    )
    return (
        f"{own.target}: {own.phase} {step.name} on {_hosts(own, spec, runners)}:"
        f" {action}{_environment(step)}"
    )


def _hosts(own: OwnStep, spec: Spec, runners: Runners) -> str:
    try:
        return ", ".join(
            place.host for place in places_of(spec.target(own.target), own.step, runners)
        )
    except RunFailed:  # also Unsupported: a plan can be shown of what cannot be carried out
        on = own.step.on
        return ", ".join(on) if isinstance(on, tuple) else on or own.step.site or own.target


def _action(step: Step, scripts: Scripts) -> str:
    if step.action == "run":
        return shlex.join(argument_words(step))
    if has_file(step):
        return _file(step, scripts)
    if step.action == "wait":
        return "wait for " + ", ".join(
            f"{kind} {value}" for kind, value in step.arguments.items() if not kind.startswith("x-")
        )
    return f"{step.action} {encode(step.arguments)}"


def _chart(own: OwnStep, spec: Spec, runners: Runners, scripts: Scripts) -> str:
    """The program that installs it, and the sums of the files that it is given."""
    step = own.step
    try:
        site = steered_site(spec.target(own.target), step, runners)
        keeper = None if site is None else runners(site.runner)
    except RunFailed:
        site = keeper = None
    if site is None or not isinstance(keeper, ChartKeeper):
        return f"chart {encode(step.arguments)}"
    words = shlex.join(keeper.chart_words(site, chart_use(step, "RUN", "", step.arguments)))
    return " ".join([words, *(f"({_named(name, scripts)})" for name in files_of(step))])


def _file(step: Step, scripts: Scripts) -> str:
    return f"{step.action} {_named(script_name(step), scripts)}"


def _named(name: str, scripts: Scripts) -> str:
    try:
        path, data = scripts(name)
    except BenchspecError:
        return f"{shlex.quote(name)} (which cannot be read)"
    return f"{shlex.quote(path)} (sha256 {hashlib.sha256(data).hexdigest()[:_SUM_DIGITS]})"


def _environment(step: Step) -> str:
    return (
        f" with {' '.join(f'{name}={shlex.quote(value)}' for name, value in step.env.items())}"
        if step.env
        else ""
    )
