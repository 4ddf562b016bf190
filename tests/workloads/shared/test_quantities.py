import pytest

from benchspec.engine.model.errors import UnitError
from benchspec.engine.model.units import Dimension
from benchspec.workloads.shared.quantities import (
    flag,
    integer,
    quantity,
    seconds,
    text,
    whole_bytes,
    whole_seconds,
)


def test_defaults_apply_to_absent_parameters_only() -> None:
    assert seconds({"d": "1500 ms"}, "d", "10 s") == 1.5
    assert whole_seconds({}, "d", "1 min") == 60
    assert whole_bytes({}, "b", "64 KiB") == 65536
    assert whole_bytes({}, "b") is None
    assert quantity({"r": "500 1/s"}, "r", Dimension.RATE) == 500
    assert (integer({"n": 3}, "n", 1), integer({}, "n", 1)) == (3, 1)
    assert (flag({"f": False}, "f", True), flag({}, "f", True)) == (False, True)
    assert (text({"t": "x"}, "t"), text({}, "t", "y"), text({"t": 1}, "t", "y")) == ("x", "y", "y")


def test_values_the_tools_would_round_are_refused() -> None:
    with pytest.raises(UnitError, match="expected whole seconds"):
        whole_seconds({"d": "1500 ms"}, "d", "10 s")
    with pytest.raises(UnitError, match="expected whole bytes"):
        whole_bytes({"b": "0.3 B"}, "b")


def test_other_dimensions_and_values_are_refused() -> None:
    with pytest.raises(UnitError):
        seconds({"d": "10 MiB"}, "d", "10 s")
    with pytest.raises(UnitError, match="expected a quantity"):
        quantity({"d": ["10 s"]}, "d", Dimension.TIME)
