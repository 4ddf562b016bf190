"""Which experiments are held against which on the same target: a virtual path against the host path that ``baseline: host`` measures beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .matrix import baseline_point
from .spec import HOST_PATHS, Experiment, Spec


def host_pairs(spec: Spec, experiments: Sequence[Experiment]) -> Iterator[tuple[Experiment, Experiment]]:
    """(baseline, experiment) for every experiment on a virtual path of a workload with a ``baseline``."""
    paths = {workload.name: workload.baseline for workload in spec.workloads if workload.baseline is not None}
    there = {(e.target, e.workload, e.point): e for e in experiments if e.workload in paths}
    for experiment in there.values():
        if experiment.path is not None and experiment.path not in HOST_PATHS:
            base = there.get((experiment.target, experiment.workload, baseline_point(experiment.point, paths[experiment.workload])))
            if base is not None:
                yield base, experiment
