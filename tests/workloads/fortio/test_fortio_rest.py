"""fortio over REST, with the real fortio: what it does, and what it must not be believed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from benchspec.engine.model.contract.values import Commands, Completed
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Json
from benchspec.workloads.fortio import rest as fortio_rest
from benchspec.workloads.fortio import workload as fortio
from tests.cluster import binaries
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import by_series
from tests.workloads.trial import free_port

TOKEN = 'hvs.a"b\\c&d/$e %s'


@pytest.fixture(scope="module")
def path() -> str:
    """A PATH with the test bed's fortio."""
    if binaries.ready() is None and shutil.which("go") is None:
        pytest.skip("needs Go to build fortio, or a ready one in BENCHSPEC_CLUSTER_BIN")
    return f"{binaries.fortio().parent}:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def target(path: str) -> Iterator[str]:
    """The address of a fortio server that answers."""
    port = free_port()
    argv = ["fortio", "server", "-http-port", f"127.0.0.1:{port}", "-ui-path", "", "-quiet"]
    argv += [
        word
        for name in ("grpc", "tcp", "udp", "redirect")
        for word in (f"-{name}-port", "disabled")
    ]
    process = subprocess.Popen(
        argv, env={"PATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait()


def planned(
    parameters: Mapping[str, Json], change: Callable[[bytes], bytes] = lambda request: request
) -> tuple[Commands, dict[str, bytes]]:
    commands = fortio.commands(
        experiment("fortio", {"api": "rest", "duration": "1 s", **parameters}), surroundings()
    )
    files = {file.name: file.data for file in commands.files}
    return commands, {**files, fortio_rest.REQUEST: change(files[fortio_rest.REQUEST])}


def start(
    commands: Commands, files: Mapping[str, bytes], folder: Path, path: str
) -> subprocess.Popen[bytes]:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (client,) = commands.clients
    env = {"PATH": path, "HOME": str(folder), "LC_ALL": "C", **dict.fromkeys(client.env, TOKEN)}
    return subprocess.Popen(
        client.argv,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[bytes], commands: Commands, folder: Path) -> Completed:
    try:
        stdout, stderr = process.communicate(timeout=120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    fetched = {
        name: (folder / name).read_bytes()
        for name in commands.clients[0].fetch
        if (folder / name).exists()
    }
    return Completed(
        argv=commands.clients[0].argv,
        exit_code=process.returncode,
        stdout=stdout,
        stderr=stderr,
        started_at=0.0,
        duration_s=1.0,
        files=fetched,
    )


def run(
    parameters: Mapping[str, Json],
    folder: Path,
    path: str,
    change: Callable[[bytes], bytes] = lambda request: request,
) -> Completed:
    commands, files = planned(parameters, change)
    return finish(start(commands, files, folder, path), commands, folder)


def figures(completed: Completed, parameters: Mapping[str, Json]) -> dict[str, float]:
    return dict(
        by_series(fortio.parse([completed], {"api": "rest", "duration": "1 s", **parameters}))
    )


def test_open_loop_runs_at_the_rate_that_was_asked(target: str, path: str, tmp_path: Path) -> None:
    asked: dict[str, Json] = {"url": target, "qps": "100 1/s", "connections": 2, "uniform": True}
    done = run(asked, tmp_path, path)
    found = figures(done, asked)
    assert found["samples"] == 100
    assert found["error.ratio"] == 0
    assert 0 < found["latency.p50"] <= found["latency.p999"]
    document = json.loads(done.stdout)
    assert (
        document["RequestedQPS"],
        document["NumThreads"],
        document["RequestedDuration"],
        document["Uniform"],
    ) == ("100", 2, "1s", True)
    assert json.loads(done.files["fortio-started.json"])["ResultID"] == document["ID"]
    assert json.loads(done.files["fortio-status.json"])["Statuses"] is None
    assert sorted(os.listdir(tmp_path)) == sorted(
        [fortio_rest.SCRIPT, fortio_rest.REQUEST, *fortio_rest.ANSWERS]
    )


def test_closed_loop_runs_as_fast_as_it_can_and_again_in_the_same_directory(
    target: str, path: str, tmp_path: Path
) -> None:
    asked: dict[str, Json] = {"url": target, "connections": 1, "keepalive": False}
    for _ in range(2):
        done = run(asked, tmp_path, path)
        found = figures(done, asked)
        assert found["samples"] > 0
        assert "achieved.ratio" not in found
        assert (
            json.loads(done.stdout)["SocketCount"] >= found["samples"]
        )  # a connection for every request


class Recorder(BaseHTTPRequestHandler):
    """Answers every request and keeps what it was."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[set[tuple[str, str | None, str | None, bytes]]] = set()

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.add((self.path, self.headers["X-Vault-Token"], self.headers["X-Plain"], body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_secret_headers_and_payload_arrive_and_the_secret_is_nowhere_else(
    path: str, tmp_path: Path
) -> None:
    Recorder.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asked: dict[str, Json] = {
            "url": f"http://127.0.0.1:{server.server_port}/v1/encrypt",
            "qps": "20 1/s",
            "connections": 1,
            "method": "PUT",
            "payload": '{"plaintext": "a\\nb"}',
            "headers": ['X-Plain: "x"'],
            "secret_headers": {"X-Vault-Token": "${secret:env:TOKEN}"},
        }
        commands, files = planned(asked)
        process = start(commands, files, tmp_path, path)
        shown, stored = b"", b""
        while process.poll() is None:
            for entry in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    shown += entry.read_bytes()
            for entry in tmp_path.rglob("*"):
                with contextlib.suppress(OSError):
                    stored += entry.read_bytes() if entry.is_file() else b""
            time.sleep(0.2)
        done = finish(process, commands, tmp_path)
        server.shutdown()
    assert done.exit_code == 0, done.stderr
    assert figures(done, asked)["error.ratio"] == 0
    assert Recorder.seen == {("/v1/encrypt", TOKEN, '"x"', b'{"plaintext": "a\\nb"}')}
    assert commands.clients[0].env == {"FORTIO_HEADER_1": "${secret:env:TOKEN}"}
    assert b"fortio-rest.sh" in shown
    for kept in (shown, stored, done.stdout, done.stderr, *done.files.values()):
        assert b"hvs.a" not in kept


def test_secrets_are_refused_where_they_would_be_arguments() -> None:
    with pytest.raises(SpecError, match="api: rest"):
        fortio.commands(
            experiment("fortio", {"secret_headers": {"X-Vault-Token": "${secret:env:TOKEN}"}}),
            surroundings(),
        )


def test_command_form_hands_over_payload_in_a_file() -> None:
    commands = fortio.commands(
        experiment(
            "fortio", {"payload": "{}", "method": "PUT", "ca_file": "/ca.pem", "insecure": True}
        ),
        surroundings(),
    )
    argv = commands.clients[0].argv
    assert [argv[argv.index(name) + 1] for name in ("-payload-file", "-X", "-cacert")] == [
        "fortio-payload",
        "PUT",
        "/ca.pem",
    ]
    assert "-k" in argv
    assert commands.files[0].data == b"{}"


@pytest.mark.parametrize("status", [503, 302])
def test_answers_other_than_2xx_are_errors(
    target: str, path: str, tmp_path: Path, status: int
) -> None:
    asked: dict[str, Json] = {"url": f"{target}?status={status}", "qps": "50 1/s", "connections": 1}
    assert figures(run(asked, tmp_path, path), asked)["error.ratio"] == 1


def test_a_target_that_refuses_is_all_errors_whatever_the_rate(path: str, tmp_path: Path) -> None:
    asked: dict[str, Json] = {
        "url": f"http://127.0.0.1:{free_port()}/",
        "qps": "50 1/s",
        "connections": 1,
    }
    found = figures(run(asked, tmp_path, path), asked)
    assert found["error.ratio"] == 1
    assert (
        found["achieved.ratio"] > 0
    )  # a failed request counts in the rate: the error ratio alone tells


def test_an_unknown_host_is_no_run(path: str, tmp_path: Path) -> None:
    asked: dict[str, Json] = {
        "url": "http://no-such-host.invalid/",
        "qps": "50 1/s",
        "connections": 1,
    }
    with pytest.raises(ParseError, match=r"no-such-host\.invalid"):
        figures(run(asked, tmp_path, path), asked)


def test_numbers_are_taken_for_nothing_and_the_answer_is_refused(
    target: str, path: str, tmp_path: Path
) -> None:
    asked: dict[str, Json] = {"url": target, "qps": "300 1/s", "connections": 1}
    done = run(asked, tmp_path, path, lambda request: request.replace(b'"qps":"300"', b'"qps":300'))
    assert done.exit_code == 0
    with pytest.raises(ParseError, match="8 as RequestedQPS in fortio's answer, expected 300"):
        figures(done, asked)
    done = run(asked, tmp_path, path, lambda request: request.replace(b'"c":"1"', b'"c":1'))
    with pytest.raises(ParseError, match="4 as NumThreads"):
        figures(done, asked)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda request: request.replace(b'"t":"1s"', b'"t":"1"'), "missing unit in duration"),
        (lambda request: request.replace(b'"url":', b'"u":'), "URL is required"),
        (lambda request: request.replace(b'"qps":', b'"qps"'), "deserialization error"),
    ],
)
def test_what_fortio_refuses_is_told_in_its_words(
    path: str, tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    asked: dict[str, Json] = {"url": "http://127.0.0.1:1/", "qps": "50 1/s", "connections": 1}
    done = run(asked, tmp_path, path, change)
    assert done.exit_code == 1
    with pytest.raises(ParseError, match=said):
        figures(done, asked)


def test_a_run_that_somebody_stops_is_refused(target: str, path: str, tmp_path: Path) -> None:
    asked: dict[str, Json] = {"url": target, "qps": "50 1/s", "connections": 1, "duration": "4 s"}
    commands, files = planned(asked)
    process = start(commands, files, tmp_path, path)
    _await(lambda: b'"State":2' in (tmp_path / "fortio-status.json").read_bytes())
    stop = [
        "curl",
        "-sS",
        "--unix-socket",
        "fortio.sock",
        "http://fortio/fortio/rest/stop?wait=true",
    ]
    assert b"stopped" in subprocess.run(stop, cwd=tmp_path, capture_output=True, check=True).stdout
    with pytest.raises(ParseError, match="it was stopped early"):
        figures(finish(process, commands, tmp_path), asked)


def test_ending_the_program_ends_the_load(target: str, path: str, tmp_path: Path) -> None:
    commands, files = planned({"url": target, "qps": "50 1/s", "duration": "60 s"})
    process = start(commands, files, tmp_path, path)
    _await(lambda: b'"State":2' in (tmp_path / "fortio-status.json").read_bytes())
    os.killpg(process.pid, signal.SIGTERM)
    assert finish(process, commands, tmp_path).exit_code != 0
    assert not (tmp_path / "fortio.sock").exists()


def _await(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if met():
                return
        time.sleep(0.05)
    raise AssertionError("did not happen within 60 s")
