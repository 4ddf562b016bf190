"""What specs ask for: the attacks of strangers, and the honest specs beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchspec.api.planning import plan
from benchspec.engine.capabilities.model import Capability, Kind
from tests.engine.execution.bench import write_spec

SPECS = Path(__file__).parents[3] / "specs"


def asked(
    folder: Path, tool: str, parameters: dict[str, Any], runner: Any = "local", **target: Any
) -> tuple[Capability, ...]:
    """What a spec with one workload asks for."""
    document = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "asks",
        "title": "Asks",
        "targets": {"a": {"runner": runner, **target}},
        "workloads": {"w": {"tool": tool, "with": parameters}},
        "method": {"sessions": 1, "trials": 1},
    }
    return plan(write_spec(folder / "s.yaml", document)).capabilities().capabilities


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("openssl-speed", {"algorithm": "aes-256-gcm"}),
        ("fio", {"rw": "randread", "size": "1 MiB"}),
        ("fio", {"job_text": "[a]\nrw=read\nsize=1m\n"}),
        ("iperf3", {"duration": "1 s"}),
        ("fortio", {"qps": "10 1/s"}),
        ("pgbench", {}),
        ("sysbench", {"test": "fileio"}),
    ],
)
def test_what_only_measures_here_asks_nothing(
    tool: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    assert asked(tmp_path, tool, parameters) == ()


def test_the_quickstart_asks_nothing() -> None:
    assert list(plan(SPECS / "quickstart.yaml").capabilities()) == []


REST = {"api": "rest", "url": "http://203.0.113.7/"}


@pytest.mark.parametrize(
    ("tool", "parameters", "kind", "what"),
    [
        (
            "fortio",
            {**REST, "secret_headers": {"X-K": "${secret:env:AWS_SECRET_ACCESS_KEY}"}},
            Kind.SECRETS,
            "${secret:env:AWS_SECRET_ACCESS_KEY} to fortio, which talks to http://203.0.113.7/",
        ),
        (
            "fortio",
            {**REST, "secret_headers": {"X-S": "${secret:file:/etc/hostname}"}},
            Kind.SECRETS,
            "${secret:file:/etc/hostname} to fortio, which talks to http://203.0.113.7/",
        ),
        ("fortio", REST, Kind.LOADS, "http://203.0.113.7/"),
        ("fortio", {**REST, "ca_file": "/etc/shadow"}, Kind.READS, "/etc/shadow"),
        (
            "fio",
            {"rw": "write", "directory": "/dev", "filename": "sda", "destroys": ["/dev/sda"]},
            Kind.DESTROYS,
            "/dev/sda",
        ),
        (
            "fio",
            {"rw": "write", "directory": "/mnt"},
            Kind.WRITES,
            "/mnt, in a folder that is made and removed",
        ),
        ("wrk", {"script": "os.execute('id')"}, Kind.EXECUTES, "wrk runs a script of 1 lines"),
        ("k6", {"script": "export default f"}, Kind.EXECUTES, "k6 runs a script of 1 lines"),
        (
            "pgbench",
            {"script": "COPY t TO PROGRAM 'id';"},
            Kind.EXECUTES,
            "the PostgreSQL server runs a script of 1 lines",
        ),
        (
            "redis-benchmark",
            {"host": "203.0.113.7"},
            Kind.LOADS,
            "203.0.113.7, where keys are written",
        ),
        (
            "vault-benchmark",
            {
                "address": "https://203.0.113.7",
                "token": "${secret:env:VAULT_TOKEN}",
                "tests": [{"type": "kvv2_read", "name": "r", "weight": 100}],
            },
            Kind.SECRETS,
            "${secret:env:VAULT_TOKEN} to vault-benchmark, which talks to https://203.0.113.7",
        ),
    ],
)
def test_what_a_workload_reaches_is_asked_for(
    tool: str, parameters: dict[str, Any], kind: Kind, what: str, tmp_path: Path
) -> None:
    assert (kind, what) in [(one.kind, one.what) for one in asked(tmp_path, tool, parameters)]


def test_a_privileged_probe_sidecars_and_their_mounts_are_asked_for(tmp_path: Path) -> None:
    sidecar = {
        "name": "s",
        "image": "evil:1",
        "command": ["sh", "-c", "id"],
        "mounts": {"/x": "secret/admin"},
    }
    runner = {
        "kind": "kubernetes",
        "namespace": "bench",
        "context": "c",
        "image": "tools:1",
        "probe": {"privileged": True},
        "roles": {"client": {"sidecars": [sidecar], "host_network": True}},
    }
    found = asked(tmp_path, "openssl-speed", {"algorithm": "aes-256-gcm"}, runner)
    kinds = {(one.kind, one.what) for one in found}
    words = json.dumps({"/x": "secret/admin"})
    assert {
        (
            Kind.RIGHTS,
            "a privileged pod on every node: root, with the processes, network and files of the"
            " node",
        ),
        (Kind.RIGHTS, "pods use the nodes' network"),
        (Kind.SECRETS, f"a sidecar sees {words}"),
        (Kind.IMAGES, "evil:1"),
        (Kind.IMAGES, "tools:1"),
        (Kind.EXECUTES, '["sh", "-c", "id"]'),
        (Kind.CREDENTIALS, "context c of your kubeconfig"),
    } <= kinds


def test_hosts_keys_and_rights_of_ssh_are_asked_for_by_paths_of_the_spec(tmp_path: Path) -> None:
    host = {
        "host": "203.0.113.7",
        "identity_file": "key",
        "become": {"password": "${secret:env:SUDO}"},
        "jump": "gate",
    }
    runner = {"kind": "ssh", "hosts": {"client": host}, "known_hosts": "known_hosts"}
    found = asked(tmp_path, "openssl-speed", {"algorithm": "aes-256-gcm"}, runner)
    told = [(one.kind, one.what) for one in found]
    assert told == [
        (
            Kind.RIGHTS,
            'become {"password": "${secret:env:SUDO}"}: programs may be run as another user, root'
            " unless said otherwise",
        ),
        (Kind.SECRETS, "${secret:env:SUDO} to the runner ssh"),
        (Kind.LOADS, "203.0.113.7, where programs are run over SSH"),
        (Kind.LOADS, "gate, which connections go through"),
        (Kind.READS, "known_hosts, which says whose keys are accepted"),
        (Kind.CREDENTIALS, "key"),
    ]


def test_a_storage_path_and_a_storage_class_are_asked_for(tmp_path: Path) -> None:
    found = asked(tmp_path, "fio", {"rw": "read"}, storage={"path": "/mnt/data"})
    assert [(one.kind, one.where) for one in found] == [(Kind.WRITES, "target a: storage.path")]
