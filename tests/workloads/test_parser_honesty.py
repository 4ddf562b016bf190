"""Whatever bytes a tool leaves behind: its parser raises ParseError or measures what it declares,
and never makes a 0 of nothing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.model.contract.reading import measured
from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.spec import Json
from benchspec.workloads.registry import get_workload
from tests.workloads.tool_goldens import Golden, by_series, check_declared, completed, goldens
from tests.workloads.tools import TOOLS

RULES: dict[str, Json] = {
    "number": {"regex": r"([0-9.]+)", "aggregate": "last"},
    "path": {"jsonpath": "$.jobs[*].read.iops", "optional": True, "aggregate": "mean"},
    "column": {"csv": {"column": "qps", "delimiter": ";"}, "optional": True, "aggregate": "sum"},
}
MORE: Mapping[str, Sequence[dict[str, Json]]] = {"command": [{"run": ["x"], "extract": RULES}]}
"""Parameters to parse with besides those of the golden outputs."""
SPLICES = [
    *(b"nan", b"-nan", b"-0", b"-1", b"1e999", b"9" * 400, b"1_0", b"N/A", b"null", b"true", b"[]"),
    *(b'"', b"{", b"}", b"\n{", b"\n[{", b":", b"=", b"|", b"<", b"k", b"\xff", b"\x00"),
]


def check(
    tool: str, raw: bytes, stderr: bytes = b"", parameters: Mapping[str, Json] | None = None
) -> dict[str, float]:
    workload, parameters = get_workload(tool), parameters or {}
    try:
        found = measured(workload, [completed(raw, stderr=stderr)], parameters)
    except ParseError:
        return {}
    assert found, "no measurement and no reason"
    check_declared(workload, found, parameters)
    return by_series(found)


@cache
def corpus(tool: str) -> tuple[st.SearchStrategy[bytes], st.SearchStrategy[dict[str, Json]]]:
    """What the tool printed, and parameters: those of any of its cases, or none."""
    cases = goldens(tool)
    printed = sorted({raw for case in cases for raw in (*case.outputs, case.stderr) if raw})
    return st.sampled_from(printed), st.sampled_from(
        [{}, *MORE.get(tool, ()), *(case.parameters for case in cases)]
    )


def draw_case(tool: str, data: st.DataObject) -> tuple[bytes, dict[str, Json]]:
    """Something that the tool printed, and parameters to parse it with."""
    printed, parameters = corpus(tool)
    return data.draw(printed), data.draw(parameters)


@pytest.mark.parametrize("tool", TOOLS)
@given(raw=st.binary(max_size=300), stderr=st.binary(max_size=100), data=st.data())
@settings(max_examples=100, deadline=None)
def test_any_bytes(tool: str, raw: bytes, stderr: bytes, data: st.DataObject) -> None:
    check(tool, raw, stderr, draw_case(tool, data)[1])


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_cut_anywhere(tool: str, data: st.DataObject) -> None:
    raw, parameters = draw_case(tool, data)
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(raw)), st.integers(0, len(raw)))))
    check(tool, raw[:start] + raw[end:], parameters=parameters)
    check(tool, raw[:end], parameters=parameters)


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_bytes_replaced(tool: str, data: st.DataObject) -> None:
    raw, parameters = draw_case(tool, data)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(raw)))
        raw = (
            raw[:position]
            + data.draw(st.sampled_from(SPLICES))
            + raw[position + data.draw(st.integers(0, 12)) :]
        )
    check(tool, raw, parameters=parameters)


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
    items: Any = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
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
        assert not [
            series for series, figure in after.items() if figure == 0 and before.get(series) != 0
        ], path


def measured_cleanly(tool: str) -> Golden:
    """A case of a tool that ended well."""
    return next(
        case
        for case in goldens(tool)
        if case.measurements and case.exit_code == 0 and len(case.outputs) == 1
    )


@pytest.mark.parametrize("tool", TOOLS)
@given(exit_code=st.integers(1, 255), stderr=st.binary(max_size=50))
@settings(max_examples=20, deadline=None)
def test_a_failed_process_measured_nothing(tool: str, exit_code: int, stderr: bytes) -> None:
    good, workload = measured_cleanly(tool), get_workload(tool)
    assert workload.parse([completed(good.outputs[0], 0, good.stderr)], good.parameters)
    with pytest.raises(
        ParseError,
        match=f"exited with {exit_code}|ended with exit code {exit_code}|direct I/O is refused",
    ):
        workload.parse([completed(good.outputs[0], exit_code, stderr)], good.parameters)
