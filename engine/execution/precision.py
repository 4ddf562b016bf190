"""The second stage of a two-stage run: how many sessions the wished precision takes, decided once,
from the planned sessions alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.contract.workload import Workload
from ..model.results import Metric, RunData, Statistic, Trial
from ..model.spec import Spec
from ..planning.plan import Plan


def sessions_wanted(
    spec: Spec, plan: Plan, trials: Sequence[Trial], workloads: Mapping[str, Workload]
) -> int:
    """The sessions every primary metric needs for ``method.precision`` (C. Stein's two-stage rule),
    within its maximum.

    Without a precision, or with fewer than two values to judge by, the planned number stays.
    """
    method = spec.method
    if method.precision is None:
        return method.sessions
    # NumPy and SciPy take longer to load than everything else that carries out a run, which few
    # runs need before their end, and `clean` never
    import numpy as np

    from ..analysis.analyse import analyse
    from ..analysis.power import stein_sessions

    metrics: dict[str, Sequence[Metric]] = {
        e.id: workloads[e.tool].metrics(e.parameters) for e in plan.experiments
    }
    run = RunData(
        run_id="pilot",
        manifest={},
        document={},
        spec=spec,
        experiments=plan.experiments,
        trials=tuple(trials),
    )
    needed = [method.sessions]
    for cell in analyse(run, metrics).cells:
        if cell.primary and cell.summary is not None and len(cell.summary.values) >= 2:
            geometric = (
                cell.metric.statistic is Statistic.GEOMETRIC_MEAN and min(cell.summary.values) > 0
            )
            values = np.array(cell.summary.values)
            needed.append(
                stein_sessions(
                    values, method.precision.half_width, method.confidence, geometric=geometric
                )
            )
    return min(max(needed), max(method.precision.max_sessions, method.sessions))
