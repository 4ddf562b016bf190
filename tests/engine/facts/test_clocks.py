"""A clock is off where its offset is larger than what its measurement leaves open."""

from __future__ import annotations

import pytest

from benchspec.engine.facts.clocks import TOLERATED_S, clock_finding
from benchspec.engine.model.results import Fact, FactSet
from benchspec.engine.model.spec import Json


def facts(**values: Json) -> FactSet:
    return FactSet(
        target="metal",
        site="lab",
        node="n1",
        when="before",
        observed_at=0.0,
        facts=tuple(
            Fact(name=f"clock.{name}", value=value, source="clock")
            for name, value in values.items()
        ),
    )


@pytest.mark.parametrize(("offset", "word"), [(0.5, "ahead of"), (-0.5, "behind")])
def test_a_clock_that_is_off_is_told_with_its_direction(offset: float, word: str) -> None:
    finding = clock_finding(facts(offset=offset, offset_bound=0.002))
    assert finding is not None
    assert (finding.code, finding.target) == ("F521", "metal")
    assert f"clock of lab n1 is 500 ms {word} the controller's" in finding.message
    assert "known to within 2.0 ms" in finding.message


def test_the_bound_of_the_measurement_counts_for_the_clock() -> None:
    off = 1.0 + TOLERATED_S
    assert clock_finding(facts(offset=off, offset_bound=0.99)) is not None
    assert clock_finding(facts(offset=off, offset_bound=1.01)) is None


@pytest.mark.parametrize("values", [{}, {"offset": 9.0}, {"offset": True, "offset_bound": 0.0}])
def test_a_clock_that_was_not_measured_is_not_off(values: dict[str, Json]) -> None:
    assert clock_finding(facts(**values)) is None
