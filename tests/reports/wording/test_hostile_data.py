"""What is said of figures that break a ratio, a logarithm or a float: from trials to words, verdict
and finding. The cases and what was once said of them are in tests/data/verdict-cases.md.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.model import Analysis, Contrast, Difference, LimitState
from benchspec.engine.analysis.reasons import (
    MeanIsZero,
    MeanNearZero,
    MeanNotPositive,
    NotDeclared,
    OutOfRange,
    Void,
)
from benchspec.engine.model.results import Direction, Metric, RunData, Statistic
from benchspec.engine.model.spec import Layer, Limit
from benchspec.reports.wording.sentences import Names, write_sentence
from benchspec.reports.wording.verdict_words import settled, verdict_words
from tests.engine.analysis import synthetic
from tests.engine.analysis.synthetic import METRICS, RATE, THROUGHPUT

CASES = Path(__file__).parents[2] / "data" / "verdict-cases.md"
LOSS = Metric(name="loss.share", title="Loss", unit="ratio", direction=Direction.LOWER)
KNOWN = {"tool": (*METRICS["tool"], LOSS)}
NAMES = Names(baseline="a", target="b")
RNG = np.random.Generator(np.random.PCG64(20))
NOISE = np.exp(RNG.normal(0, 0.01, (2, 10, 1)))


def analysed(run: RunData) -> Analysis:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return analyse(run, KNOWN)


def of(a: NDArray[np.float64], b: NDArray[np.float64], metric: Metric = RATE) -> Contrast:
    (contrast,) = analysed(synthetic.comparison(a, b, metric)).contrasts
    return contrast


def said(contrast: Contrast) -> str:
    return write_sentence(contrast, NAMES, 1)


def column(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)[:, None]


ONE_PERCENT = column(*(0.01 + 0.0005 * np.sin(np.arange(10))))


def test_a_loss_where_there_was_none_is_a_difference_in_points() -> None:
    lost = of(np.zeros((10, 1)), ONE_PERCENT, LOSS)
    assert lost.verdict is not None
    assert (lost.verdict.difference, lost.verdict.no_ratio) == (
        Difference.HIGHER,
        MeanIsZero(target="a"),
    )
    assert re.search(
        r"is 1\.\d+ points higher than on a .* which is worse; there is no ratio", said(lost)
    )
    assert settled(lost)
    assert "too few" not in said(lost) + verdict_words(lost)


def test_nothing_lost_on_either_side_is_no_difference() -> None:
    same = of(np.zeros((10, 1)), np.zeros((10, 1)), LOSS)
    assert "the difference is 0 points" in said(same)
    assert "No difference was established" in said(same)
    assert not settled(same)


@pytest.mark.parametrize(
    ("a", "why"),
    [
        (column(*np.linspace(-2.0, -1.0, 10)), MeanNotPositive(target="a")),
        (column(*np.linspace(-5.0, 1.0, 10)), MeanNotPositive(target="a")),
        (column(*[1.0] * 9, -5.0), MeanNearZero(target="a")),
    ],
)
def test_figures_below_zero_have_no_ratio(a: NDArray[np.float64], why: object) -> None:
    found = of(a, 10 * NOISE[1])
    assert found.verdict is not None
    assert found.verdict.no_ratio == why
    assert found.verdict.difference is Difference.HIGHER


def test_one_huge_outlier_does_not_ask_for_a_quarter_of_a_million_sessions() -> None:
    spiked = np.concatenate([np.zeros((9, 1)), column(1e6)])
    found = of(spiked, NOISE[1])
    assert found.verdict is not None
    assert found.verdict.no_ratio == MeanNearZero(target="a")
    assert found.sessions_needed is None
    assert "too few" not in said(found)


@pytest.mark.parametrize("value", [5.01, 0.1, 3.3, 1e-9, 7.7e12])
def test_a_constant_has_no_scatter_and_no_autocorrelation(value: float) -> None:
    run = synthetic.comparison(np.full((12, 3), value), np.full((12, 3), value))
    analysis = analysed(run)
    assert {finding.code for finding in analysis.findings} == {"F506"}
    summary = analysis.cells[0].summary
    assert summary is not None
    assert (summary.sd, summary.interval is not None) == (0.0, True)
    assert "9999" not in said(analysis.contrasts[0])


def test_the_last_bit_of_a_number_is_no_difference() -> None:
    above = np.nextafter(5.0, 6.0)
    for metric in (RATE, replace(RATE, statistic=Statistic.ARITHMETIC_MEAN, name="mean.rate")):
        found = of(np.full((10, 1), 5.0), np.full((10, 1), above), metric)
        assert found.verdict is not None
        assert found.verdict.difference is Difference.NONE_ESTABLISHED
        assert "0.000000" not in said(found)


@pytest.mark.parametrize("value", [1e300, 1.7e308])
def test_figures_that_no_float_can_add_up_are_out_of_range(value: float) -> None:
    spread = value * NOISE[0] / NOISE[0].max()
    arithmetic = replace(RATE, statistic=Statistic.ARITHMETIC_MEAN, name="mean.rate")
    found = of(spread, spread[::-1], arithmetic)
    assert found.verdict is not None
    assert found.verdict.reason == OutOfRange(series="mean.rate")
    assert not re.search(r"inf|nan|\d{20}", said(found))


def test_equal_sessions_are_called_equal_ratios() -> None:
    found = of(NOISE[0], NOISE[0])
    assert said(found).endswith(
        "The ratio is the same in every session, so the interval has no width and cannot tell how"
        " sure this is."
    )


def incomplete() -> RunData:
    run = synthetic.comparison(100 * NOISE[0], 110 * NOISE[1])
    kept = tuple(
        t for t in run.trials if not (t.experiment_id == "a/cell" and t.session in (2, 5, 7))
    )
    return replace(run, trials=kept)


def test_sessions_without_a_partner_are_told_and_the_percent_is_that_of_the_others() -> None:
    analysis = analysed(incomplete())
    (found,) = analysis.contrasts
    assert (found.pairs, found.left_out) == (7, ((), (2, 5, 7)))
    assert found.centres is not None
    assert found.ratio == pytest.approx(found.centres[1] / found.centres[0])
    assert "Compared are the 7 sessions that both sides have; the means are" in said(found)
    (finding,) = [f for f in analysis.findings if f.code == "F517"]
    assert "sessions 2, 5, 7 of b left out" in finding.message


def test_a_valid_trial_without_the_figure_is_not_counted_among_those_it_rests_on() -> None:
    run = synthetic.comparison(NOISE[0], NOISE[1])
    silent = tuple(replace(t, measurements=()) if t.session > 8 else t for t in run.trials)
    run = replace(run, trials=silent)
    analysis = analysed(run)
    found = [f.message for f in analysis.findings if f.code == "F518"]
    assert len(found) == 2
    assert "2 of 10 valid trials did not report rate, so the figures rest on 8" in found[0]


def test_an_interval_of_shares_stays_between_nothing_and_all() -> None:
    shares = np.array([1.0, 1.0, 0.7, 1.0, 1.0, 1.0])[:, None]
    for values, low, high in ((shares, None, 1.0), (1 - shares, 0.0, None)):
        cell = analysed(synthetic.comparison(values, values, LOSS)).cells[0]
        assert cell.summary is not None
        assert cell.summary.interval is not None
        assert low is None or cell.summary.interval.low == low
        assert high is None or cell.summary.interval.high <= high


def test_a_figure_that_nobody_declared_gets_no_verdict() -> None:
    run = synthetic.comparison(NOISE[0], 2 * NOISE[1], replace(RATE, name="figure", unit="1"))
    (found,) = analysed(run).contrasts
    assert found.verdict is not None
    assert found.verdict.reason == NotDeclared(series="figure")
    assert found.verdict.void is Void.INVALID
    assert "higher" not in said(found)


def limit(sustained: float, burst: float | None = None, network: bool = False) -> Limit:
    return Limit(
        metric="network.throughput" if network else "storage.iops",
        sustained=sustained,
        burst=burst or sustained,
        unit="bit/s" if network else "1/s",
        layer=Layer.WIRE if network else Layer.GOODPUT,
        applies_to=None,
        source="s",
        as_of="2024-01-01",
    )


def test_between_the_sustained_and_the_burst_rate_the_software_is_compared() -> None:
    cap = (limit(500.0, 20_000.0),)
    run = synthetic.comparison(5300 * NOISE[0], 9000 * NOISE[1], limits={"a": cap, "b": cap})
    analysis = analysed(run)
    (found,) = analysis.contrasts
    assert found.verdict is not None
    assert found.verdict.difference is Difference.HIGHER
    assert [cell.limits[0].state for cell in analysis.cells] == [LimitState.ON_CREDIT] * 2
    assert [f.code for f in analysis.findings if f.code.startswith("F4")] == ["F402", "F402"]


def test_noise_around_a_limit_decides_nothing() -> None:
    noisy = np.array([350.0, 800, 420, 610, 380, 700, 450, 520, 400, 470])[:, None]
    cap = (limit(500.0),)
    run = synthetic.comparison(noisy, noisy[::-1] * 1.02, limits={"a": cap, "b": cap})
    analysis = analysed(run)
    assert [cell.limits[0].state for cell in analysis.cells] == [LimitState.UNDECIDED] * 2
    assert analysis.contrasts[0].verdict is not None
    assert analysis.contrasts[0].verdict.void is None
    assert [f.code for f in analysis.findings if f.code.startswith("F4")] == ["F404", "F404"]


def test_an_assumed_mtu_is_refuted_before_a_limit_is_exceeded() -> None:
    cap = (limit(1e10, network=True),)
    full = 9.95e9 * NOISE[0] ** 0.01
    run = synthetic.comparison(full, full, THROUGHPUT, limits={"a": cap, "b": cap})
    analysis = analysed(run)
    found = [f.message for f in analysis.findings if f.code.startswith("F40")]
    assert [f.code for f in analysis.findings if f.code.startswith("F40")] == ["F405", "F405"]
    assert "possible causes: an MTU that was assumed and is not that of the path" in found[0]
    assert "exceeds" not in found[0]
    verdict = analysis.contrasts[0].verdict
    assert verdict is not None
    assert verdict.void is Void.LIMIT_BOUND


def test_two_different_limits_are_both_named() -> None:
    limits = {"a": (limit(1e10, network=True),), "b": (limit(2.5e10, network=True),)}
    run = synthetic.comparison(
        9.4e9 * NOISE[0] ** 0.01, 23.5e9 * NOISE[1] ** 0.01, THROUGHPUT, limits=limits
    )
    (found,) = analysed(run).contrasts
    assert "b runs at its documented limit of 25 Gbit/s and a at its own of 10 Gbit/s" in said(
        found
    )


def test_less_than_the_limit_is_never_all_of_it() -> None:
    cap = (limit(500.0),)
    almost = np.full((10, 1), 499.9)
    run = synthetic.comparison(almost, almost, limits={"a": cap, "b": cap})
    messages = [f.message for f in analysed(run).findings if f.code == "F401"]
    assert messages
    assert all("99.98 % of the documented" in message for message in messages)


def test_every_case_names_a_test_that_there_is() -> None:
    """The last column of the table: a file of tests and a function in it, or why there is none."""
    rows = [line.split("|") for line in CASES.read_text().splitlines() if line.startswith("| ")]
    named = [found for row in rows[2:] for found in re.findall(r"`(test_\w+)::(\w+)`", row[-2])]
    assert len(named) > 20
    files = {path.stem: path.read_text() for path in Path(__file__).parents[2].rglob("test_*.py")}
    missing = [pair for pair in named if f"def {pair[1]}(" not in files[pair[0]]]
    assert missing == []
