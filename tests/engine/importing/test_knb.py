"""knb's three forms say the same, its broken ones what they hold, and what is cut nothing. The
files of tests/data/knb are made up in knb's shape.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import tarfile
from collections.abc import Mapping

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.importing.knb import results as knb
from benchspec.engine.importing.readers import parse_output
from benchspec.engine.model.errors import ParseError
from tests.workloads.tool_goldens import DATA, by_series, sample

TCP = {"path": "pod-to-pod", "protocol": "tcp"}
ENV = """BENCHMARK_RUN_NAME="knb-4711"
GENERATOR="knb"
VERSION="1.5.0"
SERVER_NODE="worker-b"
CLIENT_NODE="worker-a"
SOCKET_BUFFER_SIZE="$(touch /tmp/benchspec-executed)"

IDLE_POD_NAME="knb-client-idle-4711"
CLIENT_TCP_P2P_POD_NAME="knb-client-tcp-p2p-4711"
CLIENT_UDP_P2P_POD_NAME=""
"""
AVERAGE = "cpu-user cpu-nice cpu-system cpu-iowait cpu-steal memory-used records-number\n{}\n"


def golden(name: str) -> bytes:
    return (DATA / "knb" / name).read_bytes()


def archive(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))
    return gzip.compress(
        buffer.getvalue(), mtime=0
    )  # the same bytes in all processes: they are in the names of tests


def knbdata(**changed: str) -> bytes:
    files = {
        "env": ENV,
        "mtu": "1440\n",
        "knb-client-idle-4711.bw": "0\n",
        "knb-client-tcp-p2p-4711.bw": "2500\n",
        "knb-client-tcp-p2p-4711-client.avg": AVERAGE.format("1.50 0.00 11.00 0.00 0.00 520 10"),
        "knb-client-tcp-p2p-4711-server.avg": AVERAGE.format("-nan -nan -nan -nan -nan 0 0"),
    }
    return archive(
        {**files, **{name.replace("__", "."): content for name, content in changed.items()}}
    )


def test_figures_come_in_base_units() -> None:
    found = by_series(knb.parse(golden("whole.json")))
    assert found["mtu"] == 1440
    rates = {series: value for series, value in found.items() if series.startswith("throughput")}
    assert rates == {
        "throughput{path=pod-to-pod,protocol=tcp}": 2.5e9,
        "throughput{path=pod-to-pod,protocol=udp}": 1.25e9,
        "throughput{path=pod-to-service,protocol=tcp}": 2.4e9,
        "throughput{path=pod-to-service,protocol=udp}": 1.2e9,
    }
    assert found["cpu.total{path=pod-to-pod,protocol=tcp,role=server}"] == pytest.approx(0.3025)
    assert found["cpu.steal{path=pod-to-pod,protocol=tcp,role=server}"] == 0.0025
    assert found["memory.used{path=pod-to-service,protocol=udp,role=client}"] == 530 * 2**20
    assert found["cpu.user{role=client,test=idle}"] == 0.01
    units = {metric.name: metric.unit for metric in knb.METRICS}
    assert all(m.unit == units[m.metric] for m in knb.parse(golden("whole.json")))


def test_text_says_the_same_as_json() -> None:
    assert knb.parse(golden("whole.txt")) == knb.parse(golden("whole.json"))


def test_data_is_read_and_never_executed() -> None:
    report = knb.read(knbdata())
    found = by_series(knb.parse(knbdata()))
    assert found["throughput{path=pod-to-pod,protocol=tcp}"] == 2.5e9
    assert found["cpu.total{path=pod-to-pod,protocol=tcp,role=client}"] == pytest.approx(0.125)
    assert not [series for series in found if "role=server" in series], (
        "means of no records are no figures"
    )
    assert report.about["socket-buffer-size"] == "$(touch /tmp/benchspec-executed)"


def test_a_test_that_failed_is_left_out_and_the_others_are_kept() -> None:
    report = knb.read(golden("failed-test.json"))
    assert [(test.name, test.throughput) for test in report.tests] == [
        ("idle", None),
        ("pod-to-pod tcp", None),
        ("pod-to-pod udp", 1.25e9),
    ]
    assert report.about["kernel"] == "6.1.0-26-amd64"
    found = by_series(knb.parse(golden("failed-test.json")))
    assert not [series for series in found if "protocol=tcp" in series]
    assert found["throughput{path=pod-to-pod,protocol=udp}"] == 1.25e9


def test_an_idle_run_has_no_throughput_and_no_mtu_of_zero() -> None:
    found = by_series(knb.parse(golden("idle-only.json")))
    assert {series.partition("{")[2] for series in found} == {
        "role=client,test=idle}",
        "role=server,test=idle}",
    }
    assert not [series for series in found if series.startswith(("throughput", "mtu"))]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "found no JSON, YAML, data or text of knb: nothing"),
        (golden("whole.json")[:-40], "broken at line"),
        (golden("whole.json").replace(b"2500,", b"fast,"), "the line is '\"bandwidth\": fast,'"),
        (golden("whole.json").replace(b'"1440"', b'"big"'), "data.mtu: found 'big'"),
        (golden("whole.json").replace(b'"knb",', b'"other",'), "found generator 'other'"),
        (
            golden("failed-test.json").replace(b"1250", b"").partition(b'"idle"')[0]
            + b'"pod2pod": {"udp": {"bandwidth": ,}}}}',
            "without a bandwidth",
        ),
        (b'{"metadata": {"generator": "knb"}, "data": {}}', "no tests"),
        (golden("whole.json").replace(b'"total": ', b'"total": 2'), "found cpu.total of"),
        (golden("whole.txt")[:-200], "cut"),
        (
            golden("whole.txt").replace(b"2500 Mbit/s", b"2.5 Gbit/s"),
            "line 24: found bandwidth '2.5 Gbit/s', expected Mbit/s",
        ),
        (knbdata()[:-30], "cut"),
        (archive({"readme": "x"}), "no file env"),
        (
            knbdata(**{"knb-client-tcp-p2p-4711__bw": "Mbits/sec"}),
            "knb-client-tcp-p2p-4711.bw: found 'Mbits/sec'",
        ),
        (
            knbdata(**{"knb-client-tcp-p2p-4711-client__avg": AVERAGE.format("1 2")}),
            "found 2 figures under 7 headings",
        ),
    ],
)
def test_what_is_broken_is_refused_with_the_place(data: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=re.escape(said)):
        knb.parse(data)


def test_an_archive_that_grows_beyond_measure_is_refused() -> None:
    with pytest.raises(ParseError, match="unpacks to more than"):
        knb.parse(archive({"env": ENV, "big": "0" * (65 * 2**20)}))


RAW = [golden("whole.json"), golden("whole.txt"), golden("failed-test.json"), knbdata()]


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_cut_anywhere_it_is_refused_or_measures(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(RAW))
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(raw)), st.integers(0, len(raw)))))
    middle = data.draw(
        st.sampled_from([b"", b"nan", b"-1", b"1e999", b'"', b"{", b"=", b"\xff", b"\n", b": ,"])
    )
    try:
        found = knb.parse(raw[:start] + middle + raw[end:])
    except ParseError:
        return
    assert found
    assert all(math.isfinite(m.value) and m.value >= 0 for m in found)


def test_the_published_run_of_constellation() -> None:
    found = by_series(parse_output("knb", sample("knb", "constellation-azure-2023-03-09.json"), {}))
    megabits = {
        series: value / 1e6 for series, value in found.items() if series.startswith("throughput")
    }
    assert list(megabits.values()) == [943, 595, 932, 564]
    assert found["mtu"] == 1500
    assert found["cpu.total{path=pod-to-pod,protocol=tcp,role=server}"] == pytest.approx(0.4735)
    assert found["memory.used{role=client,test=idle}"] == 1989 * 2**20


CNI = {
    "doc-cilium.u18.04-default-run1": [9555, 9725, 9756, 9736],
    "doc-flannel.u18.04-default-run3": [9815, 9857, 9835, 9841],
    "tuning-calico-3.16-mtu-encryption.u18.04-default-run2": [9813, 4941, 9813, 4103],
}


@pytest.mark.parametrize("run", CNI)
def test_published_cni_runs_say_the_same_in_data_and_json(run: str) -> None:
    data, document = (
        sample("knb", f"knbdata-2020-08/{run}.knbdata"),
        sample("knb", f"knbdata-2020-08/{run}.o-json.json"),
    )
    assert knb.parse(data) == knb.parse(document)
    found = by_series(knb.parse(data))
    assert [
        value / 1e6 for series, value in found.items() if series.startswith("throughput")
    ] == CNI[run]


def test_d1_what_awk_calls_nan_is_not_measured_and_the_rest_is() -> None:
    nothing = " ".join(["NaN"] * 7)
    data = knbdata(**{"knb-client-idle-4711-client__avg": AVERAGE.format(nothing)})
    assert throughput(data) == 2.5e9
    whole = golden("whole.json").decode().replace('"total": 2.25', '"total": nan', 1)
    assert throughput(whole.encode()) == throughput(golden("whole.json"))


def test_d1_several_interfaces_have_one_mtu_only_when_they_agree() -> None:
    assert knb.read(knbdata(mtu="1500 1440 1440\n")).mtu is None
    assert knb.read(knbdata(mtu="1440 1440\n")).mtu == 1440
    whole = golden("whole.json").replace(b'"mtu": "1440"', b'"mtu": "1500 1440"')
    assert throughput(whole) == throughput(golden("whole.json"))


def test_d10_tests_of_a_fork_are_read_from_archives_too() -> None:
    env = ENV + 'CLIENT_CUSTOM_P2P_POD_NAME="knb-client-custom-p2p-4711"\n'
    data = knbdata(env=env, **{"knb-client-custom-p2p-4711.bw": "700\n"})
    found = by_series(knb.parse(data))
    assert found["throughput{path=pod-to-pod,protocol=custom}"] == 7e8


def test_d10_yaml_says_what_json_says() -> None:
    document = json.loads(golden("whole.json"))
    data = yaml.safe_dump(document).encode()
    assert by_series(knb.parse(data)) == by_series(knb.parse(golden("whole.json")))
    with pytest.raises(ParseError, match="cut"):
        knb.parse(data[:-1])


def throughput(data: bytes) -> float:
    return by_series(knb.parse(data))["throughput{path=pod-to-pod,protocol=tcp}"]
