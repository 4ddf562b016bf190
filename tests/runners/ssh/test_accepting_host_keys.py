"""`--accept-new-host-keys` from the command line to the journal, and what it never allows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchspec.engine.store.journal import read_records
from tests import hosts

Cli = Callable[..., subprocess.CompletedProcess[str]]

SPEC = """\
apiVersion: benchspec/v1
kind: Benchmark
name: on-faith
title: A host that nobody vouches for
targets:
  lab:
    runner:
      kind: ssh
      known_hosts: empty
      ssh_config: ssh_config
      hosts: {{client: {{host: {address}, user: bench, identity_file: {key}}}}}
workloads:
  tick:
    tool: command
    with:
      run: [sh, -c, "sleep 0.2; echo 1.5"]
      extract: {{value: {{unit: s, direction: lower, regex: "([0-9.]+)"}}}}
method: {{sessions: 1, trials: 1, warmups: 0}}
"""


@pytest.fixture
def cli(bed: hosts.Bed, tmp_path: Path) -> Cli:
    """benchspec in a directory of its own, beside a spec for host3 whose key nobody knows."""
    (tmp_path / "ssh_config").write_text("")
    (tmp_path / "spec.yaml").write_text(
        SPEC.format(address=bed.host("host3").address, key=bed.identity)
    )
    (tmp_path / "elsewhere").mkdir()
    env = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "benchspec.cli", *arguments]
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            env=env,
            cwd=tmp_path / "elsewhere",
        )

    return call


def findings(run: Path) -> list[str]:
    return [
        record.data["code"]
        for record in read_records(run / "journal.ndjson")[0]
        if record.type == "finding"
    ]


def test_a_key_taken_on_faith_is_a_finding_and_binds_the_run(
    cli: Cli, bed: hosts.Bed, tmp_path: Path
) -> None:
    run, host = tmp_path / "elsewhere" / "out", bed.host("host3")
    refused = cli("run", "../spec.yaml", "--yes", "--quiet", "--out", str(run))
    assert refused.returncode == 4, refused.stderr
    assert "nobody has vouched for" in refused.stderr
    assert "--accept-new-host-keys" in refused.stderr
    accepted = cli("resume", "out", "--yes", "--quiet", "--accept-new-host-keys")
    assert accepted.returncode == 0, accepted.stderr
    assert "F626" in findings(run)
    assert (run / "known_hosts").read_text() == f"{host.address} {host.host_key}\n"
    assert cli("clean", "out").returncode == 0, "what was accepted is known from then on"
    host.shell("mkdir /etc/ssh/keep; cp -p /etc/ssh/ssh_host_* /etc/ssh/keep")
    host.swap_host_key()
    try:
        for allowed in ((), ("--accept-new-host-keys",)):
            changed = cli("clean", "out", *allowed)
            assert changed.returncode == 4, changed.stdout + changed.stderr
            assert "it shows the key" in changed.stderr
    finally:
        host.shell("cp -p /etc/ssh/keep/* /etc/ssh; rm -r /etc/ssh/keep")
        host.stop_sshd()
        host.start_sshd()


def test_doctor_accepts_for_the_moment_alone(cli: Cli, tmp_path: Path) -> None:
    assert (
        "--accept-new-host-keys" in cli("doctor", "../spec.yaml", "--accept-new-host-keys").stdout
    )
    assert "nobody has vouched for" in (said := cli("doctor", "../spec.yaml")).stdout + said.stderr
    assert not (tmp_path / "known_hosts").exists()
