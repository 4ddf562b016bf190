"""What netperf's omni tests print, read into plain figures in base units.

Format: netperf 2.7 manual, "Omni Output Selection". ``-k`` prints ``KEY=value`` lines, ``-o`` one
line of CSV headers and one of values; a banner comes first unless ``-P 0``; with ``-D`` interim
lines (``NETPERF_INTERIM_RESULT[0]=``) come before the final keys. An unknown selector is left out
silently, and what was not measured reads ``-1``, ``-1.00`` or ``-nan``. Latencies are in us, CPU
figures in % of all CPUs of the host.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from ...engine.model.errors import ParseError
from ...engine.model.text.strict_numbers import decimal

RATE_UNITS: Mapping[str, float] = {
    "10^3bits/s": 1e3,
    "10^6bits/s": 1e6,
    "10^9bits/s": 1e9,
    "KBytes/s": 8 * 2.0**10,
    "MBytes/s": 8 * 2.0**20,
    "GBytes/s": 8 * 2.0**30,
}
"""THROUGHPUT_UNITS that are data rates, in bit/s; netperf's KBytes are 1024 B."""

TRANSACTIONS = "Trans/s"

_TWO_DECIMALS = re.compile(
    r"^(?:(?:LOCAL_SEND_|REMOTE_RECV_)?THROUGHPUT|ELAPSED_TIME|(?:MEAN|STDDEV)_LATENCY"
    r"|(?:LOCAL|REMOTE)_CPU_(?:UTIL|PERCENT_[A-Z]+))=-?\d+\.\d\d$",
    re.ASCII,
)

_LATENCY = ("MIN", "MEAN", "P50", "P90", "P99", "MAX", "STDDEV")
_CPU = {"USER": "user", "SYSTEM": "system", "IOWAIT": "iowait", "IRQ": "irq", "SWINTR": "softirq"}
_SIDES = {"LOCAL": "cpu.local", "REMOTE": "cpu.remote"}


def _cpu_selectors(side: str) -> tuple[str, ...]:
    return (
        f"{side}_CPU_UTIL",
        *(f"{side}_CPU_PERCENT_{part}" for part in _CPU),
        f"{side}_CPU_METHOD",
    )


SELECTORS: tuple[str, ...] = (
    "THROUGHPUT",
    "THROUGHPUT_UNITS",
    "ELAPSED_TIME",
    "PROTOCOL",
    "LOCAL_SEND_THROUGHPUT",
    *(f"{name}_LATENCY" for name in _LATENCY),
    *_cpu_selectors("LOCAL"),
    *_cpu_selectors("REMOTE"),
    "LOCAL_TRANSPORT_RETRANS",
    "REMOTE_TRANSPORT_RETRANS",
    "THROUGHPUT_CONFID",
    "CONFIDENCE_ITERATION",
    "COMMAND_LINE",
)
"""The omni selectors asked for with ``-k``: everything :func:`figures` reads, and the command line
as evidence.
"""

_CSV_HEADERS: Mapping[str, str] = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Protocol": "PROTOCOL",
    "Local Send Throughput": "LOCAL_SEND_THROUGHPUT",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "Throughput Confidence Width (%)": "THROUGHPUT_CONFID",
    "Confidence Iterations Run": "CONFIDENCE_ITERATION",
    **{
        f"{side.title()} CPU {shown}": f"{side}_CPU_{selector}"
        for side in _SIDES
        for shown, selector in {
            "Util %": "UTIL",
            "User %": "PERCENT_USER",
            "System %": "PERCENT_SYSTEM",
            "I/O %": "PERCENT_IOWAIT",
            "IRQ %": "PERCENT_IRQ",
            "swintr %": "PERCENT_SWINTR",
            "Util Method": "METHOD",
        }.items()
    },
}


def fields(text: str) -> dict[str, str]:
    """The final selectors of one netperf process by name, from ``-k`` or ``-o`` output; interim
    results are left out.

    Raises:
        ParseError: no result (an error message, a classic table, nothing), or several.
    """
    tables = sum(_is_header(line) for line in text.splitlines())
    if f"\n{text}".count("\nTHROUGHPUT=") > 1 or tables > 1 or _rows_of_table(text) > 1:
        raise ParseError(
            "found several netperf results in one output, expected one",
            remedy="keep the output of every netperf process apart",
        )
    found = _keyval_fields(text)
    if "THROUGHPUT" not in found:
        found = _csv_fields(text)
    if "THROUGHPUT" not in found:
        raise ParseError(
            f"found no netperf result in {text.strip()[:200]!r}, expected KEY=value lines or CSV"
            " with THROUGHPUT",
            remedy=(
                "run netperf with test-specific -k or -o; classic tables carry no names for their"
                " columns and are not read"
            ),
        )
    return found


def unfinished(text: str) -> str | None:
    """Why the last line is not whole. It ends with a line feed; where that was lost, only a figure
    that netperf prints with two decimals tells its end.
    """
    last = text.splitlines()[-1] if text else ""
    if text.endswith("\n") or _TWO_DECIMALS.search(last):
        return None
    return f"its last line is {last[-80:]!r}"


def _keyval_fields(text: str) -> dict[str, str]:
    pairs = (
        line.partition("=") for line in text.splitlines()
    )  # the first "=" only: COMMAND_LINE is full of them
    return {
        key.strip(): value.strip()
        for key, separator, value in pairs
        if separator and _is_selector(key.strip())
    }


def _is_selector(key: str) -> bool:
    return key.isascii() and key.replace("_", "").isalnum() and key == key.upper()


def _is_header(line: str) -> bool:
    return line.startswith("Throughput,") or ",Throughput," in line


def _rows_of_table(text: str) -> int:
    """How many lines of values a CSV has: netperf leaves the header out with ``-P 0``."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if _is_header(line)), None)
    if start is None:
        return 0
    commas = lines[start].count(",")
    return sum(line.count(",") >= commas > 0 for line in lines[start + 1 :])


def _csv_fields(text: str) -> dict[str, str]:
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if _is_header(line)), None)
    if start is None:
        return {}
    try:
        rows = list(csv.reader(lines[start : start + 2]))
    except csv.Error as error:
        raise ParseError(f"found broken CSV in netperf's output: {error}") from error
    if len(rows) < 2 or len(rows[0]) != len(rows[1]):
        raise ParseError(
            "found a CSV header without a line of as many values, expected netperf -o output of two"
            " lines"
        )
    return {
        _CSV_HEADERS[header.strip()]: value.strip()
        for header, value in zip(*rows, strict=True)
        if header.strip() in _CSV_HEADERS
    }


def figures(found: Mapping[str, str]) -> dict[str, float | None]:
    """Metric values in base units from one process's selectors; None is "not measured".

    Raises:
        ParseError: a throughput that is not a number, or whose unit is missing or unknown.
    """
    return {
        **_rates(found),
        **_latencies(found),
        **_cpu(found, "LOCAL"),
        **_cpu(found, "REMOTE"),
        **_counters(found),
    }


def _measured(found: Mapping[str, str], selector: str) -> float | None:
    """netperf writes -1 or nan for what it did not measure, and none of its figures can be
    negative.
    """
    value = decimal(found.get(selector, ""))
    return value if value is not None and value >= 0 else None


def _divided(value: float | None, divisor: float) -> float | None:
    """Divided, not multiplied by the reciprocal: 25 us is then the very float 2.5e-05."""
    return None if value is None else value / divisor


def _rates(found: Mapping[str, str]) -> dict[str, float | None]:
    value, unit = _measured(found, "THROUGHPUT"), found.get("THROUGHPUT_UNITS")
    if value is None:
        raise ParseError(f"found THROUGHPUT={found.get('THROUGHPUT')!r}, expected a number")
    if unit is None:
        raise ParseError(
            "found THROUGHPUT without THROUGHPUT_UNITS, which says what it means",
            remedy="add THROUGHPUT_UNITS to netperf's -k list",
        )
    if unit == TRANSACTIONS:
        return {"transactions": value}
    if unit not in RATE_UNITS:
        raise ParseError(
            f"found unknown THROUGHPUT_UNITS={unit!r}, expected {TRANSACTIONS} or one of"
            f" {', '.join(RATE_UNITS)}"
        )
    factor = RATE_UNITS[unit]
    sent = _measured(found, "LOCAL_SEND_THROUGHPUT") if _has_sent_rate(found) else None
    return {
        "throughput": value * factor,
        "throughput.sent": None if sent is None else sent * factor,
    }


def _has_sent_rate(found: Mapping[str, str]) -> bool:
    """TCP sends what is received; and after several iterations the sent rate is the last one's,
    while THROUGHPUT is the mean of all.
    """
    return (
        found.get("PROTOCOL", "").upper() == "UDP" and found.get("CONFIDENCE_ITERATION", "1") == "1"
    )


def _latencies(found: Mapping[str, str]) -> dict[str, float | None]:
    return {
        f"latency.{name.lower()}": _divided(_measured(found, f"{name}_LATENCY"), 1e6)
        for name in _LATENCY
    }


def _cpu(found: Mapping[str, str], side: str) -> dict[str, float | None]:
    """The parts read 0.00 when nothing was measured, so they count only beside a measured total."""
    total, prefix = _divided(_measured(found, f"{side}_CPU_UTIL"), 100.0), _SIDES[side]
    if total is None or found.get(f"{side}_CPU_METHOD") == "U":
        return {}
    return {
        prefix: total,
        **{
            f"{prefix}.{name}": _divided(_measured(found, f"{side}_CPU_PERCENT_{part}"), 100.0)
            for part, name in _CPU.items()
        },
    }


def _counters(found: Mapping[str, str]) -> dict[str, float | None]:
    return {
        "duration": _measured(found, "ELAPSED_TIME"),
        "retransmits": _measured(found, "LOCAL_TRANSPORT_RETRANS"),
        "retransmits.remote": _measured(found, "REMOTE_TRANSPORT_RETRANS"),
        "throughput.confidence": _divided(_measured(found, "THROUGHPUT_CONFID"), 100.0),
        "iterations": _measured(found, "CONFIDENCE_ITERATION"),
    }
