"""The types of the records that a run writes into its journal; schemas/run/record.schema.json says what each holds."""

from __future__ import annotations

RUN_STARTED, RUN_RESUMED, RUN_FINISHED, RUN_STOPPED = "run.started", "run.resumed", "run.finished", "run.stopped"
FACTS, CLAIM, FINDING, SKIPPED, TOOLS = "facts", "claim", "finding", "experiment.skipped", "tools"
ALLOCATED, RELEASED, FAILED_ALLOCATION = "allocation.started", "allocation.released", "allocation.failed"
STARTED, FINISHED, LOST = "trial.started", "trial.finished", "trial.lost"
EXTENDED = "plan.extended"
DEPOSITED = "results.deposited"
