"""After a controller died: what its jobs measured is kept first."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..lifecycle.targets import Stage
from ..model.contract.values import Node
from ..model.contract.workload import Workload
from ..model.errors import BenchspecError, RunFailed, TransportLost
from ..model.results import Trial
from ..model.spec import Experiment, Placement, Role
from ..store.directory import RunDirectory
from ..store.journal import Journal
from ..store.records import LOST
from .history import History
from .sites.allocations import Place, secrets_of
from .sites.sites import Sites, on_site
from .slots import Slot
from .trial import TrialBench
from .trial_result import Intent


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Records trials whose raw bytes or detached jobs outlived their record.

    What a program printed is kept without its secrets, so their values are read again, as when it
    was started. Where one of them is gone by then, the trial is given up (``trial.lost``, with the
    reason) and measured again, although its output is there: nobody could find the value in it any
    more, in raw bytes or in what is parsed from them, and the journal keeps neither values nor what
    values could be guessed from. Secrets of the environment and of files are looked for before
    anything else: without them a run is not resumed, and nothing is given up. A value that was
    changed between start and resumption is not known any more either: resume with the values that
    the run was started with.
    """

    directory: RunDirectory
    experiments: Mapping[str, Experiment]
    workloads: Mapping[str, Workload]
    sites: Sites
    journal: Journal
    history: History
    stage: Stage
    bench: TrialBench
    finish: Callable[[Trial], None]

    def recover(self, planned: Iterable[Slot]) -> None:
        """Record what can be, of the ``planned`` trials and those that were started beyond the
        plan. Raises StorageError, SiteLost, Interrupted.
        """
        slots = {slot.sequence: slot for slot in (*planned, *self.history.unfinished())}
        for sequence in sorted(slots.keys() - self.history.trials.keys()):
            slot = slots[sequence]
            experiment = self.stage.recalled(self.experiments[slot.experiment_id], slot.session)
            workload = self.workloads[experiment.tool]
            trial = self.bench.recover(
                self.directory.load_raw(sequence), experiment, workload
            ) or self._reattach(slot, experiment, workload)
            if trial is not None:
                self.finish(trial)

    def _reattach(self, slot: Slot, experiment: Experiment, workload: Workload) -> Trial | None:
        intent = self.history.intents.get(slot.sequence)
        if intent is None:
            return None
        client = next(place for place in experiment.roles if place.role == workload.ROLES[0])
        if client.site in self.sites.awaited:  # what a lifecycle made is gone, and its jobs with it
            self.journal.append(
                LOST, {"sequence": slot.sequence, "reason": f"site {client.site} is gone"}
            )
            return None
        with on_site(client.site):
            jobs = [
                job
                for job_id in intent.jobs
                if (job := self.sites.sessions[client.site].attach(job_id)) is not None
            ]
            if len(jobs) < len(intent.jobs):
                self.journal.append(LOST, {"sequence": slot.sequence, "jobs": list(intent.jobs)})
                return None
            try:
                secrets = secrets_of(experiment, workload, self.sites.sessions)
            except TransportLost:
                raise
            except RunFailed as error:
                self.journal.append(
                    LOST,
                    {
                        "sequence": slot.sequence,
                        "reason": f"it cannot be kept without its secret: {error.headline}",
                    },
                )
                return None
            return self.bench.reattach(
                intent,
                jobs,
                experiment,
                workload,
                secrets=secrets,
                look=lambda: self._look(intent, experiment),
            )

    def _look(self, intent: Intent, experiment: Experiment) -> Mapping[Role, Node] | None:
        """Where the roles are, asked of the trial's own allocation, which is taken over for that;
        None when it cannot be asked.
        """
        if experiment.placement is Placement.ANY:
            return None
        with contextlib.suppress(BenchspecError):
            return Place(experiment, self.sites.sessions, intent.allocation_id).nodes()
        return None
