"""vegeta's ``report -type=json``: HTTP requests at a rate. Format: github.com/tsenart/vegeta,
``lib/metrics.go``: times in ns, rates in 1/s.

Its ``success`` counts redirects; here only 2xx is success, as for vault-benchmark, which prints the
same figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...workloads.shared.latencies import latency_metrics
from ...workloads.shared.measurements import measurements
from ...workloads.vault_benchmark import output
from ..model.errors import ParseError
from ..model.results import Direction, Measurement, Metric, Statistic
from ..model.text.json_output import as_mapping, only_document

NAME = "vegeta"
METRICS: Sequence[Metric] = (
    Metric(name="throughput", title="Successes per second", unit="1/s", direction=Direction.HIGHER),
    Metric(name="rate", title="Requests per second", unit="1/s", direction=Direction.HIGHER),
    *latency_metrics("mean", "p50", "p90", "p95", "p99", "max", "min"),
    Metric(
        name="error.ratio",
        title="Share of requests without a 2xx answer",
        unit="ratio",
        direction=Direction.LOWER,
        statistic=Statistic.ARITHMETIC_MEAN,
    ),
    Metric(name="samples", title="Requests", unit="1", direction=Direction.NEITHER),
    Metric(name="duration", title="Measured time", unit="s", direction=Direction.NEITHER),
)
DEFAULT_GATES = {"max_error_ratio": 0.0}


def parse(data: bytes) -> Sequence[Measurement]:
    """Measurements of one attack. Raises ParseError: no report of vegeta, or one of no request."""
    document = as_mapping(only_document(data, NAME))
    if "latencies" not in document or not document.get("requests"):
        raise ParseError("found no requests, expected what `vegeta report -type=json` prints")
    return measurements(METRICS, output.figures(document))
