"""redis-benchmark: what is run, what is read, and real trials against a real Redis."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Completed
from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.redis_benchmark import workload as redis_benchmark
from tests.workloads import trial
from tests.workloads.command_line import run_tool, start
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import completed, goldens
from tests.workloads.tools import accepts

SMALL: dict[str, Json] = {"requests": 2000, "clients": 4, "tests": ["get", "set", "lrange_100"]}


@pytest.fixture
def _redis() -> None:
    for program in ("redis-server", "redis-benchmark", "redis-cli"):
        trial.require(program)


def test_options() -> None:
    given: dict[str, Json] = {**SMALL, "keyspace": 9, "data_size": "1 KiB", "keepalive": False}
    commands = redis_benchmark.commands(experiment("redis-benchmark", given), surroundings())
    words = " ".join(commands.clients[0].argv)
    assert words == (
        "sh redis-benchmark.sh 192.0.2.7 20000 -t get,set,lrange_100 -n 2000 -c 4 -P 1 -d 1024"
        " -r 9 -k 0"
    )
    assert redis_benchmark.primary(given) == "throughput{test=get}"


def test_a_server_that_is_there_is_asked_and_none_started() -> None:
    given: dict[str, Json] = {"host": "cache.example"}
    commands = redis_benchmark.commands(experiment("redis-benchmark", given), surroundings())
    assert commands.clients[0].argv[2:4] == ("cache.example", "6379")
    assert commands.servers == ()
    assert {file.role for file in commands.files} == {Role.CLIENT}
    assert all(tool.roles == (Role.CLIENT,) for tool in redis_benchmark.tools(given))


@pytest.mark.parametrize(
    "parameters",
    [
        {"host": "-h"},
        {"host": "a b"},
        {"port": 1},
        {"tests": []},
        {"tests": ["nosuch"]},
        {"requests": 0},
    ],
)
def test_parameters_that_are_refused(parameters: dict[str, Json]) -> None:
    assert not accepts("redis-benchmark", parameters)


def test_a_report_that_was_cut_is_never_measured() -> None:
    """Not even between two lines, where tests are asked for."""
    case = next(case for case in goldens("redis-benchmark") if case.name == "every-test")
    whole = case.outputs[0]
    assert redis_benchmark.parse([completed(whole)], case.parameters)
    for end in range(len(whole) - 1):  # its last line feed says nothing
        with pytest.raises(ParseError):
            redis_benchmark.parse([completed(whole[:end])], case.parameters)


def test_filling_a_list_is_no_measurement() -> None:
    case = next(case for case in goldens("redis-benchmark") if case.name == "every-test")
    assert b"LPUSH (needed to benchmark LRANGE)" in case.outputs[0]
    assert case.measurements is not None
    tests = {series.partition("{test=")[2].rstrip("}") for series in case.measurements}
    assert tests == set(case.parameters["tests"])  # type: ignore[arg-type]


@pytest.mark.usefixtures("_redis")
def test_two_sessions_from_the_command_line(tmp_path: Path) -> None:
    run, sessions = run_tool("redis-benchmark", SMALL, tmp_path)
    for figures in sessions:
        rates = {name for name, value in figures.items() if value > 0 and "throughput" in name}
        assert rates == {f"throughput{{test={name}}}" for name in ("get", "set", "lrange_100")}
        assert figures["latency.min{test=get}"] <= figures["latency.max{test=get}"]
    kept = [path.read_text() for path in (tmp_path / "run").rglob("*-redis-server.txt")]
    assert len(kept) == len(run.trials)
    assert all("redis_version:" in text for text in kept)


@pytest.fixture
def behind_a_password(tmp_path: Path) -> Iterator[int]:
    port = trial.free_port()
    argv = ["redis-server", "--port", str(port), "--save", "", "--requirepass", "not-a-secret"]
    process = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert any("Ready to accept" in line for line in process.stdout)
        yield port
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.usefixtures("_redis")
def test_a_server_that_does_not_answer_ends_the_trial_at_once(
    tmp_path: Path, behind_a_password: int
) -> None:
    """redis-benchmark itself would ask a port where nobody listens for ever."""
    for port, said in ((behind_a_password, "NOAUTH"), (trial.free_port(), "Connection refused")):
        folder = tmp_path / str(port)
        folder.mkdir()
        run = start("redis-benchmark", {**SMALL, "host": "127.0.0.1", "port": port}, folder)
        assert {one.status for one in run.trials} == {TrialStatus.FAILED}
        assert all(said in str(one.error) for one in run.trials)


@pytest.mark.usefixtures("_redis")
def test_its_own_server_lets_nobody_do_more_than_the_tests(tmp_path: Path) -> None:
    port = trial.free_port()
    commands = redis_benchmark.commands(
        experiment("redis-benchmark", SMALL), trial.surroundings(tmp_path, port=port)
    )
    for file in commands.files:
        (tmp_path / file.name).write_bytes(file.data)
    process = subprocess.Popen(
        commands.servers[0].command.argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert any("Ready to accept" in line for line in process.stdout)
        for words in (["CONFIG", "SET", "dir", "/"], ["SHUTDOWN"], ["FLUSHALL"], ["SAVE"]):
            said = subprocess.run(
                ["redis-cli", "-p", str(port), *words], capture_output=True, text=True, check=False
            )
            assert "NOPERM" in said.stdout + said.stderr
        environ = Path(f"/proc/{process.pid}/environ").read_bytes()
        assert b"PATH=" in environ, "it wrote over the environment by which a run knows its own"
    finally:
        process.terminate()
        process.communicate()


def test_more_than_one_output_is_refused() -> None:
    one: Completed = completed(b"")
    with pytest.raises(ParseError, match="found 2"):
        redis_benchmark.parse([one, one], {})
