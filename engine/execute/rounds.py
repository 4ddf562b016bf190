"""Rounds: one allocation of an experiment, its missing trials in it, and replacements for invalid ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..errors import BenchspecError, RunFailed, SpecError, StorageError, TransportLost
from ..gates import describe
from ..journal import Journal
from ..ports import Commands, Workload
from ..results import FactSet, Trial, TrialKind, TrialStatus
from ..spec import Experiment, Method
from .events import Event, Observer
from .history import History
from .interrupts import Interrupts
from .lifecycle import Stage
from .places import Place
from .records import ALLOCATED, FAILED_ALLOCATION, FINISHED, RELEASED
from .sites import SiteLost, Sites
from .slots import Round, Slot
from .survey import PlacementRefused, Survey
from .trial import TrialBench


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBench:
    """Carries out the rounds of one run. ``on_shown`` is told what an allocation of a target shows that none did before."""

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
    is_skipped: Callable[[str], bool]
    on_shown: Callable[[str, Sequence[FactSet]], None]

    def carry_out(self, round_: Round) -> None:
        """Measure what is missing of a round. An allocation that does not come up fails its trials, and the run goes on.

        Raises:
            SiteLost: a site is lost; what was measured is recorded.
            StorageError, Interrupted: the run cannot go on.
        """
        missing = self.missing(round_)
        if not missing:
            return
        self.interrupts.check()  # a round that fails to come up looks nowhere else
        experiment = self.experiments[round_.planned.experiment_id]
        allocation = self.history.next_allocation(round_.planned.session, experiment.id)
        allocation_id = name_allocation(self.run_id, round_.planned.session, experiment, allocation)
        try:
            experiment = self.stage.enter(experiment, round_.planned.session)
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            self._fail(missing, allocation_id, error)
            return
        if self.is_skipped(experiment.id):
            return
        place = self._allocate(experiment, allocation_id, round_.planned.session, missing)
        if place is None:
            return
        try:
            self._measure(self._with_warmups(missing, round_, allocation), round_, place, allocation)
        except StorageError:  # its jobs' files are now the only copy of what was measured
            place.stop_servers()
            raise
        except BaseException as error:
            place.abandon(error.site if isinstance(error, SiteLost) else None)
            raise
        place.release()
        self.journal.append(RELEASED, {"allocation_id": allocation_id})
        self._cool_down()

    def missing(self, round_: Round) -> list[Slot]:
        """The trials of a round that were not measured, and replacements that a controller before did not come to make."""
        planned = [slot for slot in round_.slots if slot.sequence not in self.history.trials]
        return [*planned, *self.history.due_replacements(round_.slots, self.method.replacements)]

    def _allocate(self, experiment: Experiment, allocation_id: str, session: int, missing: Sequence[Slot]) -> Place | None:
        self.journal.append(ALLOCATED, {"allocation_id": allocation_id, "experiment_id": experiment.id, "session": session})
        try:
            return Place(experiment, self.sites.sessions, allocation_id, partial(self.stage.made, experiment.target, session))
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            self._fail(missing, allocation_id, error)
            return None

    def _with_warmups(self, missing: Sequence[Slot], round_: Round, allocation: int) -> list[Slot]:
        """A second allocation is cold: its warm-ups are run again, as additional trials."""
        if allocation == 1 or missing[0].kind is TrialKind.WARMUP:
            return list(missing)
        again = [slot for slot in round_.slots if slot.kind is TrialKind.WARMUP]
        return [self.history.additional(slot) for slot in again] + list(missing)

    def _measure(self, slots: Sequence[Slot], round_: Round, place: Place, allocation: int) -> None:
        queue = list(slots)
        made = len(self.history.replacements(round_.slots)) + sum(slot.replaces is not None for slot in queue)
        try:
            self.on_shown(place.experiment.target, self.survey.look(place))
            commands = place.prepare(self.workloads[place.experiment.tool])
            self._measure_each(queue, place, commands, allocation, self.method.replacements - made)
        except (TransportLost, StorageError):
            raise
        except (RunFailed, SpecError, PlacementRefused) as error:  # a captured output may be nothing the workload can use
            self._fail(queue, place.allocation_id, error)

    def _measure_each(self, queue: list[Slot], place: Place, commands: Commands, allocation: int, replacements: int) -> None:
        """Measure and take out of ``queue`` one slot after the other; what is left when an error ends it was not started."""
        while queue:
            slot = queue[0]
            self.interrupts.check()
            attempt = self.history.next_attempt(slot.sequence)
            workload = self.workloads[place.experiment.tool]
            trial = self.bench.measure(slot, place, commands, workload, allocation=allocation, attempt=attempt)
            del queue[0]
            self.finish(trial)
            if trial.status is TrialStatus.INVALID and trial.kind is TrialKind.MEASURED and replacements > 0:
                replacements -= 1
                queue.append(self.history.additional(slot, replaces=trial.sequence))

    def _fail(self, slots: Sequence[Slot], allocation_id: str, error: BenchspecError) -> None:
        """An allocation that did not come up, or is not where it should be: every trial that is left in it failed, none was started."""
        self.journal.append(FAILED_ALLOCATION, {"allocation_id": allocation_id, "reason": str(error)})
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
                replaces=slot.replaces,
            )
            self.journal.append(FINISHED, trial)
            self.finish(trial)

    def finish(self, trial: Trial) -> None:
        """Count a trial that is recorded, and show it."""
        self.history.trials[trial.sequence] = trial
        experiment = self.experiments[trial.experiment_id]
        which = f"{trial.kind.value} {trial.index}, {trial.duration_s:.1f} s"
        message = f"{trial.status.value:<7} session {trial.session} {experiment.target} {experiment.cell} ({which})"
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
    """The id of the ``number``-th allocation of an experiment in a session (0: looked at before any)."""
    return f"{run_id}-s{session:03d}-{experiment.short_id}-a{number}"
