"""What a plan asks of the runners and workloads that do not provide it: asked as a whole before
anything is created.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...lifecycle.step.problems import find_step_problems
from ...model.contract.runner import Runner
from ...model.contract.values import Problem
from ...model.contract.workload import Workload
from ...model.errors import Unsupported
from ...model.spec import Order, Spec
from ...planning.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Where runners and workloads are looked up by name."""

    runner: Callable[[str], Runner]
    workload: Callable[[str], Workload]


def find_problems(plan: Plan, spec: Spec, catalogue: Catalogue) -> tuple[Problem, ...]:
    """Ask the runners about the whole plan before anything is created. Pure; the problems are
    distinct and in plan order.
    """
    problems: dict[Problem, None] = {}
    if plan.method.order is Order.DUET:
        problems[
            Problem(
                message="order: duet (both targets at once) is not part of this version yet",
                remedy="use order: blocks",
            )
        ] = None
    for experiment in plan.experiments:
        for site in {s.name: s for s in spec.target(experiment.target).sites.values()}.values():
            try:
                found = catalogue.runner(site.runner).unsupported(experiment, site)
            except Unsupported as error:
                found = (
                    Problem(message=error.message, remedy=error.remedy or "choose another runner"),
                )
            problems |= dict.fromkeys(found)
    problems |= dict.fromkeys(
        find_step_problems(
            spec, dict.fromkeys(e.target for e in plan.experiments), catalogue.runner
        )
    )
    return tuple(problems)
