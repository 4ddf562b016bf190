"""k6's summary, read into plain figures in base units. Format: what k6 0.30 to 1.x hands to
``handleSummary``, and ``--summary-export``, whose metrics have no ``values`` of their own.

Times are in ms whatever unit is shown. ``http_req_duration`` is sending, waiting and receiving:
name resolution, connecting and TLS are not in it. A request that got no answer counts with the time
0. Iterations that were dropped are only in it when there are some.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.model.errors import ParseError
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, child, only_document
from ...engine.model.text.strict_numbers import json_number

TRENDS: Mapping[str, str] = {
    "avg": "mean",
    "min": "min",
    "med": "p50",
    "max": "max",
    "p(90)": "p90",
    "p(95)": "p95",
    "p(99)": "p99",
    "p(99.9)": "p999",
}
"""The statistics of times that k6 is asked for, and how the metrics call them."""


def figures(data: bytes) -> dict[str, float | None]:
    """Metric values in base units; None is "not measured".

    Raises:
        ParseError: no summary, or one without an HTTP request.
    """
    document = as_mapping(only_document(data, "k6"))
    metrics = child(document, "metrics")
    requests, iterations = _values(metrics, "http_reqs"), _values(metrics, "iterations")
    samples, rate = _number(requests, "count"), _number(requests, "rate")
    if not samples or not rate:
        raise ParseError("found no HTTP request in k6's summary, expected at least one")
    milliseconds = _number(child(document, "state"), "testRunDurationMs")
    done, dropped = _number(iterations, "count"), _number(_values(metrics, "dropped_iterations"))
    return {
        "throughput": rate,
        "iterations": _number(iterations, "rate"),
        **_latencies(metrics),
        "received": _number(_values(metrics, "data_received"), "rate"),
        "sent": _number(_values(metrics, "data_sent"), "rate"),
        "error.ratio": _share(_values(metrics, "http_req_failed")),
        "checks.ratio": _share(_values(metrics, "checks")),
        "dropped.ratio": dropped / (dropped + done) if dropped and done is not None else None,
        "samples": samples,
        "duration": milliseconds / 1e3 if milliseconds else None,
    }


def _latencies(metrics: Mapping[str, Json]) -> dict[str, float | None]:
    kind = child(metrics, "http_req_duration").get("contains", "time")
    if kind != "time":
        raise ParseError(f"found http_req_duration that contains {kind!r}, expected time")
    values = _values(metrics, "http_req_duration")
    found = {name: _number(values, key) for key, name in TRENDS.items()}
    return {f"latency.{name}": value / 1e3 if value else None for name, value in found.items()}


def _values(metrics: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    metric = child(metrics, name)
    return child(metric, "values") if "values" in metric else metric


def _number(values: Mapping[str, Json], key: str = "count") -> float | None:
    value = json_number(values.get(key))
    return value if value is not None and value >= 0 else None


def _share(values: Mapping[str, Json]) -> float | None:
    """A metric of kind rate: the share of what is true in it."""
    share = _number(values, "rate" if "rate" in values else "value")
    if share is not None and share > 1:
        raise ParseError(f"found a share of {share:g} in k6's summary, expected at most 1")
    return share
