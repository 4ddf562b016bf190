"""What vault-benchmark prints with ``report_mode = "json"``, read into plain figures in base units.

Format: one line of JSON per Vault address, ``{"metrics": {"total": {...}, "TEST": {...}},
"target_addr": "..."}``, among log lines where stderr was mixed in; every entry is a vegeta
``Metrics`` (github.com/tsenart/vegeta, lib/metrics.go): times in ns, rates in 1/s.

vegeta's ``success`` and ``throughput`` count 2xx *and 3xx*, so the redirects of a standby look like
work done, and failing fast makes the mean latency better. Here only ``status_codes`` count, and
only 2xx is success.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...engine.model.errors import ParseError
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, child, only_document, quote
from ...engine.model.text.strict_numbers import decimal, json_count, json_number

TOTAL = "total"
"""The entry that holds all tests together."""

_LATENCIES = {
    "mean": "mean",
    "50th": "p50",
    "90th": "p90",
    "95th": "p95",
    "99th": "p99",
    "max": "max",
    "min": "min",
}


def documents(data: bytes) -> list[Mapping[str, Json]]:
    """The result of every Vault address, in the order printed.

    Raises:
        ParseError: there is none, one is cut, or the output is a terse or verbose report (whose
            success ratio counts redirects).
    """
    found = [document for line in data.splitlines() if (document := _document(line)) is not None]
    if found:
        return found
    if b"successRatio" in data or b"Success       [ratio]" in data:
        raise ParseError(
            "found a terse or verbose report of vault-benchmark, whose success ratio counts"
            " redirects as success",
            remedy='run it with report_mode = "json"',
        )
    whole = only_document(data, "vault-benchmark")  # not one per line: pretty-printed, cut, or none
    if not isinstance(whole, Mapping) or "metrics" not in whole:
        raise ParseError(f"found JSON that is no result of vault-benchmark: {quote(data)}")
    return [whole]


def _document(line: bytes) -> Mapping[str, Json] | None:
    """The result on one line, or None for log lines and other text. Raises ParseError for one that
    is cut.
    """
    stripped = line.strip()
    if not stripped.startswith(b'{"metrics"'):
        return None
    try:
        document = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise ParseError(
            f"found a cut or malformed result line of vault-benchmark: {quote(stripped)}"
        ) from error
    return as_mapping(document)


def address(document: Mapping[str, Json]) -> str:
    """The Vault address a result is about."""
    said = document.get("target_addr")
    return said if isinstance(said, str) else ""


def entries(document: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
    """The tests of a result that made requests, by name, ``total`` among them.

    Raises:
        ParseError: no total, or one without a request.
    """
    found = {
        name: as_mapping(entry)
        for name, entry in child(document, "metrics").items()
        if json_count(as_mapping(entry).get("requests"))
    }
    if TOTAL not in found:
        raise ParseError("found no requests in vault-benchmark's total, expected at least one")
    return found


def figures(entry: Mapping[str, Json]) -> dict[str, float | None]:
    """Metric values of one test in base units.

    ``throughput`` is successes over the whole time, ``n(2xx) / (duration + wait)``: vegeta's own
    formula with 2xx alone.

    Raises:
        ParseError: status codes are missing or do not add up to the requests.
    """
    requests, successes = _counts(entry)
    duration, wait = _seconds(entry.get("duration")), _seconds(entry.get("wait"))
    whole = None if duration is None or wait is None else duration + wait
    latencies = child(entry, "latencies")
    return {
        **{f"latency.{metric}": _seconds(latencies.get(key)) for key, metric in _LATENCIES.items()},
        "throughput": successes / whole if whole else None,
        "rate": requests / duration if duration else None,
        "error.ratio": 1.0 - successes / requests,
        "samples": float(requests),
        "duration": duration,
    }


def _counts(entry: Mapping[str, Json]) -> tuple[int, int]:
    """Requests and successes."""
    requests = json_count(entry.get("requests")) or 0
    codes = {code: json_count(count) for code, count in child(entry, "status_codes").items()}
    known = {code: count for code, count in codes.items() if count is not None}
    if not requests or len(known) < len(codes) or sum(known.values()) != requests:
        raise ParseError(
            f"found status codes {dict(codes)} for {requests} requests in vault-benchmark's result,"
            " expected them to add up"
        )
    return requests, sum(count for code, count in known.items() if _is_success(code))


def _is_success(code: str) -> bool:
    number = decimal(code)
    return number is not None and 200 <= number < 300


def _seconds(nanoseconds: Json) -> float | None:
    value = json_number(nanoseconds)
    return value / 1e9 if value is not None and value >= 0 else None
