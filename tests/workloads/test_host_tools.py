"""sysbench, stress-ng and sockperf: what is run, what is read, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Command, Completed, Endpoint, Surroundings
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.registry import get_workload
from benchspec.workloads.sockperf import workload as sockperf
from benchspec.workloads.stress_ng import workload as stress_ng
from benchspec.workloads.sysbench import workload as sysbench
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import Golden, by_series, completed, goldens, sample


def argv(tool: str, parameters: dict[str, Json]) -> tuple[str, ...]:
    return get_workload(tool).commands(experiment(tool, parameters), surroundings()).clients[0].argv


def golden(tool: str, name: str) -> Golden:
    return next(case for case in goldens(tool) if case.name == name)


def test_sysbench_options() -> None:
    assert argv("sysbench", {}) == (
        "sysbench",
        "cpu",
        "--threads=1",
        "--time=10",
        "--percentile=95",
        "run",
    )
    memory = argv(
        "sysbench",
        {
            "test": "memory",
            "memory_block_size": "1 MiB",
            "memory_operation": "read",
            "percentile": 99,
        },
    )
    assert {
        "--memory-total-size=0",
        "--memory-block-size=1048576",
        "--memory-oper=read",
        "--percentile=99",
    } <= set(memory)
    mutex = argv("sysbench", {"test": "mutex", "threads": 4})
    assert {"--time=0", "--events=4"} <= set(mutex)


def test_files_of_sysbench_lie_where_they_are_asked_for_and_in_a_folder_of_their_own() -> None:
    given: dict[str, Json] = {
        "test": "fileio",
        "file_total_size": "1 GiB",
        "file_direct": True,
        "directory": "/mnt/disk",
    }
    commands = sysbench.commands(experiment("sysbench", given), surroundings())
    assert commands.clients[0].argv[:3] == ("sh", "/w/client/sysbench-fileio.sh", "/mnt/disk")
    assert {
        "--file-total-size=1073741824",
        "--file-extra-flags=direct",
        "--file-test-mode=rndrd",
    } <= set(commands.clients[0].argv)
    assert b"mktemp -d" in commands.files[0].data
    assert commands.clients[0].timeout_s > sysbench.duration_s(given) + 2**30 / 20e6


def test_sysbench_reports_what_its_print_can_tell() -> None:
    """0.00 ms is less than the print can show; an output of another test is not taken for this
    one's.
    """
    found = by_series(
        sysbench.parse(
            [completed(golden("sysbench", "memory-write").outputs[0])], {"test": "memory"}
        )
    )
    assert "latency.mean" not in found
    assert found["throughput"] > found["operations"] > 0
    with pytest.raises(ParseError, match="expected that of the memory test"):
        sysbench.parse([completed(golden("sysbench", "cpu").outputs[0])], {"test": "memory"})
    with pytest.raises(ParseError, match="FATAL"):
        sysbench.parse([completed(golden("sysbench", "cpu").outputs[0] + b"FATAL: error 5\n")], {})


@pytest.mark.parametrize(
    "name",
    [
        "pkb-sysbench-memory-output-sample.txt",
        "vc-SysbenchExample.txt",
        "pkb-sysbench-output-sample.txt",
    ],
)
def test_foreign_outputs_of_sysbench_are_refused_or_read_as_one_run(name: str) -> None:
    with pytest.raises(ParseError):
        sysbench.parse([completed(sample("sysbench", name))], {"test": "memory"})


@pytest.mark.parametrize(
    ("mode", "metric"),
    [
        ("rndrd", "iops.read"),
        ("rndrw", "iops.read"),
        ("seqwr", "iops.write"),
        ("rndwr", "iops.write"),
        ("seqrewr", "iops.write"),
    ],
)
def test_primary_of_files_is_what_the_mode_does(mode: str, metric: str) -> None:
    assert sysbench.primary({"test": "fileio", "file_mode": mode}) == metric


def test_stress_ng_options() -> None:
    given: dict[str, Json] = {
        "stressors": [
            {"name": "cpu", "workers": 2, "options": {"cpu-method": "matrixprod"}},
            {"name": "vm", "options": {"vm-keep": True}},
        ]
    }
    assert argv("stress-ng", given)[-7:] == (
        *("--cpu", "2", "--cpu-method", "matrixprod"),
        *("--vm", "1", "--vm-keep"),
    )
    assert stress_ng.primary(given) == "bogo.rate{stressor=cpu}"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"log-file": "/etc/x"}, "starts with cpu-"),
        ({"vm-bytes": "1G"}, "starts with cpu-"),
        ({"cpu-ops": 5}, "no number of operations"),
    ],
)
def test_a_stressor_has_its_own_options_only(options: dict[str, Json], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        argv("stress-ng", {"stressors": [{"name": "cpu", "options": options}]})


def test_a_stressor_twice_is_refused() -> None:
    with pytest.raises(SpecError, match="'cpu' twice"):
        argv("stress-ng", {"stressors": [{"name": "cpu"}, {"name": "cpu"}]})


@pytest.mark.parametrize(
    ("name", "stressor", "rate"),
    [
        ("vc-StressNgCpuExample.yaml", "cpu", 3239.115687),
        ("vc-StressNgCpuVmExample.yaml", "vm", 106785.171174),
    ],
)
def test_foreign_outputs_of_stress_ng(name: str, stressor: str, rate: float) -> None:
    """Their system information holds a comment and times of day, which YAML would read as
    numbers.
    """
    assert (
        by_series(stress_ng.parse([completed(sample("stress-ng", name))], {}))[
            f"bogo.rate{{stressor={stressor}}}"
        ]
        == rate
    )


def test_percentiles_that_few_observations_cannot_tell_are_absent() -> None:
    found = by_series(
        sockperf.parse([completed(golden("sockperf", "under-load-few").outputs[0])], {})
    )
    assert found["samples"] < 10
    assert "latency.p90" not in found
    assert found["latency.p50"] <= found["latency.max"]


def test_round_trips_are_halved() -> None:
    whole = golden("sockperf", "ping-pong-round-trip").outputs[0]
    halves = whole.replace(b"avg-rtt", b"avg-latency")
    assert (
        by_series(sockperf.parse([completed(halves)], {}))["latency.p50"]
        == 2 * by_series(sockperf.parse([completed(whole)], {}))["latency.p50"]
    )


def test_sockperf_answers_on_the_address_it_is_asked_at() -> None:
    commands = sockperf.commands(
        experiment("sockperf", {"mode": "under-load", "rate": 5000, "protocol": "tcp"}),
        surroundings(),
    )
    assert commands.files[0].data == b"T:192.0.2.7:20000\nU:192.0.2.7:20000\n"
    assert {"--tcp", "--mps", "5000", "--reply-every"} <= set(commands.clients[0].argv)
    named = Surroundings(
        endpoints={Role.SERVER: Endpoint(host="db.example", port=20000)},
        workdirs=dict.fromkeys(Role, "/w"),
    )
    assert b"0.0.0.0" in sockperf.commands(experiment("sockperf", {}), named).files[0].data


def run(command: Command, folder: Path) -> Completed:
    done = subprocess.run(
        command.argv, cwd=folder, capture_output=True, timeout=command.timeout_s, check=False
    )
    files = {
        name: (folder / name).read_bytes() for name in command.fetch if (folder / name).exists()
    }
    return Completed(
        argv=command.argv,
        exit_code=done.returncode,
        stdout=done.stdout,
        stderr=done.stderr,
        started_at=0.0,
        duration_s=0.0,
        files=files,
    )


REAL: list[tuple[str, dict[str, Json]]] = [
    ("sysbench", {"duration": "1 s"}),
    (
        "sysbench",
        {
            "test": "fileio",
            "file_total_size": "8 MiB",
            "file_number": 2,
            "file_mode": "rndrw",
            "duration": "1 s",
        },
    ),
    (
        "stress-ng",
        {
            "stressors": [{"name": "cpu", "options": {"cpu-method": "matrixprod"}}],
            "duration": "1 s",
        },
    ),
    ("sockperf", {"duration": "1 s", "protocol": "tcp"}),
    ("sockperf", {"duration": "1 s", "mode": "throughput"}),
]


@pytest.fixture
def folders(tmp_path: Path) -> dict[Role, str]:
    made = {role: str(tmp_path / role) for role in (Role.CLIENT, Role.SERVER)}
    for folder in made.values():
        Path(folder).mkdir()
    return made


@pytest.mark.parametrize(("tool", "parameters"), REAL)
def test_the_real_tool_runs_as_planned_and_leaves_nothing(
    tool: str, parameters: dict[str, Json], folders: dict[Role, str]
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    around = Surroundings(
        endpoints={Role.SERVER: Endpoint(host="127.0.0.1", port=23777)}, workdirs=folders
    )
    commands = get_workload(tool).commands(experiment(tool, parameters), around)
    for file in commands.files:
        (Path(folders[file.role]) / file.name).write_bytes(file.data)
    before = {role: set(Path(folder).iterdir()) for role, folder in folders.items()}
    servers = [
        subprocess.Popen(server.command.argv, stdout=subprocess.DEVNULL, cwd=folders[Role.SERVER])
        for server in commands.servers
    ]
    try:
        time.sleep(0.5 if servers else 0)
        (client,) = commands.clients
        found = by_series(
            get_workload(tool).parse([run(client, Path(folders[Role.CLIENT]))], parameters)
        )
    finally:
        for server in servers:
            server.terminate()
            server.wait()
    assert found[get_workload(tool).primary(parameters)] > 0
    after = {
        role: {path for path in Path(folder).iterdir() if path.name not in client.fetch}
        for role, folder in folders.items()
    }
    assert after == before
