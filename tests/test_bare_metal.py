"""Whole runs between hosts of a bed: the shipped spec's page, a controller that is killed, and what
is left on the hosts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.read_run import read_run
from benchspec.workloads.registry import metrics_of
from tests import hosts
from tests.engine.execution.bench import finished, records, run_cli, start_cli, write_spec

MISSING = hosts.missing("netperf", "netserver", "wireguard-go", "wg", "bridge")
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

SPEC = Path(__file__).resolve().parents[1] / "specs" / "testbed" / "cni.yaml"
COUNTER = "/var/tmp/netperf-starts"
COUNTED = f"""#!/bin/sh
case " $* " in *" -H "*) echo "$*" >>{COUNTER} ;; esac
exec /usr/bin/netperf.real "$@"
"""


@pytest.fixture(scope="module")
def bed() -> Iterator[hosts.Bed]:
    """Four hosts on slow links, which a busy machine can fill."""
    with hosts.up(4, name=f"metal{os.getpid()}", rate="20mbit", owner=os.getpid()) as made:
        yield made


@pytest.fixture
def counted(bed: hosts.Bed) -> Iterator[hosts.Host]:
    """The client, on which every netperf that measures leaves a line when it starts."""
    client = bed.host("host1")
    client.shell(f"mv /usr/bin/netperf /usr/bin/netperf.real; : >{COUNTER}; chmod 666 {COUNTER}")
    client.shell(f"cat >/usr/bin/netperf <<'END'\n{COUNTED}END\nchmod 755 /usr/bin/netperf")
    yield client
    client.shell(f"mv /usr/bin/netperf.real /usr/bin/netperf; rm {COUNTER}")


@pytest.fixture
def untouched(bed: hosts.Bed) -> Iterator[None]:
    """Sees that a test leaves nothing on any host."""
    before = {host.name: host.traces() for host in bed.hosts}
    yield
    assert {host.name: sorted(host.traces() ^ before[host.name]) for host in bed.hosts} == {
        host.name: [] for host in bed.hosts
    }


def run_cni(
    bed: hosts.Bed, out: Path, *overrides: str, only: str = "*"
) -> subprocess.CompletedProcess[str]:
    """The shipped spec on this bed, in little."""
    short = (
        "method.sessions=1",
        "workloads.bulk.with.duration=2 s",
        "workloads.bulk.matrix.streams=[1]",
        "workloads.bulk.gates={min_duration: 1.9 s, max_steal: 100 %}",
    )
    sets = [
        f"--set={each}"
        for each in (f"vars.bed={bed.directory}", "vars.rate=20 Mbit/s", *short, *overrides)
    ]
    return run_cli("run", str(SPEC), "--yes", f"--only=target={only}", "--out", str(out), *sets)


def test_every_variant_of_the_shipped_spec_is_held_against_what_its_link_can_carry(
    bed: hosts.Bed, tmp_path: Path
) -> None:
    before = {host.name: host.traces() for host in bed.hosts}
    done = run_cni(bed, tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    run = read_run(tmp_path / "run")
    checks = {
        cell.target: cell.limits[0]
        for cell in analyse(run, metrics_of(run.experiments)).cells
        if cell.series == "throughput"
    }
    efficiency = {name: check.efficiency for name, check in checks.items()}
    assert efficiency == pytest.approx(
        {
            "bare": 1448 / 1514,
            "vxlan": 1398 / (1450 + 50 + 14),
            "wireguard": 1368 / (1420 + 60 + 14),
        }
    )
    assert checks["vxlan"].efficiency_basis.endswith(
        "TCP, MTU 1450 measured along the path, vxlan observed"
    )
    assert checks["wireguard"].efficiency_basis.endswith(
        "TCP, MTU 1420 measured along the path, wireguard declared"
    )
    for (
        name,
        check,
    ) in (
        checks.items()
    ):  # a machine that others use may not fill a link, but nothing gets more through it
        assert 0.1 < check.share_of_attainable < 1.02, name
        bound = (
            f"on {name}: throughput is limit-bound"
            in (tmp_path / "run" / "report" / "page.md").read_text()
        )
        assert bound == (check.share_of_attainable >= 0.98), name
    seen = {host.name: sorted(host.traces() ^ before[host.name]) for host in bed.hosts}
    kept = seen.pop("host4")
    assert all(not left for left in seen.values()), seen
    assert any(line.endswith("/journal.ndjson") for line in kept), "the data sink keeps a copy"
    assert not any(line.startswith(("process", "lock", "link", "mount")) for line in kept)


def test_an_mtu_that_is_not_so_is_a_finding(bed: hosts.Bed, tmp_path: Path) -> None:
    done = run_cni(bed, tmp_path / "run", "targets.vxlan.cni.mtu=1500", only="vxlan")
    assert done.returncode == 5, done.stdout + done.stderr
    assert re.search(r"mtu.*declared 1500.*observed 1450", done.stdout + done.stderr)


def test_what_up_leaves_standing_is_all_there_is_until_down(bed: hosts.Bed, tmp_path: Path) -> None:
    """The tunnel, its program and its key stand on client and server, and beside them the run's
    directory, but no process or lock.
    """
    before = {host.name: host.traces() for host in bed.hosts}
    sets = (
        f"--set=vars.bed={bed.directory}",
        "--set=vars.rate=20 Mbit/s",
        "--only=target=wireguard",
    )
    done = run_cli("up", str(SPEC), "--yes", "--quiet", *sets, "--out", str(tmp_path / "up"))
    assert done.returncode == 0, done.stdout + done.stderr
    seen = {host.name: host.traces() - before[host.name] for host in bed.hosts}
    assert {name for name, traces in seen.items() if traces} == {"host1", "host2"}
    assert all(
        "link wg0" in seen[name] and "process wireguard-go wg0" in seen[name]
        for name in ("host1", "host2")
    )
    strange = {
        trace
        for traces in seen.values()
        for trace in traces
        if not re.match("link wg0|process wireguard-go|file /(var/tmp/benchspec-0|run/)", trace)
    }
    assert not strange
    done = run_cli("down", str(tmp_path / "up"), "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {host.name: sorted(host.traces() ^ before[host.name]) for host in bed.hosts} == {
        host.name: [] for host in bed.hosts
    }


def netperf_spec(bed: hosts.Bed, path: Path, duration_s: int, **method: int) -> Path:
    """One target, one stream."""
    document: dict[str, Any] = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "killed",
        "title": "Killed",
        "targets": {"bed": {"runner": bed.site(["client", "server"])}},
        "workloads": {
            "bulk": {
                "tool": "netperf",
                "with": {"duration": f"{duration_s} s", "cpu": False},
                "gates": {"max_steal": "100 %"},
            }
        },
        "method": {"sessions": 2, "trials": 1, "warmups": 0, "seed": 1} | method,
    }
    return write_spec(path, document)


def until_started(host: hosts.Host, count: int) -> None:
    """Wait until so many netperfs have begun on the host."""
    deadline = time.monotonic() + 120
    while starts(host) < count:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def starts(host: hosts.Host) -> int:
    return len(host.shell(f"cat {COUNTER}").splitlines())


@pytest.mark.usefixtures("untouched")
def test_a_controller_killed_in_the_middle_of_a_trial_loses_none_and_repeats_none(
    bed: hosts.Bed, counted: hosts.Host, tmp_path: Path
) -> None:
    spec = netperf_spec(bed, tmp_path / "spec.yaml", 4)
    out = tmp_path / "run"
    controller = start_cli(
        "run",
        str(spec),
        "--yes",
        "--quiet",
        "--out",
        str(out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until_started(counted, 1)
    controller.kill()
    controller.wait()
    done = run_cli("resume", str(out), "--yes", "--quiet")
    assert done.returncode == 0, done.stderr
    trials = finished(out)
    assert [trial.sequence for trial in trials] == [1, 2]
    assert {trial.status for trial in trials} == {TrialStatus.VALID}
    assert starts(counted) == 2
    assert not any(record.type == "trial.lost" for record in records(out))


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_on_the_hosts(
    bed: hosts.Bed, counted: hosts.Host, tmp_path: Path, stop: signal.Signals
) -> None:
    spec = netperf_spec(bed, tmp_path / "spec.yaml", 60)
    controller = start_cli(
        "run",
        str(spec),
        "--yes",
        "--quiet",
        "--out",
        str(tmp_path / "run"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until_started(counted, 1)
    controller.send_signal(stop)
    assert controller.wait(120) == 128 + stop


@pytest.mark.usefixtures("untouched")
def test_clean_removes_what_a_killed_run_left(
    bed: hosts.Bed, counted: hosts.Host, tmp_path: Path
) -> None:
    spec = netperf_spec(bed, tmp_path / "spec.yaml", 60)
    out = tmp_path / "run"
    controller = start_cli(
        "run",
        str(spec),
        "--yes",
        "--quiet",
        "--out",
        str(out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until_started(counted, 1)
    controller.kill()
    controller.wait()
    assert any("netperf" in line for line in counted.processes())
    done = run_cli("clean", str(out), "--yes")
    assert done.returncode == 0, done.stderr
