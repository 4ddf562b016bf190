"""What a lifecycle step executes on a machine: the words of a run step, a script by its
interpreter, or what installs a chart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from ...model.contract.runner import ChartKeeper, Steered
from ...model.contract.values import ChartUse, Command
from ...model.errors import RunFailed
from ...model.spec import Json, Spec, Step
from ...store.directory import RunDirectory
from ..state import Standing
from .inputs import Inputs
from .order import REMOVAL, OwnStep, Phase, argument_words, chart_archive, files_of, script_name
from .places import ON_CONTROLLER, Runners, StepPlace, steered_site
from .workdirs import Workdirs

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
        if step.action == "chart":
            argv = self._chart(standing, own, place)
        elif step.action == "script":
            argv = self._place_script(standing, place, script_name(step))
        else:
            argv = self.inputs.words(standing, argument_words(step))
        return Command(
            argv=argv,
            role=place.role,
            timeout_s=step.timeout_s,
            env=plain,
            secrets=secret,
            lasting=own.phase is not Phase.DESTROY,
        )

    def _chart(self, standing: Standing, own: OwnStep, place: StepPlace) -> tuple[str, ...]:
        """The words that install or remove a chart; its archive and its values are placed beside
        them.
        """
        step, folder = own.step, self.workdirs.path(standing, place)
        site = steered_site(self.spec.target(own.target), step, self.runners)
        keeper = None if site is None else self.runners(site.runner)
        if site is None or not isinstance(keeper, ChartKeeper):
            raise RunFailed(
                "found chart, but no one cluster that it is for",
                remedy="name one of the target's clusters (`site`)",
            )
        arguments = self.inputs.arguments(standing, step.arguments)
        files = {name: self.directory.script(name) for name in files_of(step)}
        values = arguments.get("values")
        if isinstance(values, Mapping):
            files |= {f"{step.name}.values.json": json.dumps(values, indent=1).encode()}
        for name, data in files.items():
            self.workdirs.put_script(standing, place, name, data)
        return keeper.chart_command(site, chart_use(step, self.directory.run_id, folder, arguments))

    def _steering(self, standing: Standing, own: OwnStep, place: StepPlace) -> Mapping[str, str]:
        """What a program on the controller needs to reach the step's site, where that is steered
        from here.
        """
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


def chart_use(step: Step, run_id: str, folder: str, arguments: Mapping[str, Json]) -> ChartUse:
    """What a chart step asks for, with its files in ``folder``."""
    archive, values = chart_archive(step), arguments.get("values")
    name = f"{step.name}.values.json" if isinstance(values, Mapping) else values
    return ChartUse(
        name=step.name,
        run_id=run_id,
        arguments=arguments,
        timeout_s=step.timeout_s,
        archive=os.path.join(folder, archive) if archive else None,
        values=os.path.join(folder, name) if isinstance(name, str) else None,
        removal=REMOVAL in step.arguments,
    )


def interpreter_of(script: bytes) -> tuple[str, ...]:
    """Who executes ``script``: the program its first line names after ``#!`` with at most one
    argument, as the kernel does it; else ``sh``.
    """
    first = script.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    words = first.removeprefix("#!").split(maxsplit=1) if first.startswith("#!") else []
    return tuple(word.strip() for word in words) or DEFAULT_INTERPRETER
