"""What a spec, or a run that was made of it, asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine.capabilities.of_plan import capabilities_of
from ..engine.capabilities.programs import step_capabilities
from ..engine.lifecycle.spec_files import read_scripts
from ..engine.lifecycle.step.order import OwnStep
from ..engine.lifecycle.step.texts import Scripts
from ..engine.model.spec import LoadedSpec, Spec
from ..engine.planning.plan import Plan
from ..engine.store.directory import RunDirectory
from .catalogue import catalogue
from .consent import Asked


def asked_of_plan(
    loaded: LoadedSpec, plan: Plan, scripts: Mapping[str, bytes] | None = None
) -> Asked:
    """What is asked for before ``plan`` is carried out. ``scripts`` are what was read of the
    steps' files; None: they are read now. Raises SpecError when one cannot be read.
    """
    given = read_scripts(loaded) if scripts is None else scripts
    folder = loaded.path.parent.resolve()
    runners = catalogue().runner
    return Asked(
        capabilities_of(
            loaded.spec, plan.experiments, runners, lambda name: (name, given[name]), folder
        )
    )


def asked_of_run(directory: RunDirectory, spec: Spec, plan: Plan) -> Asked:
    """What is asked for before a run goes on, with the files that it keeps."""
    runners, scripts = catalogue().runner, _copied(directory)
    return Asked(capabilities_of(spec, plan.experiments, runners, scripts))


def asked_of_steps(directory: RunDirectory, spec: Spec, steps: Iterable[OwnStep]) -> Asked:
    """What is asked for before ``steps`` of a run are carried out."""
    runners, scripts = catalogue().runner, _copied(directory)
    return Asked(one for step in steps for one in step_capabilities(step, spec, runners, scripts))


def _copied(directory: RunDirectory) -> Scripts:
    """The script files that a run directory keeps."""
    return lambda name: (name, directory.script(name))
