"""A matrix of meshes and environments, from the shipped spec to the page: every target is held
against the baseline of its own environment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import benchspec.specs
from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.analysis.model import Analysis
from benchspec.engine.analysis.reasons import FactDiffers, FactsDiffer, Shown
from benchspec.engine.language.load import load_spec
from benchspec.engine.model.errors import UsageError
from benchspec.engine.model.results import Measurement, RunData
from benchspec.engine.model.spec import Json
from benchspec.engine.planning.plan import plan
from benchspec.engine.store.merge import merge_runs, rebase
from benchspec.reports.output.render import render_report
from benchspec.reports.page.model import View
from benchspec.reports.page.view import build_view
from benchspec.workloads.registry import WORKLOADS
from tests.engine.analysis import synthetic

SPEC = Path(benchspec.specs.__file__).parent / "mesh-multicluster.yaml"
RATES = {
    "istio-aws": 496.08,
    "kuma-aws": 890.63,
    "nsm-aws": 1332.38,
    "istio-equinix": 1864.44,
    "kuma-equinix": 4538.77,
    "nsm-equinix": 5148.70,
}
"""Mean answers per second, as published; Kuma's on AWS as its raw files have it."""
METRICS = {"fortio": WORKLOADS["fortio"].metrics({})}
AWS, EQUINIX = "AWS EKS", "Equinix Metal"
PAIRS = [
    ("kuma-aws", "istio-aws"),
    ("nsm-aws", "istio-aws"),
    ("kuma-equinix", "istio-equinix"),
    ("nsm-equinix", "istio-equinix"),
]
FACTS: Mapping[str, Mapping[str, Json]] = {
    name: {
        "net.mtu": 1500,
        "machine.type": "m5.2xlarge" if name.endswith("-aws") else "c3.medium.x86",
    }
    for name in RATES
}


def measured(*overrides: str, facts: Mapping[str, Mapping[str, Json]] = FACTS) -> RunData:
    """The shipped spec as if it had been measured: ten sessions around the published rates."""
    loaded, noise = load_spec(SPEC, overrides=overrides), np.random.default_rng(3)
    trials = [
        synthetic.trial(
            e.id,
            session,
            0,
            [
                Measurement(metric=name, value=float(value), unit=unit)
                for name, value, unit in values
            ],
        )
        for e in plan(loaded, WORKLOADS).experiments
        for session, rate in enumerate(RATES[e.target] * np.exp(noise.normal(0, 0.01, 10)), start=1)
        for values in [[("throughput", rate, "1/s"), ("latency.mean", 1 / rate, "s")]]
    ]
    return synthetic.run(loaded.spec, plan(loaded, WORKLOADS).experiments, trials, facts)


def analysed(run: RunData) -> Analysis:
    return analyse(run, METRICS)


def page(run: RunData) -> View:
    return build_view(run, analysed(run))


RUN = measured()
VIEW = page(RUN)


def pairs(run: RunData) -> list[tuple[str, str]]:
    return [(c.target, c.baseline) for c in analysed(run).contrasts if c.primary]


def test_each_target_is_held_against_the_baseline_of_its_environment_and_all_verdicts_are_one_family() -> (
    None
):
    analysis = analysed(RUN)
    primary = [c for c in analysis.contrasts if c.primary]
    assert sorted((c.target, c.baseline) for c in primary) == sorted(PAIRS)
    for contrast in primary:
        assert contrast.ratio == pytest.approx(
            RATES[contrast.target] / RATES[contrast.baseline], rel=0.02
        )
    assert (analysis.family, analysis.baseline) == (4, ("istio-aws", "istio-equinix"))
    adjusted = sorted((c.p, c.p_holm) for c in primary if c.p is not None and c.p_holm is not None)
    assert adjusted[0][1] == pytest.approx(4 * adjusted[0][0], rel=1e-9, abs=0), (
        "Holm over both environments"
    )


def test_sentences_tables_and_figures_name_the_baseline_of_each_row() -> None:
    (cell,) = VIEW.workloads[0].cells
    rows = [
        f"{mesh} ({where})" for where in (AWS, EQUINIX) for mesh in ("Istio", "Kuma", "NSM vl3")
    ]
    assert list(cell.targets) == [row.target for row in cell.rows] == rows
    expected = [
        (f"{mesh} ({where})", f"Istio ({where})")
        for where in (AWS, EQUINIX)
        for mesh in ("Kuma", "NSM vl3")
    ]
    assert sorted((c.target, c.baseline) for c in cell.comparisons) == sorted(expected)
    assert sorted(zip(cell.compared, cell.against, strict=True)) == sorted(expected)
    said = (
        r".*: On Kuma \(AWS EKS\) the answers per second \(geometric mean\) is (79|80)\S* % higher"
        r" than on Istio \(AWS EKS\) "
    )
    assert any(re.match(said, statement.text) for statement in VIEW.summary)
    figures = [figure for figure in VIEW.workloads[0].figures if "difference from" in figure.title]
    assert [figure.title.partition("difference from ")[2] for figure in figures] == [
        f"Istio ({AWS})",
        f"Istio ({EQUINIX})",
    ]
    assert len({figure.name for figure in VIEW.figures}) == len(VIEW.figures)
    assert VIEW.warnings == ()


@pytest.mark.parametrize("format_", ["markdown", "html"])
def test_no_page_compares_across_environments(format_: str) -> None:
    text = next(
        data
        for name, data in render_report(RUN, analysed(RUN), format_).items()
        if name.endswith((".md", ".html"))
    ).decode()
    titles = [target.title for target in RUN.spec.targets]
    found = {(one, other) for one in titles for other in titles if f"{one} against {other}" in text}
    assert found == {
        (f"{mesh} ({where})", f"Istio ({where})")
        for where in (AWS, EQUINIX)
        for mesh in ("Kuma", "NSM vl3")
    }


def test_an_environment_without_a_baseline_is_measured_and_not_compared_and_the_page_says_so() -> (
    None
):
    run = measured("compare.baseline=istio-aws")
    assert sorted(pairs(run)) == PAIRS[:2]
    view = page(run)
    (warning,) = view.warnings
    assert (
        warning == f"No baseline is named in the environment {EQUINIX}: Istio ({EQUINIX}), Kuma"
        f" ({EQUINIX}), NSM vl3 ({EQUINIX}) are not compared."
    )
    (cell,) = view.workloads[0].cells
    assert len(cell.rows) == 6, "their numbers are shown"
    assert analysed(run).family == 2


def test_facts_must_match_within_an_environment_only() -> None:
    run = measured(
        facts={**FACTS, "kuma-equinix": {"net.mtu": 9000, "machine.type": "c3.medium.x86"}}
    )
    voids = {
        c.target: c.verdict
        for c in analysed(run).contrasts
        if c.verdict is not None and c.verdict.void is not None
    }
    assert set(voids) == {"kuma-equinix"}, (
        "that the machines of the environments differ matters to none"
    )
    mismatch = FactDiffers(
        fact="net.mtu",
        target=Shown(target="kuma-equinix", values=("9000",)),
        baseline=Shown(target="istio-equinix", values=("1500",)),
    )
    assert voids["kuma-equinix"].reason == FactsDiffer(mismatches=(mismatch,))


def test_another_baseline_is_that_of_its_environment_alone() -> None:
    turned = rebase(RUN, "kuma-equinix")
    assert sorted(pairs(turned)) == sorted(
        [*PAIRS[:2], ("istio-equinix", "kuma-equinix"), ("nsm-equinix", "kuma-equinix")]
    )
    named = rebase(measured("compare.baseline=istio-aws"), "nsm-equinix")
    assert sorted(pairs(named)) == sorted(
        [*PAIRS[:2], ("istio-equinix", "nsm-equinix"), ("kuma-equinix", "nsm-equinix")]
    )
    with pytest.raises(UsageError, match="no other target in the environment of 'kuma-aws'"):
        rebase(measured("targets.kuma-aws.environment=elsewhere"), "kuma-aws")


def test_two_runs_of_one_target_are_compared_whatever_environments_they_call_it() -> None:
    merged = merge_runs(measured("targets.kuma-aws.environment=elsewhere"), RUN, "kuma-aws")
    assert pairs(merged) == [("after", "before")]
    assert page(merged).warnings[0].startswith("The targets were measured one after the other")


def test_the_export_has_every_baseline_and_each_comparison_its_own() -> None:
    (data,) = render_report(RUN, analysed(RUN), "json").values()
    found = json.loads(data)
    assert found["baseline"] == ["istio-aws", "istio-equinix"]
    assert sorted(
        (c["target"], c["baseline"]) for c in found["contrasts"] if c["primary"]
    ) == sorted(PAIRS)


def test_an_environment_changes_no_id_and_without_one_a_list_of_one_is_one_baseline() -> None:
    renamed = measured("targets.kuma-aws.environment=elsewhere")
    assert {e.id for e in renamed.experiments} == {e.id for e in RUN.experiments}
    alone, listed = (
        load_spec(SPEC, overrides=(f"compare.baseline={names}",)).spec
        for names in ("istio-aws", "[istio-aws]")
    )
    assert alone.compare == listed.compare
    assert {target.title for target in alone.targets} >= {f"Istio ({AWS})", f"Istio ({EQUINIX})"}
