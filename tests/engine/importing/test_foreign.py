"""Outputs of single tools and tables as runs: every value, every invalid trial, every bad file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import benchspec
from benchspec.engine.importing.readers import parse_output
from benchspec.engine.model.errors import ParseError, SpecError, UsageError
from benchspec.engine.model.results import RunData, TrialStatus
from benchspec.engine.store.read_run import read_run
from tests.workloads.tool_goldens import by_series, goldens

TOOLS = (
    *("fio", "iperf3", "netperf", "fortio", "vault-benchmark", "diskspd", "sysbench"),
    *("openssl-speed", "sockperf", "stress-ng", "wrk", "k6", "pgbench", "redis-benchmark"),
)
HYPERFINE = {
    "results": [
        {
            "command": "sleep 0.1",
            "mean": 0.1024,
            "stddev": 0.0007,
            "median": 0.1022,
            "user": 0.0009,
            "system": 0.0011,
            "min": 0.1015,
            "max": 0.1041,
            "times": [0.1015, 0.1022, 0.1041],
            "exit_codes": [0, 0, 0],
        }
    ]
}
VEGETA = {
    "latencies": {"mean": 1500000, "50th": 1200000, "max": 9000000, "min": 300000},
    "earliest": "2026-01-02T03:04:05.678901234Z",
    "duration": 10000000000,
    "wait": 1000000,
    "requests": 100,
    "rate": 10.0,
    "throughput": 9.9,
    "success": 1,
    "status_codes": {"200": 99, "503": 1},
    "errors": [],
}


def imported(tmp_path: Path, tool: str, files: dict[str, bytes], **options: Any) -> RunData:
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    made = benchspec.import_(tool, [("a", folder / "*")], out=tmp_path / "run", **options)
    return read_run(made.directory)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_golden_output_becomes_a_trial_with_the_same_values(
    tool: str, tmp_path: Path
) -> None:
    expected: dict[str, tuple[bytes, dict[str, float]]] = {}
    for case in goldens(tool):
        if len(case.outputs) != 1 or case.exit_code:
            continue
        try:
            found = by_series(parse_output(tool, case.outputs[0], {}))
        except ParseError:
            continue
        if case.outputs[0] not in [data for data, _ in expected.values()]:
            expected[f"{case.name}.out"] = (case.outputs[0], found)
    run = imported(tmp_path, tool, {name: data for name, (data, _) in expected.items()})
    assert len(run.trials) == len(expected)
    values = {by_key(by_series(trial.measurements)) for trial in run.trials}
    assert values == {by_key(found) for _, found in expected.values()}
    benchspec.report(tmp_path / "run")
    assert (tmp_path / "run" / "report" / "page.md").is_file()


def by_key(values: dict[str, float]) -> str:
    return json.dumps(values, sort_keys=True)


def golden(tool: str, name: str) -> bytes:
    return next(case.outputs[0] for case in goldens(tool) if case.name == name)


def test_bad_files_are_named_and_left_out_only_when_told(tmp_path: Path) -> None:
    good = golden("fortio", "load-paced")
    files = {"cut.json": good[:300], "empty.json": b"", "good.json": good}
    named = r"2 of 3 files(.|\n)*cut\.json(.|\n)*empty\.json: the file is empty"
    with pytest.raises(ParseError, match=named):
        imported(tmp_path, "fortio", files)
    assert not (tmp_path / "run").exists()
    run = imported(tmp_path, "fortio", files, skip_bad=True)
    assert [trial.status for trial in run.trials] == [TrialStatus.VALID]
    manifest: dict[str, Any] = json.loads((tmp_path / "run" / "manifest.json").read_text())
    skipped = manifest["imported"]["skipped"]
    assert [one["name"] for one in skipped] == ["cut.json", "empty.json"]
    assert "2 files were left out" in next(f.message for f in run.findings if f.code == "F606")


def test_what_the_tools_gates_refuse_is_an_invalid_trial(tmp_path: Path) -> None:
    files = {name: golden("fortio", name) for name in ("load-paced", "load-half-503")}
    run = imported(tmp_path, "fortio", files)
    assert sorted(trial.status for trial in run.trials) == [TrialStatus.INVALID, TrialStatus.VALID]


def test_sessions_are_told_by_names_or_by_times(tmp_path: Path) -> None:
    document = json.loads(golden("fortio", "load-paced"))
    files = {}
    for number in range(4):
        document["StartTime"] = f"2026-01-02T03:{number // 2 * 30 + number % 2:02}:00Z"
        document["ActualQPS"] = 100.0 + number
        files[f"night{number // 2}-{number}.json"] = json.dumps(document).encode()
    named = imported(tmp_path, "fortio", files, sessions=r"name=night(\d)")
    assert [(trial.session, trial.index) for trial in named.trials] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]
    timed = benchspec.import_(
        "fortio", [("a", tmp_path / "files" / "*")], out=tmp_path / "timed", sessions="gap=10 min"
    )
    assert [trial.session for trial in read_run(timed.directory).trials] == [1, 1, 2, 2]
    for wrong in ("name=(", "name=nothing", "gap=soon", "each"):
        with pytest.raises((UsageError, SpecError)):
            imported(tmp_path, "fortio", files, sessions=wrong)


def test_a_spec_brings_titles_limits_and_comparisons(tmp_path: Path) -> None:
    spec = tmp_path / "with.yaml"
    spec.write_text(
        "title: Loops\ntargets:\n  a:\n    title: The loop\nworkloads:\n  fortio:\n"
        "    title: Answers\n    primary: latency.p99\n"
    )
    run = imported(tmp_path, "fortio", {"x": golden("fortio", "load-paced")}, spec=spec)
    assert (run.spec.title, run.spec.targets[0].title) == ("Loops", "The loop")
    assert run.experiments[0].primary == "latency.p99"
    spec.write_text("targets: {b: {}}\n")
    with pytest.raises(SpecError, match="targets b, expected some of a"):
        benchspec.import_("fortio", [("a", tmp_path / "files/x")], out=tmp_path / "r", spec=spec)


@pytest.mark.parametrize(
    ("tool", "document", "series", "value"),
    [
        ("hyperfine", HYPERFINE, "time.mean{command=sleep 0.1}", 0.1024),
        ("vegeta", VEGETA, "latency.mean", 0.0015),
    ],
)
def test_readers_of_tools_that_no_spec_runs(
    tmp_path: Path, tool: str, document: dict[str, Any], series: str, value: float
) -> None:
    run = imported(tmp_path, tool, {"x.json": json.dumps(document).encode()})
    assert by_series(run.trials[0].measurements)[series] == value
    with pytest.raises(ParseError):
        parse_output(tool, b"{}", {})


def test_vegeta_counts_only_2xx_and_hyperfine_sees_exit_codes(tmp_path: Path) -> None:
    run = imported(tmp_path, "vegeta", {"x.json": json.dumps(VEGETA).encode()})
    assert run.trials[0].status is TrialStatus.INVALID
    assert by_series(run.trials[0].measurements)["error.ratio"] == pytest.approx(0.01)
    failed = json.loads(json.dumps(HYPERFINE))
    failed["results"][0]["exit_codes"] = [0, 1, 0]
    found = by_series(parse_output("hyperfine", json.dumps(failed).encode(), {}))
    assert found["error.ratio{command=sleep 0.1}"] == pytest.approx(1 / 3)


TABLE = """# others' figures
target,workload,session,trial,metric,value,unit,direction,limit
a,disk,1,1,iops,500,1/s,higher,storage.iops
a,disk,1,2,iops,510,1/s,higher,storage.iops
a,disk,2,1,iops,490,1/s,higher,storage.iops
b,disk,1,1,iops,400,1/s,higher,storage.iops
b,disk,1,1,latency.mean,2.5,ms,lower,
"""


def test_a_table_of_trials_and_one_of_published_means(tmp_path: Path) -> None:
    run = imported(tmp_path, "csv", {"t.csv": TABLE.encode()})
    rows = [
        (trial.session, trial.index, by_series(trial.measurements)["iops"]) for trial in run.trials
    ]
    assert rows == [(1, 1, 500.0), (1, 2, 510.0), (2, 1, 490.0), (1, 1, 400.0)]
    assert by_series(run.trials[3].measurements)["latency.mean"] == 0.0025
    means = b"target,metric,unit,mean,sd,n\na,iops,1/s,509.94,1.5,3\n"
    (tmp_path / "m.csv").write_bytes(means)
    made = benchspec.import_("csv", [("x", tmp_path / "m.csv")], out=tmp_path / "means")
    assert by_series(read_run(made.directory).trials[0].measurements) == {
        "iops": 509.94,
        "iops.sd": 1.5,
        "iops.n": 3.0,
    }


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "no lines"),
        ("metric,value\nx,1\n", "lacks the columns unit"),
        ("metric,value,unit,colour\nx,1,s,red\n", "found the columns colour"),
        ("metric,value,unit\nx,one,s\n", "line 2: found 'one', expected a number"),
        ("metric,value,unit\nx,1,parsec\n", "line 2: found the unit 'parsec'"),
        ("metric,value,unit\nX y,1,s\n", "line 2: found the metric 'X y'"),
        ("metric,value,unit,session,trial\nx,1,s,1,1\nx,2,s,1,1\n", "found a figure twice"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        imported(tmp_path, "csv", {"t.csv": table.encode()})


def test_d5_nodes_of_the_file_say_the_placement(tmp_path: Path) -> None:
    whole = (Path(__file__).parents[2] / "data" / "knb" / "whole.json").read_bytes()
    same = whole.replace(b'"worker-b"', b'"worker-a"').replace(b"2500", b"21200")
    unsaid = whole.replace(b'"worker-b"', b'""').replace(b"2500", b"2400")
    run = imported(tmp_path, "knb", {"across": whole, "same": same, "unsaid": unsaid})
    placements = {experiment.workload: experiment.placement for experiment in run.experiments}
    assert placements["pod-to-pod-across-nodes"] == "across-nodes"
    assert placements["pod-to-pod-same-node"] == "same-node"
    assert placements["pod-to-pod-placement-not-said"] == "any"
    assert {tuple(sorted(trial.nodes.items())) for trial in run.trials} == {
        (("client", "worker-a"), ("server", "worker-b")),
        (("client", "worker-a"), ("server", "worker-a")),
        (("client", "worker-a"),),
    }
    benchspec.report(tmp_path / "run")
    page = (tmp_path / "run" / "report" / "page.md").read_text()
    assert "`placement` same-node" in page
    assert "`placement` any" not in page
