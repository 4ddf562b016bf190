"""What fortio's HTTP load runs answer, read into plain figures in base units.

Format: the JSON of ``fortio load -json -``, of ``/fortio/rest/run`` and of saved results, fortio
1.20 to 1.66 (periodic.RunnerResults and fhttp.HTTPRunnerResults). Units differ inside one document:
``ActualDuration`` is in ns, histograms are in s. Tools that write fortio's format differ again:
``Count`` as a string, no percentiles, a duration in s.

A run against a dead target looks like a good one (HTTP 200, the requested rate, tiny latencies);
only its return codes tell. An error is any answer but 2xx, and no answer at all (code -1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...engine.model.errors import ParseError
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, as_sequence, child, only_document, quote
from ...engine.model.text.strict_numbers import decimal, json_count, json_number
from ..shared.go_duration import read_duration

PERCENTILES: Mapping[float, str] = {
    50: "p50",
    75: "p75",
    90: "p90",
    95: "p95",
    99: "p99",
    99.9: "p999",
}
"""The percentiles asked for and read, and how the metrics call them."""

_SHORTEST_NS = 1_000_000
"""No run lasts less than 1 ms: a smaller ``ActualDuration`` is not in ns but in an unknown unit,
and is left out.
"""


def result(data: bytes) -> Mapping[str, Json]:
    """The result document in ``data``.

    Raises:
        ParseError: no JSON, an error answer, or JSON that is no load result (a status, another
            tool's).
    """
    document = only_document(data, "fortio")
    if not isinstance(document, Mapping):
        raise ParseError(
            "found a JSON list, expected one fortio result", remedy="hand over one result per file"
        )
    if document.get("error"):
        message = ": ".join(
            str(document[key]) for key in ("message", "exception") if document.get(key)
        )
        raise ParseError(
            f"fortio refused or aborted the run: {quote(message.encode('utf-8', 'replace'))}"
        )
    if "DurationHistogram" not in document or json_number(document.get("ActualQPS")) is None:
        keys = ", ".join(sorted(document)[:8]) or "nothing"
        raise ParseError(
            f"found JSON with {keys}, expected a fortio result with ActualQPS and DurationHistogram"
        )
    return document


def figures(document: Mapping[str, Json]) -> dict[str, float | None]:
    """Metric values in base units; None is "not measured".

    Raises:
        ParseError: no request was made, or error counts that cannot be.
    """
    histogram = child(document, "DurationHistogram")
    samples = json_count(histogram.get("Count"))
    if not samples:
        raise ParseError(
            f"found {samples if samples == 0 else 'no'} requests in fortio's result, expected at"
            " least one"
        )
    actual = json_number(document.get("ActualQPS"))
    requested = requested_qps(document)
    paced = (
        actual is not None and requested is not None and math.isfinite(requested) and requested > 0
    )
    return {
        "throughput": actual,
        "achieved.ratio": (
            actual / requested if paced and actual is not None and requested is not None else None
        ),
        "error.ratio": _error_ratio(document, samples),
        "samples": float(samples),
        "duration": actual_duration(document),
        **_latencies(histogram),
    }


def _latencies(histogram: Mapping[str, Json]) -> dict[str, float | None]:
    """Latencies of all answers, failed ones included; percentiles are fortio's, interpolated inside
    its buckets.
    """
    named = {
        "Avg": "latency.mean",
        "Min": "latency.min",
        "Max": "latency.max",
        "StdDev": "latency.stddev",
    }
    found = {
        metric: _non_negative(json_number(histogram.get(key))) for key, metric in named.items()
    }
    for entry in as_sequence(histogram.get("Percentiles")):
        pair = as_mapping(entry)
        percentile = json_number(pair.get("Percentile"))
        if percentile is not None and percentile in PERCENTILES:
            found[f"latency.{PERCENTILES[percentile]}"] = _non_negative(
                json_number(pair.get("Value"))
            )
    return found


def _non_negative(value: float | None) -> float | None:
    return value if value is not None and value >= 0 else None


def _error_ratio(document: Mapping[str, Json], samples: int) -> float | None:
    """The greater of what fortio counts as errors (since 1.28; it lets 418 pass) and what its
    return codes say; None without either.
    """
    counted = json_count(child(document, "ErrorsDurationHistogram").get("Count"))
    ratios = [
        ratio
        for ratio in (None if counted is None else counted / samples, _code_ratio(document))
        if ratio is not None
    ]
    if any(ratio > 1 for ratio in ratios):
        raise ParseError(f"found {counted} errors among {samples} requests in fortio's result")
    return max(ratios, default=None)


def _code_ratio(document: Mapping[str, Json]) -> float | None:
    """The share of return codes that are not 2xx; None when there are none, or names instead of
    numbers (gRPC).
    """
    codes = child(document, "RetCodes")
    counts = {code: json_count(count) for code, count in codes.items()}
    total = sum(count for count in counts.values() if count is not None)
    if not total or None in counts.values() or any(decimal(code) is None for code in codes):
        return None
    failed = sum(
        count
        for code, count in counts.items()
        if count is not None and not 200 <= (decimal(code) or 0) < 300
    )
    return failed / total


def actual_duration(document: Mapping[str, Json]) -> float | None:
    """How long the run really lasted, in s; None when it is not said in ns."""
    nanoseconds = json_number(document.get("ActualDuration"))
    return nanoseconds / 1e9 if nanoseconds is not None and nanoseconds >= _SHORTEST_NS else None


def requested_qps(document: Mapping[str, Json]) -> float | None:
    """The rate the run was asked for, in 1/s: infinite for ``max``, None when it is not said.
    fortio writes a string, others a number.
    """
    said = document.get("RequestedQPS")
    if isinstance(said, str):
        return math.inf if said == "max" else decimal(said)
    return json_number(said)


def requested_duration(document: Mapping[str, Json]) -> float | None:
    """The length the run was asked for, in s; None for "exactly 20 calls" and when it is not
    said.
    """
    said = document.get("RequestedDuration")
    return read_duration(said) if isinstance(said, str) else None
