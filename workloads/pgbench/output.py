"""What pgbench prints at its end, read into plain figures in base units. Format: PostgreSQL 12 to
17, pgbench.c (``printResults``).

Times are in ms. A whole report says the rate on its last line, or, with latencies per statement,
before those. ``number of transactions actually processed`` counts neither failed nor skipped ones;
before PostgreSQL 15 none could fail and be counted.
"""

from __future__ import annotations

import re

from ...engine.model.errors import ParseError
from ...engine.model.text.json_output import quote
from ...engine.model.text.strict_numbers import decimal

_LINE = re.compile(r"^(?P<name>[a-z][a-z ]*?)(?: = |: )(?P<words>.*)$")
_MILLISECONDS = re.compile(r"^(\S+) ms$")
_COUNT = re.compile(r"^(\d{1,15})(?:/\d{1,15})?(?: \(\S+%\))?$", re.ASCII)
_RATE = re.compile(r"^tps = (\S+) \((?P<what>[a-z ]+)\)$", re.MULTILINE)
_RATES = (
    "without initial connection time",
    "including reconnection times",
    "excluding connections establishing",
)
"""How the rate that counts is described: since PostgreSQL 14, with a connection per transaction,
and before 14.
"""
_LATE = re.compile(
    r"^number of transactions above the \S+ ms latency limit: (\d{1,15})/(\d{1,15}) ", re.MULTILINE
)
_LAG = re.compile(r"^rate limit schedule lag: avg (\S+) \(max (\S+)\) ms$", re.MULTILINE)


def figures(text: str) -> dict[str, float | None]:
    """Metric values of one run in base units; None is "not measured".

    Raises:
        ParseError: no report, several, one that was cut, or one without transactions.
    """
    rate = _rate(text)
    said = {
        found["name"]: found["words"]
        for line in text.splitlines()
        if (found := _LINE.fullmatch(line)) is not None
    }
    done = _count(said, "number of transactions actually processed")
    if not done or not rate:
        raise ParseError(f"found no transaction in {quote(text.encode())}, expected at least one")
    lost = (_count(said, "number of failed transactions") or 0) + (
        _count(said, "number of transactions skipped") or 0
    )
    late, lag = _LATE.search(text), _LAG.search(text)
    return {
        "throughput": rate,
        "latency.mean": _seconds(said.get("latency average")),
        "latency.stddev": _seconds(said.get("latency stddev")),
        "connection.initial": _seconds(said.get("initial connection time")),
        "connection.mean": _seconds(said.get("average connection time")),
        "lag.mean": _milliseconds(lag[1]) if lag else None,
        "lag.max": _milliseconds(lag[2]) if lag else None,
        "late.ratio": _ratio(late[1], late[2]) if late else None,
        "error.ratio": lost / (done + lost),
        "samples": float(done),
        "duration": done / rate,
    }


def _rate(text: str) -> float:
    found = _RATE.findall(text)
    counted = [word for word, what in found if what in _RATES]
    end = text.endswith("\n") or _RATE.search(text.rpartition("\n")[2]) is not None
    if len(counted) != 1 or len(found) > 2 or not end:
        said = "a report that was cut" if not end and text else f"{len(counted)} results"
        raise ParseError(f"found {said}, expected one of pgbench: {quote(text.encode())}")
    value = decimal(counted[0])
    if value is None or value < 0:
        raise ParseError(f"found a rate of {quote(counted[0].encode())}, expected a number")
    return value


def _count(said: dict[str, str], name: str) -> int | None:
    if name not in said:
        return None
    found = _COUNT.fullmatch(said[name])
    if found is None:
        raise ParseError(f"found {quote(said[name].encode())} as the {name}, expected a count")
    return int(found[1])


def _seconds(words: str | None) -> float | None:
    found = _MILLISECONDS.fullmatch(words) if words is not None else None
    return _milliseconds(found[1]) if found else None


def _milliseconds(word: str) -> float | None:
    """In s. 0.000 is less than the print can show, and no measurement."""
    value = decimal(word)
    return value / 1e3 if value is not None and value > 0 else None


def _ratio(part: str, whole: str) -> float | None:
    return int(part) / int(whole) if 0 < int(whole) >= int(part) else None
