"""What a lifecycle step executes on a machine: the words of a run step, or a script by its interpreter, with what it needs in its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ..ports import Command, Steered
from ..rundir import RunDirectory
from ..spec import Spec
from .standing import Standing
from .step_inputs import Inputs
from .step_order import OwnStep, Phase, argument_words, script_name
from .step_places import ON_CONTROLLER, Runners, StepPlace, steered_site
from .step_workdirs import Workdirs

DEFAULT_INTERPRETER = ("sh",)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCommands:
    """Makes the commands of one run's steps, and places the files that these need."""

    directory: RunDirectory
    spec: Spec
    runners: Runners
    inputs: Inputs
    workdirs: Workdirs

    def command(self, standing: Standing, own: OwnStep, place: StepPlace) -> Command:
        """The program of a run or script step, with its references replaced. Raises RunFailed."""
        step = own.step
        plain, secret = self.inputs.environment(standing, step.env)
        if place == ON_CONTROLLER:
            plain = {**self._steering(standing, own, place), **plain}
        if step.action == "script":
            argv = self._place_script(standing, place, script_name(step))
        else:
            argv = self.inputs.words(standing, argument_words(step))
        return Command(argv=argv, role=place.role, timeout_s=step.timeout_s, env=plain, secrets=secret, lasting=own.phase is not Phase.DESTROY)

    def _steering(self, standing: Standing, own: OwnStep, place: StepPlace) -> Mapping[str, str]:
        """What a program on the controller needs to reach the step's site, where that is steered from here."""
        site = steered_site(self.spec.target(own.target), own.step, self.runners)
        runner = None if site is None else self.runners(site.runner)
        if site is None or not isinstance(runner, Steered):
            return {}
        env, files = runner.steering(site, self.workdirs.path(standing, place))
        for name, data in files.items():
            self.workdirs.allocation(standing, place).put(place.role, name, data)
        return env

    def _place_script(self, standing: Standing, place: StepPlace, name: str) -> tuple[str, ...]:
        data = self.directory.script(name)
        self.workdirs.put_script(standing, place, name, data)
        return (*interpreter_of(data), os.path.join(self.workdirs.path(standing, place), name))


def interpreter_of(script: bytes) -> tuple[str, ...]:
    """Who executes ``script``: the program its first line names after ``#!`` with at most one argument, as the kernel does it; else ``sh``."""
    first = script.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    words = first.removeprefix("#!").split(maxsplit=1) if first.startswith("#!") else []
    return tuple(word.strip() for word in words) or DEFAULT_INTERPRETER
