"""A sweep through the whole program, on a link of known rate: three streams of 40 Mbit/s fill 100
Mbit/s.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.engine.execution.bench import environment

NAMESPACE = f"sweep-{os.getpid()}"
SPEC = {
    "apiVersion": "benchspec/v1",
    "kind": "Benchmark",
    "name": "sweep",
    "title": "Streams on a link",
    "targets": {
        "here": {
            "runner": "local",
            "title": "this host",
            "limits": [
                {
                    "metric": "network.throughput",
                    "sustained": "100 Mbit/s",
                    "layer": "l2",
                    "applies_to": "link",
                    "source": "tbf",
                    "as_of": "2026-01-01",
                }
            ],
        }
    },
    "workloads": {
        "streams": {
            "tool": "iperf3",
            "path": "loopback",
            "with": {"duration": "1 s", "bitrate": "40 Mbit/s"},
            "matrix": {"streams": [1, 3, 4]},
            "sweep": {"axis": "streams", "gain": "20 %"},
        }
    },
    "method": {"sessions": 5, "trials": 1, "warmups": 0, "seed": 1},
}


@pytest.fixture
def link() -> Iterator[str]:
    """A network namespace whose loopback carries 100 Mbit/s."""
    if os.geteuid() != 0 or not shutil.which("tc") or not shutil.which("iperf3"):
        pytest.skip("needs root, tc and iperf3 for a link of known rate")
    subprocess.run(("ip", "netns", "add", NAMESPACE), check=True)
    try:
        subprocess.run(
            ("ip", "-n", NAMESPACE, "link", "set", "lo", "mtu", "1500", "up"), check=True
        )
        shape = (
            "tc",
            "-n",
            NAMESPACE,
            "qdisc",
            "add",
            "dev",
            "lo",
            "root",
            "tbf",
            "rate",
            "100mbit",
            "burst",
            "64kb",
            "latency",
            "50ms",
        )
        subprocess.run(shape, check=True)
        yield NAMESPACE
    finally:
        subprocess.run(("ip", "netns", "delete", NAMESPACE), check=True)


def test_the_page_says_how_many_streams_fill_the_link(link: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(SPEC, sort_keys=False), "utf-8")
    inside = ("ip", "netns", "exec", link, sys.executable, "-m", "benchspec.cli")
    own = {**environment(), "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        (*inside, "run", "sweep.yaml", "--out", "made", "--yes", "-q"),
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "made" / "report" / "page.md").read_text("utf-8")
    sentence = next(line for line in page.splitlines() if line.startswith("- On this host"))
    assert "levels off at streams 3 (9" in sentence
    assert "while to streams 1 a later one adds at least +1" in sentence
    assert "so the limit is full with streams 3." in sentence
    report = subprocess.run(
        (*inside, "report", "made", "--format", "json"),
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.returncode == 0, report.stderr
    (saturation,) = json.loads(report.stdout)["saturations"]
    assert (saturation["at_least"], saturation["at_most"]) == ("3", "3")
    assert saturation["sentence"].split(":")[0] in sentence
