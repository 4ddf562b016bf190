"""Everything that is replaced in golden files, by name. What is not listed here is held byte for
byte.

A run on another machine, at another time or under another load differs in these places alone. Where
a place is in a text a pattern finds it, where it is in JSON the name of the field does. Nothing is
replaced in the golden pages of the run directories in tests/data/old-runs: what they say of facts,
load and measured values is held by those.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

HOST_FINDINGS = ("F102", "F103", "F104", "F520", "F521")
"""Findings about the host on which the goldens are compared: a fact that changed meanwhile, its
settings, its clock. They are left out.
"""

LONG_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
CLOSE = 1e-8
"""Computed numbers that are written with nine significant digits or more may differ by this share:
their last digits depend on the processor and on the version of numpy. They are kept as they are,
and compared by :func:`is_same`.
"""

HOST_GATES = ("max_steal",)
"""Gates on the load of the host. They are left out: a trial shorter than a tick of the clock has
none.
"""

OWN_FILES = ("monitor.json", "trial.json")
"""Raw files that hold times and the load of the host: their sizes and sums are replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One replacement in texts: what ``pattern`` matches becomes ``text``; ``why`` says what
    differs there.
    """

    text: str
    pattern: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One replacement in JSON: the value of each field called one of ``names`` becomes ``text``;
    ``inside`` limits it to records of these types.
    """

    text: str
    names: tuple[str, ...]
    why: str
    inside: tuple[str, ...] = ()


_CODES = "|".join(HOST_FINDINGS)

PATTERNS: Sequence[Pattern] = (
    Pattern(
        text="<stamp>",
        pattern=r"\d{8}-\d{6}-[0-9a-f]{6}",
        why="the time and the random part of a run id",
    ),
    Pattern(
        text="<stamp>",
        pattern=r"(?<=-)\d{8}-\d{6}\b",
        why="the time in the name of a directory in runs/",
    ),
    Pattern(
        text=r"\g<1>--help' for help",
        pattern=r"(Try 'benchspec [a-z-]* ?)-h' for help",
        why="which of two options click 8.1 names",
    ),
    Pattern(
        text="<time>", pattern=r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", why="when it was measured"
    ),
    Pattern(
        text=", <date></p>",
        pattern=r", \d{4}-\d\d-\d\d</p>",
        why="the day on which it was measured, at the top of the HTML page",
    ),
    Pattern(
        text=r"\g<1><seconds> s)",
        pattern=r"(\((?:[a-z]+ \d+, )?)\d+\.\d s\)",
        why="how long a trial or a step took",
    ),
    Pattern(
        text=r"\g<1><time> left]",
        pattern=r"(\[\d+/\d+, )[^\]]+ left\]",
        why="how long a run is expected to go on",
    ),
    Pattern(
        text=r"\g<1><seconds>",
        pattern=r"(min_duration: observed )[0-9.e-]+",
        why="how long a trial was that a gate refused",
    ),
    Pattern(
        text=r"| `duration` | <measured> |",
        pattern=r"\| `duration` \|.*\|(?= *$)",
        why="the row of times that programs took",
    ),
    Pattern(
        text=r"\g<1><measured></td></tr>",
        pattern=r"(<tr><td><code>duration</code></td>).*</td></tr>",
        why="the same row in HTML",
    ),
    Pattern(
        text="",
        pattern=r"(?s)^## (?:Load on the nodes|Observed differences, not causes)\n.*?(?=^## )|"
        r"^<h2>(?:Load on the nodes|Observed differences, not causes)</h2>\n.*?(?=^<h2)",
        why=(
            "CPU and memory in use, which a trial shorter than a tick of the clock does not even"
            " have"
        ),
    ),
    Pattern(
        text=r"\g<1><facts>\n\n\g<2>",
        pattern=r"(?s)(\n## Configuration\n\n.*?\n\n).*?(?=\n## )()",
        why="the facts of this machine",
    ),
    Pattern(
        text=r"\g<1><facts>\n\n",
        pattern=r"(?s)(<h2>Configuration</h2>\n<p>.*?</p>\n).*?(?=<h2)",
        why="the same in HTML",
    ),
    Pattern(
        text="",
        pattern=(
            rf"^\| (?:{_CODES}) \|.*\n|^<tr><td>(?:{_CODES})</td>.*\n|^\[(?:{_CODES})\] .*\n|^-"
            rf" (?:{_CODES}) .*\n"
        ),
        why="findings about this host",
    ),
    Pattern(
        text="<summary><number> findings</summary>",
        pattern=r"<summary>\d+ findings?</summary>",
        why="how many there are with them",
    ),
    Pattern(
        text="",
        pattern=r"<details><summary><number> findings</summary>\n\n\n</details>\n\n",
        why="where they would be, when there are no others",
    ),
    Pattern(
        text="",
        pattern=rf"^(?:- |<li>).*\((?:{_CODES})\).*\n",
        why="findings about this host, at the top of the page",
    ),
    Pattern(
        text="",
        pattern=r"Before you rely on this, see the \[findings\]\(#findings\):\n\n(?!- )|"
        r"<p>Before you rely on this, see the <a"
        r" href=\"#findings\">findings</a>:</p>\n<ul>\n</ul>\n",
        why="the line above them, when there are no others",
    ),
    Pattern(
        text="None.\n",
        pattern=r"\| Code \| Level \| About \| Finding \|\n\|[-|]+\n(?!\|)",
        why="the table of findings, when there are no others",
    ),
    Pattern(
        text="<p>None.</p>\n",
        pattern=(
            r"<div"
            r' class="scroll"><table>\n<tr><th>Code</th><th>Level</th><th>About</th><th>Finding</th></tr>\n</table></div>\n'
        ),
        why="the same in HTML",
    ),
    Pattern(
        text=r"| Software: python | <version> |",
        pattern=r"\| Software: python \| [^|]+ \|",
        why="the version of Python",
    ),
    Pattern(
        text=r"\g<1><version></td>",
        pattern=r"(<th>Software: python</th><td>)[^<]+</td>",
        why="the same in HTML",
    ),
    Pattern(
        text=r"\n\n",
        pattern=r"\n{3,}",
        why="empty lines that sections leave which are not there: several are as one",
    ),
)
"""Replacements in every text, in this order."""

FIELDS: Sequence[Field] = (
    Field(
        text="<sum>",
        names=("sum", "manifest", "plan.json"),
        why=(
            "the sum of a journal record, of the manifest, and of the plan, which holds computed"
            " numbers"
        ),
    ),
    Field(
        text="<time>",
        names=("at", "mono", "time", "observed_at", "started_at", "created_at"),
        why="when it happened",
    ),
    Field(text="<boot>", names=("boot",), why="the boot of this machine"),
    Field(text="<seconds>", names=("duration_s",), why="how long it took"),
    Field(text="<load>", names=("usage",), why="CPU, memory and network in use"),
    Field(text="<facts>", names=("facts",), why="the facts of this machine"),
    Field(text="<machine>", names=("identity",), why="the machine id"),
    Field(text="<version>", names=("version",), inside=("tools",), why="the version of a tool"),
    Field(text="<path>", names=("path",), inside=("tools",), why="where a tool is installed"),
    Field(text="<version>", names=("python",), why="the version of Python"),
    Field(
        text="<facts>",
        names=("configurations", "environment"),
        why="the facts of this machine, in the exported JSON",
    ),
)
"""Replacements in journals, manifests, exported JSON and JSON lines, at any depth. Texts in them
are replaced as texts are.
"""


def is_same(kept: bytes, found: bytes) -> bool:
    """Whether two files are the same to the byte, but for the last digits of long numbers."""
    if kept == found:
        return True
    before, after = (
        kept.decode("utf-8", "backslashreplace"),
        found.decode("utf-8", "backslashreplace"),
    )
    numbers = list(zip(LONG_NUMBER.findall(before), LONG_NUMBER.findall(after), strict=False))
    return LONG_NUMBER.sub("#", before) == LONG_NUMBER.sub("#", after) and all(
        _is_close(*pair) for pair in numbers
    )


def _is_close(kept: str, found: str) -> bool:
    digits = (len(re.sub(r"e.*|[^0-9]", "", text).lstrip("0")) for text in (kept, found))
    return kept == found or (
        min(digits) >= 9 and math.isclose(float(kept), float(found), rel_tol=CLOSE)
    )


class Replacer:
    """Replaces in the files of one run; ``folder`` is where it was made, the values of ``measured``
    metrics are measured for real (``*``: all).
    """

    def __init__(self, folder: Path, measured: Sequence[str] = ("duration",)) -> None:
        self._folder = folder
        self._measured = measured

    def text(self, text: str) -> str:
        """A text with everything replaced that is listed."""
        found = text.replace(str(self._folder), "<folder>")
        for each in PATTERNS:
            found = re.sub(each.pattern, each.text, found, flags=re.MULTILINE)
        return found

    def printed(self, text: str) -> str:
        """What a command printed; a JSON document, and lines that are JSON objects, are replaced as
        such.
        """
        if text.startswith(("{\n", "[\n")):
            return json.dumps(self.json(json.loads(text)), ensure_ascii=False, indent=2) + "\n"
        return "".join(self._line(line) for line in text.splitlines(keepends=True))

    def _line(self, line: str) -> str:
        if line.startswith('{"event":'):
            event = json.loads(line)
            return (
                ""
                if _is_host_finding(event)
                else json.dumps(self.json(event), ensure_ascii=False) + "\n"
            )
        return self.text(line)

    def journal(self, data: bytes) -> bytes:
        """A journal, one record a line, keys as they are; findings about this host are left out,
        and so are the numbers that they take.
        """
        records = [json.loads(line) for line in data.decode().splitlines()]
        kept = [record for record in records if record["data"].get("code") not in HOST_FINDINGS]
        lines = [
            json.dumps(self.json(record | {"n": n}, record["type"]), ensure_ascii=False)
            for n, record in enumerate(kept, 1)
        ]
        return ("\n".join(lines) + "\n").encode()

    def document(self, data: bytes) -> bytes:
        """A JSON document, indented."""
        return (
            json.dumps(self.json(json.loads(data)), ensure_ascii=False, indent=1) + "\n"
        ).encode()

    def csv(self, data: bytes) -> bytes:
        """The table of values: those that are measured for real are replaced."""
        return "".join(map(self._row, data.decode().splitlines(keepends=True))).encode()

    def _row(self, row: str) -> str:
        columns = row.split(",")
        if self._is_measured(columns[6]) and columns[8] != "value":
            columns[8] = "<measured>"
        return ",".join(columns)

    def json(self, value: Json, kind: str = "") -> Json:
        """A JSON value with everything replaced that is listed; ``kind`` is the type of the journal
        record that it is in.
        """
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(item, kind) for item in value if not _is_host_finding(item)]
            case dict():
                kept = _without_host_gates(value, exported=not kind)
                return self._special(kept) or {
                    name: self._field(name, item, kind) for name, item in kept.items()
                }
        return value

    def _field(self, name: str, value: Json, kind: str) -> Json:
        named = next(
            (
                field.text
                for field in FIELDS
                if name in field.names and (not field.inside or kind in field.inside)
            ),
            None,
        )
        return self.json(value, kind) if named is None else named

    def _special(self, value: Mapping[str, Json]) -> dict[str, Json] | None:
        """Objects of which some are replaced, by what they are about."""
        for is_such, replace in self._specials():
            if is_such(value):
                return replace(value)
        return None

    def _specials(
        self,
    ) -> Sequence[
        tuple[Callable[[Mapping[str, Json]], bool], Callable[[Mapping[str, Json]], dict[str, Json]]]
    ]:
        return (
            (_is_own_file, lambda value: {**value, "size": "<size>", "sha256": "<sum>"}),
            (_is_gate_on_time, lambda value: {**value, "observed": "<seconds>"}),
            (self._is_measurement, lambda value: {**value, "value": "<measured>"}),
            (self._is_measured_file, lambda value: {**value, "size": "<size>", "sha256": "<sum>"}),
            (
                self._is_analysed,
                lambda value: {
                    "cell": value["cell"],
                    "series": value["series"],
                    "values": "<measured>",
                },
            ),
        )

    def _is_measured(self, metric: Json) -> bool:
        return metric in self._measured or "*" in self._measured

    def _is_measurement(self, value: Mapping[str, Json]) -> bool:
        return {"metric", "value", "unit"} <= value.keys() and self._is_measured(value["metric"])

    def _is_measured_file(self, value: Mapping[str, Json]) -> bool:
        return {"path", "size", "sha256"} <= value.keys() and "*" in self._measured

    def _is_analysed(self, value: Mapping[str, Json]) -> bool:
        return {"cell", "series"} <= value.keys() and self._is_measured(
            str(value["series"]).partition("{")[0]
        )


def _is_host_finding(item: Json) -> bool:
    return isinstance(item, dict) and item.get("code") in HOST_FINDINGS


def _without_host_gates(value: Mapping[str, Json], *, exported: bool) -> dict[str, Json]:
    """An object without gates on this host's load; a record of the journal has no field ``gates``
    then, as one has for which none was judged.
    """
    gates = value.get("gates")
    if not isinstance(gates, list):
        return dict(value)
    left: list[Json] = [
        gate for gate in gates if not (isinstance(gate, dict) and gate.get("name") in HOST_GATES)
    ]
    if not left and gates and not exported:
        return {name: item for name, item in value.items() if name != "gates"}
    return {**value, "gates": left}


def _is_own_file(value: Mapping[str, Json]) -> bool:
    return {"path", "size", "sha256"} <= value.keys() and Path(str(value["path"])).name in OWN_FILES


def _is_gate_on_time(value: Mapping[str, Json]) -> bool:
    return value.get("name") == "min_duration" and "observed" in value
