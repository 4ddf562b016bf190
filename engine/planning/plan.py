"""From experiments to an order of allocations, with time, price and what the plan cannot show.
Pure; needs no target. The order itself is drawn in ``order``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..model import codec
from ..model.contract.workload import Workload
from ..model.errors import UsageError
from ..model.spec import Experiment, Json, LoadedSpec, Method, Mode, Spec
from .baselines import target_pairs
from .design import advice as notes
from .design.detectable_difference import Reach, reach
from .estimate import Estimate, PlannedPrice, estimate, prices
from .expand import MAX_EXPERIMENTS, expand
from .order import PlannedAllocation, arrange
from .selection import select


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run will do, in order. ``estimate_s`` in s; ``price`` per target with a price, None
    when no target has one.

    ``method`` is the spec's as it is carried out (``--seed`` and smoke mode applied). ``reach``
    says what its sessions can show for the ``compared`` cells; it is empty when nothing is
    compared.
    """

    seed: int
    experiments: tuple[Experiment, ...]
    order: tuple[PlannedAllocation, ...]
    estimate_s: float
    price: Mapping[str, PlannedPrice] | None = None
    notes: tuple[str, ...] = ()
    method: Method = field(default_factory=Method)
    estimate: Estimate | None = None
    spec_sha256: str = ""
    reach: tuple[Reach, ...] = ()
    compared: tuple[str, ...] = ()


def plan(
    loaded: LoadedSpec,
    workloads: Mapping[str, Workload],
    *,
    seed: int | None = None,
    only: Sequence[str] = (),
    max_experiments: int = MAX_EXPERIMENTS,
) -> Plan:
    """Plan ``loaded``; ``seed`` wins over the spec's, ``only`` restricts it (see
    :mod:`benchspec.engine.planning.selection`).

    Raises:
        SpecError: the spec does not expand.
        UsageError: a selector matches nothing, or the seed is negative.
    """
    spec, method = loaded.spec, effective(loaded.spec.method, seed)
    experiments = expand(spec, workloads, max_experiments=max_experiments)
    if only:
        experiments = select(experiments, only)
    seconds, details = estimate(spec, method, experiments, workloads)
    compared = compared_cells(spec, experiments)
    reached = (
        reach(method.sessions, spec.compare.equivalence, method.confidence)
        if spec.compare and compared and method.mode is Mode.FULL
        else ()
    )
    return Plan(
        seed=method.seed,
        experiments=experiments,
        order=arrange(experiments, method),
        estimate_s=seconds,
        price=prices(spec.targets, details.per_target_s),
        notes=notes.of_plan(spec, method, experiments, reached, seconds, workloads),
        method=method,
        estimate=details,
        spec_sha256=hashlib.sha256(loaded.source).hexdigest(),
        reach=reached,
        compared=compared,
    )


def effective(method: Method, seed: int | None) -> Method:
    """The method as it is carried out: ``seed`` applied, and everything once in smoke mode."""
    chosen = method.seed if seed is None else seed
    if chosen < 0:
        raise UsageError(
            f"found seed {chosen}, expected 0 or more",
            where="--seed" if seed is not None else "method.seed",
        )
    if method.mode is Mode.SMOKE:
        return replace(method, seed=chosen, sessions=1, trials=1, warmups=0, precision=None)
    return replace(method, seed=chosen)


def compared_cells(spec: Spec, experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """The cells that a baseline and at least one other target of its environment have, in plan
    order.
    """
    shared = {experiment.cell for _, experiment in target_pairs(spec, experiments)}
    return tuple(
        cell
        for cell in dict.fromkeys(experiment.cell for experiment in experiments)
        if cell in shared
    )


def plan_to_json(plan: Plan) -> dict[str, Json]:
    """The plan as JSON values, stable; :func:`benchspec.engine.model.codec.decode` makes an equal
    Plan of them.
    """
    return {"price": None, "notes": [], **codec.encode(plan)}
