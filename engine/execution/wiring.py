"""The one place that puts the parts of a run together, each from those before it: what a part needs
is an argument of its constructor, and nothing is filled in afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..control.events import Observer
from ..control.interrupts import Interrupts
from ..lifecycle.targets import Adopted, Stage, stays_up
from ..model.contract.workload import Workload
from ..model.spec import Experiment, Site, Spec
from ..planning.plan import Plan
from ..store.directory import RunDirectory
from ..store.journal import Journal
from .checks.allocation_survey import Survey
from .checks.observation import Observatory
from .checks.required_gates import required_gates
from .checks.tools import ToolSearch
from .checks.unsupported import Catalogue
from .history import History, OpenTrials
from .preflight import Examination
from .recovery import Recovery
from .retries import Retries
from .rounds import RoundBench
from .schedule import Schedule
from .sites.data_sink import sinks_of
from .sites.single_host import Doors, StepDoors
from .sites.sites import Sites, late_sites
from .sites.sweep import used_sites
from .trial import TrialBench


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user allowed, and whether experiments that were skipped count as missing
    (``complete``).
    """

    allow_drift: bool = False
    install_tools: bool = False
    complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run: a plan in its directory, with what carries it out and who watches.

    ``experiments`` by id, ``workloads`` by tool, ``targets`` in the plan's order. ``sinks``: the
    sites that get a copy of the results; they are among those ``used``.
    """

    directory: RunDirectory
    spec: Spec
    plan: Plan
    catalogue: Catalogue
    observer: Observer
    options: Options
    adopted: Adopted
    experiments: Mapping[str, Experiment]
    workloads: Mapping[str, Workload]
    targets: tuple[str, ...]
    sinks: Mapping[str, Site]
    used: Mapping[str, Site]


def take_order(
    directory: RunDirectory,
    spec: Spec,
    plan: Plan,
    catalogue: Catalogue,
    observer: Observer,
    options: Options,
    adopted: Adopted,
) -> Order:
    """The order to carry out ``plan``. Raises SpecError or Unsupported for a tool or a runner that
    nobody brings.
    """
    targets = tuple(dict.fromkeys(experiment.target for experiment in plan.experiments))
    sinks = sinks_of(spec, targets)
    return Order(
        directory=directory,
        spec=spec,
        plan=plan,
        catalogue=catalogue,
        observer=observer,
        options=options,
        adopted=adopted,
        experiments={experiment.id: experiment for experiment in plan.experiments},
        workloads={e.tool: catalogue.workload(e.tool) for e in plan.experiments},
        targets=targets,
        sinks=sinks,
        used=used_sites(spec, plan, catalogue.runner) | sinks,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What carries out a run. ``remains`` reaches single hosts of sites that were lost."""

    journal: Journal
    history: History
    schedule: Schedule
    sites: Sites
    remains: Doors
    open_trials: OpenTrials
    examination: Examination
    stage: Stage
    rounds: RoundBench
    recovery: Recovery


def wire(order: Order, journal: Journal, interrupts: Interrupts) -> Parts:
    """The parts of a run whose journal is open. Nothing is connected yet."""
    directory, spec, plan, observer = order.directory, order.spec, order.plan, order.observer
    run_id, runner = directory.run_id, order.catalogue.runner
    history = History(journal.records, run_id)
    schedule = Schedule(
        spec=spec, plan=plan, workloads=order.workloads, journal=journal, history=history
    )
    late = late_sites(spec, order.targets, runner)
    sites = Sites(order.used.values(), runner, run_id, interrupts, late)
    remains = Doors(runner, run_id)
    open_trials = OpenTrials(directory=directory, experiments=order.experiments, lost=sites.lost)
    observatory = Observatory(spec, sites, journal, observer)
    survey = Survey(plan.experiments, observatory)
    examination = Examination(
        run_id=run_id,
        plan=plan,
        workloads=order.workloads,
        sites=sites,
        journal=journal,
        history=history,
        interrupts=interrupts,
        observatory=observatory,
        survey=survey,
        tools=ToolSearch(sites.sessions, journal, observer),
        stays_up=lambda target: stays_up(spec.target(target)),
        allow_drift=order.options.allow_drift,
        install_tools=order.options.install_tools,
    )
    stage = Stage(
        directory,
        spec,
        runner,
        StepDoors(sites=sites, remains=remains),
        journal,
        interrupts,
        observer,
        on_up=examination.look_again,
        adopted=order.adopted,
        is_busy=open_trials.keep_busy,
    )
    bench = TrialBench(
        directory, journal, interrupts, lambda experiment: required_gates(spec, experiment)
    )
    rounds = RoundBench(
        run_id=run_id,
        method=spec.method,
        experiments=order.experiments,
        workloads=order.workloads,
        sites=sites,
        journal=journal,
        history=history,
        interrupts=interrupts,
        observer=observer,
        stage=stage,
        survey=survey,
        bench=bench,
        retries=Retries(spec.method.retries, journal, interrupts, observer),
        is_skipped=examination.skipped.__contains__,
        on_shown=examination.check_shown,
    )
    recovery = Recovery(
        directory=directory,
        experiments=order.experiments,
        workloads=order.workloads,
        sites=sites,
        journal=journal,
        history=history,
        stage=stage,
        bench=bench,
        finish=rounds.finish,
    )
    return Parts(
        journal=journal,
        history=history,
        schedule=schedule,
        sites=sites,
        remains=remains,
        open_trials=open_trials,
        examination=examination,
        stage=stage,
        rounds=rounds,
        recovery=recovery,
    )
