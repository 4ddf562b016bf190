"""How long a plan takes and what its targets cost meanwhile. Estimates: measured time decides,
these only keep surprises small.

What a transport adds is declared by its runner (:mod:`benchspec.engine.model.runner_traits`).
Local: measured with specs/quickstart.yaml on two busy cores (83 s, estimated 83 s). Kubernetes:
measured with specs/testbed/constellation.yaml on a machine ten times overloaded (80 trials in 1170
s). SSH: an assumption on the generous side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model.contract.workload import Workload
from ..model.errors import UnitError
from ..model.runner_traits import Overhead, traits_of
from ..model.spec import Experiment, Lifecycle, Method, Order, Spec, Step, Target
from ..model.units import Dimension, parse_quantity

STEP_S = 5.0
"""A lifecycle step whose length nobody knows beforehand (an image pull, an installation)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPrice:
    """What a target costs while the plan runs, in ``currency``, as published at ``source`` on
    ``as_of``.
    """

    amount: float
    currency: str
    source: str
    as_of: str

    def __str__(self) -> str:
        return f"{self.amount:.2f} {self.currency} (as of {self.as_of}, {self.source})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the plan amounts to: allocations, trials (warm-ups included), and the seconds that each
    target must be up.
    """

    allocations: int
    trials: int
    per_target_s: Mapping[str, float]


def estimate(
    spec: Spec, method: Method, experiments: Sequence[Experiment], workloads: Mapping[str, Workload]
) -> tuple[float, Estimate]:
    """Add up trials, transports, lifecycle steps and cool-downs of ``method.sessions`` sessions;
    return seconds in all, and what they are for.

    Targets are up for the whole plan, except in sequential order, where each is up for its own
    part.
    """
    names = dict.fromkeys(experiment.target for experiment in experiments)
    once = {name: _once_s(spec.target(name), method.sessions) for name in names}
    busy = dict.fromkeys(names, 0.0)
    duet: dict[str, float] = {}
    for experiment in experiments:
        seconds = allocation_s(
            spec.target(experiment.target), experiment, method, workloads[experiment.tool]
        )
        busy[experiment.target] += seconds * method.sessions
        duet[experiment.cell] = max(duet.get(experiment.cell, 0.0), seconds)
    measuring = (
        sum(duet.values()) * method.sessions if method.order is Order.DUET else sum(busy.values())
    )
    total = sum(once.values()) + measuring
    alone = method.order is Order.SEQUENTIAL
    allocations = len(experiments) * method.sessions
    return total, Estimate(
        allocations=allocations,
        trials=allocations * (method.warmups + method.trials),
        per_target_s={name: once[name] + busy[name] if alone else total for name in names},
    )


def allocation_s(
    target: Target, experiment: Experiment, method: Method, workload: Workload
) -> float:
    """Seconds of one allocation of ``experiment``: set-up, warm-ups, trials, cool-down."""
    sites = {site.name: site.runner for site in target.sites.values()}
    overheads = [traits_of(sites[place.site]).overhead for place in experiment.roles] or [
        Overhead()
    ]
    trial = workload.duration_s(experiment.parameters) + max(o.trial_s for o in overheads)
    return (
        max(o.allocation_s for o in overheads)
        + (method.warmups + method.trials) * trial
        + method.cooldown_s
    )


def _once_s(target: Target, sessions: int) -> float:
    """Connecting, facts before the first and after every session, and what is installed and
    removed.
    """
    overheads = [
        traits_of(runner).overhead
        for runner in {site.name: site.runner for site in target.sites.values()}.values()
    ]
    transports = sum(o.connect_s + o.facts_s * (sessions + 1) for o in overheads)
    return transports + sum(_lifecycle_s(lifecycle, sessions) for lifecycle in lifecycles(target))


def lifecycles(target: Target) -> tuple[Lifecycle, ...]:
    """The lifecycle of the target itself and those of its components."""
    return (target.lifecycle, *(component.lifecycle for component in target.components))


def _lifecycle_s(lifecycle: Lifecycle, sessions: int) -> float:
    times = sessions if lifecycle.per == "session" else 1
    return times * sum(
        _step_s(step) for step in (*lifecycle.bootstrap, *lifecycle.ready, *lifecycle.destroy)
    )


def _step_s(step: Step) -> float:
    seconds = step.arguments.get("seconds") if step.action == "wait" else None
    try:
        return STEP_S if seconds is None else parse_quantity(str(seconds), Dimension.TIME)
    except UnitError:
        return STEP_S


def prices(
    targets: Iterable[Target], seconds: Mapping[str, float]
) -> Mapping[str, PlannedPrice] | None:
    """What every target with a price costs for the ``seconds`` it is up; None when no target has a
    price.
    """
    found = {
        t.name: PlannedPrice(
            amount=t.price.per_hour * seconds[t.name] / 3600.0,
            currency=t.price.currency,
            source=t.price.source,
            as_of=t.price.as_of,
        )
        for t in targets
        if t.price is not None and t.name in seconds
    }
    return found or None
