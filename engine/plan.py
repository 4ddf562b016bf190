"""From experiments to an order of allocations, with time, price and what the plan cannot show. Pure; needs no target.

Randomised complete blocks: a session is a block in which every experiment comes once, in an order drawn with numpy's PCG64. Every session has a
stream of its own, derived from the seed and the session's number, so that sessions added later leave the order of earlier ones alone.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import codec, notes
from .baselines import target_pairs
from .errors import UsageError
from .estimate import Estimate, PlannedPrice, estimate, prices
from .expand import MAX_EXPERIMENTS, expand
from .ports import Workload
from .reach import Reach, reach
from .selection import select
from .spec import Experiment, Json, LoadedSpec, Method, Mode, Order, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAllocation:
    """One allocation: the session it belongs to and its position there (both from 1), and how many warm-ups and measured trials it makes.

    Allocations of a session with the same ``group`` run at the same time (duet); None runs alone.
    """

    session: int
    position: int
    experiment_id: str
    warmups: int
    trials: int
    group: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run will do, in order. ``estimate_s`` in s; ``price`` per target with a price, None when no target has one.

    ``method`` is the spec's as it is carried out (``--seed`` and smoke mode applied). ``reach`` says what its sessions can show for the
    ``compared`` cells; it is empty when nothing is compared.
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
    """Plan ``loaded``; ``seed`` wins over the spec's, ``only`` restricts it (see :mod:`benchspec.engine.selection`).

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
    reached = reach(method.sessions, spec.compare.equivalence, method.confidence) if spec.compare and compared and method.mode is Mode.FULL else ()
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
        raise UsageError(f"found seed {chosen}, expected 0 or more", where="--seed" if seed is not None else "method.seed")
    if method.mode is Mode.SMOKE:
        return replace(method, seed=chosen, sessions=1, trials=1, warmups=0, precision=None)
    return replace(method, seed=chosen)


def arrange(experiments: Sequence[Experiment], method: Method) -> tuple[PlannedAllocation, ...]:
    """The order of all sessions of ``method``; in sequential order, target after target with all its sessions."""
    sessions = [arrange_session(experiments, method, session) for session in range(1, method.sessions + 1)]
    whole = itertools.chain.from_iterable(sessions)
    if method.order is not Order.SEQUENTIAL:
        return tuple(whole)
    rank = _target_ranks(experiments)
    target = {experiment.id: rank[experiment.target] for experiment in experiments}
    return tuple(sorted(whole, key=lambda allocation: target[allocation.experiment_id]))


def arrange_session(experiments: Sequence[Experiment], method: Method, session: int) -> tuple[PlannedAllocation, ...]:
    """The block of one session (counted from 1): every experiment once. Depends on the seed, the session and the experiments alone."""
    from numpy.random import PCG64, Generator, SeedSequence

    stream = Generator(PCG64(SeedSequence(method.seed, spawn_key=(session,))))
    drawn = [experiments[index] for index in stream.permutation(len(experiments)).tolist()]
    groups: dict[str, int] = {}
    if method.order is Order.SEQUENTIAL:
        rank = _target_ranks(experiments)
        drawn.sort(key=lambda experiment: rank[experiment.target])
    elif method.order is Order.DUET:
        cells = {cell: number for number, cell in enumerate(dict.fromkeys(e.cell for e in drawn), start=1)}
        drawn.sort(key=lambda experiment: cells[experiment.cell])
        groups = {experiment.id: cells[experiment.cell] for experiment in drawn}
    return tuple(
        PlannedAllocation(
            session=session, position=position, experiment_id=e.id, warmups=method.warmups, trials=method.trials, group=groups.get(e.id)
        )
        for position, e in enumerate(drawn, start=1)
    )


def _target_ranks(experiments: Sequence[Experiment]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(dict.fromkeys(e.target for e in experiments))}


def compared_cells(spec: Spec, experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """The cells that a baseline and at least one other target of its environment have, in plan order."""
    shared = {experiment.cell for _, experiment in target_pairs(spec, experiments)}
    return tuple(cell for cell in dict.fromkeys(experiment.cell for experiment in experiments) if cell in shared)


def plan_to_json(plan: Plan) -> dict[str, Json]:
    """The plan as JSON values, stable; :func:`benchspec.engine.codec.decode` makes an equal Plan of them."""
    return {"price": None, "notes": [], **codec.encode(plan)}
