"""What is told of how a host was entered."""

from __future__ import annotations

from benchspec.engine.facts.logins import NOBODY, entry_findings
from benchspec.engine.model.results import Fact, FactSet, FindingLevel


def facts(node: str = "", **values: str) -> FactSet:
    return FactSet(
        target="vm",
        site="lab",
        node=node,
        when="before",
        observed_at=0.0,
        facts=tuple(
            Fact(name=f"ssh.{name}", value=value, source="ssh") for name, value in values.items()
        ),
    )


def test_a_key_that_nobody_vouches_for_is_a_warning_with_the_key() -> None:
    (finding,) = entry_findings(facts("n1", trust=NOBODY, host_key="SHA256:abc"))
    assert (finding.code, finding.level, finding.target) == ("F626", FindingLevel.WARNING, "vm")
    assert "lab n1 was taken on faith: SHA256:abc" in finding.message


def test_a_host_that_prints_is_a_note_with_what_it_prints() -> None:
    (finding,) = entry_findings(facts(trust="known_hosts", greeting="Welcome"))
    assert (finding.code, finding.level) == ("F627", FindingLevel.NOTE)
    assert finding.message.startswith("lab prints before")
    assert finding.message.endswith("Welcome")


def test_both_are_told_and_a_silent_known_host_is_nothing_to_tell() -> None:
    both = entry_findings(facts(trust=NOBODY, host_key="k", greeting="hi"))
    assert [finding.code for finding in both] == ["F626", "F627"]
    assert list(entry_findings(facts(trust="known_hosts", host_key="k"))) == []
