import pytest

from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.results import Direction, Metric
from benchspec.workloads.shared.measurements import measurements

METRICS = (
    Metric(name="throughput", title="Throughput", unit="bit/s", direction=Direction.HIGHER),
    Metric(name="latency", title="Latency", unit="s", direction=Direction.LOWER),
)


def test_order_and_units_are_the_declared_ones_and_the_unmeasured_drops_out() -> None:
    found = measurements(METRICS, {"latency": 0.0, "throughput": 5.0}, {"stream": "1"})
    assert [(m.series, m.value, m.unit) for m in found] == [
        ("throughput{stream=1}", 5.0, "bit/s"),
        ("latency{stream=1}", 0.0, "s"),
    ]
    assert measurements(METRICS, {"latency": None}) == ()


def test_an_undeclared_metric_is_a_bug() -> None:
    with pytest.raises(KeyError, match="jitter"):
        measurements(METRICS, {"jitter": 1.0})


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_figures_that_are_not_finite_are_no_measurement(value: float) -> None:
    with pytest.raises(ParseError, match="too large to be real for latency"):
        measurements(METRICS, {"latency": value})
