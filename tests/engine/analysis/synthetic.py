"""Runs made of given numbers, for tests of the analysis: the same dataclasses a journal gives
back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchspec.engine.model.results import (
    Direction,
    Fact,
    FactSet,
    GateResult,
    Measurement,
    Metric,
    RunData,
    Statistic,
    Trial,
    TrialKind,
    TrialStatus,
)
from benchspec.engine.model.spec import (
    Comparison,
    Experiment,
    Json,
    Limit,
    Method,
    ReportOptions,
    Spec,
    Target,
    TrafficPath,
)

RATE = Metric(
    name="rate",
    title="Rate",
    unit="1/s",
    direction=Direction.HIGHER,
    limits=("storage.iops.read", "storage.iops"),
)
MEAN_RATE = Metric(
    name="mean.rate",
    title="Rate",
    unit="1/s",
    direction=Direction.HIGHER,
    statistic=Statistic.ARITHMETIC_MEAN,
)
LATENCY = Metric(name="latency", title="Latency", unit="s", direction=Direction.LOWER)
RETRANSMITS = Metric(name="retransmits", title="Retransmits", unit="1", direction=Direction.LOWER)
THROUGHPUT = Metric(
    name="throughput",
    title="Throughput",
    unit="bit/s",
    direction=Direction.HIGHER,
    limits=("network.throughput",),
)
METRICS: Mapping[str, Sequence[Metric]] = {
    "tool": (RATE, MEAN_RATE, LATENCY, RETRANSMITS, THROUGHPUT)
}


def target(
    name: str, limits: tuple[Limit, ...] = (), claims: Mapping[str, Json] | None = None
) -> Target:
    return Target(name=name, title=name, sites={}, claims=claims or {}, document={}, limits=limits)


def spec(
    targets: Sequence[Target], method: Method | None = None, compare: Comparison | None = None
) -> Spec:
    return Spec(
        api_version="benchspec/v1",
        name="synthetic",
        title="Synthetic",
        description="",
        targets=tuple(targets),
        workloads=(),
        method=method or Method(),
        compare=compare,
        report=ReportOptions(),
    )


def experiment(
    target_name: str,
    cell: str = "cell",
    primary: str = "rate",
    **more: Mapping[str, Json] | TrafficPath | str,
) -> Experiment:
    parameters = more.get("parameters", {})
    path = more.get("path")
    return Experiment(
        id=f"{target_name}/{cell}",
        target=target_name,
        workload=cell,
        title=cell,
        point=(),
        tool=str(more.get("tool", "tool")),
        parameters=parameters if isinstance(parameters, Mapping) else {},
        roles=(),
        primary=primary,
        path=path if isinstance(path, TrafficPath) else None,
    )


def trial(
    experiment_id: str,
    session: int,
    index: int,
    measurements: Sequence[Measurement] = (),
    status: TrialStatus = TrialStatus.VALID,
    kind: TrialKind = TrialKind.MEASURED,
    error: str | None = None,
    gates: Sequence[GateResult] = (),
) -> Trial:
    return Trial(
        sequence=session * 1000 + index,
        experiment_id=experiment_id,
        session=session,
        kind=kind,
        index=index,
        job_id=f"{experiment_id}-{session}-{index}",
        status=status,
        started_at=0.0,
        duration_s=1.0,
        measurements=tuple(measurements),
        error=error,
        gates=tuple(gates),
    )


def trials_of(
    experiment_id: str, values: NDArray[np.float64], metric: Metric = RATE, first_session: int = 1
) -> Iterator[Trial]:
    """Valid trials from a matrix (sessions, trials) of one metric."""
    for s, row in enumerate(np.atleast_2d(values)):
        for i, value in enumerate(row):
            yield trial(
                experiment_id,
                s + first_session,
                i,
                [Measurement(metric=metric.name, value=float(value), unit=metric.unit)],
            )


def run(
    spec_: Spec,
    experiments: Sequence[Experiment],
    trials: Sequence[Trial],
    facts: Mapping[str, Mapping[str, Json]] | None = None,
    skipped: Mapping[str, str] | None = None,
) -> RunData:
    sets = [
        FactSet(
            target=name,
            site=name,
            when="before",
            observed_at=0.0,
            facts=tuple(Fact(name=k, value=v, source="test") for k, v in each.items()),
        )
        for name, each in (facts or {}).items()
    ]
    return RunData(
        run_id="synthetic",
        manifest={},
        document={},
        spec=spec_,
        experiments=tuple(experiments),
        trials=tuple(trials),
        facts=tuple(sets),
        skipped=skipped or {},
    )


def comparison(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    metric: Metric = RATE,
    method: Method | None = None,
    limits: Mapping[str, tuple[Limit, ...]] | None = None,
    compare: Comparison | None = None,
) -> RunData:
    """A run of targets a (the baseline) and b with one cell: matrices (sessions, trials) of one
    metric.
    """
    targets = [target(name, (limits or {}).get(name, ())) for name in ("a", "b")]
    experiments = [experiment(name, primary=metric.name) for name in ("a", "b")]
    trials = [
        t
        for e, values in zip(experiments, (a, b), strict=True)
        for t in trials_of(e.id, values, metric)
    ]
    return run(spec(targets, method, compare or Comparison(baseline="a")), experiments, trials)
