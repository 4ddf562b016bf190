"""One lifecycle step: journal the intent, carry it out through a detached job, keep what it printed, journal the result.

Every try has a job id of its own, and none is carried out twice.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping

from ..errors import BenchspecError, Interrupted, JobTimeout, RunFailed, StorageError, TransportLost
from ..journal import Journal
from ..ports import Allocation, Command, Completed, Job, Session
from ..rundir import RunDirectory
from ..spec import Json, Role, Spec
from .captures import read_outputs
from .events import Event, Observer
from .interrupts import Interrupts
from .standing import STEP_FINISHED, STEP_STARTED, Standing, Standings, StepIntent, StepResult
from .step_inputs import Inputs
from .step_places import OwnStep, Phase, all_steps, argument_words, place_of, role_places, step_sites
from .waits import wait_for

DEFAULT_INTERPRETER = ("sh",)
_SETTLED_S = 1.0


class StepBench:
    """Carries out steps of one run and records them."""

    def __init__(
        self,
        directory: RunDirectory,
        spec: Spec,
        sessions: Mapping[str, Session],
        journal: Journal,
        interrupts: Interrupts,
        observer: Observer,
        standings: Standings,
    ) -> None:
        self._directory = directory
        self._spec = spec
        self._sessions = sessions
        self._journal = journal
        self._interrupts = interrupts
        self._observer = observer
        self._inputs = Inputs(standings)
        self._allocations: dict[tuple[str, str], Allocation] = {}

    def perform(self, standing: Standing, own: OwnStep) -> None:
        """Carry out the step, and try again as often as it says. A signal ends it, unless it destroys: what was created is to be removed.

        Raises:
            RunFailed: it did not do what it should; the last reason.
            Interrupted: a signal came; its job was cancelled.
            TransportLost, StorageError: the run cannot go on.
        """
        for number in range(own.step.retries + 1):
            if number:
                with self._waiting(own.phase):
                    time.sleep(own.step.retry_delay_s)
            error = self._try(standing, own)
            if error is None:
                return
        tries = f" ({own.step.retries + 1} tries)" if own.step.retries else ""
        raise RunFailed(f"{own.phase} step {own.step.name} failed{tries}: {error}")

    def _waiting(self, phase: Phase) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if phase is Phase.DESTROY else self._interrupts.waiting()

    def _try(self, standing: Standing, own: OwnStep) -> str | None:
        """One try; returns what went wrong. Raises RunFailed when it cannot even be told what to do: another try would not help."""
        step, bringing = own.step, standing.bringing
        try:
            wait = self._inputs.wait(standing, step.arguments) if step.action == "wait" else None
            command = None if wait is not None else self._command(standing, own)
        except (TransportLost, StorageError):
            raise
        except RunFailed as error:
            raise RunFailed(f"{own.phase} step {step.name} was not started: {error.message}", remedy=error.remedy) from error
        number = standing.tries[step.name] + 1
        intent = StepIntent(
            target=bringing.target,
            session=bringing.session,
            attempt=bringing.attempt,
            phase=own.phase.value,
            step=step.name,
            number=number,
            timeout_s=step.timeout_s,
            job_id=None if command is None else f"{bringing.allocation_id}-{self._index(own)}-t{number}",
            argv=() if command is None else command.argv,
        )
        if own.phase is not Phase.DESTROY:
            self._interrupts.check()
        standing.start(intent, self._journal.append(STEP_STARTED, intent).at)
        if command is not None:
            return self._run(standing, own, intent, command)
        return self._wait(standing, own, intent, wait or {})

    def _index(self, own: OwnStep) -> str:
        """A short name of the step for job ids, whose length is bounded: its phase and its place among the target's steps."""
        names = [other.step.name for other in all_steps(self._spec.target(own.target))]
        return f"{own.phase.value[0]}{names.index(own.step.name):03d}"

    def _wait(self, standing: Standing, own: OwnStep, intent: StepIntent, arguments: Mapping[str, Json]) -> str | None:
        began = time.time()
        body, error = b"", None
        try:
            with self._waiting(own.phase):
                body = wait_for(arguments, own.step.timeout_s)
        except Interrupted:
            self._record(standing, own, intent, None, time.time() - began, "interrupted")
            raise
        except RunFailed as caught:
            error = caught.message
        done = Completed(argv=(), exit_code=0, stdout=body, stderr=b"", started_at=began, duration_s=time.time() - began)
        return self._record(standing, own, intent, done if body else None, done.duration_s, error)

    def _run(self, standing: Standing, own: OwnStep, intent: StepIntent, command: Command) -> str | None:
        began = time.time()
        job: Job | None = None
        error: str | None = None
        try:
            job = self._allocation(standing, own).start(command, str(intent.job_id))
            with self._waiting(own.phase):
                job.wait(command.timeout_s)
        except Interrupted:
            if job is not None:
                job.cancel()
            self._conclude(standing, own, intent, job, time.time() - began, "interrupted")
            raise
        except (TransportLost, StorageError):
            raise
        except RunFailed as caught:
            error = _reason(caught, command.timeout_s)
        return self._conclude(standing, own, intent, job, time.time() - began, error)

    def _conclude(self, standing: Standing, own: OwnStep, intent: StepIntent, job: Job | None, duration_s: float, error: str | None) -> str | None:
        """Collect what the job printed, record the step, and only then let the job's files go."""
        completed = None
        if job is not None:
            try:
                completed = job.collect()
            except (TransportLost, StorageError):
                raise
            except RunFailed as caught:
                error = error or caught.message
        if completed is not None and not self._inputs.knows_secrets(own.step):
            completed, error = None, "what it printed is not kept, since its secrets cannot be read any more"
        if completed is not None and completed.exit_code != 0:
            error = error or f"exit code {completed.exit_code}{_last_words(self._inputs.redacted(completed.stderr))}"
        result = self._record(standing, own, intent, completed, completed.duration_s if completed else duration_s, error)
        if job is not None:
            job.discard()
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
        hidden = {key for key, value in outputs.items() if self._inputs.holds_secret(value)}
        result = StepResult(
            target=intent.target,
            session=intent.session,
            attempt=intent.attempt,
            phase=intent.phase,
            step=intent.step,
            number=intent.number,
            duration_s=duration_s,
            exit_code=None if completed is None or intent.job_id is None else completed.exit_code,
            error=None if error is None else self._inputs.redacted(error.encode("utf-8", "replace")).decode("utf-8", "replace"),
            raw=self._directory.store_step(name, files) if files else (),
            outputs={key: value for key, value in outputs.items() if key not in hidden},
            withheld=tuple(sorted(hidden)),
        )
        self._journal.append(STEP_FINISHED, result)
        standing.finish(result)
        standing.secret_outputs.update({f"{intent.step}.{key}": outputs[key] for key in hidden})
        self._tell(result)
        return result.error

    def _tell(self, result: StepResult) -> None:
        what = f"{result.phase} step {result.step} ({result.duration_s:.1f} s)"
        message = f"{'done' if result.error is None else 'failed':<7} {result.target} {what}"
        data: dict[str, Json] = {"target": result.target, "phase": result.phase, "step": result.step, "ok": result.error is None}
        self._observer.notify(Event(kind=STEP_FINISHED, message=message if result.error is None else f"{message}: {result.error}", data=data))

    def _command(self, standing: Standing, own: OwnStep) -> Command:
        """The program of a run or script step, with its references replaced. Raises RunFailed."""
        step, role = own.step, self._role(own)
        plain, secret = self._inputs.environment(standing, step.env)
        if step.action == "script":
            argv = self._place_script(standing, own, role, str(step.arguments.get("file")))
        else:
            argv = self._inputs.words(standing, argument_words(step))
        return Command(argv=argv, role=role, timeout_s=step.timeout_s, env=plain, secrets=secret, lasting=own.phase is not Phase.DESTROY)

    def _place_script(self, standing: Standing, own: OwnStep, role: Role, name: str) -> tuple[str, ...]:
        data = self._directory.script(name)
        allocation = self._allocation(standing, own)
        allocation.put(role, name, data)
        return (*interpreter_of(data), os.path.join(allocation.surroundings().workdirs[role], name))

    def _role(self, own: OwnStep) -> Role:
        place = place_of(self._spec.target(own.target), own.step)
        return place[1] if place else Role.CLIENT

    def _allocation(self, standing: Standing, own: OwnStep) -> Allocation:
        """The work directories of this attempt where the step runs; made with the first step there."""
        target = self._spec.target(own.target)
        place = place_of(target, own.step)
        if place is None:
            raise RunFailed(f"step {own.step.name} has no place on target {target.name}")
        site, identity = place[0].name, standing.bringing.allocation_id
        if (identity, site) not in self._allocations:
            self._allocations[identity, site] = self._sessions[site].allocate(role_places(target, site), identity)
        return self._allocations[identity, site]

    def reaches(self, standing: Standing) -> bool:
        """Whether all sites on which steps of its target run are connected."""
        return step_sites((self._spec.target(standing.bringing.target),)) <= self._sessions.keys()

    def release(self, standing: Standing) -> None:
        """End what the steps left running and remove their work directories.

        Raises:
            RunFailed: something is still there; the first error, after all were tried.
        """
        errors: list[BenchspecError] = []
        for identity, site in [key for key in self._allocations if key[0] == standing.bringing.allocation_id]:
            try:
                self._allocations.pop((identity, site)).release()
            except BenchspecError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def reconcile(self, standing: Standing, own: OwnStep) -> None:
        """A step that a controller before started and did not see the end of: wait for its job, and record it."""
        if standing.open is None:
            return
        intent, at = standing.open
        place = place_of(self._spec.target(own.target), own.step)
        job = None if intent.job_id is None or place is None else self._sessions[place[0].name].attach(intent.job_id)
        if job is None:
            self._record(standing, own, intent, None, 0.0, "its controller ended before it was seen to end")
            return
        error: str | None = None
        try:
            with self._waiting(own.phase):
                job.wait(max(_SETTLED_S, intent.timeout_s - (time.time() - at)))
        except Interrupted:
            job.cancel()
            self._conclude(standing, own, intent, job, max(0.0, time.time() - at), "interrupted")
            raise
        except (TransportLost, StorageError):
            raise
        except RunFailed as caught:
            error = _reason(caught, intent.timeout_s)
        self._conclude(standing, own, intent, job, max(0.0, time.time() - at), error)


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
