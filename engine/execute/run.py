"""One run from the first connection to the last clean-up, or the rest of a run that was cut short."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import BenchspecError, GateFailed, RunFailed, SpecError, StorageError, TransportLost, Unsupported
from ..gates import describe
from ..journal import Journal
from ..plan import Plan, arrange_session
from ..ports import Problem, Runner, Session, Workload
from ..readback import check_manifest
from ..results import FactSet, Finding, FindingLevel, Trial, TrialKind, TrialStatus
from ..rundir import RunDirectory
from ..secrets import resolve_all
from ..spec import Experiment, Json, Order, Spec
from .events import Event, Observer
from .history import EXTENDED, History
from .interrupts import Interrupts
from .leftovers import sweep, tell, used_sites
from .lifecycle import NOTHING, Adopted, Stage
from .observe import Observatory
from .places import Place
from .precision import sessions_wanted
from .slots import Round, Slot, number_slots
from .step_places import StepPlace
from .step_problems import find_step_problems
from .trial import LOST, TrialBench

RUN_STARTED, RUN_RESUMED, RUN_FINISHED, RUN_STOPPED = "run.started", "run.resumed", "run.finished", "run.stopped"
RESUMED = "resumed"
ALLOCATED, RELEASED, FAILED_ALLOCATION = "allocation.started", "allocation.released", "allocation.failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Where runners and workloads are looked up by name."""

    runner: Callable[[str], Runner]
    workload: Callable[[str], Workload]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user allowed."""

    allow_drift: bool = False
    install_tools: bool = False


def find_problems(plan: Plan, spec: Spec, catalogue: Catalogue) -> tuple[Problem, ...]:
    """Ask the runners about the whole plan before anything is created. Pure; the problems are distinct and in plan order."""
    problems: dict[Problem, None] = {}
    if plan.method.order is Order.DUET:
        problems[Problem(message="order: duet (both targets at once) is not part of this version yet", remedy="use order: blocks")] = None
    for experiment in plan.experiments:
        for site in {s.name: s for s in spec.target(experiment.target).sites.values()}.values():
            try:
                found = catalogue.runner(site.runner).unsupported(experiment, site)
            except Unsupported as error:
                found = (Problem(message=error.message, remedy=error.remedy or "choose another runner"),)
            problems |= dict.fromkeys(found)
    problems |= dict.fromkeys(find_step_problems(spec, dict.fromkeys(e.target for e in plan.experiments), catalogue.runner))
    return tuple(problems)


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
        self._sessions: dict[str, Session] = {}
        self._sites = used_sites(spec, plan, catalogue.runner)
        self._skipped: dict[str, str] = {}
        self._up: dict[tuple[str, str, str], FactSet] = {}

    def execute(self) -> tuple[Trial, ...]:
        """Run, or go on running, until every planned trial is recorded.

        Raises:
            DriftError: a claim is contradicted.
            Interrupted: a signal came; what was created is removed.
            GateFailed, RunFailed: it ended, but some experiment has no valid trial. RunFailed also for a secret that is not there, before anything.
            StorageError: the run directory cannot take more. What the last trial measured stays on its site until `resume` or `clean`.
        """
        self._secrets = {e.id: resolve_all(e.parameters) for e in self._plan.experiments}
        with Journal(self._directory.journal_path) as journal, Interrupts() as interrupts:
            self._journal, self._interrupts = journal, interrupts
            self._history = History(journal.records, self._directory.run_id)
            runners = self._catalogue.runner
            self._stage = Stage(
                self._directory, self._spec, runners, self._door, journal, interrupts, self._observer, self._look_again, self._adopted
            )
            self._bench = TrialBench(self._directory, journal, interrupts, self._required_gates)
            self._begin(journal)
            try:
                self._measure_all()
            except StorageError:
                self._disconnect()
                if not self._directory.exists():  # then nobody can resume or clean it any more
                    sweep(self._sites, self._catalogue.runner, self._directory.run_id)
                raise
            except BaseException as error:
                self._stop(error)
                self._stage.abandon()
                self._disconnect()
                with contextlib.suppress(RunFailed):  # `benchspec clean` finds what cannot be removed now; the first error is the one to tell
                    self._prove_clean()
                raise
            self._disconnect()
            self._prove_clean()
            journal.append(RUN_FINISHED, {"trials": len(self._history.trials)})
        trials = tuple(self._history.trials[n] for n in sorted(self._history.trials))
        self._require_valid(trials)
        return trials

    def _begin(self, journal: Journal) -> None:
        check_manifest(self._directory, journal.records)
        data = {"run_id": self._directory.run_id, "time": time.time(), "manifest": self._directory.manifest_sha256()}
        journal.append(RUN_RESUMED if self._history.started else RUN_STARTED, data)

    def _stop(self, error: BaseException) -> None:
        with contextlib.suppress(StorageError):  # the error on its way is the one to tell
            self._journal.append(RUN_STOPPED, {"reason": str(error), "error": type(error).__name__})

    def _measure_all(self) -> None:
        self._connect()
        self._recover()
        self._observatory = observatory = Observatory(self._spec, self._sessions, self._journal, self._observer)
        bare = [experiment for experiment in self._plan.experiments if not self._stage.changes(experiment.target)]
        if bare:
            self._skipped = observatory.find_tools(bare, self._workloads, install=self._options.install_tools)
        before = observatory.observe(RESUMED if self._history.trials else "before")
        if self._history.trials:  # what was measured already must have been measured on these very machines
            observatory.compare(tuple(self._history.facts.values()), before)
        observatory.check_claims([f for f in before if not self._stage.changes(f.target)], allow_drift=self._options.allow_drift)
        rounds = number_slots(self._plan.order)
        self._history.reserve(max((s.sequence for r in rounds for s in r.slots), default=0))
        self._carry_out_all(rounds)
        self._carry_out_all(self._second_stage())
        observatory.compare([self._up.get(f.place, f) for f in before], observatory.observe("after"))
        self._stage.destroy_all()

    def _look_again(self, target: str) -> None:
        """A target with a lifecycle has its tools, and is what it claims to be, only once it is up."""
        mine = [experiment for experiment in self._plan.experiments if experiment.target == target]
        self._skipped |= self._observatory.find_tools(mine, self._workloads, install=self._options.install_tools)
        seen = self._observatory.observe("up", target)
        if self._stage.stays_up(target):
            self._up |= {facts.place: facts for facts in seen}
        self._observatory.check_claims(seen, allow_drift=self._options.allow_drift)

    def _carry_out_all(self, rounds: Sequence[Round]) -> None:
        wanted = [round_ for round_ in rounds if round_.planned.experiment_id not in self._skipped]
        if wanted:
            self._announce(sum(len(round_.slots) for round_ in wanted))
        last = {self._visit(round_): round_ for round_ in wanted}
        for round_ in wanted:
            self._carry_out(round_)
            if last[self._visit(round_)] is round_:
                self._stage.leave(*self._visit(round_))

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
        rounds = number_slots(order, extension.first_sequence)
        self._history.reserve(max((s.sequence for r in rounds for s in r.slots), default=0))
        return rounds

    def _announce(self, total: int) -> None:
        done = len(self._history.trials)
        message = f"{total} trials in {len(self._plan.order)} allocations, about {self._plan.estimate_s:.0f} s"
        self._observer.notify(Event(kind=RUN_STARTED, message=message, data={"total": total, "done": done, "estimate_s": self._plan.estimate_s}))

    def _connect(self) -> None:
        for site in self._sites.values():
            if site.name not in self._sessions:
                with self._interrupts.waiting():
                    self._sessions[site.name] = self._catalogue.runner(site.runner).connect(site, self._directory.run_id)

    def _door(self, place: StepPlace) -> Session:
        if place.site.name not in self._sessions:
            raise TransportLost("is not connected", where=f"site {place.site.name}")
        return self._sessions[place.site.name]

    def _disconnect(self) -> None:
        for session in self._sessions.values():
            with contextlib.suppress(TransportLost):
                session.close()
        self._sessions.clear()

    def _prove_clean(self) -> None:
        """List what is left of us on every site; what there is is removed if it can be, and told."""
        swept = sweep(self._sites, self._catalogue.runner, self._directory.run_id)
        told = []
        if swept.removed:
            told.append(f"{len(swept.removed)} things were left after the clean-up and have been removed: {', '.join(sorted(swept.removed))}")
        if swept.left:
            told.append(f"something may be left after the clean-up (`benchspec clean` tries again): {tell(swept.left)}")
        for message in told:
            self._journal.append("finding", Finding(code="F602", level=FindingLevel.WARNING, message=message))
            data: dict[str, Json] = {"code": "F602", "level": FindingLevel.WARNING.value}
            self._observer.notify(Event(kind="finding", message=f"[F602] {message}", data=data))

    def _recover(self) -> None:
        """After a controller died: first keep what its jobs measured, then end and remove the rest."""
        if not self._history.started and not self._directory.has_raw():
            return
        self._recover_trials()
        self._stage.recover()
        self._disconnect()  # what is listed next is then left over for certain
        swept = sweep(self._sites, self._catalogue.runner, self._directory.run_id)
        if swept.left:
            raise RunFailed(f"the interrupted run left what cannot be removed: {tell(swept.left)}", remedy=swept.left[0].remedy)
        self._connect()
        if swept.removed:
            message = f"removed {len(swept.removed)} leftovers of the interrupted run"
            self._observer.notify(Event(kind="leftovers", message=message, data={"count": len(swept.removed)}))

    def _recover_trials(self) -> None:
        """Record trials whose raw bytes or detached jobs outlived their record."""
        planned = {slot.sequence: slot for round_ in (*number_slots(self._plan.order), *self._extended_rounds()) for slot in round_.slots}
        started = {slot.sequence: slot for slot in self._history.unfinished()}
        for slot in (slot for sequence, slot in sorted((planned | started).items()) if sequence not in self._history.trials):
            experiment = self._stage.recalled(self._experiments[slot.experiment_id], slot.session)
            workload = self._workloads[experiment.tool]
            trial = self._bench.recover(self._directory.load_raw(slot.sequence), experiment, workload) or self._reattach(slot, experiment, workload)
            if trial is not None:
                self._finish(trial)

    def _reattach(self, slot: Slot, experiment: Experiment, workload: Workload) -> Trial | None:
        intent = self._history.intents.get(slot.sequence)
        if intent is None:
            return None
        client = next(place for place in experiment.roles if place.role == workload.ROLES[0])
        jobs = [job for job_id in intent.jobs if (job := self._sessions[client.site].attach(job_id)) is not None]
        if len(jobs) < len(intent.jobs):
            self._journal.append(LOST, {"sequence": slot.sequence, "jobs": list(intent.jobs)})
            return None
        return self._bench.reattach(intent, jobs, experiment, workload, secrets=self._secrets[experiment.id])

    def _carry_out(self, round_: Round) -> None:
        """One allocation: its missing trials, and replacements for invalid ones."""
        missing = [slot for slot in round_.slots if slot.sequence not in self._history.trials]
        if not missing:
            return
        self._interrupts.check()  # a round that fails to come up looks nowhere else
        experiment = self._experiments[round_.planned.experiment_id]
        allocation = self._history.next_allocation(round_.planned.session, experiment.id)
        allocation_id = f"{self._directory.run_id}-s{round_.planned.session:03d}-{experiment.short_id}-a{allocation}"
        try:
            experiment = self._stage.enter(experiment, round_.planned.session)
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            self._fail_round(missing, allocation_id, error)
            return
        if experiment.id in self._skipped:
            return
        self._journal.append(ALLOCATED, {"allocation_id": allocation_id, "experiment_id": experiment.id, "session": round_.planned.session})
        try:
            place = Place(experiment, self._sessions, allocation_id)
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            self._fail_round(missing, allocation_id, error)
            return
        try:
            self._measure_round(self._with_warmups(missing, round_, allocation), place, allocation)
        except StorageError:  # its jobs' files are now the only copy of what was measured
            place.stop_servers()
            raise
        except BaseException:
            place.abandon()
            raise
        place.release()
        self._journal.append(RELEASED, {"allocation_id": allocation_id})
        self._cool_down()

    def _with_warmups(self, missing: Sequence[Slot], round_: Round, allocation: int) -> list[Slot]:
        """A second allocation is cold: its warm-ups are run again, as additional trials."""
        if allocation == 1 or missing[0].kind is TrialKind.WARMUP:
            return list(missing)
        again = [slot for slot in round_.slots if slot.kind is TrialKind.WARMUP]
        return [self._history.additional(slot) for slot in again] + list(missing)

    def _measure_round(self, slots: Sequence[Slot], place: Place, allocation: int) -> None:
        workload = self._workloads[place.experiment.tool]
        try:
            commands = place.prepare(workload)
        except (TransportLost, StorageError):
            raise
        except (RunFailed, SpecError) as error:  # a captured output may be nothing the workload can use
            self._fail_round(slots, place.allocation_id, error)
            return
        replacements = self._spec.method.replacements
        queue = list(slots)
        while queue:
            slot = queue.pop(0)
            self._interrupts.check()
            attempt = self._history.next_attempt(slot.sequence)
            trial = self._bench.measure(slot, place, commands, workload, allocation=allocation, attempt=attempt)
            self._finish(trial)
            if trial.status is TrialStatus.INVALID and trial.kind is TrialKind.MEASURED and replacements > 0:
                replacements -= 1
                queue.append(self._history.additional(slot, replaces=trial.sequence))

    def _fail_round(self, slots: Sequence[Slot], allocation_id: str, error: BenchspecError) -> None:
        """An allocation that did not come up: every trial in it failed, none was started."""
        self._journal.append(FAILED_ALLOCATION, {"allocation_id": allocation_id, "reason": str(error)})
        for slot in slots:
            trial = Trial(
                sequence=slot.sequence,
                experiment_id=slot.experiment_id,
                session=slot.session,
                kind=slot.kind,
                index=slot.index,
                job_id=allocation_id,
                status=TrialStatus.FAILED,
                started_at=time.time(),
                duration_s=0.0,
                error=str(error),
                error_kind="allocation",
            )
            self._journal.append("trial.finished", trial)
            self._finish(trial)

    def _finish(self, trial: Trial) -> None:
        self._history.trials[trial.sequence] = trial
        experiment = self._experiments[trial.experiment_id]
        which = f"{trial.kind.value} {trial.index}, {trial.duration_s:.1f} s"
        message = f"{trial.status.value:<7} session {trial.session} {experiment.target} {experiment.cell} ({which})"
        reason = trial.error or "; ".join(describe(g) for g in trial.gates if not g.passed)
        self._observer.notify(
            Event(
                kind="trial.finished",
                message=f"{message}: {reason}" if reason else message,
                data={
                    "sequence": trial.sequence,
                    "status": trial.status.value,
                    "target": experiment.target,
                    "cell": experiment.cell,
                    "session": trial.session,
                },
            )
        )

    def _cool_down(self) -> None:
        if self._spec.method.cooldown_s > 0:
            with self._interrupts.waiting():
                time.sleep(self._spec.method.cooldown_s)

    def _required_gates(self, experiment: Experiment) -> frozenset[str]:
        workload = next(w for w in self._spec.workloads if w.name == experiment.workload)
        overridden = workload.overrides.get(experiment.target, {}).get("gates")
        return frozenset(workload.gates) | (frozenset(overridden) if isinstance(overridden, Mapping) else frozenset())

    def _require_valid(self, trials: Sequence[Trial]) -> None:
        for experiment in self._plan.experiments:
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
            raise GateFailed(
                f"every trial failed its validity gates: {reasons}", where=where, remedy="see the findings, or state other gates in the spec"
            )
