"""How long, and with how much memory, a run of 1,000,000 measurements is analysed. Prints figures.

Run it as ``python -m benchmarks.analysis [CELLS]``.

Two targets, CELLS cells each (default 500), 33 series, 10 sessions of 3 trials: 990,000
measurements, 33,000 summaries, 16,500 contrasts.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.model.results import (
    Direction,
    Measurement,
    Metric,
    RunData,
    Trial,
    TrialKind,
    TrialStatus,
)
from benchspec.engine.model.spec import Comparison, Experiment, Method, ReportOptions, Spec, Target

SERIES, SESSIONS, TRIALS = 33, 10, 3
METRICS = tuple(
    Metric(name=f"m{i}", title=f"m{i}", unit="s", direction=Direction.LOWER) for i in range(SERIES)
)


def main() -> None:
    """Build a run in memory, analyse it, print seconds and peak memory."""
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    run = _run(cells)
    _say("built", None)
    begin = time.perf_counter()
    analysis = analyse(run, {"tool": METRICS})
    measurements = sum(len(trial.measurements) for trial in run.trials)
    _say(
        f"analysed {measurements} measurements, {len(analysis.cells)} summaries,"
        f" {len(analysis.contrasts)} contrasts",
        begin,
    )


def _run(cells: int) -> RunData:
    experiments = tuple(_experiment(target, f"c{i}") for i in range(cells) for target in ("a", "b"))
    values = (
        np.random.Generator(np.random.PCG64(1))
        .normal(1.0, 0.03, (len(experiments), SESSIONS, TRIALS, SERIES))
        .tolist()
    )
    trials = [
        _trial(e, s, t, values[i][s][t])
        for s in range(SESSIONS)
        for i, e in enumerate(experiments)
        for t in range(TRIALS)
    ]
    targets = tuple(
        Target(name=name, title=name, sites={}, claims={}, document={}) for name in ("a", "b")
    )
    spec = Spec(
        api_version="benchspec/v1",
        name="wide",
        title="Wide",
        description="",
        targets=targets,
        workloads=(),
        method=Method(sessions=SESSIONS, trials=TRIALS),
        compare=Comparison(baseline="a"),
        report=ReportOptions(),
    )
    return RunData(
        run_id="wide",
        manifest={},
        document={},
        spec=spec,
        experiments=experiments,
        trials=tuple(trials),
    )


def _experiment(target: str, cell: str) -> Experiment:
    return Experiment(
        id=f"{target}/{cell}",
        target=target,
        workload=cell,
        title=cell,
        point=(),
        tool="tool",
        parameters={},
        roles=(),
        primary="m0{job=j}",
    )


def _trial(experiment: Experiment, session: int, index: int, values: list[float]) -> Trial:
    return Trial(
        sequence=session * 10_000 + index,
        experiment_id=experiment.id,
        session=session + 1,
        kind=TrialKind.MEASURED,
        index=index,
        job_id="",
        status=TrialStatus.VALID,
        started_at=0.0,
        duration_s=1.0,
        measurements=tuple(
            Measurement(metric=m.name, value=v, unit="s", labels={"job": "j"})
            for m, v in zip(METRICS, values, strict=True)
        ),
    )


def _say(what: str, begin: float | None) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(
        f"{what}: "
        + (f"{time.perf_counter() - begin:.2f} s, " if begin is not None else "")
        + f"peak {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
