"""One run from the first connection to the last clean-up, or the rest of a run that was cut short."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..errors import RunFailed, StorageError, TransportLost
from ..journal import Journal, read_records
from ..plan import Plan
from ..ports import Session
from ..readback import check_manifest
from ..results import FactSet, Finding, FindingLevel, Trial
from ..rundir import RunDirectory
from ..secrets import resolve_all
from ..spec import Experiment, Spec
from .doors import Doors
from .events import Event, Observer
from .examination import Examination
from .history import History
from .interrupts import Interrupts
from .leftovers import Swept, sweep, used_sites
from .leftovers import tell as told_of
from .lifecycle import NOTHING, Adopted, Stage
from .observe import Observatory
from .problems import Catalogue, find_problems
from .records import RUN_FINISHED, RUN_RESUMED, RUN_STARTED, RUN_STOPPED
from .recovery import Recovery
from .rounds import RoundBench
from .schedule import Schedule
from .sink import deposit, sinks_of
from .sites import SiteLost, Sites, late_sites
from .slots import Round
from .step_places import StepPlace
from .survey import Survey
from .telling import tell
from .tools import ToolSearch
from .trial import TrialBench
from .validity import require_valid, required_gates

__all__ = ["Catalogue", "Options", "Run", "find_problems"]


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
        for experiment in self._plan.experiments:
            resolve_all(experiment.parameters, _ask_later)
        with Journal(self._directory.journal_path) as journal, Interrupts() as interrupts:
            self._furnish(journal, interrupts)
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
        require_valid(self._plan.experiments, trials)
        if problems:
            raise RunFailed("; ".join(problems), remedy="free space on the data sink or put it elsewhere, then `benchspec resume`")
        return trials

    def _furnish(self, journal: Journal, interrupts: Interrupts) -> None:
        """Make everything that carries out a part of the run."""
        run_id, runner = self._directory.run_id, self._catalogue.runner
        self._journal, self._interrupts = journal, interrupts
        self._history = History(journal.records, run_id)
        self._schedule = Schedule(spec=self._spec, plan=self._plan, workloads=self._workloads, journal=journal, history=self._history)
        self._sites = Sites(self._used.values(), runner, run_id, interrupts, late_sites(self._spec, self._targets, runner))
        self._remains = Doors(runner, run_id)
        self._stage = Stage(
            self._directory, self._spec, runner, self._door, journal, interrupts, self._observer, self._look_again, self._adopted, self._is_busy
        )
        observatory = Observatory(self._spec, self._sites, journal, self._observer)
        survey = Survey(self._plan.experiments, observatory)
        bench = TrialBench(self._directory, journal, interrupts, lambda experiment: required_gates(self._spec, experiment))
        self._examination = Examination(
            run_id=run_id,
            plan=self._plan,
            workloads=self._workloads,
            sites=self._sites,
            journal=journal,
            history=self._history,
            interrupts=interrupts,
            observatory=observatory,
            survey=survey,
            tools=ToolSearch(self._sites.sessions, journal, self._observer),
            stays_up=self._stage.stays_up,
            allow_drift=self._options.allow_drift,
            install_tools=self._options.install_tools,
        )
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
            survey=survey,
            bench=bench,
            is_skipped=self._examination.skipped.__contains__,
            on_shown=self._examination.check_shown,
        )
        self._recovery = Recovery(
            directory=self._directory,
            experiments=self._experiments,
            workloads=self._workloads,
            sites=self._sites,
            journal=journal,
            history=self._history,
            stage=self._stage,
            bench=bench,
            finish=self._rounds.finish,
        )

    def _look_again(self, target: str) -> None:
        self._examination.look_again(target)

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
        before = self._examination.begin([each for each in self._plan.experiments if not self._stage.changes(each.target)])
        self._carry_out_all(self._schedule.planned())
        if not self._sites.lost:
            self._carry_out_all(self._schedule.second_stage())
        self._look_after(before)
        problems = deposit(self._sinks.keys() - self._history.deposited, self._sites, self._directory, self._journal, self._observer)
        self._stage.destroy_all()
        return problems

    def _look_after(self, before: Sequence[FactSet]) -> None:
        """Compare with what was before; a site that is lost only now does not keep the others from being looked at."""
        while True:
            try:
                self._examination.end(before)
            except SiteLost as error:
                self._lose(error.site, error)
            else:
                return

    def _carry_out_all(self, rounds: Sequence[Round]) -> None:
        wanted = [round_ for round_ in rounds if round_.planned.experiment_id not in self._examination.skipped]
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
        message = f"site {site} cannot be used any more: {error.headline}; what needs it is not measured"
        tell(Finding(code="F604", level=FindingLevel.ERROR, message=message), self._journal, self._observer)
        self._sites.lose(site, error)

    def _sites_of(self, round_: Round) -> set[str]:
        return {place.site for place in self._experiments[round_.planned.experiment_id].roles}

    def _lost_error(self) -> TransportLost | None:
        if not self._sites.lost:
            return None
        reasons = "; ".join(error.headline for error in self._sites.lost.values())
        where = ", ".join(f"site {site}" for site in self._sites.lost)
        message = f"could not be used any more while the run went on ({reasons}); what does not need it was measured"
        return TransportLost(message, where=where, remedy="see to it that it can be reached, then `benchspec resume`")

    def _visit(self, round_: Round) -> tuple[str, int]:
        return self._experiments[round_.planned.experiment_id].target, round_.planned.session

    def _announce(self, total: int) -> None:
        done = len(self._history.trials)
        message = f"{total} trials in {len(self._plan.order)} allocations, about {self._plan.estimate_s:.0f} s"
        self._observer.notify(Event(kind=RUN_STARTED, message=message, data={"total": total, "done": done, "estimate_s": self._plan.estimate_s}))

    def _door(self, place: StepPlace) -> Session:
        """The session for steps on ``place``; that one of its hosts was lost does not keep a site's others from being destroyed."""
        if place.site.name in self._sites.lost:
            return self._remains(place)
        return self._sites.session(place.site.name)

    def _busy(self) -> list[Experiment]:
        """Those of which a trial may still go on: it was started, and nobody saw it end since the connection to its client was lost."""
        if not self._sites.lost:
            return []
        history = History(read_records(self._directory.journal_path)[0], self._directory.run_id)
        return [self._experiments[slot.experiment_id] for slot in history.unfinished()]

    def _is_busy(self, target: str) -> bool:
        return any(experiment.target == target for experiment in self._busy())

    def _disconnect(self) -> None:
        self._remains.close()
        self._sites.disconnect()

    def _prove_clean(self) -> None:
        """List what is left of us on every site; what there is is removed if it can be, and told. Where a trial may still go on all is left."""
        busy = {place.site for experiment in self._busy() for place in experiment.roles}
        swept = self._sweep(busy)
        told = [f"site {name} is left as it is, for `benchspec resume` to collect what is measured there" for name in sorted(busy)]
        if swept.removed:
            told.append(f"{len(swept.removed)} things were left after the clean-up and have been removed: {', '.join(sorted(swept.removed))}")
        untouched = frozenset() if self._history.started else self._sites.refused
        if left := [one for one in swept.left if one.what is not None or one.site not in untouched]:
            told.append(f"something may be left after the clean-up (`benchspec clean` tries again): {told_of(left)}")
        for message in told:
            tell(Finding(code="F602", level=FindingLevel.WARNING, message=message), self._journal, self._observer)

    def _sweep(self, spared: Collection[str] = ()) -> Swept:
        """Remove what is left on all sites but those ``spared``. A site that a lifecycle makes and that cannot be asked is gone, with all on it."""
        sites = {name: site for name, site in self._used.items() if name not in spared and name not in self._sites.awaited}
        swept = sweep(sites, self._catalogue.runner, self._directory.run_id)
        return Swept(removed=swept.removed, left=tuple(one for one in swept.left if one.what is not None or one.site not in self._sites.late))

    def _recover(self) -> None:
        """After a controller died: first keep what its jobs measured, then end and remove the rest."""
        if not self._history.started and not self._directory.has_raw():
            return
        rounds = (*self._schedule.planned(), *self._schedule.added())
        self._recovery.recover(slot for round_ in rounds for slot in round_.slots)
        self._stage.recover()
        self._sites.disconnect()  # what is listed next is then left over for certain
        swept = self._sweep()
        if swept.left:
            raise RunFailed(f"the interrupted run left what cannot be removed: {told_of(swept.left)}", remedy=swept.left[0].remedy)
        self._sites.connect()
        if swept.removed:
            message = f"removed {len(swept.removed)} leftovers of the interrupted run"
            self._observer.notify(Event(kind="leftovers", message=message, data={"count": len(swept.removed)}))


def _ask_later(name: str) -> str:
    """What a cluster keeps is read when a program needs it: the cluster, or the secret, may not be there before the target is up."""
    return ""
