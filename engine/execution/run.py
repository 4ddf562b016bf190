"""One run from the first connection to the last clean-up, or the rest of a run that was cut
short.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Sequence

from ..control.events import Event, Observer
from ..control.interrupts import Interrupts
from ..lifecycle.targets import NOTHING, Adopted
from ..model.errors import RunFailed, StorageError, TransportLost
from ..model.results import FactSet, Finding, FindingLevel, Trial
from ..model.secrets import resolve_all
from ..model.spec import Spec
from ..planning.plan import Plan
from ..store.directory import RunDirectory
from ..store.journal import Journal
from ..store.read_run import check_manifest
from ..store.records import RUN_FINISHED, RUN_RESUMED, RUN_STARTED, RUN_STOPPED
from ..store.report_finding import report_finding
from .checks.completeness import require_complete
from .checks.required_gates import require_valid
from .checks.unsupported import Catalogue, find_problems
from .sites.data_sink import deposit
from .sites.sites import SiteLost
from .sites.sweep import Swept, sweep
from .sites.sweep import tell as told_of
from .slots import Round, Slot
from .wiring import Options, Order, Parts, take_order, wire

__all__ = ["Catalogue", "Options", "Run", "find_problems"]


class Run:
    """Carries out a plan in its directory. Everything finished is journalled, so a second Run on
    the same directory goes on where it stopped.
    """

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
        self._order = take_order(directory, spec, plan, catalogue, observer, options, adopted)

    def execute(self) -> tuple[Trial, ...]:
        """Run, or go on running, until every planned trial is recorded.

        Raises:
            DriftError: a claim is contradicted, or roles are not on nodes as the spec wants them.
            Interrupted: a signal came; what was created is removed.
            TransportLost: a site was lost; what does not need it was measured.
            GateFailed, RunFailed: it ended, but some experiment has no valid trial, or the data
                sink has no copy. RunFailed also for a secret that is not there, before anything.
            Incomplete: it ended, and planned trials gave no result.
            StorageError: the run directory cannot take more. What the last trial measured stays on
                its site until `resume` or `clean`.
        """
        order = self._order
        for experiment in order.plan.experiments:
            resolve_all(experiment.parameters, _ask_later)
        with Journal(order.directory.journal_path) as journal, Interrupts() as interrupts:
            course = _Course(order, wire(order, journal, interrupts))
            trials, problems = course.carry_out()
            planned, left_out = course.planned(), course.left_out()
        require_valid(order.plan.experiments, trials)
        if problems:
            raise RunFailed(
                "; ".join(problems),
                remedy="free space on the data sink or put it elsewhere, then `benchspec resume`",
            )
        require_complete(planned, trials, order.experiments, left_out)
        return trials


class _Course:
    """The order of a run's steps; ``parts`` carry them out."""

    def __init__(self, order: Order, parts: Parts) -> None:
        self._order, self._parts = order, parts

    def carry_out(self) -> tuple[tuple[Trial, ...], tuple[str, ...]]:
        """The trials, and why the results were not copied to a data sink."""
        self._begin()
        try:
            problems = self._measure_all()
        except StorageError:
            self._disconnect()
            if not self._order.directory.exists():  # then nobody can resume or clean it any more
                sweep(self._order.used, self._order.catalogue.runner, self._order.directory.run_id)
            raise
        except BaseException as error:
            self._stop(error)
            self._parts.sites.leave_late()
            self._parts.stage.abandon()
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
        trials = self._parts.history.trials
        self._parts.journal.append(RUN_FINISHED, {"trials": len(trials)})
        return tuple(trials[n] for n in sorted(trials)), problems

    def planned(self) -> tuple[Slot, ...]:
        """The slots of the plan and of its second stage."""
        schedule = self._parts.schedule
        rounds = (*schedule.planned(), *schedule.second_stage())
        return tuple(slot for round_ in rounds for slot in round_.slots)

    def left_out(self) -> frozenset[str]:
        """The experiments that were skipped, where that counts as complete."""
        return frozenset(() if self._order.options.complete else self._parts.examination.skipped)

    def _begin(self) -> None:
        check_manifest(self._order.directory, self._parts.journal.records)
        data = {
            "run_id": self._order.directory.run_id,
            "time": time.time(),
            "manifest": self._order.directory.manifest_sha256(),
        }
        self._parts.journal.append(
            RUN_RESUMED if self._parts.history.started else RUN_STARTED, data
        )

    def _stop(self, error: BaseException) -> None:
        with contextlib.suppress(StorageError):  # the error on its way is the one to tell
            self._parts.journal.append(
                RUN_STOPPED, {"reason": str(error), "error": type(error).__name__}
            )

    def _measure_all(self) -> tuple[str, ...]:
        """Everything between connecting and disconnecting; returns why the results were not copied
        to a data sink.
        """
        self._parts.sites.connect()
        self._recover()
        before = self._parts.examination.begin(
            [
                each
                for each in self._order.plan.experiments
                if not self._parts.stage.changes(each.target)
            ]
        )
        self._carry_out_all(self._parts.schedule.planned())
        if not self._parts.sites.lost:
            self._carry_out_all(self._parts.schedule.second_stage())
            self._carry_out_all(self._parts.schedule.made_up())
        self._look_after(before)
        problems = deposit(
            self._order.sinks.keys() - self._parts.history.deposited,
            self._parts.sites,
            self._order.directory,
            self._parts.journal,
            self._order.observer,
        )
        self._parts.sites.leave_late()
        self._parts.stage.destroy_all()
        return problems

    def _look_after(self, before: Sequence[FactSet]) -> None:
        """Compare with what was before; a site that is lost only now does not keep the others from
        being looked at.
        """
        while True:
            try:
                self._parts.examination.end(before)
            except SiteLost as error:
                self._lose(error.site, error)
            else:
                return

    def _carry_out_all(self, rounds: Sequence[Round]) -> None:
        wanted = [
            round_
            for round_ in rounds
            if round_.planned.experiment_id not in self._parts.examination.skipped
        ]
        if wanted:
            self._announce(sum(len(round_.slots) for round_ in wanted))
        last = {self._visit(round_): round_ for round_ in wanted}
        for round_ in wanted:
            if not self._sites_of(round_) & self._parts.sites.lost.keys():
                self._carry_out(round_)
            if last[self._visit(round_)] is round_:
                self._parts.stage.leave(*self._visit(round_))

    def _carry_out(self, round_: Round) -> None:
        """One round; a site whose connection is lost is given up, and what does not need it goes
        on.
        """
        try:
            self._parts.rounds.carry_out(round_)
        except SiteLost as error:
            self._lose(error.site, error)
        except TransportLost as error:
            for site in sorted(self._sites_of(round_)):
                self._lose(site, error)

    def _lose(self, site: str, error: TransportLost) -> None:
        message = (
            f"site {site} cannot be used any more: {error.headline}; what needs it is not measured"
        )
        report_finding(
            Finding(code="F604", level=FindingLevel.ERROR, message=message),
            self._parts.journal,
            self._order.observer,
        )
        self._parts.sites.lose(site, error)

    def _sites_of(self, round_: Round) -> set[str]:
        return {place.site for place in self._order.experiments[round_.planned.experiment_id].roles}

    def _lost_error(self) -> TransportLost | None:
        if not self._parts.sites.lost:
            return None
        reasons = "; ".join(error.headline for error in self._parts.sites.lost.values())
        where = ", ".join(f"site {site}" for site in self._parts.sites.lost)
        message = (
            f"could not be used any more while the run went on ({reasons}); what does not need it"
            " was measured"
        )
        return TransportLost(
            message, where=where, remedy="see to it that it can be reached, then `benchspec resume`"
        )

    def _visit(self, round_: Round) -> tuple[str, int]:
        return self._order.experiments[round_.planned.experiment_id].target, round_.planned.session

    def _announce(self, total: int) -> None:
        done = len(self._parts.history.trials)
        message = (
            f"{total} trials in {len(self._order.plan.order)} allocations, about"
            f" {self._order.plan.estimate_s:.0f} s"
        )
        self._order.observer.notify(
            Event(
                kind=RUN_STARTED,
                message=message,
                data={"total": total, "done": done, "estimate_s": self._order.plan.estimate_s},
            )
        )

    def _disconnect(self) -> None:
        self._parts.remains.close()
        self._parts.sites.disconnect()

    def _prove_clean(self) -> None:
        """List what is left of us on every site; what there is is removed if it can be, and told.
        Where a trial may still go on all is left.
        """
        busy = {
            place.site
            for experiment in self._parts.open_trials.find()
            for place in experiment.roles
        }
        swept = self._sweep(busy)
        told = [
            f"site {name} is left as it is, for `benchspec resume` to collect what is measured"
            " there"
            for name in sorted(busy)
        ]
        if swept.removed:
            told.append(
                f"{len(swept.removed)} things were left after the clean-up and have been removed:"
                f" {', '.join(sorted(swept.removed))}"
            )
        untouched = frozenset() if self._parts.history.started else self._parts.sites.refused
        if left := [one for one in swept.left if one.what is not None or one.site not in untouched]:
            told.append(
                "something may be left after the clean-up (`benchspec clean` tries again):"
                f" {told_of(left)}"
            )
        for message in told:
            report_finding(
                Finding(code="F602", level=FindingLevel.WARNING, message=message),
                self._parts.journal,
                self._order.observer,
            )

    def _sweep(self, spared: Collection[str] = ()) -> Swept:
        """Remove what is left on all sites but those ``spared``. A site that a lifecycle makes and
        that cannot be asked is gone, with all on it.
        """
        sites = {
            name: site
            for name, site in self._order.used.items()
            if name not in spared and name not in self._parts.sites.awaited
        }
        swept = sweep(sites, self._order.catalogue.runner, self._order.directory.run_id)
        return Swept(
            removed=swept.removed,
            left=tuple(
                one
                for one in swept.left
                if one.what is not None or one.site not in self._parts.sites.late
            ),
        )

    def _recover(self) -> None:
        """After a controller died: first keep what its jobs measured, then end and remove the
        rest.
        """
        if not self._parts.history.started and not self._order.directory.has_raw():
            return
        rounds = (*self._parts.schedule.planned(), *self._parts.schedule.added())
        self._parts.recovery.recover(slot for round_ in rounds for slot in round_.slots)
        self._parts.stage.recover()
        self._parts.sites.disconnect()  # what is listed next is then left over for certain
        swept = self._sweep()
        if swept.left:
            raise RunFailed(
                f"the interrupted run left what cannot be removed: {told_of(swept.left)}",
                remedy=swept.left[0].remedy,
            )
        self._parts.sites.connect()
        if swept.removed:
            message = f"removed {len(swept.removed)} leftovers of the interrupted run"
            self._order.observer.notify(
                Event(kind="leftovers", message=message, data={"count": len(swept.removed)})
            )


def _ask_later(name: str) -> str:
    """What a cluster keeps is read when a program needs it: the cluster, or the secret, may not be
    there before the target is up.
    """
    return ""
