"""The published Vault comparison, recomputed from its raw data: eight differences, of which one is
established whichever mean is meant.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.model import Analysis, Contrast, Difference, Margin
from benchspec.engine.analysis.ratio_intervals import holm
from benchspec.engine.model.results import Statistic, Trial
from benchspec.engine.model.spec import Comparison, Method, Order
from tests.engine.analysis import synthetic

SAMPLES = Path(__file__).parents[3].parent / "shared" / "samples" / "vault-benchmark"
pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(),
    reason="the published raw data are not beside the checkout (../shared/samples)",
)

BASES = ("aks", "gke")
KEYS = {"mean": "mean", "P99": "99th", "max": "max", "min": "min"}
LOG, FIELLER = Statistic.GEOMETRIC_MEAN, Statistic.ARITHMETIC_MEAN

# base, metric, statistic: ratio - 1 and 95 % interval in percent, p, p after Holm over the eight
TABLE = [
    ("aks", "mean", LOG, (1.19, 0.46, 1.93), 0.0015, 0.012),
    ("aks", "P99", LOG, (4.62, -2.54, 12.31), 0.21, 1),
    ("aks", "max", LOG, (4.25, -2.42, 11.39), 0.22, 1),
    ("aks", "min", LOG, (21.21, -2.17, 50.17), 0.078, 0.47),
    ("gke", "mean", LOG, (-0.26, -1.11, 0.60), 0.55, 1),
    ("gke", "P99", LOG, (-3.35, -10.72, 4.62), 0.40, 1),
    ("gke", "max", LOG, (-3.03, -9.38, 3.76), 0.37, 1),
    ("gke", "min", LOG, (38.57, 11.49, 72.22), 0.0035, 0.024),
    ("aks", "mean", FIELLER, (1.19, 0.45, 1.93), 0.0017, 0.014),
    ("aks", "P99", FIELLER, (5.47, -2.74, 14.31), 0.20, 1),
    ("aks", "max", FIELLER, (4.39, -2.74, 12.05), 0.23, 1),
    ("aks", "min", FIELLER, (20.67, -11.06, 62.51), 0.22, 1),
    ("gke", "mean", FIELLER, (-0.29, -1.15, 0.57), 0.50, 1),
    ("gke", "P99", FIELLER, (-4.15, -12.24, 4.76), 0.35, 1),
    ("gke", "max", FIELLER, (-3.10, -9.74, 4.04), 0.38, 1),
    ("gke", "min", FIELLER, (34.61, -0.97, 81.89), 0.057, 0.40),
]
RANK_P = {
    ("aks", "mean"): 0.0012,
    ("aks", "P99"): 0.27,
    ("aks", "max"): 0.21,
    ("aks", "min"): 0.11,
    ("gke", "mean"): 0.92,
    ("gke", "P99"): 0.54,
    ("gke", "max"): 0.37,
    ("gke", "min"): 0.0051,
}


@cache
def _latencies(target: str, metric: str) -> NDArray[np.float64]:
    """Seconds, one per run, from the tool's nanoseconds."""
    lines = (SAMPLES / f"edgeless-5replicas-{target}.jsonl").read_text().splitlines()
    return np.array(
        [json.loads(line)["metrics"]["total"]["latencies"][KEYS[metric]] / 1e9 for line in lines]
    )


@cache
def _page(base: str, statistic: Statistic) -> Analysis:
    """Four cells of one base against Constellation; 100 runs each, that ran one target after the
    other.
    """
    metric = replace(synthetic.LATENCY, statistic=statistic)
    experiments = [
        synthetic.experiment(name, cell=cell, primary="latency")
        for cell in KEYS
        for name in (base, "c11n")
    ]
    trials: list[Trial] = []
    for experiment in experiments:
        trials.extend(
            synthetic.trials_of(
                experiment.id, _latencies(experiment.target, experiment.workload)[:, None], metric
            )
        )
    spec = synthetic.spec(
        [synthetic.target(base), synthetic.target("c11n")],
        Method(sessions=100, trials=1, order=Order.SEQUENTIAL),
        Comparison(baseline=base),
    )
    return analyse(synthetic.run(spec, experiments, trials), {"tool": (metric,)})


def _contrast(base: str, metric: str, statistic: Statistic) -> Contrast:
    return next(c for c in _page(base, statistic).contrasts if c.cell == metric)


@pytest.mark.parametrize(("base", "metric", "statistic", "ratio", "p", "_adjusted"), TABLE)
def test_ratio_interval_and_p(
    base: str,
    metric: str,
    statistic: Statistic,
    ratio: tuple[float, ...],
    p: float,
    _adjusted: float,
) -> None:
    found = _contrast(base, metric, statistic)
    assert found.ratio is not None
    assert found.interval is not None
    assert found.p is not None
    assert [
        100 * (x - 1) for x in (found.ratio, found.interval.low, found.interval.high)
    ] == pytest.approx(ratio, abs=0.1)
    assert float(f"{found.p:.2g}") == p or abs(found.p - p) < 0.005 * (p > 0.1)
    assert found.checks["mann_whitney_p"] == pytest.approx(RANK_P[base, metric], rel=0.03)


@pytest.mark.parametrize("statistic", [LOG, FIELLER])
def test_holm_over_the_eight(statistic: Statistic) -> None:
    rows = [row for row in TABLE if row[2] is statistic]
    p = [_contrast(base, metric, statistic).p or 0.0 for base, metric, *_ in rows]
    assert [float(x) for x in holm(np.array(p))] == pytest.approx(
        [row[-1] for row in rows], rel=0.04
    )


def test_one_difference_is_established_whichever_mean_is_meant_and_lies_inside_the_margin() -> None:
    for statistic in (LOG, FIELLER):
        verdicts = {
            (base, metric): _contrast(base, metric, statistic).verdict
            for base in BASES
            for metric in KEYS
        }
        established = {
            key
            for key, v in verdicts.items()
            if v is not None and v.difference in (Difference.HIGHER, Difference.LOWER)
        }
        assert established == {("aks", "mean")}
        verdict = verdicts["aks", "mean"]
        assert verdict is not None
        assert (verdict.difference, verdict.margin) == (Difference.HIGHER, Margin.INSIDE)


def test_the_minimum_against_gke_depends_on_the_test() -> None:
    assert _contrast("gke", "min", FIELLER).test_dependent
    assert not _contrast("gke", "min", LOG).test_dependent


def test_the_published_means_reproduce() -> None:
    assert _latencies("aks", "mean").mean() == pytest.approx(1.632200, abs=5e-7)
    assert _latencies("c11n", "min").var() == pytest.approx(0.000228, abs=5e-7)


def test_one_is_established_one_depends_on_the_mean_and_six_are_not() -> None:
    """The eight published differences as one family, whichever mean is declared."""
    for statistic in (LOG, FIELLER):
        verdicts = {
            (base, cell): _eight(statistic)[base, cell].verdict for base in BASES for cell in KEYS
        }
        said = {where: verdict.difference for where, verdict in verdicts.items() if verdict}
        assert said.pop(("aks", "mean")) is Difference.HIGHER
        assert said.pop(("gke", "min")) is Difference.DEPENDS_ON_MEAN
        assert list(said.values()) == [Difference.NONE_ESTABLISHED] * 6


@cache
def _eight(statistic: Statistic) -> dict[tuple[str, str], Contrast]:
    """Both bases on one page, each in an environment of its own with a copy of Constellation."""
    metric = replace(synthetic.LATENCY, statistic=statistic)
    targets, experiments = [], []
    trials: list[Trial] = []
    for base in BASES:
        for name, source in ((base, base), (f"c11n-{base}", "c11n")):
            targets.append(replace(synthetic.target(name), environment=base))
            for cell in KEYS:
                each = synthetic.experiment(name, cell=cell, primary="latency")
                experiments.append(each)
                values = _latencies(source, cell)[:, None]
                trials.extend(synthetic.trials_of(each.id, values, metric))
    spec = synthetic.spec(
        targets, Method(sessions=100, trials=1, order=Order.SEQUENTIAL), Comparison(baseline=BASES)
    )
    found = analyse(synthetic.run(spec, experiments, trials), {"tool": (metric,)})
    return {(c.baseline, c.cell): c for c in found.contrasts}
