import json
import math

import pytest

from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.fortio import output as fortio_output
from benchspec.workloads.fortio import workload as fortio
from benchspec.workloads.shared.go_duration import read_duration, write_duration
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import DATA, SHARED_SAMPLES, by_series, completed, sample


def argv(parameters: dict[str, Json], host: str = "192.0.2.7") -> tuple[str, ...]:
    return fortio.commands(experiment("fortio", parameters), surroundings(host)).clients[0].argv


def option(command: tuple[str, ...], name: str) -> str:
    return command[command.index(name) + 1]


def test_open_loop_of_the_mesh_article() -> None:
    command = argv(
        {
            "url": "http://nginx-service.multicluster:80",
            "qps": "6000 1/s",
            "connections": 1,
            "duration": "60 s",
            "resolution": "50 us",
        }
    )
    assert command[-1] == "http://nginx-service.multicluster:80"
    assert [option(command, name) for name in ("-qps", "-c", "-t", "-r", "-p")] == [
        "6000",
        "1",
        "60s",
        "5e-05",
        "50,75,90,95,99,99.9",
    ]


def test_closed_loop_and_switches() -> None:
    switches: dict[str, Json] = {
        "http2": True,
        "jitter": True,
        "uniform": True,
        "no_catch_up": True,
        "keepalive": False,
    }
    command = argv({**switches, "headers": ["A: b", "C: d"], "timeout": "1500 ms"})
    assert option(command, "-qps") == "0"
    assert {"-h2", "-jitter", "-uniform", "-nocatchup", "-keepalive=false"} <= set(command)
    assert command[-5:] == ("-H", "A: b", "-H", "C: d", "http://192.0.2.7:20000/")
    assert option(command, "-timeout") == "1500000000ns"


def test_ipv6_server_is_written_in_brackets() -> None:
    assert (
        argv({"path": "/?size=1024"}, host="2001:db8::7")[-1]
        == "http://[2001:db8::7]:20000/?size=1024"
    )


def test_own_server_listens_on_its_port_alone() -> None:
    (server,) = fortio.commands(experiment("fortio", {}), surroundings()).servers
    assert option(server.command.argv, "-http-port") == "20000"
    assert server.command.argv.count("disabled") == 4


def test_a_url_starts_no_server_unless_one_is_named() -> None:
    assert fortio.commands(experiment("fortio", {"url": "http://x"}), surroundings()).servers == ()
    assert fortio.commands(experiment("fortio", {"server": "none"}), surroundings()).servers == ()
    named = fortio.commands(
        experiment("fortio", {"url": "http://x", "server": "nginx"}, {Role.SERVER: (1,)}),
        surroundings(),
    )
    assert named.servers[0].command.argv == (
        "nginx",
        "-e",
        "stderr",
        "-p",
        "/w/server",
        "-c",
        "nginx.conf",
    )
    assert named.servers[0].command.cpus == (1,)


@pytest.mark.parametrize(
    ("host", "listen"), [("192.0.2.7", b"listen 20000;"), ("2001:db8::7", b"listen [::]:20000;")]
)
def test_nginx_keeps_connections_and_its_files_in_the_work_directory(
    host: str, listen: bytes
) -> None:
    (placed,) = fortio.commands(experiment("fortio", {"server": "nginx"}), surroundings(host)).files
    assert (placed.role, placed.name) == (Role.SERVER, "nginx.conf")
    assert listen in placed.data
    assert b"pid nginx.pid" in placed.data
    assert placed.data.count(b"_temp_path tmp-") == 5
    assert placed.data.count(b"{") == placed.data.count(b"}")


def test_tools_name_nginx_only_where_it_serves() -> None:
    assert [tool.executable for tool in fortio.tools({})] == ["fortio"]
    assert [tool.executable for tool in fortio.tools({"server": "nginx"})] == ["fortio", "nginx"]


def test_rest_arguments_are_strings_and_max_rate_is_minus_one() -> None:
    given: dict[str, Json] = {
        "api": "rest",
        "qps": "300 1/s",
        "connections": 1,
        "duration": "60 s",
        "http2": True,
        "headers": ["A: b"],
        "insecure": True,
    }
    body = rest_request(given)
    assert (body["qps"], body["c"], body["t"], body["h2"], body["headers"], body["async"]) == (
        "300",
        "1",
        "60s",
        "on",
        ["A: b"],
        "on",
    )
    assert all(isinstance(value, str) for name, value in body.items() if name != "headers")
    assert body["https-insecure"] == "on"
    assert rest_request({"api": "rest"})["qps"] == "-1"
    assert {tool.executable for tool in fortio.tools({"api": "rest", "server": "nginx"})} == {
        "fortio",
        "nginx",
        "curl",
    }


def rest_request(parameters: dict[str, Json]) -> dict[str, Json]:
    placed = {
        file.name: file.data
        for file in fortio.commands(experiment("fortio", parameters), surroundings()).files
    }
    found: dict[str, Json] = json.loads(placed["fortio-request.json"])
    return found


STORED = (DATA / "fortio" / "load-paced.json").read_bytes()
ASKED: dict[str, Json] = {"qps": "200 1/s", "connections": 2, "duration": "1 s"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"qps": "300 1/s"}, "200 as RequestedQPS"),
        ({"connections": 1}, "2 as NumThreads"),
        ({"duration": "2 s"}, "1 as RequestedDuration"),
    ],
)
def test_answers_must_repeat_what_was_asked(changed: dict[str, Json], said: str) -> None:
    assert fortio.parse([completed(STORED)], ASKED)
    with pytest.raises(ParseError, match=said):
        fortio.parse([completed(STORED)], {**ASKED, **changed})


def test_closed_loop_must_have_been_run_at_full_speed() -> None:
    with pytest.raises(ParseError, match=r"200 as RequestedQPS .* expected inf"):
        fortio.parse([completed(STORED)], {"connections": 2, "duration": "1 s"})


def changed(**fields: Json) -> bytes:
    return json.dumps({**json.loads(STORED), **fields}).encode()


def test_missing_fields_of_the_answer_do_not_pass() -> None:
    with pytest.raises(ParseError, match="no NumThreads"):
        fortio.parse([completed(changed(NumThreads=None))], ASKED)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed(DurationHistogram={"Count": 0}), "found 0 requests"),
        (changed(DurationHistogram={}), "found no requests"),
        (changed(ErrorsDurationHistogram={"Count": 9999}), "9999 errors among 200 requests"),
        (changed(ActualQPS=None), "expected a fortio result"),
        (changed(error=True, message="stopped before it began"), "stopped before it began"),
        (b"[" + STORED + b"]", "found a JSON list"),
        (b"", "found no JSON"),
        (STORED[: len(STORED) // 2], "cut or malformed"),
    ],
)
def test_untrustworthy_answers(document: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        fortio.parse([completed(document)], {})


def test_one_run_has_one_output() -> None:
    with pytest.raises(ParseError, match="found 2 fortio outputs"):
        fortio.parse([completed(STORED)] * 2, {})


def test_old_results_without_error_histogram_count_return_codes() -> None:
    old = {
        name: value
        for name, value in json.loads(STORED).items()
        if name != "ErrorsDurationHistogram"
    }
    found = by_series(
        fortio.parse(
            [
                completed(
                    json.dumps({**old, "RetCodes": {"200": 150, "302": 25, "-1": 25}}).encode()
                )
            ],
            {},
        )
    )
    assert found["error.ratio"] == 0.25
    unknown = by_series(
        fortio.parse([completed(json.dumps({**old, "RetCodes": {"SERVING": 200}}).encode())], {})
    )
    assert "error.ratio" not in unknown


def test_percentiles_may_be_missing() -> None:
    histogram = json.loads(STORED)["DurationHistogram"]
    for percentiles in (None, [], "x", [{"Percentile": 42, "Value": 1}]):
        found = by_series(
            fortio.parse(
                [completed(changed(DurationHistogram={**histogram, "Percentiles": percentiles}))],
                {},
            )
        )
        assert not {"latency.p50", "latency.p99"} & found.keys()
        assert found["latency.mean"] > 0


def test_text_around_the_answer_is_skipped() -> None:
    assert (
        by_series(
            fortio.parse(
                [completed(b"Fortio 1.66.5 running at 200 queries per second\n" + STORED)], ASKED
            )
        )["samples"]
        == 200
    )


@pytest.mark.parametrize(
    ("name", "qps", "samples"),
    [("nighthawk-small.json", 1, 48), ("nighthawk-large.json", 50, 17988)],
)
def test_counts_as_strings_and_seconds_for_nanoseconds(name: str, qps: float, samples: int) -> None:
    """Another tool's results: no latency to report, and a duration that cannot be nanoseconds."""
    found = by_series(fortio.parse([completed(sample("fortio", name))], {}))
    assert found == {
        "throughput": qps,
        "achieved.ratio": 1.0,
        "error.ratio": 0.0,
        "samples": samples,
    }


def test_nighthawk_with_percentiles() -> None:
    found = by_series(
        fortio.parse(
            [completed(sample("fortio", "nighthawk-output_formatter.medium.fortio.gold.json"))], {}
        )
    )
    assert found["throughput"] == 27.99999399400129
    assert found["duration"] == 2.000000429
    assert found["samples"] == 53
    assert (
        found["latency.mean"],
        found["latency.p50"],
        found["latency.p90"],
        found["latency.p95"],
    ) == pytest.approx((0.078433, 0.065077, 0.085045, 0.247513), abs=1e-6)


def test_other_json_is_refused() -> None:
    with pytest.raises(ParseError, match="expected a fortio result"):
        fortio.parse(
            [completed(sample("fortio", "nighthawk-native-output_formatter.json.gold.json"))], {}
        )
    with pytest.raises(ParseError, match="JSON list"):
        fortio.parse([completed(sample("smp", "smp-test-results.json"))], {})


# mesh: QPS, mean, P90, P99, P99.9 in ms: means of five files each
ARTICLE = {
    ("pragmagic-aws", "imp"): (496.08, 2.01, 2.54, 5.88, 10.85),
    ("pragmagic-aws", "kmz"): (890.63, 1.12, 1.29, 4.19, 9.25),
    ("pragmagic-aws", "nsmvl3"): (1332.38, 0.74, 0.84, 1.04, 2.45),
    ("pragmagic-packet", "imp"): (1864.44, 0.53, 0.57, 0.68, 0.95),
    ("pragmagic-packet", "kmz"): (4538.77, 0.22, 0.25, 0.29, 2.55),
    ("pragmagic-packet", "nsmvl3"): (5148.70, 0.19, 0.24, 0.29, 1.04),
}


@pytest.mark.parametrize(("place", "mesh"), ARTICLE)
def test_stored_runs_of_the_mesh_article_give_its_table(place: str, mesh: str) -> None:
    names = sorted(
        path.name for path in (SHARED_SAMPLES / "fortio" / place).glob(f"*-{mesh}-*.json")
    )
    asked: dict[str, Json] = {"qps": "6000 1/s", "connections": 1, "duration": "60 s"}
    runs = [
        by_series(fortio.parse([completed(sample(f"fortio/{place}", name))], asked))
        for name in names or ["absent"]
    ]
    assert len(runs) == 5
    assert all(run["error.ratio"] == 0 for run in runs)
    qps, *milliseconds = ARTICLE[place, mesh]
    assert sum(run["throughput"] for run in runs) / 5 == pytest.approx(qps, abs=0.005)
    for metric, published in zip(
        ("latency.mean", "latency.p90", "latency.p99", "latency.p999"), milliseconds, strict=True
    ):
        assert 1000 * sum(run[metric] for run in runs) / 5 == pytest.approx(published, abs=0.0051)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60s", 60),
        ("1m0s", 60),
        ("1h2m3.5s", 3723.5),
        ("640.232µs", 640.232e-6),
        ("640.232us", 640.232e-6),
        ("1500000000ns", 1.5),
        ("0", 0),
    ],
)
def test_go_durations(text: str, seconds: float) -> None:
    assert read_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "60", "s", "-1s", "1 s", "exactly 20 calls", "1s1", "1s ", "１s"]
)
def test_other_text_is_no_go_duration(text: str) -> None:
    assert read_duration(text) is None


def test_written_durations_are_read_back() -> None:
    for seconds in (1.0, 0.0015, 3600.0, 5e-05, 1.25):
        assert read_duration(write_duration(seconds)) == pytest.approx(seconds)


def test_requested_rates() -> None:
    assert fortio_output.requested_qps({"RequestedQPS": "max"}) == math.inf
    assert fortio_output.requested_qps({"RequestedQPS": 50}) == 50
    assert fortio_output.requested_qps({}) is None
    assert fortio_output.requested_duration({"RequestedDuration": "exactly 20 calls"}) is None
    assert fortio_output.requested_duration({"RequestedDuration": 5}) is None
