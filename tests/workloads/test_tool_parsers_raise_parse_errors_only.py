"""Whatever bytes a tool leaves behind, a parser gives finite measurements of declared metrics or raises ParseError."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.errors import ParseError
from benchspec.engine.ports import Workload
from benchspec.workloads import diskspd, fortio, netperf, sockperf, stress_ng, sysbench, vault_benchmark
from tests.workloads.tool_goldens import by_series, completed, goldens

TOOLS: dict[str, Workload] = {
    "netperf": netperf,
    "fortio": fortio,
    "vault-benchmark": vault_benchmark,
    "diskspd": diskspd,
    "sysbench": sysbench,
    "stress-ng": stress_ng,
    "sockperf": sockperf,
}
OUTPUTS = {tool: sorted({raw for case in goldens(tool) for raw in case.outputs}) for tool in TOOLS}
SPLICES = [b"", b"nan", b"-1", b"1e999", b"9" * 400, b'"', b"{", b"}", b"<", b"=", b"|", b"\xff", b"\x00", b"null", b"true", b"N/A", b"-0", b"[]"]


def check(workload: Workload, raw: bytes) -> None:
    try:
        found = workload.parse([completed(raw)], {})
    except ParseError:
        return
    units = {metric.name: metric.unit for metric in workload.METRICS}
    by_series(found)
    assert found
    assert all(math.isfinite(m.value) and m.value >= 0 and m.unit == units[m.metric] for m in found)


@pytest.mark.parametrize("tool", TOOLS)
@given(raw=st.binary(max_size=300))
@settings(max_examples=100)
def test_any_bytes(tool: str, raw: bytes) -> None:
    check(TOOLS[tool], raw)


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@settings(max_examples=150)
def test_cut_anywhere(tool: str, data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(OUTPUTS[tool]))
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(raw)), st.integers(0, len(raw)))))
    check(TOOLS[tool], raw[:start] + raw[end:])
    check(TOOLS[tool], raw[:end])


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@settings(max_examples=250)
def test_figures_replaced(tool: str, data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from([output for output in OUTPUTS[tool] if output]))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(raw)))
        raw = raw[:position] + data.draw(st.sampled_from(SPLICES)) + raw[position + data.draw(st.integers(0, 12)) :]
    check(TOOLS[tool], raw)


@pytest.mark.parametrize("tool", TOOLS)
@given(exit_code=st.integers(1, 255), stderr=st.binary(max_size=50))
@settings(max_examples=20)
def test_failed_process_measured_nothing(tool: str, exit_code: int, stderr: bytes) -> None:
    good = next(case for case in goldens(tool) if case.measurements and len(case.outputs) == 1)
    assert TOOLS[tool].parse([completed(good.outputs[0])], {})
    with pytest.raises(ParseError, match=f"exited with {exit_code}"):
        TOOLS[tool].parse([completed(good.outputs[0], exit_code, stderr)], {})
