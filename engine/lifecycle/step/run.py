"""One lifecycle step: journal the intent, carry it out on its hosts through detached jobs, keep
what they printed, journal the result.

Every try on every host has a job id of its own, and none is carried out twice. A step on several
hosts runs on all of them at the same time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from ...control.events import Observer
from ...control.interrupts import Interrupts
from ...model.contract.runner import ObjectKeeper
from ...model.contract.values import Command, Completed
from ...model.errors import BenchspecError, Interrupted, RunFailed, StorageError, TransportLost
from ...model.spec import Spec
from ...planning.cluster_steps import is_of_cluster
from ...store.directory import RunDirectory
from ...store.journal import Journal
from ..state import Standing, Standings, StepIntent, StepKey, Where
from .commands import StepCommands
from .inputs import Inputs
from .order import OwnStep, Phase, all_steps, script_name, short_name
from .places import HERE, Runners, StepPlace, is_plural, places_of
from .records import StepRecords
from .tries import Failure, Try, apart, last_words, reason_of
from .waits import ask_on_host, reach_from_host, wait_for
from .workdirs import Door, Workdirs

_SETTLED_S = 1.0


class StepBench:
    """Carries out steps of one run and records them."""

    def __init__(
        self,
        directory: RunDirectory,
        spec: Spec,
        runners: Runners,
        door: Door,
        journal: Journal,
        interrupts: Interrupts,
        observer: Observer,
        standings: Standings,
    ) -> None:
        self._directory = directory
        self._spec = spec
        self._runners = runners
        self._door = door
        self._interrupts = interrupts
        self._inputs = Inputs(standings)
        self._workdirs = Workdirs(door=door)
        self._commands = StepCommands(
            directory=directory,
            spec=spec,
            runners=runners,
            inputs=self._inputs,
            workdirs=self._workdirs,
        )
        self._records = StepRecords(
            directory=directory, spec=spec, journal=journal, observer=observer, inputs=self._inputs
        )

    def perform(self, standing: Standing, own: OwnStep) -> None:
        """Carry out the step on each of its hosts, and try again there as often as it says. A
        signal ends it, unless it destroys.

        Raises:
            RunFailed: it did not do what it should on some host, also because that cannot be
                reached any more; the last reasons.
            Interrupted: a signal came; its jobs were cancelled.
            StorageError: the run cannot go on.
        """
        pending = [place for place in self._places(own) if _key(own, place) not in standing.removed]
        hopeless: list[Failure] = []
        failures: list[Failure] = []
        for number in range(own.step.retries + 1):
            if number:
                with self._waiting(own.phase):
                    time.sleep(own.step.retry_delay_s)
            failures = self._try_all(standing, own, pending)
            hopeless += [failure for failure in failures if not failure.begun]
            pending = [failure.place for failure in failures if failure.begun]
            if not pending:
                break
        failed = [*hopeless, *(failure for failure in failures if failure.begun)]
        if failed:
            tries = f" ({own.step.retries + 1} tries)" if own.step.retries and pending else ""
            told = "; ".join(failure.told(f"failed{tries}") for failure in failed)
            raise RunFailed(f"{own.phase} step {own.step.name} {told}", remedy=failed[0].remedy)

    def is_here(self, own: OwnStep) -> bool:
        """Whether the step is carried out on this machine."""
        try:
            return all(place.host == HERE for place in self._places(own))
        except RunFailed:
            return False  # performing it says why

    def _places(self, own: OwnStep) -> tuple[StepPlace, ...]:
        return places_of(self._spec.target(own.target), own.step, self._runners)

    def _waiting(self, phase: Phase) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if phase is Phase.DESTROY else self._interrupts.waiting()

    def _try_all(
        self, standing: Standing, own: OwnStep, places: Sequence[StepPlace]
    ) -> list[Failure]:
        """One try on every machine at the same time; what went wrong."""
        begun: list[Try] = []
        failures: list[Failure] = []
        try:
            for place in places:
                with apart(standing, place, failures):
                    begun.append(self._begin(standing, own, place))
            while begun:
                with apart(standing, begun[0].place, failures):
                    self._end(standing, own, begun[0], failures)
                begun.pop(0)
        except Interrupted:
            for one in begun:
                with contextlib.suppress(
                    TransportLost
                ):  # then the step stays without an end in the journal
                    self._cancel(standing, own, one)
            raise
        return failures

    def _begin(self, standing: Standing, own: OwnStep, place: StepPlace) -> Try:
        """Journal the intent and start. Raises RunFailed when it cannot even be told what to do:
        another try would not help.
        """
        step = own.step
        if place.key in standing.lost:
            raise TransportLost(standing.lost[place.key])
        wait = self._inputs.wait(standing, step.arguments) if step.action == "wait" else None
        objects = (
            self._inputs.objects(standing, self._directory.script(script_name(step)))
            if step.action == "manifest"
            else ()
        )
        command = None
        if not is_of_cluster(step):
            command = (
                self._commands.command(standing, own, place)
                if wait is None
                else ask_on_host(wait, place, step.timeout_s)
            )
        intent = self._intent(standing, own, place, command)
        if place.host != HERE and not is_of_cluster(step):
            self._workdirs.allocation(
                standing, place
            )  # now, and not while a signal may leave it half made
        if own.phase is not Phase.DESTROY:
            self._interrupts.check()
        began = self._records.begin(standing, intent)
        if command is None:
            return Try(place=place, intent=intent, began=began, wait=wait or {}, objects=objects)
        try:
            job = self._workdirs.allocation(standing, place).start(command, str(intent.job_id))
            return Try(place=place, intent=intent, began=began, job=job)
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            return Try(place=place, intent=intent, began=began, error=error.message)

    def _intent(
        self, standing: Standing, own: OwnStep, place: StepPlace, command: Command | None
    ) -> StepIntent:
        bringing, number = standing.bringing, standing.tries[_key(own, place)] + 1
        job_id = f"{bringing.allocation_id}-{short_name(self._spec.target(own.target), own)}-t{number}{_suffix(own, place)}"
        return StepIntent(
            target=bringing.target,
            session=bringing.session,
            attempt=bringing.attempt,
            phase=own.phase.value,
            step=own.step.name,
            number=number,
            timeout_s=own.step.timeout_s,
            where=Where(
                site=place.site.name,
                host=place.host,
                role=place.role.value,
                roles=tuple(place.roles),
            ),
            job_id=None if command is None else job_id,
            argv=() if command is None else command.argv,
        )

    def _end(self, standing: Standing, own: OwnStep, one: Try, failures: list[Failure]) -> None:
        """See how a try ends, and record it. Raises TransportLost, StorageError, Interrupted."""
        error = one.error
        body = b""
        try:
            with self._waiting(own.phase):
                if one.job is not None:
                    one.job.wait(max(_SETTLED_S, one.began + one.intent.timeout_s - time.time()))
                elif one.wait is not None:
                    body = self._wait(standing, own, one)
        except (TransportLost, StorageError):
            raise
        except RunFailed as caught:
            error = reason_of(caught, one.intent.timeout_s)
        if one.wait is None:
            error = self._conclude(standing, own, one, error)
        else:
            done = Completed(
                argv=(),
                exit_code=0,
                stdout=body,
                stderr=b"",
                started_at=one.began,
                duration_s=time.time() - one.began,
            )
            error = self._records.end(
                standing, own, one.intent, done if body else None, done.duration_s, error
            )
        if error is not None:
            failures.append(Failure(place=one.place, message=error))

    def _wait(self, standing: Standing, own: OwnStep, one: Try) -> bytes:
        if one.objects:
            return self._objects(one.place).apply(one.objects, standing.bringing.allocation_id)
        if "condition" in (one.wait or {}):
            return self._objects(one.place).await_condition(
                str((one.wait or {})["condition"]), own.step.timeout_s
            )
        if one.place.host == HERE:
            return wait_for(one.wait or {}, own.step.timeout_s)
        return reach_from_host(
            self._workdirs.allocation(standing, one.place),
            one.place.role,
            str((one.wait or {}).get("tcp")),
            own.step.timeout_s,
        )

    def _cancel(self, standing: Standing, own: OwnStep, one: Try) -> None:
        """A signal came."""
        if one.job is not None:
            one.job.cancel()
        self._conclude(standing, own, one, "interrupted")

    def _conclude(
        self, standing: Standing, own: OwnStep, one: Try, error: str | None
    ) -> str | None:
        """Collect what the job printed, record the step, and only then let the job's files go."""
        completed = None
        if one.job is not None:
            try:
                completed = one.job.collect()
            except (TransportLost, StorageError):
                raise
            except RunFailed as caught:
                error = error or caught.message
        if completed is not None and not self._inputs.knows_secrets(own.step):
            completed, error = (
                None,
                "what it printed is not kept, since its secrets cannot be read any more",
            )
        if completed is not None and completed.exit_code != 0:
            error = (
                error
                or f"exit code {completed.exit_code}{last_words(self._inputs.redacted(completed.stderr))}"
            )
        passed = max(0.0, time.time() - one.began)
        result = self._records.end(
            standing,
            own,
            one.intent,
            completed,
            completed.duration_s if completed else passed,
            error,
        )
        if one.job is not None:
            one.job.discard()
        return result

    def _objects(self, place: StepPlace) -> ObjectKeeper:
        session = self._door(place)
        if not isinstance(session, ObjectKeeper):
            raise RunFailed(f"site {place.site.name} has no objects to make or wait for")
        return session

    def reaches(self, standing: Standing) -> bool:
        """Whether any machine on which steps of its target run is connected."""
        for place in (
            place
            for own in all_steps(self._spec.target(standing.bringing.target))
            for place in self._places(own)
        ):
            with contextlib.suppress(TransportLost):
                self._door(place)
                return True
        return False

    def release(self, standing: Standing) -> None:
        """End what the steps left running and remove their work directories.

        Raises:
            RunFailed: something is still there; the first error, after all were tried.
        """
        errors = [*self._workdirs.release(standing), *self._withdraw(standing)]
        if errors:
            raise errors[0]

    def _withdraw(self, standing: Standing) -> list[BenchspecError]:
        """Remove the objects that manifests made, on every site, and what a controller before made
        of them.
        """
        own = [
            own
            for own in all_steps(self._spec.target(standing.bringing.target))
            if own.step.action == "manifest"
        ]
        errors: list[BenchspecError] = []
        for place in {
            place.site.name: place for one in own for place in self._places(one)
        }.values():
            try:
                self._objects(place).withdraw(standing.bringing.allocation_id)
            except BenchspecError as error:
                errors.append(error)
        return errors

    def reconcile(self, standing: Standing) -> None:
        """Steps that a controller before started and did not see the end of: wait for their jobs,
        and record them.

        One whose host cannot be reached stays as it is. Raises Interrupted, StorageError.
        """
        for intent, at in list(standing.open.values()):
            target = self._spec.target(standing.bringing.target)
            own = next(own for own in all_steps(target) if own.step.name == intent.step)
            place = next((p for p in self._places(own) if _key(own, p) == intent.key), None)
            with contextlib.suppress(TransportLost):
                self._reconcile(standing, own, intent, at, place)

    def _reconcile(
        self,
        standing: Standing,
        own: OwnStep,
        intent: StepIntent,
        at: float,
        place: StepPlace | None,
    ) -> None:
        job = (
            None
            if intent.job_id is None or place is None
            else self._door(place).attach(intent.job_id)
        )
        if job is None or place is None:
            self._records.end(
                standing, own, intent, None, 0.0, "its controller ended before it was seen to end"
            )
            return
        one = Try(place=place, intent=intent, began=at, job=job)
        try:
            self._end(standing, own, one, [])
        except Interrupted:
            self._cancel(standing, own, one)
            raise


def _key(own: OwnStep, place: StepPlace) -> StepKey:
    return own.step.name, place.site.name, place.role.value


def _suffix(own: OwnStep, place: StepPlace) -> str:
    return f"-{place.role.value}" if is_plural(own.step) else ""
