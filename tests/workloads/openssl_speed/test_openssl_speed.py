from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Json
from benchspec.workloads.openssl_speed import workload as openssl_speed
from tests.workloads import trial
from tests.workloads.tool_goldens import Golden, by_series, completed, goldens, sample

WORKLOAD: Workload = openssl_speed


@pytest.mark.parametrize(
    "case",
    [c for c in goldens("openssl-speed") if c.measurements and b"+R:" in c.stderr],
    ids=lambda case: case.name,
)
def test_golden_rates_follow_from_counts_and_times(case: Golden) -> None:
    """stderr says how many blocks were processed in which time: their product is the rate, whatever
    stdout's format.
    """
    lines = re.findall(rb"^\+R:(\d+):[^:]+:([\d.]+)$", case.stderr, re.MULTILINE)
    blocks = re.findall(rb"^\+DT:[^:]+:\d+:(\d+)$", case.stderr, re.MULTILINE)
    total = sum(
        int(count) * int(block) / float(seconds)
        for (count, seconds), block in zip(lines, blocks, strict=True)
    )
    found = sum(
        value
        for series, value in (case.measurements or {}).items()
        if series.startswith("throughput")
    )
    assert found == pytest.approx(total, rel=1e-3)


def test_table_of_every_algorithm() -> None:
    found = by_series(
        openssl_speed.parse([completed(sample("openssl", "vc-OpenSSL-speed-results.txt"))], {})
    )
    assert found["throughput{algorithm=md5,block=16}"] == 86478310
    assert found["throughput{algorithm=aes-256-cbc,block=16384}"] == 1176283270
    assert found["throughput{algorithm=hmac(md5),block=64}"] == 180417030
    assert found["sign{algorithm=rsa2048}"] == 3121.9
    assert found["verify{algorithm=ecdsa256}"] == 11082.7
    assert found["sign{algorithm=ed25519}"] == 25270.2
    assert len([series for series in found if series.startswith("throughput")]) == 14 * 6


def test_failed_cells_of_a_table_are_absent() -> None:
    found = by_series(
        openssl_speed.parse(
            [completed(sample("openssl", "vc-OpenSSL-speed-results-with-anomalies.txt"))], {}
        )
    )
    assert "throughput{algorithm=md5,block=16}" not in found
    assert found["throughput{algorithm=md5,block=64}"] == 234491800
    assert "throughput{algorithm=rand,block=16384}" not in found
    assert min(found.values()) > 0


def test_table_of_openssl_1_1() -> None:
    table = b"""OpenSSL 1.1.1w  11 Sep 2023
built on: Fri Apr  3 12:29:32 2026 UTC
The 'numbers' are in 1000s of bytes per second processed.
type             16 bytes     64 bytes
des cbc          66000.10k    67000.25k
slow              123.45       9999.00
"""
    assert by_series(openssl_speed.parse([completed(table)], {})) == {
        "throughput{algorithm=des cbc,block=16}": 66000100.0,
        "throughput{algorithm=des cbc,block=64}": 67000250.0,
        "throughput{algorithm=slow,block=16}": 123.45,
        "throughput{algorithm=slow,block=64}": 9999.0,
    }


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (b"+H:16:64\n+F:25:sha256:1.00\n", "found 1 figures for sha256, expected 2"),
        (b"+F2:2:2048:0.000294:0.000017\n", "s per operation"),
        (b"+H:16\n+F:25:sha256:0.00\n", "measured nothing"),
        (b"+F4:3:256:nan:15512.0\n", "measured nothing"),
        (b"rsa 2048 bits 0.000294s 0.000017s   3.3.0  58442.0\n", "measured nothing"),
        (b"", "measured nothing; it printed nothing"),
        (b"+H:16\n+F:25:sha256:1.00\n+F:25:sha256:2.00\n", "several figures"),
    ],
)
def test_outputs_without_a_figure(output: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        openssl_speed.parse([completed(output)], {})


def test_one_output_is_expected() -> None:
    with pytest.raises(ParseError, match="found 0 openssl outputs"):
        openssl_speed.parse([], {})


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({}, "-seconds 3 -elapsed -bytes 16384 -evp aes-256-gcm"),
        (
            {"algorithm": "sha256", "bytes": "1 KiB", "seconds": "5 s", "multi": 4},
            "-seconds 5 -elapsed -multi 4 -bytes 1024 -evp sha256",
        ),
        (
            {"elapsed": False, "decrypt": True, "aead": True},
            "-seconds 3 -decrypt -aead -bytes 16384 -evp aes-256-gcm",
        ),
        ({"signature": "rsa2048"}, "-seconds 3 -elapsed rsa2048"),
    ],
)
def test_options(parameters: dict[str, Json], options: str) -> None:
    commands = openssl_speed.commands(
        trial.experiment(openssl_speed, parameters, cpus=(1,)), trial.surroundings("/w")
    )
    assert commands.clients[0].argv == ("openssl", "speed", "-mr", *options.split())
    assert commands.clients[0].cpus == (1,)


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(SpecError, match="both algorithm and signature"):
        openssl_speed.commands(
            trial.experiment(openssl_speed, {"algorithm": "sha256", "signature": "rsa2048"}),
            trial.surroundings("/w"),
        )


def test_primary_and_duration() -> None:
    assert (openssl_speed.primary({}), openssl_speed.duration_s({})) == ("throughput", 3.0)
    assert (
        openssl_speed.primary({"signature": "ed448"}),
        openssl_speed.duration_s({"signature": "ed448"}),
    ) == ("sign", 6.0)


@pytest.mark.parametrize(
    "parameters", [{"seconds": "1 s", "multi": 2}, {"signature": "ed25519", "seconds": "1 s"}]
)
def test_real_trial(tmp_path: Path, parameters: dict[str, Json]) -> None:
    trial.require("openssl")
    commands = openssl_speed.commands(
        trial.experiment(openssl_speed, parameters), trial.surroundings(tmp_path)
    )
    found = openssl_speed.parse(trial.run(commands, tmp_path), parameters)
    assert any(m.metric == openssl_speed.primary(parameters) and m.value > 1000 for m in found)
    assert 0.5 < by_series(found)["duration"] < 3
