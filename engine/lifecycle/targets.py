"""Targets with a lifecycle: brought up before their first allocation, once for the run or anew for
every session, and always destroyed.

What a step captured is put into the parameters of the target's experiments just before they are
measured.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Mapping

from ..control.events import Event, Observer
from ..control.interrupts import Interrupts
from ..model.contract.values import Made
from ..model.errors import BenchspecError, Interrupted, RunFailed, StorageError
from ..model.results import Finding, FindingLevel
from ..model.spec import Experiment, Json, Spec, Target
from ..store.directory import RunDirectory
from ..store.journal import Journal, Record
from ..store.records import (
    LIFECYCLE_ADOPTED,
    LIFECYCLE_DESTROYED,
    LIFECYCLE_FAILED,
    LIFECYCLE_READY,
    LIFECYCLE_STARTED,
)
from ..store.report_finding import report_finding
from .outputs import fill_value
from .state import WHOLE_RUN, Bringing, Standing, Standings
from .step.already_there import refuse_what_answers
from .step.order import RUN, SESSION, OwnStep, Phase, all_steps, falling, rising, steps_per
from .step.places import Runners, is_plural, releases_on
from .step.run import StepBench
from .step.workdirs import Door


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What `benchspec up` left standing for a run to use: by target, with the run directory that
    keeps it (as a path) and its run id.
    """

    directory: str
    run_id: str
    standings: Mapping[str, Standing]


NOTHING = Adopted(directory="", run_id="", standings={})


class Stage:
    """The targets of one run: which are up, and what brings them up and down. ``problems``: what
    could not be destroyed, of ``troubled`` targets.
    """

    def __init__(
        self,
        directory: RunDirectory,
        spec: Spec,
        runners: Runners,
        door: Door,
        journal: Journal,
        interrupts: Interrupts,
        observer: Observer,
        on_up: Callable[[str], None] = lambda target: None,
        adopted: Adopted = NOTHING,
        is_busy: Callable[[str], bool] = lambda target: False,
    ) -> None:
        self._run_id, self._again = directory.run_id, "down" if directory.is_upkeep else "clean"
        self._spec, self._runners = spec, runners
        self._journal = journal
        self._observer = observer
        self._on_up = on_up
        self._standings = Standings(journal.records)
        self._bench = StepBench(
            directory, spec, runners, door, journal, interrupts, observer, self._standings
        )
        self._earlier = list(self._standings.up)
        self._adopted = adopted
        self._is_busy = is_busy
        self._failed: dict[tuple[str, int], RunFailed] = {}
        self._seen: set[str] = set()
        self.problems: list[str] = []
        self.troubled: set[str] = set()

    def enter(self, experiment: Experiment, session: int) -> Experiment:
        """Bring the experiment's target up, if it is not, and return the experiment with captured
        outputs in its parameters.

        Raises:
            RunFailed: a step failed now, or did earlier in this session or (once for the run) in
                this run. What there was is destroyed.
            Interrupted, StorageError: the run cannot go on.
        """
        target = experiment.target
        for key, per in (((target, WHOLE_RUN), RUN), ((target, session), SESSION)):
            if key in self._failed:
                raise self._failed[key]
            if per == RUN and target in self._adopted.standings:
                self._adopt(target)
            elif not self._is_up(key) and steps_per(self._spec.target(target), per):
                self.bring_up(target, session=key[1])
        if target not in self._seen and self.changes(target):
            self._on_up(target)
        self._seen.add(target)
        return self.filled(experiment, session)

    def _adopt(self, target: str) -> None:
        """Use what stands already; it is neither brought up nor destroyed by this run."""
        standing = self._adopted.standings[target]
        if target in self._seen or self._standings.last.get(standing.key) is standing:
            return
        self._standings.adopt(standing)
        where = self._adopted.directory
        told: dict[str, Json] = {
            "target": target,
            "run_id": self._adopted.run_id,
            "directory": where,
            "attempt": standing.bringing.attempt,
        }
        self._journal.append(LIFECYCLE_ADOPTED, told)
        self._observer.notify(
            Event(
                kind=LIFECYCLE_ADOPTED,
                message=f"use     {target} as it stands ({where})",
                data=told,
            )
        )

    def changes(self, target: str) -> bool:
        """Whether the target is not what it is measured as before its steps were carried out."""
        return any(True for _ in all_steps(self._spec.target(target)))

    def _is_up(self, key: tuple[str, int]) -> bool:
        return any(
            standing.key == key and standing not in self._earlier for standing in self._standings.up
        )

    def bring_up(self, target: str, *, session: int = WHOLE_RUN, keep_failed: bool = False) -> None:
        """Carry out what brings the target up, for the run or for one session.

        Raises:
            RunFailed: a step failed. What there was is destroyed, unless ``keep_failed``.
            Interrupted, StorageError: the run cannot go on.
        """
        self._refuse_what_answers(target, session)
        attempt = self._standings.next_attempt(target, session)
        bringing = Bringing(
            target=target,
            session=session,
            attempt=attempt,
            allocation_id=f"{self._run_id}-{target}-s{session:03d}-up{attempt}",
        )
        self._journal.append(LIFECYCLE_STARTED, bringing)
        standing = self._standings.add(bringing)
        told = {"target": target, "session": session, "attempt": attempt}
        try:
            for own in rising(self._spec.target(target), RUN if session == WHOLE_RUN else SESSION):
                self._bench.perform(standing, own)
        except StorageError:
            raise
        except RunFailed as error:
            self._journal.append(LIFECYCLE_FAILED, {**told, "reason": error.message})
            remedy = error.remedy or "see raw-steps/ in the run directory"
            self._failed[standing.key] = RunFailed(
                f"not measured: {error.message}", where=f"target {target}", remedy=remedy
            )
            if not keep_failed:
                self._take_down(standing)
            raise self._failed[standing.key] from error
        self._journal.append(LIFECYCLE_READY, told)
        standing.ready = True

    def _refuse_what_answers(self, target: str, session: int) -> None:
        """Nothing may stand yet where the target is going to be awaited on this machine, unless its
        own lifecycle of the whole run has brought it up.
        """
        if session != WHOLE_RUN and self.stands(target):
            return
        steps = [*rising(self._spec.target(target), RUN if session == WHOLE_RUN else SESSION)]
        if all(own.phase is Phase.READY for own in steps):
            return
        waits = (own for own in steps if own.phase is Phase.READY and own.step.action == "wait")
        try:
            refuse_what_answers(target, (own.step for own in waits if self._bench.is_here(own)))
        except RunFailed as error:
            self._failed[target, session] = error
            raise

    def filled(self, experiment: Experiment, session: int) -> Experiment:
        """``experiment`` with the outputs of its target's steps in its parameters. Raises RunFailed
        for an output that is not known.
        """
        known = self._standings.outputs(experiment.target, session)

        def output(name: str) -> str:
            if name not in known:
                raise RunFailed(
                    f"not measured: the output {name} was not captured, or holds a secret, which"
                    " may stand in a step's env only"
                )
            return known[name]

        parameters = fill_value(experiment.parameters, output)
        return (
            dataclasses.replace(experiment, parameters=parameters)
            if isinstance(parameters, Mapping)
            else experiment
        )

    def recalled(self, experiment: Experiment, session: int) -> Experiment:
        """Like :meth:`filled`, for reading what was measured before; as written where an output is
        not known any more.
        """
        try:
            return self.filled(experiment, session)
        except RunFailed:
            return experiment

    def made(self, target: str, session: int, site: str) -> Made:
        """What manifests and charts of the target's steps made on ``site``, for the run and for
        ``session``.
        """
        found = self._spec.target(target)
        manifests = any(own.step.action == "manifest" for own in all_steps(found))
        last = [self._standings.last.get((target, number)) for number in (WHOLE_RUN, session)]
        ids = tuple(one.bringing.allocation_id for one in last if one is not None and manifests)
        return Made(allocation_ids=ids, releases=releases_on(found, site, self._runners))

    def leave(self, target: str, session: int) -> None:
        """The last allocation of ``target`` in ``session`` is done: destroy what was brought up for
        the session.
        """
        for standing in [s for s in self._standings.up if s.key == (target, session)]:
            if not self._is_busy(target):  # else it is told at the end
                self._take_down(standing)

    def recover(self, *, half_only: bool = False) -> None:
        """Destroy what an earlier controller brought up, also half; a step it did not see the end
        of is waited for first.

        ``half_only``: leave what it brought up wholly, which stands from now on.
        """
        for standing in reversed(self._earlier):
            if not (half_only and standing.ready):
                self._bench.reconcile(standing)
                self._take_down(standing)
        self._earlier = []

    def stands(self, target: str) -> bool:
        """Whether the target is up for the whole run."""
        return self._is_up((target, WHOLE_RUN))

    def take_down(self, targets: Collection[str]) -> None:
        """Destroy these targets, the last first. Raises StorageError."""
        for standing in reversed(self._standings.up):
            if standing.bringing.target in targets:
                self._take_down(standing)

    def destroy_all(self) -> None:
        """Destroy whatever is up, the last first. Raises StorageError, and nothing else: what
        failed is a finding.

        A target on which a trial may still go on, since the connection to it was lost, is left:
        `resume` collects the trial, then destroys.
        """
        for standing in reversed(self._standings.up):
            if self._is_busy(standing.bringing.target):
                self._tell(
                    standing.bringing.target,
                    "is left up: a trial may still go on there, which `benchspec resume` collects",
                )
            elif standing not in self._earlier or self._bench.reaches(
                standing
            ):  # else `resume` and `clean` find it in the journal
                with contextlib.suppress(Interrupted):
                    self._bench.reconcile(standing)
                self._take_down(standing)

    def abandon(self) -> None:
        """Like :meth:`destroy_all`, while another error is on its way."""
        with contextlib.suppress(StorageError):
            self.destroy_all()

    def _take_down(self, standing: Standing) -> None:
        """Carry out every destroy step, whether or not others fail and however far the target came
        up.
        """
        target, session = standing.key
        per = RUN if session == WHOLE_RUN else SESSION
        wanted = falling(self._spec.target(target), per)
        problems = [
            problem for own in wanted if (problem := self._destroy(standing, own)) is not None
        ]
        try:
            self._bench.release(standing)
        except StorageError:
            raise
        except BenchspecError as error:
            problems.append(
                f"what its steps left running or written could not be removed: {error.message}"
            )
        self._standings.drop(standing)
        for problem in problems:
            self._tell(target, problem)
        if not problems:
            self._journal.append(
                LIFECYCLE_DESTROYED,
                {"target": target, "session": session, "attempt": standing.bringing.attempt},
            )

    def _destroy(self, standing: Standing, own: OwnStep) -> str | None:
        try:
            self._bench.perform(standing, own)
        except StorageError:
            raise
        except BenchspecError as error:
            return f"{error.message}; {error.remedy}" if error.remedy else error.message
        return None

    def _tell(self, target: str, problem: str) -> None:
        self.problems.append(f"target {target}: {problem}")
        self.troubled.add(target)
        message = (
            f"target {target}: {problem}; something of it may still be there (`benchspec"
            f" {self._again}` tries again)"
        )
        finding = Finding(code="F603", level=FindingLevel.WARNING, message=message, target=target)
        report_finding(finding, self._journal, self._observer)


def stays_up(target: Target) -> bool:
    """Whether the target is up for the whole run, and none of it comes and goes with the
    sessions.
    """
    return not steps_per(target, SESSION)


def standing_steps(spec: Spec, records: Collection[Record]) -> tuple[OwnStep, ...]:
    """The destroy steps of everything that the journal says is up, in the order in which they would
    be carried out.
    """
    steps: list[OwnStep] = []
    for standing in reversed(Standings(records).up):
        target, session = standing.key
        done = {step for step, _, _ in standing.removed}
        per = RUN if session == WHOLE_RUN else SESSION
        steps += [
            own
            for own in falling(spec.target(target), per)
            if is_plural(own.step) or own.step.name not in done
        ]
    return tuple(steps)
