"""What a report costs: one million measurements to pages and exports, a usual page from a cold
start, and one hundred figures.

    python -m benchmarks.report [--measurements 1000000]

Goals: everything over a million measurements in 30 s; a page of 2 targets x 12 experiments x 10
trials in 1.5 s with start-up; 100 figures in 0.1 s (matplotlib: about 5 s). Wall times of a shared
machine; run it twice.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

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
from benchspec.engine.model.spec import Experiment, Method
from benchspec.reports.figures.figures import Plotted
from benchspec.reports.figures.rows import draw_boxes
from benchspec.reports.output.render import render_report
from benchspec.reports.wording.numbers import Scale
from tests.reports.sample_run import make_run

SERIES = 100
COLD = """
from benchspec.reports.output.render import render_report
from tests.reports.sample_run import make_analysis, make_run
run = make_run()
render_report(run, make_analysis(run))
"""


def large_run(
    measurements: int, cells: int = 12, sessions: int = 30
) -> tuple[RunData, dict[str, tuple[Metric, ...]]]:
    """A run of two targets whose trials report SERIES series each."""
    small = make_run()
    experiments = tuple(
        replace(
            small.experiments[index % 2],
            id=f"{index:064x}",
            point=(("cell", str(index // 2)),),
            primary="m0",
            tool="fio",
        )
        for index in range(2 * cells)
    )
    per_session = -(-measurements // (SERIES * sessions * len(experiments)))
    noise = random.Random(1)
    trials: list[Trial] = []
    for session in range(1, sessions + 1):
        for experiment in experiments:
            trials += [
                _trial(experiment, session, index, len(trials) + index, noise)
                for index in range(per_session)
            ]
    metrics = tuple(
        Metric(name=f"m{i}", title=f"M{i}", unit="1/s", direction=Direction.HIGHER)
        for i in range(SERIES)
    )
    spec = replace(small.spec, method=Method(sessions=sessions, trials=per_session))
    return replace(small, spec=spec, experiments=experiments, trials=tuple(trials), skipped={}), {
        "fio": metrics
    }


def _trial(
    experiment: Experiment, session: int, index: int, sequence: int, noise: random.Random
) -> Trial:
    level = 1000 * (1.05 if experiment.target == "c11n" else 1.0) * (1 + 0.02 * noise.random())
    return Trial(
        sequence=sequence,
        experiment_id=experiment.id,
        session=session,
        kind=TrialKind.MEASURED,
        index=index,
        job_id=str(sequence),
        status=TrialStatus.VALID,
        started_at=1.6e9 + sequence,
        duration_s=1.0,
        measurements=tuple(
            Measurement(metric=f"m{i}", value=level + noise.random(), unit="1/s")
            for i in range(SERIES)
        ),
    )


def timed(label: str, work: Callable[[], object]) -> float:
    """Run ``work`` once and print how long it took."""
    start = time.perf_counter()
    work()
    elapsed = time.perf_counter() - start
    print(f"{label:<55} {elapsed:8.3f} s")
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measurements", type=int, default=1_000_000)
    run, metrics = large_run(parser.parse_args().measurements)
    count = sum(len(trial.measurements) for trial in run.trials)
    print(f"{count} measurements in {len(run.trials)} trials of {len(run.experiments)} experiments")
    found = []
    total = timed("analysis", lambda: found.append(analyse(run, metrics)))
    for format_ in ("markdown", "html", "json", "csv", "summary"):
        total += timed(
            f"report: {format_}", lambda format_=format_: render_report(run, found[0], format_)
        )  # type: ignore[misc]
    print(f"{'all of it (goal 30 s)':<55} {total:8.3f} s")
    summary = next(cell.summary for cell in found[0].cells)
    rows = [
        Plotted(label=name, colour=i, summary=summary) for i, name in enumerate(("aks", "c11n"))
    ]
    scale = Scale(factor=1.0, unit="1/s")
    timed(
        "100 box plots (goal 0.1 s)",
        lambda: [draw_boxes(f"b{i}", "t", rows, scale) for i in range(100)],
    )
    timed(
        "a usual page, cold (goal 1.5 s)",
        lambda: subprocess.run([sys.executable, "-c", COLD], check=True),
    )


if __name__ == "__main__":
    main()
