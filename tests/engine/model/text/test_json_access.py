"""Values of the wanted type are given as they are, all others as none."""

from __future__ import annotations

import pytest

from benchspec.engine.model.spec import Json
from benchspec.engine.model.text import json_access
from benchspec.engine.model.units import Dimension

VALUES: list[Json] = [None, True, 0, 7, 1.5, "", "x", [], ["a"], {}, {"k": 1}]


@pytest.mark.parametrize("value", VALUES)
def test_each_accessor_gives_its_own_type_alone(value: Json) -> None:
    assert json_access.mapping(value) == (value if isinstance(value, dict) else {})
    assert list(json_access.items(value)) == (value if isinstance(value, list) else [])
    assert json_access.text(value) == (value if isinstance(value, str) else "")


def test_a_truth_is_no_number_and_a_fraction_is_not_whole() -> None:
    values: list[Json] = [True, False, 1.0, "7", None, 0, -7]
    found = [json_access.whole(value) for value in values]
    assert found == [None, None, None, None, None, 0, -7]


def test_quantities_are_in_base_units_and_of_the_dimension_that_is_asked_for() -> None:
    assert json_access.quantity("2min", Dimension.TIME) == 120
    assert json_access.quantity("2min", Dimension.BYTES) is None
    assert json_access.quantity("soon", Dimension.TIME) is None
    assert json_access.quantity(["2min"], Dimension.TIME) is None
    assert json_access.any_quantity("4KiB") == (4096, Dimension.BYTES)
    assert json_access.any_quantity("many") is None
    assert json_access.any_quantity(4) is None
