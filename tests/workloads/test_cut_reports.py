"""A report that was cut is refused, or reads the same: every golden output is cut at every byte."""

from __future__ import annotations

import pytest

from benchspec.engine.model.contract.reading import measured
from benchspec.engine.model.contract.workload import PrintsReports
from benchspec.engine.model.errors import ParseError
from benchspec.workloads.registry import get_workload
from tests.workloads.tool_goldens import Golden, by_series, completed, goldens

ROWS = {"netperf", "openssl-speed", "redis-benchmark"}
"""Tools whose lines are results of their own, in no announced number: what is cut between two lines
is a shorter report, whose figures are all right.
"""
UNANNOUNCED = {"two-timespans"}
"""Written by hand without diskspd's input part, which says how many timespans there are."""

ORDERED = {"netperf"}
"""netperf derives figures from several lines, so a shorter report can lack what a later line would
have made of an earlier one (``loss.ratio``, names of latencies).
"""
TOOLS = sorted(ROWS | {"diskspd", "sysbench", "stress-ng", "sockperf", "wrk", "pgbench"})


def cases() -> list[tuple[str, Golden]]:
    return [
        (tool, case)
        for tool in TOOLS
        for case in goldens(tool)
        if case.measurements
        and case.exit_code == 0
        and len(case.outputs) == 1
        and b"\0" not in case.outputs[0]  # UTF-16: the same reports are cut in UTF-8
        and case.name not in UNANNOUNCED
    ]


def read(tool: str, raw: bytes, case: Golden) -> dict[str, float] | None:
    try:
        found = measured(get_workload(tool), [completed(raw, 0, case.stderr)], case.parameters)
    except ParseError:
        return None
    return by_series(found)


@pytest.mark.parametrize(
    ("tool", "case"), cases(), ids=[f"{tool}-{case.name}" for tool, case in cases()]
)
def test_cut_at_every_byte(tool: str, case: Golden) -> None:
    raw = case.outputs[0]
    whole = read(tool, raw, case)
    assert whole
    wrong = []
    # a report of many KB is cut at each byte of its ends, and at every seventh between
    positions = [
        at for at in range(len(raw)) if len(raw) < 6000 or at > len(raw) - 1500 or at % 7 == 0
    ]
    for at in positions:
        found = read(tool, raw[:at], case)
        if found is None or found == whole:
            continue
        at_a_line_end = tool in ROWS and (raw[:at].endswith(b"\n") or raw[at : at + 1] == b"\n")
        same = all(
            whole.get(name) == value
            for name, value in found.items()
            if tool not in ORDERED or name in whole
        )
        if not (at_a_line_end and same):
            wrong.append((at, raw[max(0, at - 30) : at]))
    assert not wrong, f"{len(wrong)} of {len(raw)}, first {wrong[0]}"


def test_tools_that_print_text_say_how_it_ends() -> None:
    says = {tool for tool in TOOLS if isinstance(get_workload(tool), PrintsReports)}
    assert says == {"diskspd", "netperf", "openssl-speed", "sockperf", "stress-ng", "sysbench"}
