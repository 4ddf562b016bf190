"""docs/writing-templates.md is held against the code: its example renders, its tables name every
field.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from benchspec.reports.figures.figures import Figure
from benchspec.reports.output.markdown import render_page
from benchspec.reports.page.model import (
    Absence,
    CellView,
    ClaimRow,
    Comparison,
    Configuration,
    DescriptiveRow,
    ExcludedTrial,
    FactLine,
    FactRow,
    FactTable,
    FindingRow,
    Item,
    ObservedDifference,
    RawRow,
    Reference,
    ResultRow,
    Statement,
    SweepRow,
    SweepView,
    View,
    WorkloadView,
)
from benchspec.reports.page.view import build_view
from tests.reports.sample_run import make_analysis, make_run

TEXT = (Path(__file__).parents[2] / "docs" / "writing-templates.md").read_text(encoding="utf-8")
DOCUMENTED = set(re.findall(r"`([a-z_0-9]+)`", TEXT))
CONTEXT = (
    View,
    Item,
    Statement,
    WorkloadView,
    SweepView,
    SweepRow,
    CellView,
    ResultRow,
    DescriptiveRow,
    Comparison,
    Reference,
    Figure,
    Configuration,
    FactRow,
    FactLine,
    FactTable,
    ClaimRow,
    FindingRow,
    ObservedDifference,
    Absence,
    ExcludedTrial,
    RawRow,
)


@pytest.mark.parametrize("kind", CONTEXT, ids=lambda kind: kind.__name__)
def test_every_field_a_template_sees_is_documented(kind: type) -> None:
    private = {"svg", "count"}
    assert {field.name for field in fields(kind)} - private <= DOCUMENTED


def test_every_documented_name_exists() -> None:
    known = {field.name for kind in CONTEXT for field in fields(kind)} | {
        "figures",
        "view",
        "code",
        "cell",
        "safe",
    }
    tables = "\n".join(
        line.partition("|")[2].partition("|")[0]
        for line in TEXT.splitlines()
        if line.startswith("| `")
    )
    assert set(re.findall(r"`([a-z_0-9]+)`", tables)) <= known | {
        "better",
        "worse",
        "neutral",
        "void",
    }


def test_the_example_of_the_documentation_renders(tmp_path: Path) -> None:
    example = re.search(r"```jinja\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    template = tmp_path / "page.md.j2"
    template.write_text(example[1])
    run = make_run()
    page = render_page(build_view(run, make_analysis(run)), template).decode()
    assert page.startswith(
        "# Constellation against AKS on Azure\n\n- network&#91;path=pod-to-pod&#93;: On"
        " Constellation the throughput (geometric mean) is 13.03 % lower"
    )
    assert "| AKS | 1.0220 | 1.0167 to 1.0272 |\n| Constellation |" in page
    assert (
        "- Constellation against AKS: −13.03 % (−13.46 % to −12.60 %): lower (worse), outside the 2"
        " % margin" in page
    )
