"""k6: what is run, what is read, and real trials with the real k6 against a real nginx."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Json
from benchspec.workloads.k6 import scripts
from benchspec.workloads.k6 import workload as k6
from tests.cluster import binaries
from tests.workloads import trial
from tests.workloads.command_line import run_tool
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import by_series, completed, goldens
from tests.workloads.tools import accepts


@pytest.fixture(scope="module")
def path() -> dict[str, str]:
    """An environment in whose PATH the test bed's k6 is."""
    trial.require("nginx")
    if shutil.which("go") is None and binaries.ready() is None:
        pytest.skip("needs Go to build k6, or a ready one in BENCHSPEC_CLUSTER_BIN")
    return {"PATH": f"{binaries.k6().parent}:{os.environ['PATH']}"}


def test_options() -> None:
    given: dict[str, Json] = {"rate": "50 1/s", "vus": 2, "max_vus": 9, "duration": "1500 ms"}
    commands = k6.commands(experiment("k6", given), surroundings(host="2001:db8::1"))
    (client,) = commands.clients
    assert client.argv[-3:] == ("-e", "BENCHSPEC_URL=http://[2001:db8::1]:20000/", "k6-main.js")
    assert {"--no-usage-report", "--no-thresholds", "--quiet"} <= set(client.argv)
    assert client.argv[client.argv.index("--address") + 1] == ""
    files = {file.name: file.data for file in commands.files}
    assert json.loads(files[scripts.LOAD])["options"]["scenarios"]["load"] == {
        "executor": "constant-arrival-rate",
        "rate": 50,
        "timeUnit": "1s",
        "duration": "1500000000ns",
        "preAllocatedVUs": 2,
        "maxVUs": 9,
    }
    assert k6.primary(given) == "latency.p50"


def test_a_script_is_placed_as_it_is() -> None:
    given: dict[str, Json] = {"script": "export default 1", "url": "http://a/", "env": {"A": "b"}}
    commands = k6.commands(experiment("k6", given), surroundings())
    files = {file.name: file.data for file in commands.files}
    assert files[scripts.SCRIPT] == b"export default 1"
    assert scripts.LOAD not in files
    assert commands.clients[0].env["A"] == "b"
    assert commands.servers == ()


def test_options_of_k6_itself_are_no_variables() -> None:
    with pytest.raises(SpecError, match="K6_OUT"):
        k6.commands(experiment("k6", {"script": "x", "env": {"K6_OUT": "cloud"}}), surroundings())


def test_a_rate_is_a_whole_number() -> None:
    with pytest.raises(SpecError, match=r"found 0\.5 1/s"):
        k6.commands(experiment("k6", {"rate": "0.5 1/s"}), surroundings())


@pytest.mark.parametrize(
    "parameters",
    [
        {"url": "-v"},
        {"url": "http://a", "path": "/"},
        {"script": "x", "vus": 2},
        {"env": {"A": "b"}},
        {"max_vus": 2},
        {"secret_headers": {"A": "plain"}},
    ],
)
def test_parameters_that_are_refused(parameters: dict[str, Json]) -> None:
    assert not accepts("k6", parameters)


def test_a_summary_that_was_cut_is_never_measured() -> None:
    for case in (case for case in goldens("k6") if case.measurements):
        whole = case.outputs[0].rstrip()
        for cut in range(0, len(whole), 7):
            with pytest.raises(ParseError):
                k6.parse([completed(whole[:cut])], case.parameters)


def test_thresholds_and_what_the_script_prints_are_left_out() -> None:
    cases = {case.name: case for case in goldens("k6")}
    case = cases["script-checks-thresholds"]
    assert b"setup_data" not in case.outputs[0]
    assert b"msg=said" in case.stderr
    assert by_series(k6.parse([completed(case.outputs[0])], case.parameters))["checks.ratio"] == 0.5


def test_two_sessions_from_the_command_line(tmp_path: Path, path: dict[str, str]) -> None:
    given: dict[str, Json] = {"vus": 2, "duration": "1 s"}
    _, sessions = run_tool("k6", given, tmp_path, path)
    for figures in sessions:
        assert figures["throughput"] > 0
        assert figures["error.ratio"] == 0
        assert figures["latency.min"] <= figures["latency.p50"] <= figures["latency.p99"]
        assert figures["samples"] / figures["duration"] == pytest.approx(figures["throughput"])


class Answers(BaseHTTPRequestHandler):
    """Keeps what it is asked."""

    protocol_version = "HTTP/1.1"
    seen: set[tuple[str | None, str | None, bytes]]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.add((self.headers["X-Token"], self.headers["X-Plain"], body))
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


def test_method_body_and_secret_headers_arrive_as_they_are(
    tmp_path: Path, path: dict[str, str], answers: tuple[int, type[Answers]]
) -> None:
    """No text of the spec is code, and the secret is in no file of the run."""
    port, handler = answers
    body, token = "`${x}'\"); throw 1 //\n\\ é", "hvs.s3cret-value"
    given: dict[str, Json] = {
        "duration": "1 s",
        "rate": "20 1/s",
        "vus": 4,
        "url": f"http://127.0.0.1:{port}/",
        "method": "PUT",
        "payload": body.replace("${", "$${"),
        "headers": ["X-Plain: a'b"],
        "secret_headers": {"X-Token": "${secret:env:K6_TEST_TOKEN}"},
    }
    run_tool("k6", given, tmp_path, {**path, "K6_TEST_TOKEN": token})
    assert handler.seen == {(token, "a'b", body.encode())}
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not [path for path in kept if token.encode() in path.read_bytes()]
