"""What an experiment asks of its allocations: where its roles may lie, and which volumes and ports its workload says that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..workloads.registry import get_workload
from .ports import Demand, Made
from .spec import Experiment, Json, Role

NOTHING_MADE = Made()


def volumes_of(experiment: Experiment) -> tuple[Role, ...]:
    """The roles in which its workload writes to volumes (``VOLUMES``); the others get none made for them."""
    return tuple(getattr(get_workload(experiment.tool), "VOLUMES", ()))


def demand_of(experiment: Experiment, made: Made = NOTHING_MADE) -> Demand:
    """What the experiment asks for where its target has ``made`` objects: ports as the workload's functions ``ports`` and ``fixed_ports`` say."""
    workload = get_workload(experiment.tool)
    count: Callable[[Mapping[str, Json]], int] = getattr(workload, "ports", lambda _: 1)
    fixed: Callable[[Mapping[str, Json]], Sequence[int]] = getattr(workload, "fixed_ports", lambda _: ())
    return Demand(
        path=experiment.path,
        placement=experiment.placement,
        image=experiment.image,
        storage=experiment.storage,
        volumes=volumes_of(experiment),
        ports=count(experiment.parameters),
        fixed_ports=tuple(fixed(experiment.parameters)),
        made=made,
    )
