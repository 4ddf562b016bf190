"""The analysis as a whole: which series carry verdicts, what is said of the unmeasured, refusals,
determinism.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.cells import resolve_primary
from benchspec.engine.analysis.reasons import (
    FailedGates,
    NotReported,
    NotRun,
    NoValidTrial,
    NoValue,
    Skipped,
    TrialError,
    TrialsNotValid,
)
from benchspec.engine.model.errors import UnitError
from benchspec.engine.model.results import (
    Direction,
    GateResult,
    Measurement,
    Metric,
    Statistic,
    Trial,
    TrialKind,
    TrialStatus,
)
from benchspec.engine.model.spec import Comparison, Experiment, Method
from tests.engine.analysis import synthetic
from tests.engine.analysis.synthetic import METRICS, RATE

RNG = np.random.Generator(np.random.PCG64(1))


def _rate(value: float, **labels: str) -> Measurement:
    return Measurement(metric="rate", value=value, unit="1/s", labels=labels)


def _alone(
    trials: list[Trial], primary: str = "rate", experiment: Experiment | None = None
) -> list[tuple[str, bool, NoValue | None]]:
    """(series, primary, not measured) of the cells of one experiment."""
    run = synthetic.run(
        synthetic.spec([synthetic.target("a")]),
        [experiment or synthetic.experiment("a", primary=primary)],
        trials,
    )
    return [(cell.series, cell.primary, cell.not_measured) for cell in analyse(run, METRICS).cells]


@pytest.mark.parametrize(
    ("wished", "own", "elsewhere", "resolved"),
    [
        ("rate{job=x}", ["rate{job=x}", "rate{job=y}"], set(), "rate{job=x}"),
        ("rate", ["rate{job=x}", "latency"], set(), "rate{job=x}"),
        ("rate", ["rate", "rate{job=x}"], set(), "rate"),
        ("rate", ["rate{job=x}", "rate{job=y}"], set(), None),
        ("rate", [], {"rate{job=x}", "latency"}, "rate{job=x}"),
        ("rate", [], {"rate{job=x}", "rate{job=y}"}, None),
        ("rate", [], set(), "rate"),
        ("", ["rate"], set(), None),
    ],
)
def test_the_primary_series(
    wished: str, own: list[str], elsewhere: set[str], resolved: str | None
) -> None:
    assert resolve_primary(wished, own, elsewhere) == resolved


def test_an_ambiguous_primary_is_a_finding_and_no_verdict() -> None:
    experiments = [synthetic.experiment(name) for name in ("a", "b")]
    trials = [
        synthetic.trial(e.id, s, 0, [_rate(10, job="x"), _rate(20, job="y")])
        for e in experiments
        for s in range(1, 11)
    ]
    run = synthetic.run(
        synthetic.spec(
            [synthetic.target("a"), synthetic.target("b")], compare=Comparison(baseline="a")
        ),
        experiments,
        trials,
    )
    analysis = analyse(run, METRICS)
    assert all(contrast.verdict is None for contrast in analysis.contrasts)
    assert [f.code for f in analysis.findings] == ["F513", "F513"]
    assert "name one with its labels" in analysis.findings[0].message


def test_warmups_never_count() -> None:
    experiment = synthetic.experiment("a")
    trials = [
        synthetic.trial(
            experiment.id,
            1,
            i,
            [_rate(9.0)],
            kind=TrialKind.WARMUP if i == 0 else TrialKind.MEASURED,
        )
        for i in range(3)
    ]
    run = synthetic.run(synthetic.spec([synthetic.target("a")]), [experiment], trials)
    (cell,) = analyse(run, METRICS).cells
    assert cell.counts == {"valid": 2}
    assert cell.summary is not None
    assert cell.summary.trials == 2


def test_the_most_frequent_reason_is_given_for_what_was_not_measured() -> None:
    gate = GateResult(name="min_duration", bound=55, observed=3, passed=False)
    fine = GateResult(name="max_steal", bound=0.02, observed=0, passed=True)
    invalid = [
        synthetic.trial("a/cell", 1, i, [_rate(1)], TrialStatus.INVALID, gates=[gate, fine])
        for i in range(2)
    ]
    failed = [
        synthetic.trial("a/cell", 2, 0, status=TrialStatus.FAILED, error="fio: No space left")
    ]
    gates = FailedGates(gates=("min_duration",))
    assert _alone([*invalid, *failed]) == [
        ("rate", True, TrialsNotValid(cause=gates, count=2, trials=3))
    ]
    full = TrialError(message="fio: No space left")
    assert _alone([*failed, synthetic.trial("a/cell", 2, 1, status=TrialStatus.VOID)]) == [
        ("rate", True, TrialsNotValid(cause=full, count=1, trials=2))
    ]
    assert _alone([synthetic.trial("a/cell", 2, 1, status=TrialStatus.VOID)]) == [
        ("rate", True, TrialsNotValid(cause=TrialStatus.VOID, count=1, trials=1))
    ]
    assert _alone([]) == [("rate", True, NotRun())]


def test_a_primary_that_valid_trials_do_not_report() -> None:
    other = [synthetic.trial("a/cell", 1, 0, [Measurement(metric="latency", value=1.0, unit="s")])]
    assert _alone(other) == [("rate", True, NotReported()), ("latency", False, None)]


def test_an_experiment_that_could_not_be_measured_here_says_why() -> None:
    experiment = synthetic.experiment("a")
    run = synthetic.run(
        synthetic.spec([synthetic.target("a")]),
        [experiment],
        [],
        skipped={experiment.id: "one node only"},
    )
    assert analyse(run, METRICS).cells[0].not_measured == Skipped(why="one node only")


def test_a_target_that_was_never_measured_has_a_void_contrast() -> None:
    run = synthetic.comparison(np.ones((10, 2)), np.ones((10, 2)))
    (contrast,) = analyse(replace(run, trials=run.trials[:20]), METRICS).contrasts
    assert contrast.verdict is not None
    assert contrast.verdict.reason == NoValidTrial(target="b", why=NotRun())
    (contrast,) = analyse(replace(run, trials=run.trials[20:]), METRICS).contrasts
    assert contrast.verdict is not None
    assert contrast.verdict.reason == NoValidTrial(target="a", why=NotRun())


def test_gate_inputs_are_no_cells_and_undeclared_metrics_are() -> None:
    measurements = [
        _rate(1.0),
        Measurement(metric="duration", value=60.0, unit="s"),
        Measurement(metric="extra", value=3.0, unit="B"),
    ]
    assert [series for series, *_ in _alone([synthetic.trial("a/cell", 1, 0, measurements)])] == [
        "rate",
        "extra",
    ]
    run = synthetic.run(
        synthetic.spec([synthetic.target("a")]),
        [synthetic.experiment("a")],
        [synthetic.trial("a/cell", 1, 0, measurements)],
    )
    extra = analyse(run, METRICS).cells[1].metric
    assert (extra.unit, extra.direction, extra.statistic) == (
        "B",
        Direction.NEITHER,
        Statistic.ARITHMETIC_MEAN,
    )
    declared = Metric(name="duration", title="Duration", unit="s", direction=Direction.NEITHER)
    assert [cell.series for cell in analyse(run, {"tool": (RATE, declared)}).cells] == [
        "rate",
        "duration",
        "extra",
    ]


def test_metrics_may_be_declared_by_experiment() -> None:
    run = synthetic.run(
        synthetic.spec([synthetic.target("a")]),
        [synthetic.experiment("a")],
        [synthetic.trial("a/cell", 1, 0, [_rate(1.0)])],
    )
    special = replace(RATE, title="Special")
    assert analyse(run, {"a/cell": (special,), "tool": (RATE,)}).cells[0].metric is special


def test_a_unit_mismatch_is_refused() -> None:
    trials = [
        synthetic.trial("a/cell", 1, i, [Measurement(metric="rate", value=1.0, unit=unit)])
        for i, unit in enumerate(("1/s", "B/s"))
    ]
    with pytest.raises(UnitError, match="rate: found a value in B/s, expected 1/s"):
        _alone(trials)


def test_trials_of_unknown_experiments_and_no_trials_at_all_are_harmless() -> None:
    assert _alone([synthetic.trial("gone", 1, 0, [_rate(1.0)])]) == [("rate", True, NotRun())]
    analysis = analyse(synthetic.run(synthetic.spec([synthetic.target("a")]), [], []), METRICS)
    assert (analysis.cells, analysis.contrasts, analysis.baseline, analysis.equivalence) == (
        (),
        (),
        None,
        None,
    )


def test_every_target_is_held_against_the_baseline_and_holm_spans_the_page() -> None:
    names = ("base", "b", "c")
    experiments = [
        synthetic.experiment(name, cell=cell)
        for cell in ("x", "y")
        for name in names
        if (name, cell) != ("c", "y")
    ]
    experiments.append(synthetic.experiment("b", cell="only-here"))
    trials = [
        t
        for e in experiments
        for t in synthetic.trials_of(e.id, np.exp(RNG.normal(0, 0.02, (10, 1))))
    ]
    run = synthetic.run(
        synthetic.spec(
            [synthetic.target(n) for n in names], Method(trials=1), Comparison(baseline="base")
        ),
        experiments,
        trials,
    )
    analysis = analyse(run, METRICS)
    assert [(c.cell, c.target) for c in analysis.contrasts] == [("x", "b"), ("x", "c"), ("y", "b")]
    assert analysis.family == 3
    assert (analysis.baseline, analysis.equivalence, analysis.confidence) == ("base", 0.02, 0.95)
    smallest = min(c.p for c in analysis.contrasts if c.p is not None)
    assert min(c.p_holm for c in analysis.contrasts if c.p_holm is not None) == pytest.approx(
        min(1, 3 * smallest)
    )


def test_the_same_run_gives_the_same_analysis_and_order_of_trials_does_not_matter() -> None:
    run = synthetic.comparison(
        np.exp(RNG.normal(0, 0.02, (10, 3))), np.exp(RNG.normal(0, 0.02, (10, 3)))
    )
    assert analyse(run, METRICS) == analyse(run, METRICS)
    half = len(run.trials) // 2
    interleaved = tuple(
        t for pair in zip(run.trials[:half], run.trials[half:], strict=True) for t in pair
    )
    assert analyse(replace(run, trials=interleaved), METRICS) == analyse(run, METRICS)


def test_series_of_one_side_only_are_not_compared_unless_primary() -> None:
    run = synthetic.comparison(np.ones((6, 1)), np.ones((6, 1)))
    extra = Measurement(metric="latency", value=1.0, unit="s")
    trials = tuple(
        replace(t, measurements=(*t.measurements, extra)) if t.experiment_id == "b/cell" else t
        for t in run.trials
    )
    assert [c.series for c in analyse(replace(run, trials=trials), METRICS).contrasts] == ["rate"]


def test_what_a_side_calls_primary_and_the_other_lacks_is_void() -> None:
    run = synthetic.comparison(np.ones((6, 1)), np.ones((6, 1)))
    other = Measurement(metric="latency", value=1.0, unit="s")
    trials = tuple(
        replace(t, measurements=(other,)) if t.experiment_id == "a/cell" else t for t in run.trials
    )
    (contrast,) = (c for c in analyse(replace(run, trials=trials), METRICS).contrasts if c.primary)
    assert contrast.verdict is not None
    assert contrast.verdict.reason == NoValidTrial(target="a", why=NotReported())


def test_thousands_of_sessions_skip_the_quadratic_checks() -> None:
    values = np.exp(RNG.normal(0, 0.02, (2, 2_500, 1)))
    (contrast,) = analyse(synthetic.comparison(values[0], values[1]), METRICS).contrasts
    assert contrast.checks.keys() <= {"ratio_without_outliers"}
    assert contrast.verdict is not None
    assert contrast.verdict.void is None


def test_an_interval_without_bound_is_left_out() -> None:
    (contrast,) = analyse(
        synthetic.comparison(np.array([[1e-100], [1e100]]), np.array([[1e100], [1e-100]])), METRICS
    ).contrasts
    assert contrast.interval is None
