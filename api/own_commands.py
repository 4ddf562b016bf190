"""The lifecycle steps of a plan, as lines for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..engine.lifecycle.step.order import all_steps
from ..engine.lifecycle.step.texts import Scripts, describe_step
from ..engine.model.spec import Spec
from ..engine.planning.plan import Plan
from .catalogue import catalogue


def own_steps(spec: Spec, plan: Plan, scripts: Scripts) -> Iterator[str]:
    """Every lifecycle step of the plan's targets that would be carried out."""
    for target in dict.fromkeys(experiment.target for experiment in plan.experiments):
        for own in all_steps(spec.target(target)):
            yield describe_step(own, spec, catalogue().runner, scripts)


def script_source(folder: Path, scripts: Mapping[str, bytes]) -> Scripts:
    """Where the script files of a spec in ``folder`` are, and what is in them."""
    return lambda name: (str((folder / name).resolve()), scripts[name])
