"""One lifecycle step: journal the intent, carry it out on its hosts through detached jobs, keep what they printed, journal the result.

Every try on every host has a job id of its own, and none is carried out twice. A step on several hosts runs on all of them at the same time.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..cluster_steps import is_of_cluster
from ..errors import BenchspecError, Interrupted, JobTimeout, RunFailed, StorageError, TransportLost
from ..journal import Journal
from ..ports import Allocation, Command, Completed, Job, ObjectKeeper, Session, Steered
from ..rundir import RunDirectory
from ..spec import Json, Role, RolePlace, Spec
from .captures import read_outputs
from .events import Event, Observer
from .interrupts import Interrupts
from .standing import STEP_FINISHED, STEP_STARTED, Standing, Standings, StepIntent, StepKey, StepResult, Where
from .step_inputs import Inputs
from .step_order import OwnStep, Phase, all_steps, argument_words, script_name
from .step_places import HERE, ON_CONTROLLER, Runners, StepPlace, is_plural, places_of, steered_site
from .waits import ask_on_host, reach_from_host, wait_for

DEFAULT_INTERPRETER = ("sh",)
_SETTLED_S = 1.0

Door = Callable[[StepPlace], Session]
"""The session that reaches a machine. Raises TransportLost when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One try of a step on one machine that was begun: a job, or a wait or objects to be made, which have no job."""

    place: StepPlace
    intent: StepIntent
    began: float
    job: Job | None = None
    wait: Mapping[str, Json] | None = None
    objects: tuple[Mapping[str, Json], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a step did not do what it should on one machine, and whether it even began there: only then another try may help."""

    place: StepPlace
    message: str
    begun: bool = True
    remedy: str | None = None

    def told(self, verb: str) -> str:
        """For people; this machine goes without saying."""
        place = "" if self.place.host == HERE else f" on {self.place.host}"
        return f"{verb if self.begun else 'was not started'}{place}: {self.message}"


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
        self._journal = journal
        self._interrupts = interrupts
        self._observer = observer
        self._inputs = Inputs(standings)
        self._allocations: dict[tuple[str, tuple[str, Role]], tuple[StepPlace, Session, Allocation]] = {}

    def perform(self, standing: Standing, own: OwnStep) -> None:
        """Carry out the step on each of its hosts, and try again there as often as it says. A signal ends it, unless it destroys.

        Raises:
            RunFailed: it did not do what it should on some host, also because that cannot be reached any more; the last reasons.
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

    def _places(self, own: OwnStep) -> tuple[StepPlace, ...]:
        return places_of(self._spec.target(own.target), own.step, self._runners)

    def _waiting(self, phase: Phase) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if phase is Phase.DESTROY else self._interrupts.waiting()

    def _try_all(self, standing: Standing, own: OwnStep, places: Sequence[StepPlace]) -> list[Failure]:
        """One try on every machine at the same time; what went wrong."""
        begun: list[Try] = []
        failures: list[Failure] = []
        try:
            for place in places:
                with _apart(standing, place, failures):
                    begun.append(self._begin(standing, own, place))
            while begun:
                with _apart(standing, begun[0].place, failures):
                    self._end(standing, own, begun[0], failures)
                begun.pop(0)
        except Interrupted:
            for one in begun:
                with contextlib.suppress(TransportLost):  # then the step stays without an end in the journal
                    self._cancel(standing, own, one)
            raise
        return failures

    def _begin(self, standing: Standing, own: OwnStep, place: StepPlace) -> Try:
        """Journal the intent and start. Raises RunFailed when it cannot even be told what to do: another try would not help."""
        step, bringing = own.step, standing.bringing
        if place.key in standing.lost:
            raise TransportLost(standing.lost[place.key])
        wait = self._inputs.wait(standing, step.arguments) if step.action == "wait" else None
        objects = self._inputs.objects(standing, self._directory.script(script_name(step))) if step.action == "manifest" else ()
        command = None
        if not is_of_cluster(step):
            command = self._command(standing, own, place) if wait is None else ask_on_host(wait, place, step.timeout_s)
        number = standing.tries[_key(own, place)] + 1
        intent = StepIntent(
            target=bringing.target,
            session=bringing.session,
            attempt=bringing.attempt,
            phase=own.phase.value,
            step=step.name,
            number=number,
            timeout_s=step.timeout_s,
            where=Where(site=place.site.name, host=place.host, role=place.role.value, roles=tuple(place.roles)),
            job_id=None if command is None else f"{bringing.allocation_id}-{self._index(own)}-t{number}{_suffix(own, place)}",
            argv=() if command is None else command.argv,
        )
        if place.host != HERE and not is_of_cluster(step):
            self._allocation(standing, place)  # now, and not while a signal may leave it half made
        if own.phase is not Phase.DESTROY:
            self._interrupts.check()
        began = self._journal.append(STEP_STARTED, intent).at
        standing.start(intent, began)
        self._announce(intent)
        if command is None:
            return Try(place=place, intent=intent, began=began, wait=wait or {}, objects=objects)
        try:
            return Try(place=place, intent=intent, began=began, job=self._allocation(standing, place).start(command, str(intent.job_id)))
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            return Try(place=place, intent=intent, began=began, error=error.message)

    def _index(self, own: OwnStep) -> str:
        """A short name of the step for job ids, whose length is bounded: its phase and its place among the target's steps."""
        names = [other.step.name for other in all_steps(self._spec.target(own.target))]
        return f"{own.phase.value[0]}{names.index(own.step.name):03d}"

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
            error = _reason(caught, one.intent.timeout_s)
        if one.wait is None:
            error = self._conclude(standing, own, one, error)
        else:
            done = Completed(argv=(), exit_code=0, stdout=body, stderr=b"", started_at=one.began, duration_s=time.time() - one.began)
            error = self._record(standing, own, one.intent, done if body else None, done.duration_s, error)
        if error is not None:
            failures.append(Failure(place=one.place, message=error))

    def _wait(self, standing: Standing, own: OwnStep, one: Try) -> bytes:
        if one.objects:
            return self._objects(one.place).apply(one.objects, standing.bringing.allocation_id)
        if "condition" in (one.wait or {}):
            return self._objects(one.place).await_condition(str((one.wait or {})["condition"]), own.step.timeout_s)
        if one.place.host == HERE:
            return wait_for(one.wait or {}, own.step.timeout_s)
        return reach_from_host(self._allocation(standing, one.place), one.place.role, str((one.wait or {}).get("tcp")), own.step.timeout_s)

    def _cancel(self, standing: Standing, own: OwnStep, one: Try) -> None:
        """A signal came."""
        if one.job is not None:
            one.job.cancel()
        self._conclude(standing, own, one, "interrupted")

    def _conclude(self, standing: Standing, own: OwnStep, one: Try, error: str | None) -> str | None:
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
            completed, error = None, "what it printed is not kept, since its secrets cannot be read any more"
        if completed is not None and completed.exit_code != 0:
            error = error or f"exit code {completed.exit_code}{_last_words(self._inputs.redacted(completed.stderr))}"
        passed = max(0.0, time.time() - one.began)
        result = self._record(standing, own, one.intent, completed, completed.duration_s if completed else passed, error)
        if one.job is not None:
            one.job.discard()
        return result

    def _record(
        self, standing: Standing, own: OwnStep, intent: StepIntent, completed: Completed | None, duration_s: float, error: str | None
    ) -> str | None:
        """Store the raw bytes, read the outputs, journal the result."""
        outputs: dict[str, str] = {}
        if error is None:
            try:
                outputs = read_outputs(own.step, completed.stdout if completed else b"")
            except RunFailed as caught:
                error = caught.message
        files = {} if completed is None else {"stdout": self._inputs.redacted(completed.stdout), "stderr": self._inputs.redacted(completed.stderr)}
        name = f"{intent.target}-s{intent.session:03d}-a{intent.attempt}-{self._index(own)}-{intent.step}-t{intent.number}"
        name += f"-{intent.where.role}" if is_plural(own.step) else ""
        hidden = {key for key, value in outputs.items() if self._inputs.holds_secret(value)}
        result = StepResult(
            target=intent.target,
            session=intent.session,
            attempt=intent.attempt,
            phase=intent.phase,
            step=intent.step,
            number=intent.number,
            duration_s=duration_s,
            where=intent.where,
            exit_code=None if completed is None or intent.job_id is None else completed.exit_code,
            error=None if error is None else self._inputs.redacted(error.encode("utf-8", "replace")).decode("utf-8", "replace"),
            raw=self._directory.store_step(name, files) if files else (),
            outputs={key: value for key, value in outputs.items() if key not in hidden},
            withheld=tuple(sorted(hidden)),
        )
        self._journal.append(STEP_FINISHED, result)
        standing.finish(result)
        standing.secret_outputs.update({called: outputs[key] for key in hidden for called in result.called(key)})
        self._tell(result)
        return result.error

    def _announce(self, intent: StepIntent) -> None:
        data: dict[str, Json] = {"target": intent.target, "phase": intent.phase, "step": intent.step, "host": intent.where.host}
        message = f"begin   {intent.target} {intent.phase} step {intent.step}{_on(intent.where)}"
        self._observer.notify(Event(kind=STEP_STARTED, message=message, data=data))

    def _tell(self, result: StepResult) -> None:
        what = f"{result.phase} step {result.step}{_on(result.where)} ({result.duration_s:.1f} s)"
        message = f"{'done' if result.error is None else 'failed':<7} {result.target} {what}"
        data: dict[str, Json] = {"target": result.target, "phase": result.phase, "step": result.step, "host": result.where.host}
        data["ok"] = result.error is None
        self._observer.notify(Event(kind=STEP_FINISHED, message=message if result.error is None else f"{message}: {result.error}", data=data))

    def _command(self, standing: Standing, own: OwnStep, place: StepPlace) -> Command:
        """The program of a run or script step, with its references replaced. Raises RunFailed."""
        step = own.step
        plain, secret = self._inputs.environment(standing, step.env)
        if place == ON_CONTROLLER:
            plain = {**self._steering(standing, own, place), **plain}
        if step.action == "script":
            argv = self._place_script(standing, place, script_name(step))
        else:
            argv = self._inputs.words(standing, argument_words(step))
        return Command(argv=argv, role=place.role, timeout_s=step.timeout_s, env=plain, secrets=secret, lasting=own.phase is not Phase.DESTROY)

    def _steering(self, standing: Standing, own: OwnStep, place: StepPlace) -> Mapping[str, str]:
        """What a program on the controller needs to reach the step's site, where that is steered from here."""
        site = steered_site(self._spec.target(own.target), own.step, self._runners)
        runner = None if site is None else self._runners(site.runner)
        if site is None or not isinstance(runner, Steered):
            return {}
        allocation = self._allocation(standing, place)
        env, files = runner.steering(site, allocation.surroundings().workdirs[place.role])
        for name, data in files.items():
            allocation.put(place.role, name, data)
        return env

    def _objects(self, place: StepPlace) -> ObjectKeeper:
        session = self._door(place)
        if not isinstance(session, ObjectKeeper):
            raise RunFailed(f"site {place.site.name} has no objects to make or wait for")
        return session

    def _place_script(self, standing: Standing, place: StepPlace, name: str) -> tuple[str, ...]:
        data = self._directory.script(name)
        allocation = self._allocation(standing, place)
        allocation.put(place.role, name, data)
        if allocation.get(place.role, name) != data:
            raise RunFailed(f"the script {name} did not arrive on {place.host} as it was sent", remedy="look for a full or failing disk there")
        return (*interpreter_of(data), os.path.join(allocation.surroundings().workdirs[place.role], name))

    def _allocation(self, standing: Standing, place: StepPlace) -> Allocation:
        """The work directory of this attempt on one machine; made with the first step there."""
        attempt, session = standing.bringing.allocation_id, self._door(place)
        held = self._allocations.get((attempt, place.key))
        if held is None or held[1] is not session:  # another session takes over what the one that was lost had
            roles = (RolePlace(role=place.role, site=place.site.name),)
            held = (place, session, session.allocate(roles, f"{attempt}-{place.role.value}"))
            self._allocations[attempt, place.key] = held
        return held[2]

    def reaches(self, standing: Standing) -> bool:
        """Whether any machine on which steps of its target run is connected."""
        for place in (place for own in all_steps(self._spec.target(standing.bringing.target)) for place in self._places(own)):
            with contextlib.suppress(TransportLost):
                self._door(place)
                return True
        return False

    def release(self, standing: Standing) -> None:
        """End what the steps left running and remove their work directories.

        Raises:
            RunFailed: something is still there; the first error, after all were tried.
        """
        errors: list[BenchspecError] = []
        for key in [key for key in self._allocations if key[0] == standing.bringing.allocation_id]:
            place = self._allocations[key][0]
            try:
                if place.key in standing.lost:
                    raise TransportLost(standing.lost[place.key])
                self._allocation(standing, place).release()
            except BenchspecError as error:
                errors.append(error)
            del self._allocations[key]
        errors += self._withdraw(standing)
        if errors:
            raise errors[0]

    def _withdraw(self, standing: Standing) -> list[BenchspecError]:
        """Remove the objects that manifests made, on every site, and what a controller before made of them."""
        own = [own for own in all_steps(self._spec.target(standing.bringing.target)) if own.step.action == "manifest"]
        errors: list[BenchspecError] = []
        for place in {place.site.name: place for one in own for place in self._places(one)}.values():
            try:
                self._objects(place).withdraw(standing.bringing.allocation_id)
            except BenchspecError as error:
                errors.append(error)
        return errors

    def reconcile(self, standing: Standing) -> None:
        """Steps that a controller before started and did not see the end of: wait for their jobs, and record them.

        One whose host cannot be reached stays as it is. Raises Interrupted, StorageError.
        """
        for intent, at in list(standing.open.values()):
            target = self._spec.target(standing.bringing.target)
            own = next(own for own in all_steps(target) if own.step.name == intent.step)
            place = next((p for p in self._places(own) if _key(own, p) == intent.key), None)
            with contextlib.suppress(TransportLost):
                self._reconcile(standing, own, intent, at, place)

    def _reconcile(self, standing: Standing, own: OwnStep, intent: StepIntent, at: float, place: StepPlace | None) -> None:
        job = None if intent.job_id is None or place is None else self._door(place).attach(intent.job_id)
        if job is None or place is None:
            self._record(standing, own, intent, None, 0.0, "its controller ended before it was seen to end")
            return
        one = Try(place=place, intent=intent, began=at, job=job)
        try:
            self._end(standing, own, one, [])
        except Interrupted:
            self._cancel(standing, own, one)
            raise


@contextlib.contextmanager
def _apart(standing: Standing, place: StepPlace, failures: list[Failure]) -> Iterator[None]:
    """What cannot be done on one machine is no reason to leave the others."""
    try:
        yield
    except StorageError:
        raise
    except RunFailed as error:
        if isinstance(error, TransportLost):
            standing.lost[place.key] = error.message
        failures.append(Failure(place=place, message=error.message, begun=False, remedy=error.remedy))


def _key(own: OwnStep, place: StepPlace) -> StepKey:
    return own.step.name, place.site.name, place.role.value


def _suffix(own: OwnStep, place: StepPlace) -> str:
    return f"-{place.role.value}" if is_plural(own.step) else ""


def _on(where: Where) -> str:
    return "" if where.host in ("", HERE) else f" on {where.host}"


def interpreter_of(script: bytes) -> tuple[str, ...]:
    """Who executes ``script``: the program its first line names after ``#!`` with at most one argument, as the kernel does it; else ``sh``."""
    first = script.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    words = first.removeprefix("#!").split(maxsplit=1) if first.startswith("#!") else []
    return tuple(word.strip() for word in words) or DEFAULT_INTERPRETER


def _reason(error: RunFailed, timeout_s: float) -> str:
    return f"did not end within {timeout_s:g} s; its process group was killed" if isinstance(error, JobTimeout) else error.message


def _last_words(stderr: bytes) -> str:
    text = stderr[-500:].decode("utf-8", "replace").strip()
    return f"; stderr: {text}" if text else ""
