"""What doctor says of real hosts: every fault at its host, with the others looked at all the same,
and nothing left on any of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchspec.engine.model.findings import CODES
from benchspec.engine.model.results import Finding, FindingLevel
from benchspec.engine.model.spec import Site
from benchspec.runners.ssh import doctor
from benchspec.runners.ssh.session import connect
from tests import hosts
from tests.engine.execution.bench import run_cli
from tests.hosts.host import SUDO_PASSWORD
from tests.runners.ssh.conftest import until

CONFIG = "/etc/ssh/sshd_config"


@pytest.fixture(scope="module")
def bed() -> Iterator[hosts.Bed]:
    problem = hosts.missing()
    if problem:
        pytest.skip(problem)
    with hosts.up(3, name=f"doc{os.getpid()}", owner=os.getpid()) as made:
        yield made


@pytest.fixture(autouse=True)
def untouched(bed: hosts.Bed) -> Iterator[None]:
    before = {host.name: host.traces() for host in bed.hosts}
    yield

    def left() -> dict[str, list[str]]:
        changed = {host.name: sorted(host.traces() ^ before[host.name]) for host in bed.hosts}
        return {name: traces for name, traces in changed.items() if traces}

    with contextlib.suppress(AssertionError):
        until(lambda: not left(), "the end of the connections")
    assert left() == {}


def options(bed: hosts.Bed, user: str = "bench", **changes: dict[str, Any]) -> dict[str, Any]:
    """A site with client, server and storage on host1, host2 and host3; ``changes`` of a role's
    host.
    """
    made: dict[str, Any] = {
        "ssh_config": str(bed.ssh_config),
        "known_hosts": str(bed.known_hosts),
        "connect_timeout": "20 s",
    }
    made["hosts"] = {
        role: {**host.site(user), "host": host.name, **changes.get(role, {})}
        for role, host in zip(("client", "server", "storage"), bed.hosts, strict=True)
    }
    return made


def site(bed: hosts.Bed, user: str = "bench", **changes: dict[str, Any]) -> Site:
    return Site(name="lab", runner="ssh", options=options(bed, user, **changes))


def said(found: list[Finding], host: str, code: str) -> list[Finding]:
    return [
        finding
        for finding in found
        if finding.code == code and finding.message.startswith(f"{host}: ")
    ]


def only(found: list[Finding], host: str, code: str) -> Finding:
    (finding,) = said(found, host, code)
    return finding


def test_a_healthy_host(bed: hosts.Bed) -> None:
    healthy = site(
        bed,
        client={"user": "admin"},
        server={"user": "keeper", "become": {"password": secret(SUDO_PASSWORD)}},
    )
    found = doctor.check(healthy)
    assert {finding.code for finding in found} <= set(CODES)
    assert FindingLevel.ERROR not in {finding.level for finding in found}
    entry = only(found, "host1", "F620").message
    assert f"entered with {bed.identity}" in entry
    assert (
        bed.host("host1").shell("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub").split()[1]
        in entry
    )
    assert f"vouched for by {bed.known_hosts}:1; roles client" in entry
    assert (
        "works as admin, without root but in the group admin; to install packages"
        in only(found, "host1", "F622").message
    )
    assert "works as root (become)" in only(found, "host2", "F622").message
    assert "works as bench, without root; to install" in only(found, "host3", "F622").message
    assert "at least 10 sessions" in only(found, "host1", "F624").message
    assert "GiB free" in only(found, "host1", "F612").message
    assert "known to within" in only(found, "host1", "F521").message
    way, deadline = (
        "host1: client reaches server on host2 by eth0; packets of 1500 B get through",
        time.monotonic() + 180,
    )
    while way != (
        told := only(found, "host1", "F625").message
    ):  # on a starved machine it may take longer than the look lasts, which is told
        assert time.monotonic() < deadline, told
        found = doctor.check(healthy)


def secret(value: str) -> str:
    os.environ["BENCHSPEC_TEST_SUDO"] = value
    return "${secret:env:BENCHSPEC_TEST_SUDO}"


def test_hosts_that_cannot_be_used_do_not_hide_the_others(bed: hosts.Bed) -> None:
    wrong = {"user": "keeper", "become": {"password": secret("wrong")}}
    found = doctor.check(site(bed, client={"host": "nowhere.invalid"}, server=wrong))
    assert "has no address" in only(found, "nowhere.invalid", "F621").message
    refused = only(found, "host2", "F622")
    assert refused.level is FindingLevel.ERROR
    assert "wrong" not in refused.message.replace("wrong password", "")
    assert "at least 10 sessions" in only(found, "host3", "F624").message


def test_a_host_that_another_run_holds_is_named_with_its_owner_and_left_alone(
    bed: hosts.Bed,
) -> None:
    session = connect(Site(name="other", runner="ssh", options=options(bed)), "run-of-somebody")
    try:
        found = doctor.check(site(bed))
    finally:
        session.close()
    held = only(found, "host1", "F623")
    assert held.level is FindingLevel.ERROR
    assert "is used by run run-of-somebody (" in held.message
    assert not said(found, "host1", "F613")
    assert not said(found, "host1", "F625")
    assert not said(doctor.check(site(bed)), "host1", "F623")


def test_limits_of_sshd_and_a_narrow_path_and_a_full_disk(bed: hosts.Bed) -> None:
    tight, narrow = bed.host("host1"), bed.host("host2")
    tight.shell(
        f"cp {CONFIG} {CONFIG}.kept; sed -i '1i MaxSessions 4\\nAllowTcpForwarding no' {CONFIG}"
    )
    restart(tight)
    narrow.shell("ip link set eth0 mtu 1400")
    bed.host("host3").read_only("/srv")
    try:
        found = doctor.check(site(bed, storage={"workdir": "/srv/data"}))
    finally:
        tight.shell(f"mv {CONFIG}.kept {CONFIG}")
        restart(tight)
        narrow.shell("ip link set eth0 mtu 1500")
        bed.host("host3").unmount("/srv")
    sessions, forwarding = said(found, "host1", "F624")
    assert (sessions.level, forwarding.level) == (FindingLevel.WARNING, FindingLevel.NOTE)
    assert "opens 4 sessions at once; up to 9 are used" in sessions.message
    assert "forwards no connections" in forwarding.message
    path = only(found, "host1", "F625")
    assert path.level is FindingLevel.WARNING
    assert re.search(
        r"its MTU is 1500 B, but packets over 140[0-4] B do not get through", path.message
    )  # a veth leaves room for a VLAN tag
    assert (
        "/srv/data cannot be written: bench has no rights on /srv"
        in only(found, "host3", "F611").message
    )


def restart(host: hosts.Host) -> None:
    host.stop_sshd()
    host.start_sshd()


def spec(bed: hosts.Bed, path: Path, **changes: dict[str, Any]) -> str:
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "looked-at",
        "title": "Looked at",
        "targets": {
            name: {"runner": {"kind": "ssh", **options(bed, "bench", **changes)}}
            for name in ("a", "b")
        },
        "workloads": {"net": {"tool": "netperf", "with": {"duration": "1 s"}}},
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


def test_the_verb_says_what_is_missing_on_which_host(bed: hosts.Bed, tmp_path: Path) -> None:
    if shutil.which("netserver") is None:
        pytest.skip("needs netperf")
    server = bed.host("host2")
    server.shell("mv /usr/bin/netserver /usr/bin/netserver.away")
    try:
        done = run_cli("doctor", spec(bed, tmp_path / "spec.yaml"))
        machine = run_cli(
            "doctor",
            spec(bed, tmp_path / "spec.yaml", client={"host": "nowhere.invalid"}),
            "--json",
        )
    finally:
        server.shell("mv /usr/bin/netserver.away /usr/bin/netserver")
    assert (done.returncode, done.stderr) == (4, "")
    table = [line.split() for line in done.stdout.splitlines()]
    assert ["host1", "client", "netperf", "/usr/bin/netperf", "2.7.0", "netperf"] in table
    assert ["host2", "server", "netserver", "missing", "unknown", "netperf"] in table
    assert "missing on host2: netperf\n  what to do: apt-get install netperf" in done.stdout
    assert machine.returncode == 4
    found = json.loads(machine.stdout)
    by_host = {host["host"]: host for host in found["hosts"]}
    assert (by_host["host2"]["missing_packages"], by_host["host2"]["roles"]) == (
        ["netperf"],
        ["server"],
    )
    assert (by_host["nowhere.invalid"]["looked"], by_host["nowhere.invalid"]["tools"]) == (
        False,
        [],
    )
    assert [finding["code"] for finding in by_host["nowhere.invalid"]["findings"]] == ["F621"]


def test_the_verb_is_content_where_everything_is_there(bed: hosts.Bed, tmp_path: Path) -> None:
    done = run_cli("doctor", spec(bed, tmp_path / "spec.yaml"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("every tool is there\n")
    hosts_in = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("host")]
    assert hosts_in == ["host", "host1", "host2"]  # sites that share hosts do not repeat them
    for code in ("F521", "F612", "F620"):
        assert done.stdout.count(f"[{code}] host1") == 1
