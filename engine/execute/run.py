"""One run from the first connection to the last clean-up, or the rest of a run that was cut short."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import GateFailed, RunFailed, StorageError, TransportLost
from ..gates import describe
from ..journal import Journal
from ..plan import Plan, arrange_session
from ..ports import Session
from ..readback import check_manifest
from ..results import FactSet, Finding, FindingLevel, Trial, TrialKind, TrialStatus
from ..rundir import RunDirectory
from ..secrets import resolve_all
from ..spec import Experiment, Spec
from .doors import Doors
from .events import Event, Observer
from .history import History
from .interrupts import Interrupts
from .leftovers import sweep, used_sites
from .leftovers import tell as told_of
from .lifecycle import NOTHING, Adopted, Stage
from .observe import Observatory
from .places import Place, volumes_of
from .precision import sessions_wanted
from .problems import Catalogue, find_problems
from .records import ALLOCATED, EXTENDED, RELEASED, RUN_FINISHED, RUN_RESUMED, RUN_STARTED, RUN_STOPPED
from .recovery import Recovery
from .rounds import RoundBench, name_allocation
from .sink import deposit, sinks_of
from .sites import SiteLost, Sites
from .slots import Round, number_slots
from .step_places import StepPlace
from .survey import Survey
from .telling import tell
from .tools import ToolSearch
from .trial import TrialBench

__all__ = ["Catalogue", "Options", "Run", "find_problems"]

BEFORE, RESUMED, UP, AFTER = "before", "resumed", "up", "after"
LOOKED_AT = 0
"""The session number of allocations in which nothing is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user allowed."""

    allow_drift: bool = False
    install_tools: bool = False


class Run:
    """Carries out a plan in its directory. Everything finished is journalled, so a second Run on the same directory goes on where it stopped."""

    def __init__(
        self,
        directory: RunDirectory,
        spec: Spec,
        plan: Plan,
        catalogue: Catalogue,
        observer: Observer,
        options: Options,
        adopted: Adopted = NOTHING,
    ) -> None:
        self._directory = directory
        self._adopted = adopted
        self._spec = spec
        self._plan = plan
        self._catalogue = catalogue
        self._observer = observer
        self._options = options
        self._experiments = {experiment.id: experiment for experiment in plan.experiments}
        self._workloads = {e.tool: catalogue.workload(e.tool) for e in plan.experiments}
        self._targets = tuple(dict.fromkeys(experiment.target for experiment in plan.experiments))
        self._sinks = sinks_of(spec, self._targets)
        self._used = used_sites(spec, plan, catalogue.runner) | self._sinks
        self._skipped: dict[str, str] = {}
        self._up: dict[tuple[str, str, str], FactSet] = {}

    def execute(self) -> tuple[Trial, ...]:
        """Run, or go on running, until every planned trial is recorded.

        Raises:
            DriftError: a claim is contradicted, or roles are not on nodes as the spec wants them.
            Interrupted: a signal came; what was created is removed.
            TransportLost: a site was lost; what does not need it was measured.
            GateFailed, RunFailed: it ended, but some experiment has no valid trial, or the data sink has no copy. RunFailed also for a secret
                that is not there, before anything.
            StorageError: the run directory cannot take more. What the last trial measured stays on its site until `resume` or `clean`.
        """
        secrets = {e.id: resolve_all(e.parameters) for e in self._plan.experiments}
        with Journal(self._directory.journal_path) as journal, Interrupts() as interrupts:
            self._furnish(journal, interrupts, secrets)
            self._begin(journal)
            try:
                problems = self._measure_all()
            except StorageError:
                self._disconnect()
                if not self._directory.exists():  # then nobody can resume or clean it any more
                    sweep(self._used, self._catalogue.runner, self._directory.run_id)
                raise
            except BaseException as error:
                self._stop(error)
                self._stage.abandon()
                self._disconnect()
                with contextlib.suppress(StorageError):  # the first error is the one to tell
                    self._prove_clean()
                raise
            self._disconnect()
            self._prove_clean()
            lost = self._lost_error()
            if lost is not None:
                self._stop(lost)
                raise lost
            journal.append(RUN_FINISHED, {"trials": len(self._history.trials)})
        trials = tuple(self._history.trials[n] for n in sorted(self._history.trials))
        _require_valid(self._plan.experiments, trials)
        if problems:
            raise RunFailed("; ".join(problems), remedy="free space on the data sink or put it elsewhere, then `benchspec resume`")
        return trials

    def _furnish(self, journal: Journal, interrupts: Interrupts, secrets: Mapping[str, frozenset[str]]) -> None:
        """Make everything that carries out a part of the run."""
        run_id, runner = self._directory.run_id, self._catalogue.runner
        self._journal, self._interrupts = journal, interrupts
        self._history = History(journal.records, run_id)
        self._sites = Sites(self._used.values(), runner, run_id, interrupts)
        self._remains = Doors(runner, run_id)
        self._stage = Stage(self._directory, self._spec, runner, self._door, journal, interrupts, self._observer, self._look_again, self._adopted)
        self._observatory = Observatory(self._spec, self._sites, journal, self._observer)
        self._survey = Survey(self._plan.experiments, self._observatory)
        self._tools = ToolSearch(self._sites.sessions, journal, self._observer)
        bench = TrialBench(self._directory, journal, interrupts, self._required_gates)
        self._rounds = RoundBench(
            run_id=run_id,
            method=self._spec.method,
            experiments=self._experiments,
            workloads=self._workloads,
            sites=self._sites,
            journal=journal,
            history=self._history,
            interrupts=interrupts,
            observer=self._observer,
            stage=self._stage,
            survey=self._survey,
            bench=bench,
            is_skipped=lambda identity: identity in self._skipped,
            on_shown=self._check_shown,
        )
        self._recovery = Recovery(
            directory=self._directory,
            experiments=self._experiments,
            workloads=self._workloads,
            secrets=secrets,
            sites=self._sites,
            journal=journal,
            history=self._history,
            stage=self._stage,
            bench=bench,
            finish=self._rounds.finish,
        )

    def _begin(self, journal: Journal) -> None:
        check_manifest(self._directory, journal.records)
        data = {"run_id": self._directory.run_id, "time": time.time(), "manifest": self._directory.manifest_sha256()}
        journal.append(RUN_RESUMED if self._history.started else RUN_STARTED, data)

    def _stop(self, error: BaseException) -> None:
        with contextlib.suppress(StorageError):  # the error on its way is the one to tell
            self._journal.append(RUN_STOPPED, {"reason": str(error), "error": type(error).__name__})

    def _measure_all(self) -> tuple[str, ...]:
        """Everything between connecting and disconnecting; returns why the results were not copied to a data sink."""
        self._sites.connect()
        self._recover()
        bare = [experiment for experiment in self._plan.experiments if not self._stage.changes(experiment.target)]
        if bare:
            self._skipped = self._tools.find(bare, self._workloads, install=self._options.install_tools)
        before = self._observatory.observe(RESUMED if self._history.trials else BEFORE)
        if self._history.trials:  # what was measured already must have been measured on these very machines
            self._observatory.compare(tuple(self._history.facts.values()), before)
        rounds = self._numbered(number_slots(self._plan.order))
        for target in dict.fromkeys(experiment.target for experiment in bare):
            self._examine(target, before, rounds)
        self._carry_out_all(rounds)
        if not self._sites.lost:
            self._carry_out_all(self._second_stage())
        self._observatory.compare([self._up.get(f.place, f) for f in before], self._observe_after())
        problems = deposit(self._sinks.keys() - self._history.deposited, self._sites, self._directory, self._journal, self._observer)
        self._stage.destroy_all()
        return problems

    def _observe_after(self) -> tuple[FactSet, ...]:
        while True:
            try:
                return self._observatory.observe(AFTER)
            except SiteLost as error:
                self._lose(error.site, error)

    def _examine(self, target: str, seen: Sequence[FactSet], rounds: Sequence[Round]) -> None:
        """Before the first trial of ``target``: who is on which node, what do its allocations show, and is it what it claims to be?

        Raises:
            DriftError: it is not.
        """
        mine = [facts for facts in seen if facts.target == target]
        shown = [facts for experiment in self._to_survey(target, mine, rounds) for facts in self._show(experiment)]
        placed = self._survey.placed.get(target, {})
        self._observatory.check_claims(target, [*mine, *shown], placed, allow_drift=self._options.allow_drift)

    def _to_survey(self, target: str, seen: Sequence[FactSet], rounds: Sequence[Round]) -> list[Experiment]:
        """One experiment with several roles for each placement and path to be measured, and one that writes to volumes.

        Where there is none, any on sites of several nodes, to see which of them it uses.
        """
        wanted = {round_.planned.experiment_id: None for round_ in rounds if any(s.sequence not in self._history.trials for s in round_.slots)}
        mine = [e for e in map(self._experiments.__getitem__, wanted) if e.target == target and e.id not in self._skipped]
        distinct: dict[object, Experiment] = {}
        for experiment in mine:
            if len(experiment.roles) > 1:
                distinct.setdefault((experiment.roles, experiment.placement, experiment.path), experiment)
            elif volumes_of(experiment):
                distinct.setdefault(experiment.roles, experiment)
        return list(distinct.values()) or (mine[:1] if any(facts.node for facts in seen) else [])

    def _show(self, experiment: Experiment) -> tuple[FactSet, ...]:
        """Allocate ``experiment`` once without measuring. An allocation that does not come up is left for its rounds to tell."""
        number = self._history.next_allocation(LOOKED_AT, experiment.id)
        allocation_id = name_allocation(self._directory.run_id, LOOKED_AT, experiment, number)
        self._journal.append(ALLOCATED, {"allocation_id": allocation_id, "experiment_id": experiment.id, "session": LOOKED_AT})
        self._interrupts.check()
        try:
            place = Place(experiment, self._sites.sessions, allocation_id)
        except (TransportLost, StorageError):
            raise
        except RunFailed:
            return ()
        try:
            shown = self._survey.look(place)
        except BaseException as error:
            place.abandon(error.site if isinstance(error, SiteLost) else None)
            raise
        place.release()
        self._journal.append(RELEASED, {"allocation_id": allocation_id})
        return shown

    def _look_again(self, target: str) -> None:
        """A target with a lifecycle has its tools, and is what it claims to be, only once it is up."""
        mine = [experiment for experiment in self._plan.experiments if experiment.target == target]
        self._skipped |= self._tools.find(mine, self._workloads, install=self._options.install_tools)
        seen = self._observatory.observe(UP, target)
        if self._stage.stays_up(target):
            self._up |= {facts.place: facts for facts in seen}
        self._examine(target, seen, number_slots(self._plan.order))

    def _check_shown(self, target: str, shown: Sequence[FactSet]) -> None:
        """What a later allocation shows may contradict a claim too; once something of the target is measured that is a finding and no end."""
        if shown:
            measured = any(self._experiments[trial.experiment_id].target == target for trial in self._history.trials.values())
            placed = self._survey.placed.get(target, {})
            self._observatory.check_claims(target, shown, placed, allow_drift=measured or self._options.allow_drift, known_only=True)

    def _numbered(self, rounds: tuple[Round, ...]) -> tuple[Round, ...]:
        self._history.reserve(max((s.sequence for r in rounds for s in r.slots), default=0))
        return rounds

    def _carry_out_all(self, rounds: Sequence[Round]) -> None:
        wanted = [round_ for round_ in rounds if round_.planned.experiment_id not in self._skipped]
        if wanted:
            self._announce(sum(len(round_.slots) for round_ in wanted))
        last = {self._visit(round_): round_ for round_ in wanted}
        for round_ in wanted:
            if not self._sites_of(round_) & self._sites.lost.keys():
                self._carry_out(round_)
            if last[self._visit(round_)] is round_:
                self._stage.leave(*self._visit(round_))

    def _carry_out(self, round_: Round) -> None:
        """One round; a site whose connection is lost is given up, and what does not need it goes on."""
        try:
            self._rounds.carry_out(round_)
        except SiteLost as error:
            self._lose(error.site, error)
        except TransportLost as error:
            for site in sorted(self._sites_of(round_)):
                self._lose(site, error)

    def _lose(self, site: str, error: TransportLost) -> None:
        why = f"{error.where}: {error.message}" if error.where else error.message
        message = f"site {site} cannot be used any more: {why}; what needs it is not measured"
        tell(Finding(code="F604", level=FindingLevel.ERROR, message=message), self._journal, self._observer)
        self._sites.lose(site, error)

    def _sites_of(self, round_: Round) -> set[str]:
        return {place.site for place in self._experiments[round_.planned.experiment_id].roles}

    def _lost_error(self) -> TransportLost | None:
        if not self._sites.lost:
            return None
        reasons = "; ".join(f"{error.where}: {error.message}" if error.where else error.message for error in self._sites.lost.values())
        where = ", ".join(f"site {site}" for site in self._sites.lost)
        message = f"could not be used any more while the run went on ({reasons}); what does not need it was measured"
        return TransportLost(message, where=where, remedy="see to it that it can be reached, then `benchspec resume`")

    def _visit(self, round_: Round) -> tuple[str, int]:
        return self._experiments[round_.planned.experiment_id].target, round_.planned.session

    def _second_stage(self) -> tuple[Round, ...]:
        """The rounds that the wished precision adds; decided once, after the planned ones, and journalled."""
        if self._spec.method.precision is None:
            return ()
        if self._history.extension is None:
            wanted = sessions_wanted(self._spec, self._plan, tuple(self._history.trials.values()), self._workloads)
            self._journal.append(EXTENDED, self._history.extend(wanted))
        return self._extended_rounds()

    def _extended_rounds(self) -> tuple[Round, ...]:
        extension, method = self._history.extension, self._plan.method
        if extension is None:
            return ()
        added = range(method.sessions + 1, extension.sessions + 1)
        order = [allocation for session in added for allocation in arrange_session(self._plan.experiments, method, session)]
        return self._numbered(number_slots(order, extension.first_sequence))

    def _announce(self, total: int) -> None:
        done = len(self._history.trials)
        message = f"{total} trials in {len(self._plan.order)} allocations, about {self._plan.estimate_s:.0f} s"
        self._observer.notify(Event(kind=RUN_STARTED, message=message, data={"total": total, "done": done, "estimate_s": self._plan.estimate_s}))

    def _door(self, place: StepPlace) -> Session:
        """The session for steps on ``place``; that one of its hosts was lost does not keep a site's others from being destroyed."""
        if place.site.name in self._sites.lost:
            return self._remains(place)
        if place.site.name not in self._sites.sessions:
            raise TransportLost("is not connected", where=f"site {place.site.name}")
        return self._sites.sessions[place.site.name]

    def _disconnect(self) -> None:
        self._remains.close()
        self._sites.disconnect()

    def _prove_clean(self) -> None:
        """List what is left of us on every site; what there is is removed if it can be, and told."""
        swept = sweep(self._used, self._catalogue.runner, self._directory.run_id)
        told = []
        if swept.removed:
            told.append(f"{len(swept.removed)} things were left after the clean-up and have been removed: {', '.join(sorted(swept.removed))}")
        if swept.left:
            told.append(f"something may be left after the clean-up (`benchspec clean` tries again): {told_of(swept.left)}")
        for message in told:
            tell(Finding(code="F602", level=FindingLevel.WARNING, message=message), self._journal, self._observer)

    def _recover(self) -> None:
        """After a controller died: first keep what its jobs measured, then end and remove the rest."""
        if not self._history.started and not self._directory.has_raw():
            return
        rounds = (*number_slots(self._plan.order), *self._extended_rounds())
        self._recovery.recover(slot for round_ in rounds for slot in round_.slots)
        self._stage.recover()
        self._sites.disconnect()  # what is listed next is then left over for certain
        swept = sweep(self._used, self._catalogue.runner, self._directory.run_id)
        if swept.left:
            raise RunFailed(f"the interrupted run left what cannot be removed: {told_of(swept.left)}", remedy=swept.left[0].remedy)
        self._sites.connect()
        if swept.removed:
            message = f"removed {len(swept.removed)} leftovers of the interrupted run"
            self._observer.notify(Event(kind="leftovers", message=message, data={"count": len(swept.removed)}))

    def _required_gates(self, experiment: Experiment) -> frozenset[str]:
        workload = next(w for w in self._spec.workloads if w.name == experiment.workload)
        overridden = workload.overrides.get(experiment.target, {}).get("gates")
        return frozenset(workload.gates) | (frozenset(overridden) if isinstance(overridden, Mapping) else frozenset())


def _require_valid(experiments: Sequence[Experiment], trials: Sequence[Trial]) -> None:
    """Raises RunFailed, GateFailed for an experiment that was measured without any valid trial."""
    for experiment in experiments:
        mine = [t for t in trials if t.experiment_id == experiment.id and t.kind is TrialKind.MEASURED]
        if not mine or any(t.status is TrialStatus.VALID for t in mine):
            continue
        where = f"{experiment.target} {experiment.cell}"
        failed = next((t for t in mine if t.status is TrialStatus.FAILED), None)
        if failed is not None:
            raise RunFailed(
                f"no trial gave a valid result; the first failure: {failed.error}",
                where=where,
                remedy="see the trial's raw output in the run directory",
            )
        reasons = "; ".join(describe(g) for g in mine[0].gates if not g.passed)
        remedy = "see the findings, or state other gates in the spec"
        raise GateFailed(f"every trial failed its validity gates: {reasons}", where=where, remedy=remedy)
