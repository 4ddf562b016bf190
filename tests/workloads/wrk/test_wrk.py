"""wrk: what is run, what is read, and real trials against a real nginx."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Json
from benchspec.workloads.wrk import workload as wrk
from tests.workloads import trial
from tests.workloads.command_line import run_tool
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import by_series, completed, goldens
from tests.workloads.tools import accepts

SMALL: dict[str, Json] = {"duration": "1 s", "threads": 1, "connections": 2}


@pytest.fixture
def _wrk() -> None:
    for program in ("wrk", "nginx"):
        trial.require(program)


def test_options() -> None:
    given: dict[str, Json] = {**SMALL, "headers": ["Host: a"], "path": "/x"}
    commands = wrk.commands(experiment("wrk", given), surroundings(host="2001:db8::1"))
    assert commands.clients[0].argv == (
        *("wrk", "-t", "1", "-c", "2", "--latency", "-d", "1s", "--timeout", "2s"),
        *("-H", "Host: a", "http://[2001:db8::1]:20000/x"),
    )
    assert [server.command.argv[0] for server in commands.servers] == ["nginx"]
    away = wrk.commands(experiment("wrk", {"url": "http://a/"}), surroundings())
    assert (away.clients[0].argv[-1], away.servers, away.files) == ("http://a/", (), ())


def test_connections_that_wrk_would_drop_are_refused() -> None:
    with pytest.raises(SpecError, match="found 10 for 4 threads"):
        wrk.commands(experiment("wrk", {"threads": 4}), surroundings())


@pytest.mark.parametrize(
    "parameters",
    [
        {"url": "-v"},
        {"url": "http://a", "path": "/"},
        {"headers": ["A: b\r\nC: d"]},
        {"secret_headers": {"A": "plain"}},
        {"script": "x", "method": "PUT"},
    ],
)
def test_parameters_that_are_refused(parameters: dict[str, Json]) -> None:
    assert not accepts("wrk", parameters)


def test_a_report_that_was_cut_is_never_measured() -> None:
    for case in (case for case in goldens("wrk") if case.measurements):
        whole = case.outputs[0]
        end = whole.index(b"B\n", whole.index(b"Transfer/sec")) + 2
        for cut in range(end - 1):  # its last line feed says nothing
            with pytest.raises(ParseError):
                wrk.parse([completed(whole[:cut])], case.parameters)


REPORT = """Running 2m test @ http://a/
  2 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.02s   250.00us   1.50m    93.29%
    Req/Sec    13.11k    15.62k   60.00k    90.00%
  Latency Distribution
     50%    0.00us
     75%    1.63ms
     90%    5.67s
     99%    1.00h
  24000 requests in 2.00m, 3.98GB read
Requests/sec:    200.00
Transfer/sec:      1.50GB
"""


def test_units_come_from_the_report() -> None:
    found = by_series(wrk.parse([completed(REPORT.encode())], {"duration": "2 min"}))
    assert found["latency.mean"] == 1.02
    assert found["latency.stddev"] == 250e-6
    assert found["latency.max"] == 90
    assert "latency.p50" not in found, "0.00us is less than the print can show"
    assert (found["latency.p75"], found["latency.p99"]) == (1.63e-3, 3600)
    assert found["received"] == 1.5 * 2**30
    assert found["duration"] == 120
    with pytest.raises(ParseError, match=r"5\.67d"):
        wrk.parse([completed(REPORT.replace("5.67s", "5.67d").encode())], {})


@pytest.mark.usefixtures("_wrk")
def test_two_sessions_from_the_command_line(tmp_path: Path) -> None:
    _, sessions = run_tool("wrk", SMALL, tmp_path)
    for figures in sessions:
        assert figures["throughput"] > 0
        assert figures["error.ratio"] == 0
        assert figures["received"] > figures["throughput"]
        assert figures["latency.p50"] <= figures["latency.p99"] <= figures["latency.max"]


class Answers(BaseHTTPRequestHandler):
    """Keeps what it is asked."""

    protocol_version = "HTTP/1.1"
    seen: set[tuple[str | None, bytes]]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.add((self.headers["X-Token"], body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def answers() -> Iterator[tuple[int, type[Answers]]]:
    handler = type("Handler", (Answers,), {"seen": set()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, handler
        server.shutdown()


@pytest.mark.usefixtures("_wrk")
def test_method_body_and_secret_headers_arrive_as_they_are(
    tmp_path: Path, answers: tuple[int, type[Answers]]
) -> None:
    """No text ends the Lua string that holds it, and the secret is in no file of the run."""
    port, handler = answers
    body, token = 'a"]] .. os.exit(7) --\n\\ é ${x}', "hvs.s3cret-value"
    given: dict[str, Json] = {
        **SMALL,
        "url": f"http://127.0.0.1:{port}/",
        "method": "PUT",
        "payload": body.replace("${", "$${"),
        "secret_headers": {"X-Token": "${secret:env:WRK_TEST_TOKEN}"},
    }
    run_tool("wrk", given, tmp_path, {"WRK_TEST_TOKEN": token})
    assert handler.seen == {(token, body.encode())}
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not [path for path in kept if token.encode() in path.read_bytes()]
