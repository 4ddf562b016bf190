"""One trial: journal the intent, start, wait, collect, store the raw bytes, parse, gate, journal
the result. In that order.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..control.interrupts import Interrupts
from ..model.contract.reading import measured
from ..model.contract.runner import Job
from ..model.contract.values import Commands, Completed, Node, Sample
from ..model.contract.workload import Workload
from ..model.errors import (
    BenchspecError,
    FromOutside,
    Interrupted,
    JobTimeout,
    MissingTool,
    ParseError,
    RunFailed,
    StorageError,
    TransportLost,
)
from ..model.failures import FailureClass
from ..model.results import Trial, TrialStatus
from ..model.secrets import redact
from ..model.spec import Experiment, Role
from ..planning import validity_gates as gates
from ..planning.placement import gate, violation
from ..store.directory import RunDirectory
from ..store.journal import Journal
from ..store.records import FINISHED, LOST, STARTED
from ..store.usage import cpu_ticks, summarise
from .barrier import Barrier, wait_together
from .failure_class import class_of, class_of_ending, class_of_error, how_it_ended, worst_exit
from .sites.allocations import Place
from .sites.sites import SiteLost
from .slots import Slot
from .trial_result import Intent, Outcome, from_files, to_files

_KINDS: Mapping[type[BenchspecError], str] = {
    JobTimeout: "timeout",
    TransportLost: "transport",
    MissingTool: "missing-tool",
    ParseError: "parse",
}


class TrialBench:
    """Measures trials of one run and records them."""

    def __init__(
        self,
        directory: RunDirectory,
        journal: Journal,
        interrupts: Interrupts,
        required_gates: Callable[[Experiment], frozenset[str]],
        interval_s: float = 1.0,
    ) -> None:
        self._directory = directory
        self._journal = journal
        self._interrupts = interrupts
        self._required_gates = required_gates
        self._interval_s = interval_s
        self._barrier = Barrier()

    def measure(
        self,
        slot: Slot,
        place: Place,
        commands: Commands,
        workload: Workload,
        *,
        allocation: int,
        attempt: int,
    ) -> Trial:
        """Carry out ``slot`` once.

        Raises:
            StorageError: what was measured cannot be stored; the run cannot go on.
            Interrupted: a signal came; the jobs were cancelled and the trial is not recorded.
            SiteLost: a client's site is lost. Where the trial depends on nobody else its job may
                still be collected when the run is resumed.
            RunFailed: the roles are not on the nodes any more on which they should be; nothing was
                started.
        """
        nodes = place.nodes()
        if (
            reason := violation(place.experiment.placement, place.experiment.roles, nodes)
        ) is not None:
            raise FromOutside(reason)
        suffix = "" if attempt == 1 else f"-r{attempt}"
        intent = Intent(
            slot=slot,
            jobs=tuple(
                f"{self._directory.run_id}-{slot.sequence:06d}-c{i}{suffix}"
                for i in range(len(commands.clients))
            ),
            deadlines_s=tuple(c.timeout_s for c in commands.clients),
            allocation_id=place.allocation_id,
            allocation=allocation,
            nodes=nodes,
        )
        self._journal.append(STARTED, intent)
        started: list[Job] = []
        try:
            outcome = self._run(intent, place, commands, started)
        except Interrupted:
            _discard(started)
            raise
        trial = self.record(
            intent, _look_after(place, outcome), place.experiment, workload, secrets=place.secrets
        )
        _discard(started)
        return trial

    def _run(self, intent: Intent, place: Place, commands: Commands, started: list[Job]) -> Outcome:
        """Start the clients together and wait for all; ``started`` receives the jobs as they come
        to be.
        """
        time.sleep(max((server.settle_s for server in commands.servers), default=0.0))
        began = time.time()
        samplers = place.sample(self._interval_s)
        samples: dict[str, Sequence[Sample]] = {}
        error: BenchspecError | None = None
        lost: SiteLost | None = None
        try:
            self._barrier.start(intent.jobs, place, commands, started)
            with self._interrupts.waiting():
                self._barrier.wait(place, commands, started)
        except StorageError:
            raise
        except SiteLost as caught:
            lost = caught
            if (
                commands.servers or len(commands.clients) > 1
            ):  # what is left of it would not be the trial that was meant
                self._give_up(intent.slot, "a connection was lost")
            raise
        except (
            RunFailed
        ) as caught:  # a lost job, a timeout, a missing program: the trial failed, the run goes on
            error = caught
        except Interrupted:
            self._give_up(intent.slot, "interrupted")
            raise
        finally:
            try:
                samples = {role.value: sampler.stop() for role, sampler in samplers.items()}
            except TransportLost as caught:  # what the clients measured counts, if they tell it
                error = error or caught
            if lost is None:
                _cancel(started)
        return _outcome(started, samples=samples, error=error, began=began)

    def _give_up(self, slot: Slot, reason: str) -> None:
        """Before its jobs are cancelled: a program may end well on SIGTERM, and should this
        controller die now, none must take that for a result.
        """
        self._journal.append(LOST, {"sequence": slot.sequence, "reason": reason})

    def reattach(
        self,
        intent: Intent,
        jobs: Sequence[Job],
        experiment: Experiment,
        workload: Workload,
        *,
        secrets: Collection[str],
        look: Callable[[], Mapping[Role, Node] | None] = lambda: None,
    ) -> Trial | None:
        """Wait for jobs that an earlier controller started, and record them; None when they ended
        without a trace. ``look``: where the roles are.
        """
        began = time.time()
        error: BenchspecError | None = None
        try:
            with self._interrupts.waiting():
                wait_together(jobs, intent.deadlines_s)
        except JobTimeout as caught:
            error = caught
        except TransportLost:
            raise
        except RunFailed:
            self._give_up(intent.slot, "its jobs ended without a trace")
            return None
        except Interrupted:
            self._give_up(intent.slot, "interrupted")
            raise
        finally:
            _cancel(jobs)
        outcome = dataclasses.replace(
            _outcome(jobs, samples={}, error=error, began=began, reattached=True),
            nodes_after=look(),
        )
        trial = self.record(
            intent, _within(outcome, intent.deadlines_s), experiment, workload, secrets=secrets
        )
        _discard(jobs)
        return trial

    def record(
        self,
        intent: Intent,
        outcome: Outcome,
        experiment: Experiment,
        workload: Workload,
        *,
        secrets: Collection[str],
    ) -> Trial:
        """Store the raw bytes, then judge them, then journal the trial."""
        clean = tuple(_redacted(completed, secrets) for completed in outcome.completed)
        files = to_files(clean, outcome, intent)
        raw = self._directory.store_raw(intent.slot.sequence, files)
        trial = self._judge(intent, outcome, clean, experiment, workload)
        recorded = _with(trial, raw=raw)
        self._journal.append(FINISHED, recorded)
        return recorded

    def recover(
        self, files: Mapping[str, bytes], experiment: Experiment, workload: Workload
    ) -> Trial | None:
        """Record a trial whose raw files are whole but whose record was lost; None when the files
        do not describe one.
        """
        restored = from_files(files)
        if restored is None or restored[0].slot.experiment_id != experiment.id:
            return None
        intent, outcome = restored
        return self.record(intent, outcome, experiment, workload, secrets=())

    def _judge(
        self,
        intent: Intent,
        outcome: Outcome,
        completed: Sequence[Completed],
        experiment: Experiment,
        workload: Workload,
    ) -> Trial:
        slot = intent.slot
        usage = {role: summarise(samples) for role, samples in outcome.samples.items() if samples}
        trial = Trial(
            sequence=slot.sequence,
            experiment_id=slot.experiment_id,
            session=slot.session,
            kind=slot.kind,
            index=slot.index,
            job_id=intent.jobs[0],
            status=TrialStatus.FAILED,
            started_at=outcome.started_at,
            duration_s=outcome.duration_s,
            exit_code=worst_exit(completed),
            error=outcome.error,
            error_kind=outcome.error_kind,
            failure=(
                class_of(outcome.failure, outcome.samples) if outcome.error is not None else None
            ),
            usage=usage,
            allocation=intent.allocation,
            replaces=slot.replaces,
            reattached=outcome.reattached,
            nodes={role.value: node.name for role, node in intent.nodes.items()},
            start_skew_s=_skew(completed),
        )
        if outcome.error is not None:
            return trial
        try:
            measurements = tuple(measured(workload, completed, experiment.parameters))
        except ParseError as error:
            ended = how_it_ended(completed)
            return _with(
                trial,
                error=str(error),
                error_kind=ended,
                failure=class_of_ending(ended, trial.exit_code, outcome.samples),
            )
        except Exception as error:
            # a parser's own bug: the raw bytes are safe, and the other trials must not pay for it
            return _with(
                trial,
                error=(
                    f"the parser of {workload.NAME} failed, which is a bug: {type(error).__name__}:"
                    f" {error}"
                ),
                error_kind="parse",
                failure=FailureClass.WORKLOAD,
            )
        results = gates.evaluate(
            experiment.gates,
            self._required_gates(experiment),
            measurements,
            usage,
            ticks=min(filter(None, map(cpu_ticks, outcome.samples.values())), default=None),
        )
        placed = gate(experiment.placement, experiment.roles, intent.nodes, outcome.nodes_after)
        results = results if placed is None else (*results, placed)
        passed = all(result.passed for result in results)
        return _with(
            trial,
            status=TrialStatus.VALID if passed else TrialStatus.INVALID,
            failure=None if passed else FailureClass.INVALID,
            measurements=measurements,
            gates=results,
        )


def _with(trial: Trial, **changes: Any) -> Trial:
    return dataclasses.replace(trial, **changes)


def _cancel(jobs: Sequence[Job]) -> None:
    for job in jobs:
        with contextlib.suppress(TransportLost):
            job.cancel()


def _discard(jobs: Sequence[Job]) -> None:
    for job in jobs:
        with contextlib.suppress(
            TransportLost
        ):  # what is measured is recorded; whoever turns to the site next is told
            job.discard()


def _look_after(place: Place, outcome: Outcome) -> Outcome:
    """``outcome`` with the nodes on which the roles are now that the clients have ended; failed
    when that cannot be seen any more.
    """
    try:
        return dataclasses.replace(outcome, nodes_after=place.nodes())
    except TransportLost as lost:
        return dataclasses.replace(
            outcome,
            error=outcome.error or str(lost),
            error_kind=outcome.error_kind or _kind(lost),
            failure=outcome.failure or lost.failure,
        )


def _skew(completed: Sequence[Completed]) -> float | None:
    began = [one.started_at for one in completed]
    return max(began) - min(began) if len(began) > 1 else None


def _within(outcome: Outcome, deadlines_s: Sequence[float]) -> Outcome:
    """A job that ran past its deadline was killed there by the controller before, whatever its exit
    code says.
    """
    late = [
        one
        for one, deadline_s in zip(outcome.completed, deadlines_s, strict=False)
        if one.duration_s >= deadline_s
    ]
    if outcome.error is not None or not late:
        return outcome
    return dataclasses.replace(
        outcome,
        error=f"{late[0].argv[0]} took {late[0].duration_s:.1f} s, longer than it may",
        error_kind="timeout",
        failure=FailureClass.WORKLOAD,
    )


def _outcome(
    jobs: Sequence[Job],
    *,
    samples: Mapping[str, Sequence[Sample]],
    error: BenchspecError | None,
    began: float,
    reattached: bool = False,
) -> Outcome:
    completed: list[Completed] = []
    for job in jobs:
        try:
            completed.append(job.collect())
        except StorageError:
            raise
        except (
            BenchspecError
        ) as caught:  # an unfinished job has nothing to collect; the first error is the one to tell
            error = error or caught
    started_at = min((c.started_at for c in completed), default=began)
    duration_s = (
        max((c.started_at + c.duration_s for c in completed), default=time.time()) - started_at
    )
    return Outcome(
        completed=tuple(completed),
        samples=samples,
        error=None if error is None else str(error),
        error_kind=None if error is None else _kind(error),
        failure=class_of_error(error, len(completed) == len(jobs)),
        started_at=started_at,
        duration_s=duration_s,
        reattached=reattached,
    )


def _kind(error: BenchspecError) -> str:
    return next((kind for type_, kind in _KINDS.items() if isinstance(error, type_)), "run")


def _redacted(completed: Completed, secrets: Collection[str]) -> Completed:
    if not secrets:
        return completed
    return dataclasses.replace(
        completed,
        stdout=redact(completed.stdout, secrets),
        stderr=redact(completed.stderr, secrets),
        files={name: redact(data, secrets) for name, data in completed.files.items()},
    )
