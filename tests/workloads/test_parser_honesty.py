"""Whatever bytes fio, iperf3, openssl and plain programs leave behind: a parser raises ParseError or measures, and never makes a 0 of nothing."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.errors import ParseError
from benchspec.engine.ports import Completed, Workload
from benchspec.engine.spec import Json
from benchspec.workloads import command, fio, iperf3, openssl_speed
from tests.workloads.tool_goldens import by_series, completed, goldens

TOOLS: dict[str, Workload] = {"fio": fio, "iperf3": iperf3, "openssl-speed": openssl_speed, "command": command}
OUTPUTS = {tool: sorted({raw for case in goldens(tool) for raw in (*case.outputs, case.stderr) if raw}) for tool in TOOLS}
RULES: dict[str, Json] = {
    "number": {"regex": r"([0-9.]+)", "aggregate": "last"},
    "path": {"jsonpath": "$.jobs[*].read.iops", "optional": True, "aggregate": "mean"},
    "column": {"csv": {"column": "qps", "delimiter": ";"}, "optional": True, "aggregate": "sum"},
}
PARAMETERS: dict[str, dict[str, Json]] = {tool: {} for tool in TOOLS} | {"command": {"run": ["x"], "extract": RULES}}
SPLICES = [
    *(b"nan", b"-nan", b"-1", b"1e999", b"9" * 400, b"1_0", b"null", b"true", b"[]"),
    *(b'"', b"{", b"}", b"\n{", b"\n[{", b":", b"k", b"\xff", b"\x00"),
]


def check(tool: str, raw: bytes, stderr: bytes = b"") -> dict[str, float]:
    try:
        found = TOOLS[tool].parse([completed(raw, stderr=stderr)], PARAMETERS[tool])
    except ParseError:
        return {}
    declared = (*TOOLS[tool].metrics(PARAMETERS[tool]), *getattr(TOOLS[tool], "GATE_INPUTS", ()))
    units = {metric.name: metric.unit for metric in declared}
    assert found, "no measurement and no reason"
    assert all(math.isfinite(m.value) and m.value >= 0 and m.unit == units[m.metric] for m in found)
    return by_series(found)


@pytest.mark.parametrize("tool", TOOLS)
@given(raw=st.binary(max_size=300), stderr=st.binary(max_size=100))
@settings(max_examples=60, deadline=None)
def test_any_bytes(tool: str, raw: bytes, stderr: bytes) -> None:
    check(tool, raw, stderr)


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_cut_anywhere(tool: str, data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(OUTPUTS[tool]))
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(raw)), st.integers(0, len(raw)))))
    check(tool, raw[:start] + raw[end:])
    check(tool, raw[:end])


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_bytes_replaced(tool: str, data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(OUTPUTS[tool]))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(raw)))
        raw = raw[:position] + data.draw(st.sampled_from(SPLICES)) + raw[position + data.draw(st.integers(0, 12)) :]
    check(tool, raw)


@pytest.mark.parametrize("tool", ["fio", "iperf3"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_document_is_never_measured(tool: str, share: float) -> None:
    """Not even when a whole document (an interim report) comes before the cut one."""
    cut = [case for case in goldens(tool) if case.measurements]
    assert len(cut) >= 10
    for case in cut:
        raw = case.outputs[0].rstrip()
        opening, closing = raw.rindex(b"\n{") if b"\n{" in raw else 0, raw.rindex(b"}")
        assert check(tool, raw[: opening + max(2, int((closing - opening) * share))]) == {}


def leaves(document: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items: Any = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from leaves(value, (*path, key))


def changed(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy with the value at ``path`` replaced, or removed for an Ellipsis."""
    found = holder = copy.deepcopy(document)
    for key in path[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return found


DOCUMENTS = {
    "fio": ["randread-libaio-direct", "randrw-numjobs3-nogroup", "randrw-unified-mixed"],
    "iperf3": ["tcp", "tcp-bidir", "udp-unlimited-loss", "udp-bidir"],
}
CASES = [
    (tool, json.loads(case.outputs[0][case.outputs[0].index(b"{") :]))
    for tool, names in DOCUMENTS.items()
    for case in goldens(tool)
    if case.name in names
]


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("value", [..., None, "text", [], {}, float("nan")], ids=repr)
def test_what_is_taken_away_never_becomes_zero(number: int, value: Any) -> None:
    """Each key in turn is removed or spoilt: no figure may become 0 that was not 0 before."""
    tool, document = CASES[number]
    before = check(tool, json.dumps(document).encode())
    assert before
    uninteresting = {"intervals", "streams", "percentile", "jobname"}
    interesting = [path for path in leaves(document) if uninteresting.isdisjoint(path)]
    for path in interesting:
        after = check(tool, json.dumps(changed(document, path, value)).encode())
        assert not [series for series, figure in after.items() if figure == 0 and before.get(series) != 0], path


@pytest.mark.parametrize("tool", TOOLS)
@given(exit_code=st.integers(1, 255), stderr=st.binary(max_size=50))
@settings(max_examples=20, deadline=None)
def test_a_failed_process_measured_nothing(tool: str, exit_code: int, stderr: bytes) -> None:
    good = next(case for case in goldens(tool) if case.measurements and case.exit_code == 0)
    process = Completed(argv=(), exit_code=exit_code, stdout=good.outputs[0], stderr=stderr, started_at=0.0, duration_s=1.0)
    with pytest.raises(ParseError, match=f"ended with exit code {exit_code}|direct I/O is refused"):
        TOOLS[tool].parse([process], good.parameters)
