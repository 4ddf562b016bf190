"""Where a process may outlive its run unseen, it is told."""

from __future__ import annotations

import pytest

from benchspec.engine.facts.boundaries import GROUP, KEPT, UNKNOWN, boundary_findings
from benchspec.engine.model.results import Fact, FactSet, FindingLevel


def facts(boundary: str | None, node: str = "") -> FactSet:
    fact = Fact(name="processes.boundary", value=boundary, source="host")
    return FactSet(target="t", site="lab", node=node, when="before", observed_at=0.0, facts=(fact,))


@pytest.mark.parametrize(("node", "host"), [("", "lab"), ("n1", "lab n1")])
def test_a_host_without_control_groups_is_named(node: str, host: str) -> None:
    (finding,) = boundary_findings(facts(KEPT, node))
    assert (finding.code, finding.level, finding.target) == ("F628", FindingLevel.NOTE, "t")
    assert finding.message == f"{host}: {UNKNOWN}"


@pytest.mark.parametrize("boundary", [GROUP, None])
def test_where_all_are_known_or_nobody_looked_nothing_is_told(boundary: str | None) -> None:
    assert list(boundary_findings(facts(boundary))) == []
