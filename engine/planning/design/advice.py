"""What a reader of a plan should know before it runs, in sentences: weak designs, missing prices,
estimates that stand on little.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ...model.contract.values import DEFAULT_TTL_S
from ...model.contract.workload import Workload
from ...model.errors import UnitError
from ...model.runner_traits import traits_of
from ...model.spec import Experiment, Method, Mode, Order, Site, Spec, Target
from ...model.units import Dimension, parse_quantity
from .. import identity
from ..baselines import Environment, environments, host_pairs
from ..estimate import STEP_S, allocation_s, lifecycles
from .detectable_difference import USUAL_COV, Reach

WEAK_POWER = 0.5
NETWORK_POLICY = "cni.network_policy"


def _percent(ratio: float, decimals: int = 0) -> str:
    return f"{100 * ratio:.{decimals}f} %"


def of_plan(
    spec: Spec,
    method: Method,
    experiments: Sequence[Experiment],
    reached: Sequence[Reach],
    seconds: float,
    workloads: Mapping[str, Workload],
) -> tuple[str, ...]:
    """Every note about a plan of ``experiments`` that takes ``seconds`` s."""
    targets = list(dict.fromkeys(experiment.target for experiment in experiments))
    return (
        *_about_order(spec, method, experiments, targets),
        *_about_repetition(method, seconds),
        *_about_comparison(spec, experiments, targets),
        *_about_margin(spec, method, reached),
        *_about_machines(spec, experiments),
        *_about_ttl(spec, method, experiments, workloads),
        *_about_what_no_run_shows(spec, targets),
        *_about_money_and_steps(spec, targets),
    )


def _about_order(
    spec: Spec, method: Method, experiments: Sequence[Experiment], targets: Sequence[str]
) -> Iterator[str]:
    if method.order is Order.SEQUENTIAL and len(targets) > 1:
        yield (
            "order confounded: targets are measured one after the other, so a drift over time looks"
            " like a difference between them"
        )
    if method.order is Order.DUET:
        shared = _shared_places(spec, experiments)
        if shared:
            yield (
                f"duet on shared machines: {', '.join(shared)} run at the same time on the same"
                " site and disturb each other; use order: blocks"
            )


def _shared_places(spec: Spec, experiments: Sequence[Experiment]) -> list[str]:
    """Targets with a site that another target of the plan has too: the same runner with the same
    options.
    """
    places: dict[str, set[str]] = {}
    for experiment in experiments:
        for site in spec.target(experiment.target).sites.values():
            places.setdefault(f"{site.runner} {sorted(site.options.items())!r}", set()).add(
                experiment.target
            )
    return sorted({name for names in places.values() if len(names) > 1 for name in names})


def _about_repetition(method: Method, seconds: float) -> Iterator[str]:
    if method.mode is Mode.SMOKE:
        yield "mode smoke: everything runs once, and no verdict is given"
    elif method.sessions == 1:
        yield "one session: no interval covers a new allocation, and no verdict is given"
    if method.precision is not None and method.precision.max_sessions > method.sessions:
        longest = seconds * method.precision.max_sessions / method.sessions
        yield (
            f"precision: up to {method.precision.max_sessions} sessions are made to reach a"
            f" half-width of {_percent(method.precision.half_width, 1)}, at most about"
            f" {longest / 60:.0f} min"
        )


def _about_comparison(
    spec: Spec, experiments: Sequence[Experiment], targets: Sequence[str]
) -> Iterator[str]:
    if spec.compare is None:
        return
    beside = {
        host.cell for host, _ in host_pairs(spec, experiments)
    }  # compared on their own target
    every = environments(spec)
    for environment in every:
        others = [
            name for name in targets if name in environment.targets and name != environment.baseline
        ]
        if others or environment.baseline in targets:
            where = f" {environment.where}" if len(every) > 1 else ""
            here = [e for e in experiments if e.target in environment.targets]
            yield from _about_environment(environment, where, others, here, beside)


def _about_environment(
    environment: Environment,
    where: str,
    others: Sequence[str],
    experiments: Sequence[Experiment],
    beside: set[str],
) -> Iterator[str]:
    """What is compared there and what is not: ``others`` are the targets of the plan but the
    baseline, ``beside`` cells that need no other target.
    """
    baseline, them = (
        environment.baseline,
        f"{', '.join(others)} {'is' if len(others) == 1 else 'are'}",
    )
    base = {e.cell for e in experiments if e.target == baseline}
    if baseline is None:
        yield f"no baseline is named{where}: {them} not compared"
    elif not base:
        yield f"the baseline {baseline} is not in this plan: nothing is compared{where}"
    elif not others:
        yield f"only the baseline {baseline} is in this plan: nothing is compared{where}"
    else:
        if where:
            yield f"{them} compared with {baseline}{where}"
        alone = len((base ^ {e.cell for e in experiments if e.target != baseline}) - beside)
        if alone:
            cells = "1 cell is" if alone == 1 else f"{alone} cells are"
            yield (
                f"{cells} not measured on both the baseline and another target{where}, and not"
                " compared"
            )


def _about_margin(spec: Spec, method: Method, reached: Sequence[Reach]) -> Iterator[str]:
    usual = next((r for r in reached if r.cov == USUAL_COV), None)
    if spec.compare is not None and usual is not None and usual.margin_power < WEAK_POWER:
        yield (
            f"margin {_percent(spec.compare.equivalence, 1)} can rarely be reached: with"
            f" {method.sessions} sessions, equal targets whose sessions vary by"
            f" {_percent(USUAL_COV)} are found inside it with a probability of"
            f" {_percent(usual.margin_power)}; plan more sessions or a wider margin"
        )


def _about_machines(spec: Spec, experiments: Sequence[Experiment]) -> Iterator[str]:
    for workload, target in dict.fromkeys((e.workload, e.target) for e in experiments):
        machine = (
            next(w for w in spec.workloads if w.name == workload)
            .overrides.get(target, {})
            .get("machine")
        )
        if machine is not None:
            claimed = [
                str(v)
                for name, v in spec.target(target).claims.items()
                if name.rpartition("/")[2] == identity.MACHINE
            ]
            yield (
                f"{workload} on {target} needs the machine type {machine}, not"
                f" {' or '.join(claimed) or 'an undeclared one'}"
            )


def _about_ttl(
    spec: Spec, method: Method, experiments: Sequence[Experiment], workloads: Mapping[str, Workload]
) -> Iterator[str]:
    """Sites that end what is older than their ttl, and on which a session lasts longer; each with
    its longest one.
    """
    longest: dict[str, tuple[float, float, str]] = {}
    for experiment in experiments:
        target, used = spec.target(experiment.target), {place.site for place in experiment.roles}
        session_s = (
            allocation_s(target, experiment, method, workloads[experiment.tool]) - method.cooldown_s
        )
        for site in target.sites.values():
            ttl_s, known_s = _ttl_s(site), longest.get(site.name, (0.0,))[0]
            if site.name in used and session_s > max(ttl_s, known_s):
                longest[site.name] = session_s, ttl_s, f"{experiment.workload} on {target.name}"
    for name, (session_s, ttl_s, which) in longest.items():
        yield (
            f"site {name} ends what still runs there after {round(ttl_s / 60, 1):g} min (`ttl`),"
            f" and a session of {which} takes about {round(session_s / 60, 1):g} min: give the site"
            " a longer one"
        )


def _ttl_s(site: Site) -> float:
    """After how long the site itself ends what runs there; infinite where it does not."""
    if not traits_of(site.runner).ends_old_runs:
        return math.inf
    try:
        return (
            parse_quantity(str(site.options["ttl"]), Dimension.TIME)
            if "ttl" in site.options
            else DEFAULT_TTL_S
        )
    except UnitError:
        return math.inf


def _about_what_no_run_shows(spec: Spec, targets: Sequence[str]) -> Iterator[str]:
    """Claims that nobody may take for measured: what network policies cost, and anything on
    Windows.
    """
    for reason in dict.fromkeys(
        filter(None, (why_no_policy(spec.target(name)) for name in targets))
    ):
        which = ", ".join(name for name in targets if why_no_policy(spec.target(name)) == reason)
        yield f"what network policies cost is not measured on {which}: {reason}"
    windows = [name for name in targets if is_windows(spec.target(name))]
    if windows:
        yield (
            f"Windows ({', '.join(windows)}): commands are rendered and outputs are parsed, but"
            " benchspec has never run them on a Windows host"
        )


def why_no_policy(target: Target) -> str | None:
    """Why a run says nothing about what network policies cost on ``target``; None where the spec
    does not speak of them.
    """
    engine = target.claims.get(NETWORK_POLICY)
    if engine is None:
        return None
    return "no policy engine" if engine == "none" else "no workload brings a NetworkPolicy"


def is_windows(target: Target) -> bool:
    """Whether a node of ``target`` is claimed to run Windows."""
    systems = [
        str(value) for name, value in target.claims.items() if name.rpartition("/")[2] == "os.name"
    ]
    return any(system.lower().startswith("windows") for system in systems)


def _about_money_and_steps(spec: Spec, targets: Sequence[str]) -> Iterator[str]:
    chosen = [spec.target(name) for name in targets]
    unpriced = [target.name for target in chosen if target.price is None]
    if 0 < len(unpriced) < len(chosen):
        yield f"no price is declared for {', '.join(unpriced)}; the total lacks them"
    if len({target.price.currency for target in chosen if target.price}) > 1:
        yield "prices are in several currencies and are not added up"
    if any(
        lc.bootstrap or lc.ready or lc.destroy for target in chosen for lc in lifecycles(target)
    ):
        yield f"steps that install, await or remove something are estimated at {STEP_S:.0f} s each"
