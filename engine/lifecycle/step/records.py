"""What becomes of lifecycle steps, journalled and told: the intent before a try, the result and
what was printed after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...control.events import Event, Observer
from ...model.contract.values import Completed
from ...model.errors import RunFailed
from ...model.results import RawFile
from ...model.spec import Json, Spec
from ...store.directory import RunDirectory
from ...store.journal import Journal
from ...store.records import STEP_FINISHED, STEP_STARTED
from ..outputs import read_outputs
from ..state import Standing, StepIntent, StepResult, Where
from .inputs import Inputs
from .order import OwnStep, short_name
from .places import HERE, is_plural


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecords:
    """Keeps what steps of one run do; no secret gets into what is kept or told."""

    directory: RunDirectory
    spec: Spec
    journal: Journal
    observer: Observer
    inputs: Inputs

    def begin(self, standing: Standing, intent: StepIntent) -> float:
        """Journal what is about to be done; returns when, in Unix s."""
        began = self.journal.append(STEP_STARTED, intent).at
        standing.start(intent, began)
        message = f"begin   {intent.target} {intent.phase} step {intent.step}{_on(intent.where)}"
        self.observer.notify(Event(kind=STEP_STARTED, message=message, data=_told(intent)))
        return began

    def end(
        self,
        standing: Standing,
        own: OwnStep,
        intent: StepIntent,
        completed: Completed | None,
        duration_s: float,
        error: str | None,
    ) -> str | None:
        """Store the raw bytes, read the outputs, journal the result; returns what went wrong, also
        with the outputs.
        """
        outputs: dict[str, str] = {}
        if error is None:
            try:
                outputs = read_outputs(own.step, completed.stdout if completed else b"")
            except RunFailed as caught:
                error = caught.message
        hidden = {key for key, value in outputs.items() if self.inputs.holds_secret(value)}
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
            error=None
            if error is None
            else self.inputs.redacted(error.encode("utf-8", "replace")).decode("utf-8", "replace"),
            raw=() if completed is None else self._store(own, intent, completed),
            outputs={key: value for key, value in outputs.items() if key not in hidden},
            withheld=tuple(sorted(hidden)),
        )
        self.journal.append(STEP_FINISHED, result)
        standing.finish(result)
        standing.secret_outputs.update(
            {called: outputs[key] for key in hidden for called in result.called(key)}
        )
        self._tell(result)
        return result.error

    def _store(self, own: OwnStep, intent: StepIntent, completed: Completed) -> tuple[RawFile, ...]:
        step = f"{short_name(self.spec.target(own.target), own)}-{intent.step}-t{intent.number}"
        role = f"-{intent.where.role}" if is_plural(own.step) else ""
        name = f"{intent.target}-s{intent.session:03d}-a{intent.attempt}-{step}{role}"
        printed = {
            "stdout": self.inputs.redacted(completed.stdout),
            "stderr": self.inputs.redacted(completed.stderr),
        }
        return self.directory.store_step(name, printed)

    def _tell(self, result: StepResult) -> None:
        what = f"{result.phase} step {result.step}{_on(result.where)} ({result.duration_s:.1f} s)"
        message = f"{'done' if result.error is None else 'failed':<7} {result.target} {what}"
        data = {**_told(result), "ok": result.error is None}
        self.observer.notify(
            Event(
                kind=STEP_FINISHED,
                message=message if result.error is None else f"{message}: {result.error}",
                data=data,
            )
        )


def _told(about: StepIntent | StepResult) -> dict[str, Json]:
    return {
        "target": about.target,
        "phase": about.phase,
        "step": about.step,
        "host": about.where.host,
    }


def _on(where: Where) -> str:
    return "" if where.host in ("", HERE) else f" on {where.host}"
