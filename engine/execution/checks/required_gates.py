"""Which gates the spec itself asks for, and whether every experiment has a trial that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model.errors import GateFailed, RunFailed
from ...model.results import Trial, TrialKind, TrialStatus
from ...model.spec import Experiment, Spec
from ...planning.validity_gates import describe


def required_gates(spec: Spec, experiment: Experiment) -> frozenset[str]:
    """The gates that the experiment's workload names, also for its target alone: they fail when
    their figure was not measured.
    """
    workload = next(w for w in spec.workloads if w.name == experiment.workload)
    overridden = workload.overrides.get(experiment.target, {}).get("gates")
    return frozenset(workload.gates) | (
        frozenset(overridden) if isinstance(overridden, Mapping) else frozenset()
    )


def require_valid(experiments: Sequence[Experiment], trials: Sequence[Trial]) -> None:
    """Raises RunFailed, GateFailed for an experiment that was measured without any valid trial."""
    for experiment in experiments:
        mine = [
            t for t in trials if t.experiment_id == experiment.id and t.kind is TrialKind.MEASURED
        ]
        if not mine or any(t.status is TrialStatus.VALID for t in mine):
            continue
        where = f"{experiment.target} {experiment.cell}"
        failed = next((t for t in mine if t.status is TrialStatus.FAILED), None)
        if failed is not None:
            raise RunFailed(
                f"no trial gave a valid result; the first failure: {failed.error}",
                where=where,
                remedy="see the trial's raw output in the run directory",
            )
        reasons = "; ".join(describe(g) for g in mine[0].gates if not g.passed)
        remedy = "see the findings, or state other gates in the spec"
        raise GateFailed(
            f"every trial failed its validity gates: {reasons}", where=where, remedy=remedy
        )
