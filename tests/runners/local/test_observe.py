"""What the local runner sees of its host: tools that answer oddly, facts that take too long, and
what a monitor costs.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from benchspec.engine.facts import catalogue as facts
from benchspec.engine.model.contract.values import Tool
from benchspec.runners.local.monitor import LocalSampler
from benchspec.runners.local.observe import find_tool, observe, observe_volume


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo fio-3.33", "3.33"),
        ("echo 'iperf 3.12 (cJSON 1.7.15)'", "3.12"),
        ("echo 'Netperf version 2.7.0' >&2", "2.7.0"),
        ("echo 'tool of 2024'; echo more", "tool of 2024"),
        ("exit 3", None),
    ],
)
def test_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, version: str | None
) -> None:
    (tmp_path / "tool").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = find_tool(Tool(executable="tool", package="tool", version_argv=("tool", "--version")))
    assert (found.path, found.version) == (str(tmp_path / "tool"), version)


def test_a_tool_that_cannot_be_run_has_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").write_text("#!/nowhere/interpreter\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (
        find_tool(Tool(executable="tool", package="tool", version_argv=("tool",))).version is None
    )


def test_facts_that_take_too_long_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "script", lambda: "printf 'host.name\\0slow\\0'; exec sleep 60")
    monkeypatch.setattr(facts, "TIMEOUT_S", 0.3)
    seen = {fact.name: fact.value for fact in observe("/var/tmp")}
    assert seen["host.name"] == "slow"
    assert [name for name, value in seen.items() if value is not None] == ["host.name"]


def test_facts_of_the_disk_are_about_the_directory_that_is_asked_for() -> None:
    def filesystem(directory: str) -> object:
        return next(fact.value for fact in observe(directory) if fact.name == "disk.filesystem")

    assert filesystem("/proc/self") == "proc"
    shown = subprocess.run(
        ["df", "--output=fstype", "/dev/shm"], capture_output=True, text=True, check=True
    )
    assert filesystem("/dev/shm") == shown.stdout.split()[-1] != "proc"


def test_the_volume_that_is_measured_need_not_be_the_disk_of_the_work_directories() -> None:
    seen = {fact.name: fact.value for fact in observe_volume("/dev/shm")}
    shown = subprocess.run(
        ["df", "--output=fstype", "/dev/shm"], capture_output=True, text=True, check=True
    )
    assert seen["storage.filesystem"] == shown.stdout.split()[-1]
    assert {fact.value for fact in observe_volume("/no/such/directory")} == {None}


def test_a_monitor_costs_less_than_one_percent_of_a_core() -> None:
    sampler = LocalSampler(0.02)
    began = time.thread_time(), time.process_time()
    time.sleep(1.0)
    spent = time.process_time() - began[1]
    samples = sampler.stop()
    per_sample = spent / (len(samples) - 2)
    # 50 samples took `spent`; at the usual one per second one sample's share of a core is its own
    # time. A third of the bound allows for busy machines
    assert per_sample < 0.01 / 3
    assert len(samples) > 10


def test_a_sample_more_often_than_the_machine_can_is_no_flood() -> None:
    sampler = LocalSampler(0.0001)
    time.sleep(0.1)
    samples = sampler.stop()
    assert len(samples) >= 2
    assert [one.elapsed_s for one in samples] == sorted(one.elapsed_s for one in samples)
