"""Arithmetic and physics of results: sound results pass, and each mutation is caught by its
rule.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.model.results import Measurement, RunData
from benchspec.engine.model.spec import Json, Placement, TrafficPath
from tests.engine.analysis import synthetic

SOUND = {
    "iops.read": 500.0,
    "throughput.read": 500.0 * 4096,
    "latency.read.min": 0.01,
    "latency.read.mean": 0.25,
    "latency.read.p50": 0.2,
    "latency.read.p90": 0.4,
    "latency.read.p95": 0.45,
    "latency.read.p99": 0.5,
    "latency.read.p999": 0.6,
    "latency.read.max": 0.6,
}
PARAMETERS: dict[str, Json] = {"bs": "4 KiB", "iodepth": 128}


def _run(
    values: dict[str, float],
    parameters: dict[str, Json] | None = None,
    labels: dict[str, str] | None = None,
    sequence: int = 0,
) -> RunData:
    experiment = synthetic.experiment(
        "a", primary="iops.read", parameters=PARAMETERS if parameters is None else parameters
    )
    sound, changed = (
        synthetic.trial(
            experiment.id,
            1,
            i,
            [
                Measurement(metric=k, value=v, unit="1", labels=labels or {})
                for k, v in each.items()
            ],
        )
        for i, each in enumerate((SOUND, values))
    )
    return synthetic.run(synthetic.spec([synthetic.target("a")]), [experiment], [sound, changed])


def _codes(run: RunData) -> list[str]:
    return [finding.code for finding in analyse(run, {}).findings if finding.code.startswith("F35")]


@pytest.mark.parametrize("labels", [{}, {"job": "read_iops"}])
def test_a_sound_result_passes(labels: dict[str, str]) -> None:
    assert _codes(_run(SOUND, labels=labels)) == []


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("latency.read.p50", 0.41, "F351"),
        ("latency.read.p90", 0.19, "F351"),
        ("latency.read.p95", 0.51, "F351"),
        ("latency.read.p99", 0.44, "F351"),
        ("latency.read.p999", 0.61, "F351"),
        ("latency.read.max", 0.55, "F351"),
        ("latency.read.min", 0.21, "F351"),
        ("latency.read.mean", 0.009, "F352"),
        ("throughput.read", 500.0 * 4000, "F353"),
        ("throughput.read", 500.0 * 4.096, "F353"),
        ("throughput.read", 500.0 * 4096 * 8, "F353"),
        ("iops.read", 505.0 * 1.03, "F353"),
        ("latency.read.mean", 0.28, "F354"),
    ],
)
@pytest.mark.parametrize("labels", [{}, {"job": "read_iops"}])
def test_a_mutated_result_is_caught_by_its_rule(
    name: str, value: float, code: str, labels: dict[str, str]
) -> None:
    found = [
        f
        for f in analyse(_run(SOUND | {name: value}, labels=labels), {}).findings
        if f.code.startswith("F35")
    ]
    assert code in {f.code for f in found}
    assert {f.sequence for f in found} == {1001}
    assert found[0].message.endswith("(trial 1001)")


def test_mean_above_the_maximum() -> None:
    assert _codes(_run(SOUND | {"latency.read.mean": 0.7}, parameters={})) == ["F352"]


def test_rules_that_lack_what_they_need_say_nothing() -> None:
    wild = {"iops.read": 1e9, "throughput.read": 1.0, "latency.read.mean": 10.0}
    useless: tuple[dict[str, Json], ...] = (
        {},
        {"bs": "4 KiB,8 KiB", "iodepth": True},
        {"bs": 4096},
    )
    for parameters in useless:
        experiment = synthetic.experiment("a", primary="iops.read", parameters=parameters)
        trial = synthetic.trial(
            experiment.id, 1, 0, [Measurement(metric=k, value=v, unit="1") for k, v in wild.items()]
        )
        assert (
            _codes(synthetic.run(synthetic.spec([synthetic.target("a")]), [experiment], [trial]))
            == []
        )


def test_series_with_gaps_are_compared_where_both_exist() -> None:
    partial = {k: v for k, v in SOUND.items() if k != "latency.read.p95"} | {
        "latency.read.p99": 0.39
    }
    assert (
        _codes(_run(partial)) == []
    )  # p90 to p95 to p99 is a chain; without p95 there is no link in that trial
    assert (
        _codes(
            _run(
                {k: v for k, v in partial.items() if k != "latency.read.p999"}
                | {"latency.read.p90": math.nan}
            )
        )
        == []
    )


def _network(value: float, path: TrafficPath, placement: Placement, link: Json) -> RunData:
    experiment = replace(
        synthetic.experiment("a", primary="throughput", path=path), placement=placement
    )
    trials = [
        synthetic.trial(
            experiment.id, 1, i, [Measurement(metric="throughput", value=value, unit="bit/s")]
        )
        for i in range(2)
    ]
    return synthetic.run(
        synthetic.spec([synthetic.target("a", claims={"net.link": link})]), [experiment], trials
    )


@pytest.mark.parametrize(
    ("value", "path", "placement", "link", "codes"),
    [
        (20450e6, TrafficPath.POD_TO_POD, Placement.ACROSS_NODES, 12.5e9, ["F355"]),
        (12.4e9, TrafficPath.POD_TO_POD, Placement.ACROSS_NODES, 12.5e9, []),
        (20450e6, TrafficPath.POD_TO_POD, Placement.SAME_NODE, 12.5e9, []),
        (20450e6, TrafficPath.LOOPBACK, Placement.ACROSS_NODES, 12.5e9, []),
        (20450e6, TrafficPath.POD_TO_POD, Placement.ACROSS_NODES, None, []),
    ],
)
def test_nothing_is_faster_than_its_link(
    value: float, path: TrafficPath, placement: Placement, link: Json, codes: list[str]
) -> None:
    run = _network(value, path, placement, link)
    assert _codes(run) == codes
    if codes:
        assert "(2 trials, first 1000)" in analyse(run, {}).findings[0].message
