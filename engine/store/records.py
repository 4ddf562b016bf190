"""The types of all records that a journal holds; schemas/run/record.schema.json says what is in
each. Events that show a record to whoever watches have its type as their kind.
"""

from __future__ import annotations

RUN_STARTED, RUN_RESUMED, RUN_FINISHED, RUN_STOPPED = (
    "run.started",
    "run.resumed",
    "run.finished",
    "run.stopped",
)
FACTS, CLAIM, FINDING, SKIPPED, TOOLS = "facts", "claim", "finding", "experiment.skipped", "tools"
COMMANDS = "experiment.commands"
ALLOCATED, RELEASED, FAILED_ALLOCATION = (
    "allocation.started",
    "allocation.released",
    "allocation.failed",
)
STARTED, FINISHED, LOST = "trial.started", "trial.finished", "trial.lost"
LIFECYCLE_STARTED, LIFECYCLE_READY, LIFECYCLE_FAILED, LIFECYCLE_DESTROYED = (
    "lifecycle.started",
    "lifecycle.ready",
    "lifecycle.failed",
    "lifecycle.destroyed",
)
LIFECYCLE_ADOPTED = "lifecycle.adopted"
STEP_STARTED, STEP_FINISHED = "step.started", "step.finished"
REPEATED, SESSION_ADDED = "trials.repeated", "session.added"
EXTENDED = "plan.extended"
DEPOSITED = "results.deposited"
CLEANED = "cleaned"
