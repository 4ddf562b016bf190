"""The engine's own calibration: false alarms, coverage and power of the real functions on simulated
data, and bad designs beside them that must fail.

Seeds are fixed; 4,000 experiments give a standard error of 0.35 points at 5 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.model import Difference, Interval, Summary
from benchspec.engine.analysis.power import equivalence_power, paired_power, stein_sessions
from benchspec.engine.analysis.ratio_intervals import (
    Ratios,
    paired_log_ratio,
    paired_mean_ratio,
    welch_log_ratio,
    welch_mean_ratio,
)
from benchspec.engine.analysis.series import Columns, fold
from benchspec.engine.analysis.summaries import describe, prepare
from benchspec.engine.model.results import Metric, Statistic, Trial
from benchspec.engine.model.spec import Comparison, Method
from benchspec.engine.planning.order import arrange_session
from tests.engine.analysis import synthetic

Floats = NDArray[np.float64]
EXPERIMENTS, SESSIONS = 4_000, 10
MOST_FALSE_ALARMS = 0.065
BAD_DESIGN_ALARMS = 0.40


def _rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _none(rng: np.random.Generator, slots: int) -> Floats:
    return np.zeros((EXPERIMENTS, slots))


def _linear(rng: np.random.Generator, slots: int) -> Floats:
    return np.broadcast_to(np.linspace(0, 0.03, slots), (EXPERIMENTS, slots)).copy()


def _step(rng: np.random.Generator, slots: int) -> Floats:
    when = rng.integers(1, slots, size=(EXPERIMENTS, 1))
    return np.where(np.arange(slots) >= when, 0.03, 0.0)


def _autoregressive(rng: np.random.Generator, slots: int) -> Floats:
    noise = rng.normal(0, 0.02, (EXPERIMENTS, slots))
    series = np.empty_like(noise)
    series[:, 0] = noise[:, 0] / np.sqrt(1 - 0.8**2)
    for i in range(1, slots):
        series[:, i] = 0.8 * series[:, i - 1] + noise[:, i]
    return series


DISTURBANCES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "none": _none,
    "linear 3 %": _linear,
    "step 3 %": _step,
    "AR(1) 0.8": _autoregressive,
}


def _two_levels(rng: np.random.Generator, disturbance: Floats, trials: int) -> Floats:
    """Values (experiments, slots, trials): a slot is one session of one target, with 2 % session
    scatter and 1 % trial scatter.
    """
    shape = disturbance.shape
    logs = disturbance + rng.normal(0, 0.01 if trials == 1 else 0.02, shape)
    return np.exp(logs[:, :, None] + (rng.normal(0, 0.01, (*shape, trials)) if trials > 1 else 0.0))


def _in_blocks(rng: np.random.Generator, slots: Floats) -> tuple[Floats, Floats]:
    """Deal consecutive pairs of slots to a and b in random order."""
    pairs = slots.reshape(slots.shape[0], SESSIONS, 2, *slots.shape[2:])
    first = rng.integers(0, 2, (slots.shape[0], SESSIONS))
    index = first.reshape(*first.shape, 1, *([1] * (slots.ndim - 2)))
    return np.take_along_axis(pairs, index, axis=2)[:, :, 0], np.take_along_axis(
        pairs, 1 - index, axis=2
    )[:, :, 0]


@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("name", DISTURBANCES)
def test_random_blocks_of_session_means_seldom_alarm_on_equal_targets(
    name: str, trials: int
) -> None:
    rng = _rng(20230320 + trials)
    a, b = _in_blocks(rng, _two_levels(rng, DISTURBANCES[name](rng, 2 * SESSIONS), trials))
    ratios = paired_log_ratio(np.exp(np.log(a).mean(axis=2)), np.exp(np.log(b).mean(axis=2)))
    alarms = (ratios.p < 0.05).mean()
    assert 0.03 < alarms <= MOST_FALSE_ALARMS


@pytest.mark.parametrize("name", ["linear 3 %", "step 3 %"])
def test_a_sequential_order_alarms_on_equal_targets_however_it_is_analysed(name: str) -> None:
    rng = _rng(1)
    slots = _two_levels(rng, DISTURBANCES[name](rng, 2 * SESSIONS), 1)[:, :, 0]
    a, b = slots[:, :SESSIONS], slots[:, SESSIONS:]
    for method in (welch_log_ratio, paired_log_ratio):
        assert (method(a, b).p < 0.05).mean() > BAD_DESIGN_ALARMS


def test_pooled_trials_alarm_on_equal_targets() -> None:
    rng = _rng(2)
    values = _two_levels(rng, _none(rng, 2 * SESSIONS), 10)
    a, b = _in_blocks(rng, values)
    pooled_a, pooled_b = a.reshape(EXPERIMENTS, -1), b.reshape(EXPERIMENTS, -1)
    assert (welch_log_ratio(pooled_a, pooled_b).p < 0.05).mean() > BAD_DESIGN_ALARMS
    assert (paired_log_ratio(pooled_a, pooled_b).p < 0.05).mean() > BAD_DESIGN_ALARMS


def _pages(rng: np.random.Generator, pages: int, cells: int, trials: int) -> list[float]:
    """p values of A/A runs through the whole analysis: sessions in the plan's own order, a drift
    over the run, sessions and trials that scatter.
    """
    experiments = [
        synthetic.experiment(name, cell=f"c{i}") for i in range(cells) for name in ("a", "b")
    ]
    spec = synthetic.spec(
        [synthetic.target("a"), synthetic.target("b")],
        Method(sessions=SESSIONS, trials=trials),
        Comparison(baseline="a"),
    )
    p_values: list[float] = []
    for page in range(pages):
        method = Method(sessions=SESSIONS, trials=trials, seed=page)
        data: list[Trial] = []
        for session in range(1, SESSIONS + 1):
            for planned in arrange_session(experiments, method, session):
                drift = 0.03 * (session + planned.position / len(experiments)) / SESSIONS
                values = np.exp(drift + rng.normal(0, 0.02) + rng.normal(0, 0.01, trials))
                data.extend(
                    synthetic.trials_of(planned.experiment_id, values, first_session=session)
                )
        analysis = analyse(synthetic.run(spec, experiments, data), synthetic.METRICS)
        p_values.extend(contrast.p for contrast in analysis.contrasts if contrast.p is not None)
    return p_values


def test_the_whole_pipeline_seldom_alarms_on_equal_targets() -> None:
    p = np.array(_pages(_rng(3), pages=20, cells=200, trials=2))
    assert len(p) == EXPERIMENTS
    assert 0.03 < (p < 0.05).mean() <= MOST_FALSE_ALARMS


def test_a_page_of_five_equal_cells_seldom_shows_any_difference() -> None:
    """The family of primary verdicts is adjusted: without it 23 % of such pages would show one."""
    rng, pages, cells = _rng(4), 400, 5
    experiments = [
        synthetic.experiment(name, cell=f"c{i}") for i in range(cells) for name in ("a", "b")
    ]
    spec = synthetic.spec(
        [synthetic.target("a"), synthetic.target("b")], Method(trials=1), Comparison(baseline="a")
    )
    wrong = unadjusted = 0
    for _ in range(pages):
        data = [
            t
            for e in experiments
            for t in synthetic.trials_of(e.id, rng.normal(1, 0.03, (SESSIONS, 1)))
        ]
        contrasts = analyse(synthetic.run(spec, experiments, data), synthetic.METRICS).contrasts
        wrong += any(
            c.verdict is not None and c.verdict.difference is not Difference.NONE_ESTABLISHED
            for c in contrasts
        )
        unadjusted += any(c.p is not None and c.p < 0.05 for c in contrasts)
    assert wrong / pages <= MOST_FALSE_ALARMS
    assert unadjusted / pages > 0.15


RATIO = 1.02
Method4 = Callable[[Floats, Floats], Ratios]
RATIO_METHODS: dict[str, tuple[Method4, bool]] = {
    "paired log": (paired_log_ratio, True),
    "Welch log": (welch_log_ratio, True),
    "paired Fieller": (paired_mean_ratio, False),
    "Welch Fieller": (welch_mean_ratio, False),
}


@pytest.mark.parametrize("cov", [0.03, 0.30])
@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("name", RATIO_METHODS)
def test_ratio_intervals_cover_the_true_ratio(name: str, n: int, cov: float) -> None:
    method, logs = RATIO_METHODS[name]
    rng = _rng(1000 * n + int(100 * cov))
    z = rng.normal(0, 1, (2, 10_000, n))
    a, b = np.exp(cov * z) if logs else 1 + cov * z
    found = method(a, RATIO * b)
    exists = ~np.isnan(found.low)
    covered = (found.low <= RATIO) & (found.high >= RATIO)
    assert 0.93 <= (covered | ~exists).mean() <= 0.975  # no interval excludes nothing


def _described(values: Floats, metric: Metric, first_stage: int | None = None) -> list[Summary]:
    """The summaries that pages show of series, one per row, with one trial in each of their
    sessions.
    """
    series, sessions = values.shape
    number, session = np.divmod(np.arange(values.size), sessions)
    rows = Columns(
        series=number,
        trial=np.arange(values.size),
        session=session + 1,
        value=values.ravel(),
        valid=np.ones(values.size, dtype=np.bool_),
    )
    found = describe(
        prepare(fold(rows, series), [metric] * series),
        0.95,
        first_stage,
        np.zeros(series, dtype=np.bool_),
    )
    return [found[number] for number in range(series)]


def _coverage(intervals: Sequence[Interval | None], truth: float) -> float:
    assert None not in intervals
    return float(
        np.mean([each is not None and each.low <= truth <= each.high for each in intervals])
    )


@pytest.mark.parametrize("cov", [0.03, 0.30])
@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize(
    "metric", [synthetic.RATE, synthetic.MEAN_RATE], ids=["geometric", "arithmetic"]
)
def test_mean_intervals_cover_the_true_mean(n: int, cov: float, metric: Metric) -> None:
    z = _rng(n).normal(0, 1, (10_000, n))
    geometric = metric.statistic is Statistic.GEOMETRIC_MEAN
    found = _described(np.exp(cov * z) if geometric else 1 + cov * z, metric)
    assert 0.93 <= _coverage([summary.interval for summary in found], 1.0) <= 0.975


@pytest.mark.parametrize("n", [6, 10, 30])
def test_order_statistics_cover_the_median_at_least(n: int) -> None:
    found = _described(100 + _rng(n).normal(0, 1, (10_000, n)), synthetic.MEAN_RATE)
    assert _coverage([summary.median_interval for summary in found], 100.0) >= 0.945


@pytest.mark.parametrize(
    ("cov", "difference", "n"),
    [(0.02, 0.03, 10), (0.03, 0.05, 6), (0.01, 0.01, 10), (0.10, 0.05, 20)],
)
def test_the_paired_test_has_the_promised_power(cov: float, difference: float, n: int) -> None:
    z = cov * _rng(n).normal(0, 1, (2, 10_000, n))
    found = (paired_log_ratio(np.exp(z[0]), np.exp(z[1] + difference)).p < 0.05).mean()
    assert found == pytest.approx(paired_power(np.sqrt(2) * cov, difference, n), abs=0.05)


@pytest.mark.parametrize("cov", [0.01, 0.02, 0.03])
def test_equivalence_is_shown_as_often_as_promised(cov: float) -> None:
    z = cov * _rng(6).normal(0, 1, (2, 10_000, SESSIONS))
    found = paired_log_ratio(np.exp(z[0]), np.exp(z[1]))
    inside = ((found.margin_low > 1 / 1.02) & (found.margin_high < 1.02)).mean()
    assert inside == pytest.approx(equivalence_power(np.sqrt(2) * cov, 0.02, SESSIONS), abs=0.02)


def test_two_stages_reach_the_half_width_and_keep_their_coverage() -> None:
    """C. Stein's rule at n0 = 8: the interval of the finished run keeps the first stage's spread
    and covers 95.6 % (simulated elsewhere).
    """
    rng = _rng(7)
    finished: dict[int, list[Floats]] = {}
    for _ in range(2_000):
        pilot = rng.normal(1, 0.03, 8)
        total = stein_sessions(pilot, 0.02)
        finished.setdefault(total, []).append(
            np.concatenate([pilot, rng.normal(1, 0.03, total - 8)])
        )
    found = [
        summary
        for runs in finished.values()
        for summary in _described(np.array(runs), synthetic.MEAN_RATE, first_stage=8)
    ]
    intervals = [summary.interval for summary in found]
    widths = [
        np.nan if each is None else (each.high - summary.centre) / summary.centre
        for summary, each in zip(found, intervals, strict=True)
    ]
    assert 0.93 <= _coverage(intervals, 1.0) <= 0.975
    assert np.mean(np.array(widths) <= 0.0205) > 0.99
