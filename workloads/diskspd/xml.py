"""diskspd's XML report.

``Results/TimeSpan`` has ``TestTimeSeconds``, ``CpuUtilization/Average``, with ``-L`` a ``Latency``
block, and per ``Thread`` and ``Target`` counts of bytes and I/Os: no rates, they are counts over
time. A document whose root is ``Profile`` is input, not a result.

The document is read by expat; a document type, and with it every entity, is refused before it is
parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree

from ...engine.model.errors import ParseError
from ...engine.model.text.strict_numbers import decimal
from . import figures as spans
from .figures import Figures

_COUNTS: Mapping[str, tuple[str, str]] = {
    "total": ("IOCount", "BytesCount"),
    "read": ("ReadCount", "ReadBytes"),
    "write": ("WriteCount", "WriteBytes"),
}
_MEANS: Mapping[str, Mapping[str, str]] = {
    "total": {"mean": "AverageTotalMilliseconds", "stddev": "LatencyStdev"},
    "read": {"mean": "AverageReadMilliseconds", "stddev": "ReadLatencyStdev"},
    "write": {"mean": "AverageWriteMilliseconds", "stddev": "WriteLatencyStdev"},
}
_BUCKETS: Mapping[str, str] = {
    "total": "TotalMilliseconds",
    "read": "ReadMilliseconds",
    "write": "WriteMilliseconds",
}
_PERCENTILES: Mapping[float, str] = {
    0: "min",
    25: "p25",
    50: "p50",
    75: "p75",
    90: "p90",
    95: "p95",
    99: "p99",
    99.9: "p999",
    99.99: "p9999",
    99.999: "p99999",
    100: "max",
}
_DECLARATION = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ROOT = re.compile(r"<(Results|Profile)[\s>]")


def is_report(text: str) -> bool:
    """Whether ``text`` has a diskspd document, a result or not."""
    return _ROOT.search(text) is not None


def timespans(text: str) -> list[Figures]:
    """The figures of every timespan, in order; what is printed around the document is skipped.

    Raises:
        ParseError: not a result, cut or malformed, with a document type, or a timespan without
            counts.
    """
    if _DECLARATION.search(text):
        raise ParseError(
            "found a document type in diskspd's XML, which diskspd never writes: it is refused"
        )
    root = _root(text)
    found = [_timespan(element) for element in root.findall("TimeSpan")]
    if not found:
        raise ParseError("found no TimeSpan in diskspd's XML; the test did not run")
    return found


def _root(text: str) -> ElementTree.Element:
    start = _ROOT.search(text)
    if start is None or start[1] != "Results":
        raise ParseError("found a Profile, which is diskspd's input, expected its Results")
    end = text.rfind("</Results>")
    try:
        return ElementTree.fromstring(
            text[start.start() : end + len("</Results>")] if end > 0 else text[start.start() :]
        )
    except (ElementTree.ParseError, ValueError) as error:
        raise ParseError(f"diskspd's XML is cut or malformed: {error}") from error


def _timespan(element: ElementTree.Element) -> Figures:
    test_time = _number(element, "TestTimeSeconds")
    if test_time is None:
        raise ParseError(
            "found no TestTimeSeconds in a TimeSpan of diskspd's XML, expected a number"
        )
    counts = {
        direction: (_sum(element, ios), _sum(element, size))
        for direction, (ios, size) in _COUNTS.items()
    }
    total = counts["total"][0]
    spans.check_done(total, test_time)
    done = {direction: pair for direction, pair in counts.items() if pair[0] > 0}
    return spans.merged(
        [
            {"duration": test_time, "samples": total},
            *(
                spans.operations(direction, ios / test_time, size / test_time)
                for direction, (ios, size) in done.items()
            ),
            *(_latencies(element, direction) for direction in done),
            spans.cpu(
                *(
                    _number(element, f"CpuUtilization/Average/{name}Percent")
                    for name in ("Usage", "User", "Kernel")
                )
            ),
        ]
    )


def _number(element: ElementTree.Element, path: str) -> float | None:
    return decimal(element.findtext(path) or "")


def _sum(element: ElementTree.Element, name: str) -> float:
    """The sum of a count over all threads and targets. Raises ParseError for one that is no
    count.
    """
    values = [decimal(found.text or "") for found in element.findall(f"Thread/Target/{name}")]
    known = [value for value in values if value is not None and value >= 0]
    if len(known) < len(values):
        raise ParseError(f"found {name} that is no number in diskspd's XML")
    return sum(known)


def _latencies(element: ElementTree.Element, direction: str) -> Figures:
    means = (
        spans.latency(direction, statistic, _number(element, f"Latency/{name}"))
        for statistic, name in _MEANS[direction].items()
    )
    buckets = (
        (_number(bucket, "Percentile"), _number(bucket, _BUCKETS[direction]))
        for bucket in element.findall("Latency/Bucket")
    )
    percentiles = (
        spans.latency(direction, _PERCENTILES[percentile], value)
        for percentile, value in buckets
        if percentile is not None and percentile in _PERCENTILES
    )
    return spans.merged([*means, *percentiles])
