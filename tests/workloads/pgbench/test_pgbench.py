"""pgbench: what is run, what is read, and real trials against a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Endpoint
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.pgbench import server
from benchspec.workloads.pgbench import workload as pgbench
from tests.workloads import trial
from tests.workloads.command_line import run_tool, start
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import by_series, completed, goldens
from tests.workloads.tools import accepts

HOST: dict[str, Json] = {"host": "db.example", "user": "u", "database": "d"}


@pytest.fixture
def _postgresql() -> None:
    trial.require("pgbench")


def argv(parameters: dict[str, Json]) -> str:
    commands = pgbench.commands(experiment("pgbench", parameters), surroundings())
    return " ".join(commands.clients[0].argv)


def test_options() -> None:
    assert argv({}) == (
        "sh pgbench.sh 192.0.2.7 20000 bench bench 1 -b tpcb-like -n -T 10 -c 1 -j 1 -M simple"
        " -P 1000000"
    )
    given = {**HOST, "builtin": "select-only", "rate": "500 1/s", "latency_limit": "50 ms"}
    assert argv({**given, "initialize": False, "reconnect": True, "tries": 3}) == (
        "sh pgbench.sh db.example 5432 u d  -b select-only -T 10 -c 1 -j 1 -M simple -P 1000000"
        " -R 500 -L 50 --max-tries 3 -C"
    )
    assert pgbench.primary(given) == "latency.mean"


def test_the_password_is_in_the_environment_alone() -> None:
    secret = "${secret:env:DB}"
    given: dict[str, Json] = {**HOST, "password": secret, "sslmode": "require"}
    commands = pgbench.commands(experiment("pgbench", given), surroundings())
    (client,) = commands.clients
    assert client.env == {"PGPASSWORD": secret, "PGSSLMODE": "require"}
    assert secret not in " ".join(client.argv)
    assert not [file for file in commands.files if secret.encode() in file.data]
    assert commands.servers == ()


def test_data_lie_on_the_targets_storage() -> None:
    made = trial.experiment(pgbench, {}, storage={"path": "/mnt/disk"})
    around = trial.surroundings("/w", port=20000)
    (one,) = pgbench.commands(made, around).servers
    assert one.command.argv == ("sh", "pgbench-server.sh", "/mnt/disk", "20000")
    assert one.endpoint == Endpoint(host="127.0.0.1", port=20000)
    assert pgbench.VOLUMES == (Role.SERVER,)


def test_settings_cannot_leave_their_quotes() -> None:
    said = server.settings({"settings": {"application_name": "it's \\ b", "fsync": False}})
    assert b"application_name = 'it''s \\\\ b'\n" in said
    assert b"fsync = 'off'\n" in said
    assert b"max_connections = '220'\n" in server.settings({"clients": 200})


@pytest.mark.parametrize(
    "name", ["port", "archive_command", "shared_preload_libraries", "hba_file", "listen_addresses"]
)
def test_settings_that_execute_or_move_the_server_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match=name):
        server.settings({"settings": {name: "1"}})


@pytest.mark.parametrize(
    "parameters",
    [
        {"password": "plain", **HOST},
        {"password": "${secret:env:X}"},
        {"host": "-U"},
        {"host": "db", "settings": {"fsync": False}},
        {"settings": {"fsync; x": "1"}},
        {"settings": {"fsync": "a\nport = 1"}},
        {"script": "SELECT 1", "builtin": "tpcb-like"},
        {"duration": 5},
        {"scale": 0},
    ],
)
def test_parameters_that_are_refused(parameters: dict[str, Json]) -> None:
    assert not accepts("pgbench", parameters)


def test_a_report_that_was_cut_is_never_measured() -> None:
    for case in (case for case in goldens("pgbench") if case.measurements):
        whole = case.outputs[0]
        end = whole.index(b"\n", whole.index(b"\ntps = ") + 1) + 1  # then come parts of it
        for cut in range(end - 1):  # its last line feed says nothing
            with pytest.raises(ParseError):
                pgbench.parse([completed(whole[:cut])], case.parameters)


OLD = b"""transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
duration: 2 s
number of transactions actually processed: 300
latency average = 13.333 ms
latency stddev = 1.000 ms
tps = 149.900000 (including connections establishing)
tps = 150.000000 (excluding connections establishing)
"""


def test_the_report_of_versions_before_14() -> None:
    found = by_series(pgbench.parse([completed(OLD)], {}))
    assert (found["throughput"], found["samples"], found["duration"]) == (150.0, 300.0, 2.0)


def test_skipped_and_failed_transactions_are_errors() -> None:
    cases = {case.name: case.measurements for case in goldens("pgbench")}
    for name in ("skipped", "serialization-failures"):
        figures = cases[name]
        assert figures is not None
        assert 0 < figures["error.ratio"] < 1


@pytest.mark.usefixtures("_postgresql")
def test_two_sessions_from_the_command_line(tmp_path: Path) -> None:
    given: dict[str, Json] = {
        "duration": "1 s",
        "clients": 2,
        "settings": {"fsync": False, "shared_buffers": "16MB"},
    }
    _, sessions = run_tool("pgbench", given, tmp_path)
    for figures in sessions:
        assert figures["throughput"] > 0
        assert figures["latency.mean"] > 0
        assert figures["latency.stddev"] > 0
        assert figures["error.ratio"] == 0
        assert figures["samples"] == pytest.approx(figures["throughput"] * figures["duration"])


@pytest.mark.usefixtures("_postgresql")
def test_a_transaction_of_ones_own_that_fails_fails_the_trial(tmp_path: Path) -> None:
    """The user of the measured database is no superuser, so it reads no file of the host."""
    script = "CREATE TEMP TABLE IF NOT EXISTS t (x text);\nCOPY t FROM '/etc/hostname';\n"
    run = start("pgbench", {"duration": "1 s", "script": script}, tmp_path)
    assert {one.status for one in run.trials} == {TrialStatus.FAILED}
    assert all("pgbench exited with" in str(one.error) for one in run.trials)
    said = [path.read_text() for path in (tmp_path / "run").rglob("0-stderr")]
    assert len(said) == len(run.trials)
    assert all("to COPY from a file" in text for text in said)
