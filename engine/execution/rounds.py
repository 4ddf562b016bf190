"""Rounds: one allocation of an experiment, its missing trials in it, and replacements for invalid
ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..control.events import Event, Observer
from ..control.interrupts import Interrupts
from ..lifecycle.targets import Stage
from ..model.contract.values import Commands
from ..model.contract.workload import Workload
from ..model.errors import BenchspecError, RunFailed, SpecError, StorageError, TransportLost
from ..model.results import FactSet, Trial, TrialKind, TrialStatus
from ..model.spec import Experiment, Method
from ..planning.validity_gates import describe
from ..store.journal import Journal
from ..store.records import ALLOCATED, COMMANDS, FAILED_ALLOCATION, FINISHED, RELEASED
from ..store.report_finding import report_finding
from .checks.allocation_survey import PlacementRefused, Survey
from .history import History
from .retries import Retries
from .same_failures import SameFailures
from .sites.allocations import Place
from .sites.sites import SiteLost, Sites
from .slots import Round, Slot
from .trial import TrialBench
from .used_commands import describe_commands


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBench:
    """Carries out the rounds of one run. ``on_shown`` is told what an allocation of a target shows
    that none did before.
    """

    run_id: str
    method: Method
    experiments: Mapping[str, Experiment]
    workloads: Mapping[str, Workload]
    sites: Sites
    journal: Journal
    history: History
    interrupts: Interrupts
    observer: Observer
    stage: Stage
    survey: Survey
    bench: TrialBench
    retries: Retries
    is_skipped: Callable[[str], bool]
    on_shown: Callable[[str, Sequence[FactSet]], None]
    failures: SameFailures = field(default_factory=SameFailures)

    def carry_out(self, round_: Round) -> None:
        """Measure what is missing of a round, in a fresh allocation whenever one fails from outside
        and the target has retries left. Else one that does not come up fails its trials, and the
        run goes on.

        Raises:
            SiteLost: a site is lost; what was measured is recorded.
            StorageError, Interrupted: the run cannot go on.
        """
        missing = self.missing(round_)
        while missing and not self.failures.is_stopped(round_.planned.experiment_id):
            recorded = len(self.history.trials)
            reason = self._carry_out_in_one(round_, missing)
            if reason is None:
                return
            planned = round_.planned
            target = self.experiments[planned.experiment_id].target
            self.retries.announce(target, planned.experiment_id, planned.session, reason)
            if len(self.history.trials) > recorded:
                missing = self.missing(round_)

    def _carry_out_in_one(self, round_: Round, missing: Sequence[Slot]) -> str | None:
        """Measure ``missing`` in one allocation; returns why another one is wanted for the rest."""
        self.interrupts.check()  # a round that fails to come up looks nowhere else
        experiment = self.experiments[round_.planned.experiment_id]
        allocation = self.history.next_allocation(round_.planned.session, experiment.id)
        allocation_id = name_allocation(self.run_id, round_.planned.session, experiment, allocation)
        try:
            experiment = self.stage.enter(experiment, round_.planned.session)
            if self.is_skipped(experiment.id):
                return None
            place = self._allocate(experiment, allocation_id, round_.planned.session)
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            return self._give_up(missing, allocation_id, error)
        try:
            reason = self._measure(
                self._with_warmups(missing, round_, allocation), round_, place, allocation
            )
        except StorageError:  # its jobs' files are now the only copy of what was measured
            place.stop_servers()
            raise
        except BaseException as error:
            place.abandon(error.site if isinstance(error, SiteLost) else None)
            raise
        place.release()
        self.journal.append(RELEASED, {"allocation_id": allocation_id})
        self._cool_down()
        return reason

    def missing(self, round_: Round) -> list[Slot]:
        """The trials of a round that were not measured, those that failed for a reason from
        outside, and replacements that a controller before did not come to make.
        """
        slots = round_.slots
        return [
            *(slot for slot in slots if slot.sequence not in self.history.trials),
            *self.history.due_repeats(slots),
            *self.history.due_replacements(slots, self.method.replacements),
        ]

    def _allocate(self, experiment: Experiment, allocation_id: str, session: int) -> Place:
        self.journal.append(
            ALLOCATED,
            {"allocation_id": allocation_id, "experiment_id": experiment.id, "session": session},
        )
        return Place(
            experiment,
            self.sites.sessions,
            allocation_id,
            partial(self.stage.made, experiment.target, session),
        )

    def _with_warmups(self, missing: Sequence[Slot], round_: Round, allocation: int) -> list[Slot]:
        """A second allocation is cold: its warm-ups are run again, as additional trials."""
        if allocation == 1 or missing[0].kind is TrialKind.WARMUP:
            return list(missing)
        again = [slot for slot in round_.slots if slot.kind is TrialKind.WARMUP]
        return [self.history.additional(slot) for slot in again] + list(missing)

    def _measure(
        self, slots: Sequence[Slot], round_: Round, place: Place, allocation: int
    ) -> str | None:
        queue = list(slots)
        made = len(self.history.replacements(round_.slots)) + sum(
            self.history.is_replacement(slot.replaces) for slot in queue
        )
        try:
            self.on_shown(place.experiment.target, self.survey.look(place))
            commands = place.prepare(self.workloads[place.experiment.tool])
            self._tell(place, commands)
            return self._measure_each(
                queue, place, commands, allocation, self.method.replacements - made
            )
        except (TransportLost, StorageError):
            raise
        except (
            RunFailed,
            SpecError,
            PlacementRefused,
        ) as error:  # a captured output may be nothing the workload can use
            return self._give_up(queue, place.allocation_id, error)

    def _tell(self, place: Place, commands: Commands) -> None:
        """Journal what is started, unless it was told of this experiment before."""
        used = describe_commands(place.experiment, commands, place.surroundings())
        if used not in self.history.commands:
            self.history.commands.append(used)
            self.journal.append(COMMANDS, used)

    def _measure_each(
        self,
        queue: list[Slot],
        place: Place,
        commands: Commands,
        allocation: int,
        replacements: int,
    ) -> str | None:
        """Measure and take out of ``queue`` one slot after the other; what is left when an error
        ends it was not started. Returns why the rest is wanted in a fresh allocation.
        """
        while queue and not self.failures.is_stopped(place.experiment.id):
            slot = queue[0]
            self.interrupts.check()
            attempt = self.history.next_attempt(slot.sequence)
            workload = self.workloads[place.experiment.tool]
            trial = self.bench.measure(
                slot, place, commands, workload, allocation=allocation, attempt=attempt
            )
            del queue[0]
            self.finish(trial)
            failed = trial.status is TrialStatus.FAILED
            self._count(trial.experiment_id, trial.error if failed else None)
            if self.retries.take(place.experiment.target, trial.failure):
                return (trial.error or "the trial failed").partition("\n")[0]
            if (
                trial.status is TrialStatus.INVALID
                and trial.kind is TrialKind.MEASURED
                and replacements > 0
            ):
                replacements -= 1
                queue.append(self.history.additional(slot, replaces=trial.sequence))
        return None

    def _give_up(
        self, slots: Sequence[Slot], allocation_id: str, error: BenchspecError
    ) -> str | None:
        """An allocation that did not come up, or is not where it should be: every trial that is
        left in it fails, none was started. Unless another one may be made: then why.
        """
        self.journal.append(
            FAILED_ALLOCATION, {"allocation_id": allocation_id, "reason": str(error)}
        )
        target = self.experiments[slots[0].experiment_id].target
        if self.retries.take(target, error.failure):
            return error.headline
        self._fail(slots, allocation_id, error)
        return None

    def _fail(self, slots: Sequence[Slot], allocation_id: str, error: BenchspecError) -> None:
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
                failure=error.failure,
                replaces=slot.replaces,
            )
            self.journal.append(FINISHED, trial)
            self.finish(trial)
        if slots:
            self._count(slots[0].experiment_id, str(error))

    def _count(self, experiment_id: str, error: str | None) -> None:
        finding = self.failures.take(self.experiments[experiment_id], error)
        if finding is not None:
            report_finding(finding, self.journal, self.observer)

    def finish(self, trial: Trial) -> None:
        """Count a trial that is recorded, and show it."""
        self.history.record(trial)
        experiment = self.experiments[trial.experiment_id]
        which = f"{trial.kind.value} {trial.index}, {trial.duration_s:.1f} s"
        message = (
            f"{trial.status.value:<7} session {trial.session} {experiment.target} {experiment.cell}"
            f" ({which})"
        )
        reason = trial.error or "; ".join(describe(g) for g in trial.gates if not g.passed)
        self.observer.notify(
            Event(
                kind=FINISHED,
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
        if self.method.cooldown_s > 0:
            with self.interrupts.waiting():
                time.sleep(self.method.cooldown_s)


def name_allocation(run_id: str, session: int, experiment: Experiment, number: int) -> str:
    """The id of the ``number``-th allocation of an experiment in a session (0: looked at before
    any).
    """
    return f"{run_id}-s{session:03d}-{experiment.short_id}-a{number}"
