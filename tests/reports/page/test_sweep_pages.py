"""What a page says of a sweep and of a host baseline: no more than the data carry."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.model.results import RunData
from benchspec.engine.model.spec import Method, TrafficPath, WorkloadSpec
from benchspec.engine.planning.matrix import baseline_point
from benchspec.reports.output import html, markdown
from benchspec.reports.page.model import View
from benchspec.reports.page.view import build_view
from tests.engine.analysis.synthetic import (
    METRICS,
    THROUGHPUT,
    experiment,
    run,
    spec,
    target,
    trials_of,
)
from tests.engine.analysis.test_saturation import KNEE, sweep_run


def view_of(data: RunData) -> View:
    return build_view(data, analyse(data, METRICS))


def first(data: RunData) -> str:
    return view_of(data).summary[0].text


def test_three_streams_fill_the_link() -> None:
    text = first(sweep_run(KNEE))
    assert text.startswith("On a, throughput levels off at streams 3 (94")
    assert "no further point (4, 8) adds 5 %, at most +" in text
    assert "while to streams 2 a later one adds at least +4" in text
    assert "(95 % confidence, 10 sessions)" in text
    assert text.endswith(
        "of what the documented network.throughput of the link can carry, so the limit is full with"
        " streams 3."
    )


def test_a_curve_below_its_limit_is_not_called_full() -> None:
    text = first(sweep_run([value / 2 for value in KNEE]))
    assert "levels off at streams 3" in text
    assert "full" not in text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            sweep_run((100e6, 200e6, 300e6, 400e6, 800e6)),
            (
                "has not levelled off within the sweep: to every point before streams 8 a later one"
                " adds 5 % or more"
            ),
        ),
        (
            sweep_run((500e6, 904.8e6, 950e6, 950e6, 950e6)),
            "levels off between streams 2 and 3: to 1 a later one adds at least +89",
        ),
        (sweep_run((500e6, 904.8e6, 950e6, 950e6, 950e6)), "; for 2 it is undecided"),
        (sweep_run((950e6, 951e6, 950e6, 949e6, 950e6)), "levels off at streams 1 (94"),
        (
            sweep_run(KNEE, gap=3),
            (
                "undecided whether throughput levels off within the sweep; it does not before"
                " streams 3"
            ),
        ),
        (
            sweep_run(KNEE, sessions=2),
            "nothing can be said about where throughput levels off: found 2 sessions",
        ),
    ],
)
def test_sentences(data: RunData, said: str) -> None:
    assert said in first(data)


def test_tables_and_figures_of_a_sweep_are_on_both_kinds_of_page() -> None:
    view = view_of(sweep_run(KNEE))
    (workload,) = view.workloads
    assert [row.state for row in workload.sweeps[0].rows] == ["a later point adds the gain"] * 2 + [
        "no later point adds the gain"
    ] * 2 + ["the last point"]
    (figure,) = [figure for figure in workload.figures if figure.name.endswith("-sweep")]
    assert "streams 3" in figure.description
    assert len(re.findall(rb"<circle", figure.svg)) == 5 + 1  # and one in the legend
    pages = [renderer.render_page(view).decode() for renderer in (markdown, html)]
    for page in pages:
        assert workload.sweeps[0].sentence.split(":")[0] in page
    assert f'<a id="{workload.anchor}"></a>' in pages[0]
    assert view.summary[0].anchor == workload.anchor


def paths_run(host: float = 940e6, pod: float = 700e6, sessions: int = 10) -> RunData:
    """One target, measured between pods and, beside it, between hosts; no comparison with another
    target.
    """
    rng = np.random.default_rng(1)
    workload = WorkloadSpec(
        name="w", title="W", tool="tool", parameters={}, baseline=TrafficPath.HOST_TO_HOST
    )
    virtual = replace(experiment("a", "w", THROUGHPUT.name), path=TrafficPath.POD_TO_POD)
    beside = replace(
        experiment("a", "w[path=host-to-host]", THROUGHPUT.name),
        workload="w",
        path=TrafficPath.HOST_TO_HOST,
    )
    beside = replace(beside, point=baseline_point((), TrafficPath.HOST_TO_HOST))
    trials = [
        trial
        for each, centre in ((virtual, pod), (beside, host))
        for trial in trials_of(
            each.id, centre * np.exp(rng.normal(0, 0.005, (sessions, 1))), THROUGHPUT
        )
    ]
    return run(
        replace(spec([target("a")], Method()), workloads=(workload,)), [virtual, beside], trials
    )


def test_what_a_virtual_path_costs_is_said_against_the_host_path_of_the_same_target() -> None:
    (statement,) = view_of(paths_run()).summary
    assert statement.text.startswith("w: On a (pod-to-pod) the throughput (geometric mean) is 25.")
    assert "lower than on a (host-to-host)" in statement.text
    assert "outside the 2 % margin and is worse" in statement.text
    (comparison,) = [
        c for w in view_of(paths_run()).workloads for cell in w.cells for c in cell.comparisons
    ]
    assert {reference.anchor for reference in comparison.references} <= {
        row.anchor for row in view_of(paths_run()).raw
    }
    assert len({reference.anchor for reference in comparison.references}) == 2


def test_a_path_that_costs_nothing_is_not_called_slower() -> None:
    (statement,) = view_of(paths_run(pod=940e6)).summary
    assert (
        "No difference was established between a (pod-to-pod) and a (host-to-host)"
        in statement.text
    )


def test_too_few_sessions_carry_no_overhead() -> None:
    (statement,) = view_of(paths_run(sessions=3)).summary
    assert "No verdict on a (pod-to-pod) against a (host-to-host)" in statement.text
    assert "%" not in statement.text.split("margin")[0].replace("a (", "")


def test_the_path_without_values_is_named() -> None:
    data = paths_run()
    host = next(e.id for e in data.experiments if e.path is TrafficPath.HOST_TO_HOST)
    (statement,) = view_of(
        replace(data, trials=tuple(t for t in data.trials if t.experiment_id != host))
    ).summary
    assert "a (host-to-host) has no valid trial: not run" in statement.text
