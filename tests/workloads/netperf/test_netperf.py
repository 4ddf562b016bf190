import dataclasses
import shutil
import subprocess
import time

import pytest

from benchspec.engine.model.contract.values import Command, Completed
from benchspec.engine.model.errors import ParseError, SpecError, UnitError
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.netperf import output as netperf_output
from benchspec.workloads.netperf import workload as netperf
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import by_series, completed


def argv(parameters: dict[str, Json], stream: int = 0) -> tuple[str, ...]:
    return netperf.commands(experiment("netperf", parameters), surroundings()).clients[stream].argv


def option(command: tuple[str, ...], name: str) -> str:
    return command[command.index(name) + 1]


def test_defaults() -> None:
    test, selection = argv({})[: argv({}).index("--")], argv({})[argv({}).index("--") + 1 :]
    assert test == (
        "netperf",
        "-H",
        "192.0.2.7",
        "-p",
        "20000",
        "-t",
        "TCP_STREAM",
        "-l",
        "10",
        "-c",
        "-C",
    )
    assert selection == ("-P", ",20001", "-k", ",".join(netperf_output.SELECTORS))


def test_server_listens_where_the_clients_connect_and_leaves_no_debug_file() -> None:
    (server,) = netperf.commands(experiment("netperf", {"family": "ipv6"}), surroundings()).servers
    assert server.command.argv == ("netserver", "-D", "-N", "-6", "-p", "20000")
    assert (server.command.role, server.endpoint.port) == (Role.SERVER, 20000)


def test_every_stream_has_a_data_port_of_its_own() -> None:
    commands = netperf.commands(experiment("netperf", {"streams": 3}), surroundings())
    assert [option(client.argv, "-P") for client in commands.clients] == [
        ",20001",
        ",20002",
        ",20003",
    ]
    assert option(argv({"streams": 2, "data_port": 30000}, stream=1), "-P") == ",30001"


def test_the_ports_that_streams_use_are_those_that_are_asked_for() -> None:
    assert (netperf.ports({"streams": 3}), list(netperf.fixed_ports({"streams": 3}))) == (4, [])
    assert (
        netperf.ports({"streams": 2, "data_port": 30000}),
        list(netperf.fixed_ports({"streams": 2, "data_port": 30000})),
    ) == (1, [30000, 30001])


def test_request_response_options() -> None:
    command = argv(
        {
            "test": "TCP_CRR",
            "request_size": "64 B",
            "response_size": "16 KiB",
            "no_delay": True,
            "cpu": False,
        }
    )
    assert option(command, "-r") == "64,16384"
    assert "-j" in command
    assert "-D" in command[command.index("--") :]
    assert not {"-c", "-C"} & set(command)


def test_stream_options() -> None:
    sizes: dict[str, Json] = {"message_size": "1472 B", "socket_buffer": "4 MiB"}
    command = argv(
        {"test": "UDP_STREAM", **sizes, "latency": True, "family": "ipv4", "duration": "10 min"}
    )
    assert (
        option(command, "-m"),
        option(command, "-s"),
        option(command, "-S"),
        option(command, "-R"),
    ) == ("1472", "4194304", "4194304", "1")
    assert (option(command, "-l"), "-j" in command, "-4" in command, "-r" in command) == (
        "600",
        True,
        True,
        False,
    )


def test_confidence_multiplies_the_estimate() -> None:
    parameters: dict[str, Json] = {
        "duration": "5 s",
        "confidence": {"level": 95, "width": "2 %", "min": 3, "max": 6},
    }
    command = argv(parameters)
    assert (option(command, "-i"), option(command, "-I")) == ("6,3", "95,2")
    assert netperf.duration_s(parameters) == 30
    assert netperf.duration_s({}) == 10
    assert netperf.duration_s({"test": "TCP_CRR"}) == 14


def test_interval_series_are_asked_for() -> None:
    assert option(argv({"interval": "500 ms"}), "-D") == "0.5"
    assert "-D" not in argv({})


INTERIM = b"NETPERF_INTERIM_RESULT[%d]=%s\nNETPERF_UNITS[%d]=10^6bits/s\nNETPERF_INTERVAL[%d]=%s\nNETPERF_ENDING[%d]=1.0\n"


def interim(*intervals: tuple[bytes, bytes]) -> bytes:
    return b"".join(
        INTERIM % (n, rate, n, n, length, n) for n, (rate, length) in enumerate(intervals)
    )


def test_intervals_give_the_least_and_the_greatest_but_no_remainder() -> None:
    found = by_series(
        netperf.parse(
            [
                completed(
                    interim((b"90.00", b"1.0"), (b"110.00", b"0.9"), (b"5.00", b"0.01")) + GOOD
                )
            ],
            {},
        )
    )
    assert (found["throughput.interval.min"], found["throughput.interval.max"]) == (90e6, 110e6)
    two = by_series(
        netperf.parse([completed(interim((b"90.00", b"1.0")) + GOOD), completed(GOOD)], {})
    )
    assert two["throughput.interval.min{stream=1}"] == 90e6
    assert not {"throughput.interval.min", "throughput.interval.min{stream=2}"} & two.keys()


def test_intervals_of_several_iterations_or_in_unknown_units_are_left_out() -> None:
    repeated = completed(interim((b"90.00", b"1.0")) + GOOD + b"CONFIDENCE_ITERATION=3\n")
    odd = completed(interim((b"90.00", b"1.0")).replace(b"10^6bits/s", b"furlongs") + GOOD)
    for output in (repeated, odd):
        assert "throughput.interval.min" not in by_series(netperf.parse([output], {}))


def test_contradictions_are_refused() -> None:
    with pytest.raises(SpecError, match="min 9 above max 5"):
        netperf.duration_s({"confidence": {"min": 9, "max": 5}})
    with pytest.raises(UnitError, match="whole seconds"):
        netperf.duration_s({"duration": "1500 ms"})


def test_roles_are_pinned_and_deadlines_leave_time_to_connect() -> None:
    planned = experiment("netperf", {"streams": 2}, {Role.CLIENT: (0,), Role.SERVER: (1,)})
    commands = netperf.commands(planned, surroundings())
    assert [client.cpus for client in commands.clients] == [(0,), (0,)]
    assert commands.servers[0].command.cpus == (1,)
    assert all(client.timeout_s > netperf.duration_s({}) for client in commands.clients)


def test_primary_follows_the_test() -> None:
    assert netperf.primary({}) == "throughput"
    assert netperf.primary({"test": "UDP_RR"}) == "transactions"


GOOD = b"THROUGHPUT=100.00\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=1.00\n"


def test_missing_process_is_not_summed_over() -> None:
    with pytest.raises(ParseError, match="found 2 netperf outputs, expected 3"):
        netperf.parse([completed(GOOD)] * 2, {"streams": 3})
    with pytest.raises(ParseError, match="found 0"):
        netperf.parse([], {})


def at(start: float, duration: float) -> Completed:
    return dataclasses.replace(completed(GOOD), started_at=start, duration_s=duration)


def test_streams_that_ran_one_after_the_other_are_not_summed() -> None:
    assert by_series(netperf.parse([at(10, 5), at(11, 5)], {}))["throughput"] == 200e6
    with pytest.raises(ParseError, match=r"ended 1\.000 s before another began"):
        netperf.parse([at(10, 5), at(16, 5)], {})


def test_the_rate_of_streams_that_end_at_different_times_is_what_went_through_the_link() -> None:
    """Two streams on a link of 100 Mbit/s: one drains for 0.2 s longer, so that their own rates add
    up to more.
    """
    short, long = (
        f"THROUGHPUT={rate}\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME={time}\n".encode()
        for rate, time in ((50, 8.0), (53.6585, 8.2))
    )
    assert by_series(netperf.parse([completed(short), completed(long)], {}))[
        "throughput"
    ] == pytest.approx((50e6 * 8.0 + 53.6585e6 * 8.2) / 8.2)


def test_what_one_process_lacks_the_whole_lacks() -> None:
    found = by_series(
        netperf.parse([completed(GOOD + b"LOCAL_TRANSPORT_RETRANS=3\n"), completed(GOOD)], {})
    )
    assert found == {"throughput": 200e6, "duration": 1.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"THROUGHPUT=1.00\nTHROUGHPUT_UNITS=furlongs\n", "unknown THROUGHPUT_UNITS='furlongs'"),
        (b"THROUGHPUT=-nan\nTHROUGHPUT_UNITS=Trans/s\n", "THROUGHPUT='-nan'"),
        (b"THROUGHPUT=-1.00\nTHROUGHPUT_UNITS=Trans/s\n", "THROUGHPUT='-1.00'"),
        (GOOD * 2, "several netperf results"),
        (b"Throughput,Throughput Units\n", "without a line of as many values"),
        (b"Throughput,Throughput Units\n1.0\n", "without a line of as many values"),
        (b"THROUGHPUT=1e300\nTHROUGHPUT_UNITS=10^9bits/s\n", "too large to be real"),
    ],
)
def test_untrustworthy_output(text: bytes, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        netperf.parse([completed(text)], {})
    assert said in str(caught.value)


def test_sent_rate_of_the_last_iteration_is_no_loss() -> None:
    """After several iterations THROUGHPUT is their mean, but the sent rate is the last one's."""
    udp = GOOD + b"PROTOCOL=UDP\nLOCAL_SEND_THROUGHPUT=200.00\nCONFIDENCE_ITERATION="
    assert by_series(netperf.parse([completed(udp + b"1\n")], {}))["loss.ratio"] == 0.5
    assert "loss.ratio" not in by_series(netperf.parse([completed(udp + b"3\n")], {}))


def test_the_time_of_a_call_in_a_stream_is_no_latency_of_the_network() -> None:
    stream = b"THROUGHPUT=50.00\nTHROUGHPUT_UNITS=10^6bits/s\nMEAN_LATENCY=2.00\nP99_LATENCY=3.00\n"
    for count, p99 in ((1, "latency.call.p99"), (2, "latency.call.p99{stream=2}")):
        found = by_series(netperf.parse([completed(stream)] * count, {}))
        assert [found["latency.call.mean"], found[p99]] == pytest.approx([2e-6, 3e-6])
        assert not any(
            name.startswith("latency.") and not name.startswith("latency.call.") for name in found
        )


def test_latency_without_any_work_has_no_mean() -> None:
    idle = b"THROUGHPUT=0.00\nTHROUGHPUT_UNITS=Trans/s\nMEAN_LATENCY=1.00\n"
    assert "latency.mean" not in by_series(netperf.parse([completed(idle)] * 2, {}))


@pytest.mark.skipif(
    shutil.which("netperf") is None, reason="netperf is not installed (Debian: component non-free)"
)
def test_real_netperf_with_two_streams() -> None:
    parameters: dict[str, Json] = {
        "test": "TCP_RR",
        "duration": "1 s",
        "streams": 2,
        "family": "ipv4",
    }
    commands = netperf.commands(
        experiment("netperf", parameters), surroundings(host="127.0.0.1", port=23471)
    )
    server = subprocess.Popen(commands.servers[0].command.argv, stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        running = [
            (client, subprocess.Popen(client.argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            for client in commands.clients
        ]
        found = by_series(
            netperf.parse([collect(client, process) for client, process in running], parameters)
        )
    finally:
        server.terminate()
        server.wait()
    assert found["transactions"] > 0
    assert found["duration"] == pytest.approx(1, abs=0.2)
    assert found["latency.p99{stream=2}"] > 0
    assert 0 <= found["cpu.remote.softirq"] <= found["cpu.remote"] <= 1


def collect(command: Command, process: subprocess.Popen[bytes]) -> Completed:
    stdout, stderr = process.communicate(timeout=command.timeout_s)
    return Completed(
        argv=command.argv,
        exit_code=process.returncode,
        stdout=stdout,
        stderr=stderr,
        started_at=0.0,
        duration_s=0.0,
    )


def test_mean_latency_without_a_deviation_is_still_combined() -> None:
    slow = b"THROUGHPUT=1.00\nTHROUGHPUT_UNITS=Trans/s\nMEAN_LATENCY=40.00\n"
    fast = b"THROUGHPUT=3.00\nTHROUGHPUT_UNITS=Trans/s\nMEAN_LATENCY=20.00\n"
    found = by_series(netperf.parse([completed(slow), completed(fast)], {}))
    assert found["latency.mean"] == pytest.approx(25e-6)
    assert "latency.stddev" not in found


def test_broken_csv_is_refused() -> None:
    with pytest.raises(ParseError, match="broken CSV"):
        netperf.parse(
            [completed(b"Throughput,Throughput Units\n1.0," + b"x" * 200_000 + b"\n")], {}
        )
