"""Looking at targets before their first trial and after the last: tools, facts, who is on which
node, and whether they are what they claim to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..control.interrupts import Interrupts
from ..model.contract.workload import Workload
from ..model.errors import RunFailed, StorageError, TransportLost
from ..model.results import FactSet
from ..model.spec import Experiment
from ..planning.allocation_request import volumes_of
from ..planning.plan import Plan
from ..store.journal import Journal
from ..store.records import ALLOCATED, RELEASED
from .checks.allocation_survey import Survey
from .checks.observation import Observatory
from .checks.tools import ToolSearch
from .history import History
from .rounds import name_allocation
from .sites.allocations import Place
from .sites.sites import SiteLost, Sites
from .slots import number_slots

BEFORE, RESUMED, UP, AFTER = "before", "resumed", "up", "after"
LOOKED_AT = 0
"""The session number of allocations in which nothing is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Examines the targets of one run. ``skipped``: experiments that cannot be measured, with the
    reason.

    ``stays_up`` tells of a target with a lifecycle whether it is up for the whole run.
    """

    run_id: str
    plan: Plan
    workloads: Mapping[str, Workload]
    sites: Sites
    journal: Journal
    history: History
    interrupts: Interrupts
    observatory: Observatory
    survey: Survey
    tools: ToolSearch
    stays_up: Callable[[str], bool]
    allow_drift: bool
    install_tools: bool
    skipped: dict[str, str] = field(default_factory=dict)
    _up: dict[tuple[str, str, str], FactSet] = field(default_factory=dict)

    def begin(self, bare: Sequence[Experiment]) -> tuple[FactSet, ...]:
        """Look at everything as it is before the first trial, and at the targets of the ``bare``
        experiments, which have no lifecycle, for good.

        Raises:
            MissingTool: nothing can be measured.
            DriftError: a target is not what it claims to be, or roles are not where they should be.
            SiteLost: a connection is lost.
        """
        if bare:
            self.skipped.update(self.tools.find(bare, self.workloads, install=self.install_tools))
        before = self.observatory.observe(RESUMED if self.history.trials else BEFORE)
        if (
            self.history.trials
        ):  # what was measured already must have been measured on these very machines
            self.observatory.compare(tuple(self.history.facts.values()), before)
        for target in dict.fromkeys(experiment.target for experiment in bare):
            self._examine(target, before)
        return before

    def look_again(self, target: str) -> None:
        """A target with a lifecycle has its tools, and is what it claims to be, only once it is up.
        Raises as :meth:`begin` does.
        """
        mine = [experiment for experiment in self.plan.experiments if experiment.target == target]
        for site in sorted(
            {place.site for experiment in mine for place in experiment.roles} & self.sites.awaited
        ):
            self.sites.session(site)
        self.skipped.update(self.tools.find(mine, self.workloads, install=self.install_tools))
        seen = self.observatory.observe(UP, target)
        if self.stays_up(target):
            self._up.update({facts.place: facts for facts in seen})
        self._examine(target, seen)

    def check_shown(self, target: str, shown: Sequence[FactSet]) -> None:
        """What a later allocation shows may contradict a claim too; once something of the target is
        measured that is a finding and no end.
        """
        if shown:
            mine = {
                experiment.id for experiment in self.plan.experiments if experiment.target == target
            }
            measured = any(trial.experiment_id in mine for trial in self.history.trials.values())
            placed = self.survey.placed.get(target, {})
            self.observatory.check_claims(
                target, shown, placed, allow_drift=measured or self.allow_drift, known_only=True
            )

    def end(self, before: Sequence[FactSet]) -> None:
        """Look once more at what is still connected, and tell what changed. Raises SiteLost."""
        first = {facts.place: facts for facts in before} | self._up
        self.observatory.compare(tuple(first.values()), self.observatory.observe(AFTER))

    def _examine(self, target: str, seen: Sequence[FactSet]) -> None:
        mine = [facts for facts in seen if facts.target == target]
        shown = [
            facts
            for experiment in self._to_survey(target, mine)
            for facts in self._show(experiment)
        ]
        placed = self.survey.placed.get(target, {})
        self.observatory.check_claims(target, [*mine, *shown], placed, allow_drift=self.allow_drift)

    def _to_survey(self, target: str, seen: Sequence[FactSet]) -> list[Experiment]:
        """One experiment with several roles for each placement and path to be measured, and one
        that writes to volumes.

        Where there is none, any on sites of several nodes, to see which of them it uses.
        """
        rounds = number_slots(self.plan.order)
        wanted = {
            round_.planned.experiment_id
            for round_ in rounds
            if any(slot.sequence not in self.history.trials for slot in round_.slots)
        }
        mine = [
            e
            for e in self.plan.experiments
            if e.target == target and e.id in wanted and e.id not in self.skipped
        ]
        distinct: dict[object, Experiment] = {}
        for experiment in mine:
            if len(experiment.roles) > 1:
                distinct.setdefault(
                    (experiment.roles, experiment.placement, experiment.path), experiment
                )
            elif volumes_of(experiment):
                distinct.setdefault(experiment.roles, experiment)
        return list(distinct.values()) or (mine[:1] if any(facts.node for facts in seen) else [])

    def _show(self, experiment: Experiment) -> tuple[FactSet, ...]:
        """Allocate ``experiment`` once without measuring. An allocation that does not come up is
        left for its rounds to tell.
        """
        number = self.history.next_allocation(LOOKED_AT, experiment.id)
        allocation_id = name_allocation(self.run_id, LOOKED_AT, experiment, number)
        self.interrupts.check()
        self.journal.append(
            ALLOCATED,
            {"allocation_id": allocation_id, "experiment_id": experiment.id, "session": LOOKED_AT},
        )
        try:
            place = Place(experiment, self.sites.sessions, allocation_id)
        except (TransportLost, StorageError):
            raise
        except RunFailed:
            return ()
        try:
            shown = self.survey.look(place)
        except BaseException as error:
            place.abandon(error.site if isinstance(error, SiteLost) else None)
            raise
        place.release()
        self.journal.append(RELEASED, {"allocation_id": allocation_id})
        return shown
