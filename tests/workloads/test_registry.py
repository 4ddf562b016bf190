from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType, SimpleNamespace

import pytest

from benchspec.engine.importing.readers import parse_output
from benchspec.engine.model.contract.workload import (
    FeedsGates,
    ListensOnPorts,
    NamesPorts,
    ReadsFiles,
    Workload,
    WritesVolumes,
)
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Role
from benchspec.engine.planning.allocation_request import demand_of
from benchspec.workloads import registry
from benchspec.workloads.command import workload as command
from benchspec.workloads.fio import workload as fio
from benchspec.workloads.netperf import workload as netperf
from benchspec.workloads.registry import MODULES, WORKLOADS, get_workload, metrics_of, tool_names
from tests.workloads import trial
from tests.workloads.tool_goldens import DATA, goldens


def test_the_mapping_gives_the_modules() -> None:
    assert all(WORKLOADS[name] is get_workload(name) for name in MODULES)


def test_the_mapping_lists_all_and_refuses_others() -> None:
    assert set(WORKLOADS) == set(MODULES)
    assert len(WORKLOADS) == len(MODULES)
    with pytest.raises(KeyError):
        WORKLOADS["no-such-tool"]


def test_unknown_tool_suggests_the_one_that_was_meant() -> None:
    with pytest.raises(
        SpecError,
        match=r"found unknown tool 'iperf', expected one of command, .*; did you mean 'iperf3'\?",
    ):
        get_workload("iperf")


def test_looking_at_names_imports_no_workload() -> None:
    program = (
        "import sys, benchspec.workloads.registry as r; r.tool_names(); print([m for m in"
        " sys.modules if m.startswith('benchspec.workloads.') and m != r.__name__])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def offer(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Make ``value`` the plug-in of a tool ``strange``, as an installed distribution would."""
    found = EntryPoints([EntryPoint(name="strange", value=value, group=registry.ENTRY_POINTS)])
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda **selection: found.select(**selection)
    )


def test_a_plug_in_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "benchspec.workloads.fio.workload")
    assert get_workload("strange") is fio
    assert "strange" in tool_names()
    assert WORKLOADS["strange"] is fio


def test_a_plug_in_needs_none_of_the_members_that_only_some_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plug_in = ModuleType("strange_plug_in")
    needed = (
        *Workload.__annotations__,
        "metrics",
        "tools",
        "primary",
        "duration_s",
        "commands",
        "parse",
    )
    vars(plug_in).update({name: getattr(netperf, name) for name in needed})
    monkeypatch.setitem(sys.modules, "strange_plug_in", plug_in)
    offer(monkeypatch, "strange_plug_in")
    asked = replace(trial.experiment(netperf, {"streams": 3}), tool="strange")
    assert get_workload("strange") is plug_in
    assert not isinstance(
        plug_in, WritesVolumes | ListensOnPorts | NamesPorts | ReadsFiles | FeedsGates
    )
    assert (demand_of(asked).volumes, demand_of(asked).ports, demand_of(asked).fixed_ports) == (
        (),
        1,
        (),
    )
    printed = next(
        case for case in goldens("netperf") if case.measurements and len(case.outputs) == 1
    )
    assert {
        m.series: m.value for m in parse_output("strange", printed.outputs[0], printed.parameters)
    } == printed.measurements


def test_what_only_some_need_is_asked_of_those_who_have_it() -> None:
    asked = demand_of(trial.experiment(netperf, {"streams": 2, "data_port": 30000}))
    assert (asked.volumes, asked.ports, asked.fixed_ports) == ((), 1, (30000, 30001))
    assert demand_of(trial.experiment(netperf, {"streams": 3})).ports == 4
    assert demand_of(trial.experiment(fio, {"rw": "read"})).volumes == (Role.CLIENT,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module_at_all", "cannot be imported: ModuleNotFoundError"),
        ("benchspec.workloads.fio.workload:NOTHING", "cannot be imported: AttributeError"),
        ("json", "it lacks NAME, METRICS, ROLES, DEFAULT_GATES, metrics, tools"),
    ],
)
def test_a_plug_in_that_is_none_is_told(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    offer(monkeypatch, value)
    with pytest.raises(SpecError, match=message):
        get_workload("strange")


def test_metrics_of_experiments_go_by_id() -> None:
    one = trial.experiment(fio, {"rw": "read"})
    assert metrics_of([one]) == {one.id: fio.METRICS}
    other = trial.experiment(command, {"run": ["x"], "extract": {"boot": {"regex": "(x)"}}})
    assert [metric.name for metric in metrics_of([other])[other.id]] == ["boot", "duration"]


def test_raw_output_is_parsed_as_stdout_and_as_the_tools_file() -> None:
    data = (DATA / "fio" / "randread-libaio-direct.out").read_bytes()
    assert any(m.series == "iops.read{job=j}" for m in parse_output("fio", data, {}))
    rules = {"extract": {"t": {"regex": r"(\d+) s", "from": "result.txt"}}}
    assert [(m.metric, m.value) for m in parse_output("command", b"took 3 s", rules)] == [
        ("t", 3.0)
    ]


def test_output_without_a_figure_is_an_error() -> None:
    with pytest.raises(ParseError, match="found no JSON"):
        parse_output("iperf3", b"hello", {})
    with pytest.raises(SpecError, match="unknown tool"):
        parse_output("ipref3", b"hello", {})


def test_namespace_objects_satisfy_the_protocol_too() -> None:
    members = {name: getattr(fio, name) for name in dir(fio) if not name.startswith("_")}
    assert isinstance(SimpleNamespace(**members), Workload)
