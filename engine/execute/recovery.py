"""After a controller died: what its jobs measured is kept first."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..errors import BenchspecError, RunFailed, TransportLost
from ..journal import Journal
from ..ports import Node, Workload
from ..results import Trial
from ..rundir import RunDirectory
from ..secrets import resolve_all
from ..spec import Experiment, Placement, Role
from .history import History
from .lifecycle import Stage
from .outcome import Intent
from .places import Place, keeper_of
from .records import LOST
from .sites import Sites, on_site
from .slots import Slot
from .trial import TrialBench


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Records trials whose raw bytes or detached jobs outlived their record."""

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
        """Record what can be, of the ``planned`` trials and those that were started beyond the plan. Raises StorageError, SiteLost, Interrupted."""
        slots = {slot.sequence: slot for slot in (*planned, *self.history.unfinished())}
        for sequence in sorted(slots.keys() - self.history.trials.keys()):
            slot = slots[sequence]
            experiment = self.stage.recalled(self.experiments[slot.experiment_id], slot.session)
            workload = self.workloads[experiment.tool]
            trial = self.bench.recover(self.directory.load_raw(sequence), experiment, workload) or self._reattach(slot, experiment, workload)
            if trial is not None:
                self.finish(trial)

    def _reattach(self, slot: Slot, experiment: Experiment, workload: Workload) -> Trial | None:
        intent = self.history.intents.get(slot.sequence)
        if intent is None:
            return None
        client = next(place for place in experiment.roles if place.role == workload.ROLES[0])
        if client.site in self.sites.awaited:  # what a lifecycle made is gone, and its jobs with it
            self.journal.append(LOST, {"sequence": slot.sequence, "reason": f"site {client.site} is gone"})
            return None
        with on_site(client.site):
            jobs = [job for job_id in intent.jobs if (job := self.sites.sessions[client.site].attach(job_id)) is not None]
            if len(jobs) < len(intent.jobs):
                self.journal.append(LOST, {"sequence": slot.sequence, "jobs": list(intent.jobs)})
                return None
            try:
                secrets = resolve_all(experiment.parameters, keeper_of(self.sites.sessions[client.site]))
            except TransportLost:
                raise
            except RunFailed as error:
                self.journal.append(LOST, {"sequence": slot.sequence, "reason": f"it cannot be kept without its secret: {error.headline}"})
                return None
            return self.bench.reattach(intent, jobs, experiment, workload, secrets=secrets, look=lambda: self._look(intent, experiment))

    def _look(self, intent: Intent, experiment: Experiment) -> Mapping[Role, Node] | None:
        """Where the roles are, asked of the trial's own allocation, which is taken over for that; None when it cannot be asked."""
        if experiment.placement is Placement.ANY:
            return None
        with contextlib.suppress(BenchspecError):
            return Place(experiment, self.sites.sessions, intent.allocation_id).nodes()
        return None
