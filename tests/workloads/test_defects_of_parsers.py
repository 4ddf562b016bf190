"""What outputs of other people showed to be wrong, one test each; the numbers are those of the list
in docs/importing.md.
"""

from __future__ import annotations

import json

import pytest

from benchspec.engine.importing.readers import parse_output, read_output
from benchspec.engine.model.errors import ParseError
from tests.workloads.tool_goldens import by_series, goldens

RSA = b"+F2:2:2048:2622.222222:49529.411765:47176.470588:2652.631579\n"


def golden(tool: str, name: str) -> bytes:
    return next(case.outputs[0] for case in goldens(tool) if case.name == name)


def read(tool: str, data: bytes) -> dict[str, float]:
    return by_series(parse_output(tool, data, {}))


def test_d2_rsa_of_openssl_3_2_has_four_figures() -> None:
    assert read("openssl-speed", RSA) == {
        "sign{algorithm=rsa2048}": 2622.222222,
        "verify{algorithm=rsa2048}": 49529.411765,
        "encrypt{algorithm=rsa2048}": 47176.470588,
        "decrypt{algorithm=rsa2048}": 2652.631579,
    }
    row = (
        b"rsa  2048 bits 0.000359s 0.000021s 0.000021s 0.000389s   2787.5  48404.2  48316.7"
        b"   2571.4\n"
    )
    assert read("openssl-speed", row)["decrypt{algorithm=rsa2048}"] == 2571.4


def test_d2_key_agreement_is_read_and_what_is_not_is_named() -> None:
    output = (
        b" 253 bits ecdh (X25519)   0.0001s  17662.0\n2048 bits ffdh   0.0020s    488.0\n"
        b" 160 bits ecdh (secp160r1)   0.0002s   4447.2\n"
        b"             ML-KEM-768 0.000021s 0.000017s 0.000030s   47619.1   58823.5   33333.3\n"
    )
    found = read_output("openssl-speed", output, {})
    assert by_series(found.measurements) == {
        "agree{algorithm=ecdh253}": 17662.0,
        "agree{algorithm=ffdh2048}": 488.0,
        "agree{algorithm=ecdh-secp160r1}": 4447.2,
    }
    assert [line.split()[0] for line in found.unread] == ["ML-KEM-768"]


def test_d3_gates_of_the_tool_are_applied() -> None:
    found = read_output("fortio", golden("fortio", "load-half-503"), {})
    assert found.reasons == ("max_error_ratio: observed 0.48, expected at most 0",)
    assert read_output("fortio", golden("fortio", "load-paced"), {}).reasons == ()


def test_d4_what_is_cut_is_no_smaller_figure() -> None:
    whole = golden("openssl-speed", "evp-one-block")
    with pytest.raises(ParseError, match="is cut"):
        parse_output("openssl-speed", whole[:-4], {})


@pytest.mark.parametrize(
    ("tool", "name"), [("netperf", "csv"), ("iperf3", "tcp"), ("fortio", "load-paced")]
)
def test_d6_several_results_in_one_file_are_refused(tool: str, name: str) -> None:
    with pytest.raises(ParseError, match=r"several|found 2 results"):
        parse_output(tool, golden(tool, name) * 2, {})


def test_d6_several_runs_of_fio_are_refused_and_interim_reports_are_not() -> None:
    data = golden("fio", "randread-status-interval")
    assert parse_output("fio", data, {})
    later = json.loads(data[data.rindex(b"\n{") :])
    later["timestamp"] += 60
    later["timestamp_ms"] += 60_000
    with pytest.raises(ParseError, match="expected one, or those of --status-interval"):
        parse_output("fio", data + b"\n" + json.dumps(later).encode(), {})


def test_d7_the_words_of_kubectl_are_no_figure() -> None:
    data = golden("openssl-speed", "evp-one-block")
    with pytest.raises(ParseError, match=r"kubectl says .* exit code 137"):
        parse_output("openssl-speed", data + b"\ncommand terminated with exit code 137\n", {})


ENCODED = {
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "mark": lambda data: b"\xef\xbb\xbf" + data,
    "utf-16": lambda data: data.decode().encode("utf-16"),
    "utf-16 without a mark": lambda data: data.decode().encode("utf-16-le"),
}


@pytest.mark.parametrize("how", ENCODED)
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("sockperf", "ping-pong-tcp"),
        ("sysbench", "cpu"),
        ("stress-ng", "cpu"),
        ("netperf", "tcp-rr"),
        ("openssl-speed", "evp-one-block"),
        ("iperf3", "tcp"),
        ("fio", "randread-status-interval"),
        ("fortio", "load-paced"),
        ("wrk", "latency"),
        ("pgbench", "tpcb-like"),
    ],
)
def test_d8_encodings_and_line_ends_do_not_matter(tool: str, name: str, how: str) -> None:
    data = golden(tool, name)
    assert read(tool, ENCODED[how](data)) == read(tool, data)


SYSBENCH_1_1 = b"""sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)

SQL statistics:
    transactions:                        257521 (143.01 per sec.)
    queries:                             6584298 (3657.94 per sec.)
    ignored errors:                      2      (0.00 per sec.)

Throughput:
    events/s (eps):                      143.0086
    time elapsed:                        1800.0319s
    total number of events:              257521

Latency (ms):
         avg:                                   28.97
         95th percentile:                       68.05

Threads fairness:
    events (avg/stddev):           16083.8125/12.14
    execution time (avg/stddev):   416.1366/1.13"""


def test_d9_sysbench_1_1_and_transactions() -> None:
    found = read("sysbench", SYSBENCH_1_1)
    assert found["transactions"] == 143.01
    assert found["queries"] == 3657.94
    assert found["duration"] == 1800.0319
    assert found["latency.p95"] == pytest.approx(0.06805)
    assert found["error.ratio"] == pytest.approx(2 / 257523)


def test_d9_sysbench_0_5_has_its_latency() -> None:
    old = (
        b"OLTP test statistics:\n    transactions:                    5213   (520.64 per sec.)\n"
        b"General statistics:\n    total time:                          10.0127s\n"
        b"    total number of events:              5213\n    response time:\n"
        b"         min:                                  3.40ms\n"
        b"         avg:                                  7.66ms\n"
        b"         max:                                 34.28ms\n"
        b"         approx.  95 percentile:              10.51ms\n\nThreads fairness:\n"
        b"    execution time (avg/stddev):   9.9887/0.00\n"
    )
    found = read("sysbench", old)
    assert found["latency.mean"] == pytest.approx(0.00766)
    assert found["latency.p95"] == pytest.approx(0.01051)


def test_d10_stress_ng_keeps_figures_with_units() -> None:
    data = golden("stress-ng", "cpu").replace(
        b"      max-rss:",
        b"      mb-per-sec-pipe-write-rate: 191.79\n"
        b"      nanosecs-per-context-switch-pipe-method: 3232.3\n      max-rss:",
    )
    found = read("stress-ng", data)
    labels = "stressor=cpu"
    assert found[f"own.throughput{{figure=mb-per-sec-pipe-write-rate,{labels}}}"] == 191.79 * 2**20
    assert found[
        f"own.time{{figure=nanosecs-per-context-switch-pipe-method,{labels}}}"
    ] == pytest.approx(3232.3e-9)


def test_d10_a_stream_of_iperf3_reads_like_its_document() -> None:
    document = json.loads(golden("iperf3", "tcp"))
    lines = [
        json.dumps({"event": name, "data": document[name]}).encode() + b"\n"
        for name in ("start", "end")
    ]
    assert read("iperf3", b"".join(lines)) == read("iperf3", golden("iperf3", "tcp"))
    with pytest.raises(ParseError, match="no end event"):
        parse_output("iperf3", lines[0], {})
    with pytest.raises(ParseError, match="several iperf3 results"):
        parse_output("iperf3", b"".join(lines * 2), {})
