from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Commands
from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.results import Measurement
from benchspec.engine.model.spec import Json
from benchspec.workloads.iperf3 import workload as iperf3
from tests.workloads import trial
from tests.workloads.tool_goldens import Golden, by_series, completed, goldens, sample

WORKLOAD: Workload = iperf3


@pytest.mark.parametrize(
    "case", [c for c in goldens("iperf3") if c.measurements], ids=lambda case: case.name
)
def test_golden_figures_are_those_of_the_document(case: Golden) -> None:
    """Held against the document itself, without the parser's code."""
    end = json.loads(case.outputs[0])["end"]
    expected = case.measurements or {}
    assert expected["throughput"] == end["sum_received"]["bits_per_second"]
    assert expected["throughput.sent"] == end["sum_sent"]["bits_per_second"]
    assert ("retransmits" in expected) == ("retransmits" in end["sum_sent"])
    assert ("jitter" in expected) == ("jitter_ms" in end["sum_received"])
    assert expected.get("throughput.reverse") == end.get("sum_received_bidir_reverse", {}).get(
        "bits_per_second"
    )


CROSS_CHECK = {  # received and sent Mbit/s, retransmits, jitter ms, loss %, reverse received
    "local-3.12-tcp-P3.json": (16736.526, 16761.235, 15, None, None, None),
    "local-3.12-tcp-R.json": (17758.909, 17763.958, 0, None, None, None),
    "local-3.12-tcp-bidir-P2.json": (6599.353, 6601.517, 68, None, None, 6062.042),
    "local-3.12-tcp-bidir.json": (6899.568, 6918.481, 21, None, None, 8519.427),
    "local-3.12-tcp-get-server-output.json": (11201.707, 11199.702, 7, None, None, None),
    "local-3.12-tcp.json": (15382.444, 15389.795, 90, None, None, None),
    "local-3.12-udp-100M.json": (100.035, 100.048, None, 0.025517, 0.0, None),
    "local-3.12-udp-R.json": (50.067, 50.065, None, 0.028572, 0.0, None),
    "local-3.12-udp-b0-loss.json": (5900.878, 20364.287, None, 0.045392, 71.0203, None),
    "local-3.12-udp-bidir.json": (50.062, 50.064, None, 0.070937, 0.0, 50.062),
    "thiezn-tcp-3.0.11.json": (934.268, 935.992, 0, None, None, None),
}


@pytest.mark.parametrize("name", CROSS_CHECK)
def test_samples_give_the_figures_that_were_read_off_them(name: str) -> None:
    received, sent, retransmits, jitter, loss, reverse = CROSS_CHECK[name]
    found = by_series(iperf3.parse([completed(sample("iperf3", name))], {}))
    assert found["throughput"] == pytest.approx(received * 1e6, rel=1e-5)
    assert found["throughput.sent"] == pytest.approx(sent * 1e6, rel=1e-5)
    assert found.get("retransmits") == retransmits
    assert found.get("jitter") == (
        None if jitter is None else pytest.approx(jitter / 1e3, rel=1e-4)
    )
    assert found.get("loss.ratio") == (
        None if loss is None else pytest.approx(loss / 100, rel=1e-5)
    )
    assert found.get("throughput.reverse") == (
        None if reverse is None else pytest.approx(reverse * 1e6, rel=1e-5)
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dns", "Name or service not known"),
        ("refused", "Connection refused"),
        ("server-busy", "server is busy"),
        ("server-killed", "reset by peer"),
    ],
)
def test_an_error_with_exit_code_0_is_an_error(name: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        iperf3.parse([completed(sample("iperf3", f"local-3.12-ERROR-{name}.json"))], {})


def document(end: dict[str, Json], **test_start: Json) -> bytes:
    return json.dumps({"start": {"test_start": test_start}, "intervals": [], "end": end}).encode()


def test_old_udp_document_has_the_senders_rate_and_the_receivers_loss() -> None:
    both: dict[str, Json] = {
        "seconds": 10,
        "bits_per_second": 1000.0,
        "jitter_ms": 2.0,
        "lost_packets": 25,
        "packets": 100,
        "lost_percent": 25.0,
    }
    found = by_series(iperf3.parse([completed(document({"sum": both}, protocol="UDP"))], {}))
    assert found == pytest.approx(
        {
            "throughput": 750.0,
            "throughput.sent": 1000.0,
            "jitter": 0.002,
            "loss.ratio": 0.25,
            "duration": 10.0,
        }
    )


def test_loss_is_counted_where_there_is_no_percentage_and_never_over_one() -> None:
    both: dict[str, Json] = {
        "seconds": 10,
        "bits_per_second": 1000.0,
        "lost_packets": 25,
        "packets": 100,
    }
    assert by_series(iperf3.parse([completed(document({"sum": both}))], {}))["loss.ratio"] == 0.25
    received: dict[str, Json] = {"seconds": 10, "bits_per_second": 10.0, "lost_percent": 109.0}
    assert (
        by_series(iperf3.parse([completed(document({"sum": both, "sum_received": received}))], {}))[
            "loss.ratio"
        ]
        == 1.0
    )


@pytest.mark.parametrize(
    "received",
    [
        {"seconds": 10, "bits_per_second": 0},
        {"seconds": 0, "bits_per_second": 5},
        {"seconds": 10},
        {"bits_per_second": 5},
        {"seconds": 10, "bits_per_second": "5"},
        {"seconds": 10, "bits_per_second": -5},
        {"seconds": 10, "bits_per_second": None, "lost_packets": 7, "packets": 7},
    ],
)
def test_nothing_received_is_an_error_and_no_zero(received: dict[str, Json]) -> None:
    with pytest.raises(ParseError, match="received nothing"):
        iperf3.parse([completed(document({"sum_received": received}))], {})


def test_a_dead_way_back_is_an_error() -> None:
    good: dict[str, Json] = {"seconds": 10, "bits_per_second": 10.0}
    raw = document(
        {"sum_received": good, "sum_received_bidir_reverse": {"seconds": 10, "bits_per_second": 0}}
    )
    with pytest.raises(ParseError, match="received nothing from server to client"):
        iperf3.parse([completed(raw)], {})


def test_minus_nan_and_text_after_the_document() -> None:
    raw = document(
        {"sum_received": {"seconds": 10, "bits_per_second": 10.0, "jitter_ms": 98765}},
        protocol="UDP",
    )
    found = by_series(
        iperf3.parse(
            [completed(raw.replace(b"98765", b"-nan") + b"\niperf3: error - late words\n")], {}
        )
    )
    assert found == {"throughput": 10.0, "duration": 10.0}


def test_retransmits_that_the_sender_does_not_count() -> None:
    raw = document(
        {
            "sum_received": {"seconds": 1, "bits_per_second": 9.0},
            "sum_sent": {"bits_per_second": 9.0, "retransmits": -1},
        },
        protocol="TCP",
    )
    assert "retransmits" not in by_series(iperf3.parse([completed(raw)], {}))


def test_an_exit_code_alone_is_a_failure() -> None:
    with pytest.raises(ParseError, match="exit code 1"):
        iperf3.parse(
            [
                completed(
                    document({"sum_received": {"seconds": 1, "bits_per_second": 9.0}}), exit_code=1
                )
            ],
            {},
        )


def test_one_output_is_expected() -> None:
    with pytest.raises(ParseError, match="found 2 iperf3 outputs"):
        iperf3.parse([completed(b"{}")] * 2, {})


def client(parameters: dict[str, Json], host: str = "10.0.0.1") -> list[str]:
    commands = iperf3.commands(
        trial.experiment(iperf3, parameters), trial.surroundings("/w", host, 7000)
    )
    return list(commands.clients[0].argv)


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({"protocol": "udp"}, "-u --udp-counters-64bit -b 0"),
        (
            {"protocol": "udp", "bitrate": "1.5 Gbit/s", "length": "1400 B"},
            "-u --udp-counters-64bit -b 1500000000 -l 1400",
        ),
        ({"bitrate": "100 Mbit/s"}, "-b 100000000"),
        ({"reverse": True}, "-R"),
        ({"bidir": True}, "--bidir"),
        ({"mss": "1400 B", "window": "256 KiB"}, "-M 1400 -w 262144"),
        ({"congestion": "bbr", "cport": 4000, "dscp": 46}, "-C bbr --cport 4000 --dscp 46"),
        ({"no_delay": True, "zerocopy": True, "dont_fragment": True}, "-N -Z --dont-fragment"),
        ({}, ""),
    ],
)
def test_client_options(parameters: dict[str, Json], options: str) -> None:
    base = "iperf3 -c 10.0.0.1 -p 7000 -J --connect-timeout 10000 -t 10 -O 0 -P 1"
    assert client(parameters) == f"{base} {options}".split()


def test_family_goes_to_both_sides() -> None:
    commands = iperf3.commands(
        trial.experiment(iperf3, {"family": "ipv6"}, cpus=(0,)),
        trial.surroundings("/w", "fd00::1", 7000),
    )
    assert commands.clients[0].argv[:4] == ("iperf3", "-c", "fd00::1", "-6")
    assert commands.servers[0].command.argv == ("iperf3", "-s", "-6", "-p", "7000")
    assert commands.servers[0].command.cpus == (0,)
    assert commands.servers[0].command.timeout_s > 86400


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"reverse": True, "bidir": True}, "both reverse and bidir"),
        ({"duration": "1.5 s"}, "whole seconds"),
        ({"bitrate": "1 GB/s"}, "expected a data rate in bits"),
    ],
)
def test_parameters_that_cannot_be_run(parameters: dict[str, Json], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        client(parameters)


def test_duration_includes_what_is_omitted() -> None:
    assert iperf3.duration_s({"duration": "1 min", "omit": "2 s"}) == 62


def when_it_listens(
    commands: Commands, workdir: Path, parameters: Mapping[str, Json]
) -> Sequence[Measurement]:
    """One trial; the server has no listening socket for a moment after every client, or still takes
    itself for busy, which may be long where it has to wait for a CPU.
    """
    deadline = time.monotonic() + 20
    while True:
        try:
            return iperf3.parse(trial.run(commands, workdir), parameters)
        except ParseError as error:
            soon = any(word in str(error) for word in ("Connection refused", "server is busy"))
            if not soon or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@pytest.mark.parametrize(
    ("host", "parameters"),
    [
        ("127.0.0.1", {"duration": "1 s", "bitrate": "20 Mbit/s", "streams": 2}),
        (
            "::1",
            {
                "duration": "1 s",
                "bitrate": "20 Mbit/s",
                "streams": 2,
                "protocol": "udp",
                "family": "ipv6",
            },
        ),
    ],
)
def test_real_trials_one_after_the_other_with_one_server(
    tmp_path: Path, host: str, parameters: dict[str, Json]
) -> None:
    """The server outlives the probe that finds it ready, and every trial."""
    trial.require("iperf3")
    commands = iperf3.commands(
        trial.experiment(iperf3, parameters), trial.surroundings(tmp_path, host, trial.free_port())
    )
    with trial.serving(commands):
        for _ in range(2):
            found = by_series(when_it_listens(commands, tmp_path, parameters))
            assert found["achieved.ratio"] == pytest.approx(found["throughput"] / 40e6)
            assert 0.5 < found["achieved.ratio"] < 1.5
            assert 0.9 < found["duration"] < 5


def test_real_trial_without_a_server(tmp_path: Path) -> None:
    trial.require("iperf3")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    commands = iperf3.commands(
        trial.experiment(iperf3, {}), trial.surroundings(tmp_path, "127.0.0.1", port)
    )
    with pytest.raises(ParseError, match="Connection refused"):
        iperf3.parse(trial.run(commands, tmp_path), {})
