"""Attestation reports that are fetched: from a real software TPM, and from a directory that behaves
as configfs-tsm does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchspec.engine.claims.claims import drift
from benchspec.engine.facts import catalogue as facts
from benchspec.engine.model.results import Fact, FactSet
from benchspec.engine.model.spec import Json
from tests.engine.facts.test_fact_catalogue import DATA, ENVIRONMENT, grow

NV_INDEX = "0x01400001"


def see(root: Path, level: str = "", **environment: str) -> dict[str, Json]:
    """The facts without their prefix; looked at again if the evidence is not of this level, since a
    busy machine may miss the probe's deadlines.
    """
    for _ in range(5 if level else 1):
        seen = look(root, **environment)
        if seen["evidence"] == level:
            break
    return seen


def look(root: Path, **environment: str) -> dict[str, Json]:
    done = subprocess.run(
        ["sh"],
        input=facts.script().encode(),
        env={**ENVIRONMENT, "ROOT": str(root), **environment},
        capture_output=True,
        timeout=60,
        check=True,
    )
    return {
        fact.name.removeprefix("cvm."): fact.value
        for fact in facts.parse(done.stdout)
        if fact.name.startswith("cvm.")
    }


def hcl_report(kind: int, signature: bytes = b"HCLA") -> bytes:
    """A report as Azure's paravisor lays it out (engine/facts/commands/cvm.py), with a noise of
    bytes for the hardware's report.
    """
    header = signature + struct.pack("<7I", 2, 1216, 2, 0, 0, 0, 0)
    claims = b'{"keys":[]}'
    return (
        header
        + os.urandom(1184)
        + struct.pack("<5I", 20 + len(claims), 1, kind, 1, len(claims))
        + claims
    )


@pytest.fixture
def tpm(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """The environment in which tpm2-tools talk to a fresh TPM."""
    if shutil.which("swtpm") is None or shutil.which("tpm2_nvread") is None:
        pytest.skip("needs swtpm and tpm2-tools")
    state = tmp_path / "tpm"
    state.mkdir()
    for _ in range(10):
        port = two_free_ports()
        process = subprocess.Popen(
            [
                "swtpm",
                "socket",
                "--tpm2",
                "--tpmstate",
                f"dir={state}",
                "--flags",
                "not-need-init,startup-clear",
                "--server",
                f"type=tcp,port={port},disconnect",
                "--ctrl",
                f"type=tcp,port={port + 1}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            if answers(process, port + 1):
                yield {"TPM2TOOLS_TCTI": f"swtpm:port={port}"}
                return
        finally:
            process.kill()
            process.wait()
    pytest.fail("swtpm did not start")


def two_free_ports() -> int:
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def answers(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        listening = subprocess.run(
            ["ss", "-Htln", f"sport = :{port}"], capture_output=True, timeout=10, check=True
        ).stdout
        if listening:
            return True
        time.sleep(0.05)
    return False


def store(tpm: Mapping[str, str], report: bytes, place: Path) -> None:
    place.write_bytes(report)
    words = ("ownerread|ownerwrite|authread|authwrite", NV_INDEX)
    for argv in (
        ["tpm2_nvdefine", "-Q", "-C", "o", "-s", str(len(report)), "-a", *words],
        ["tpm2_nvwrite", "-Q", "-C", "o", "-i", str(place), NV_INDEX],
    ):
        subprocess.run(argv, env={**os.environ, **tpm}, check=True, capture_output=True, timeout=30)


@pytest.mark.parametrize(
    ("tree", "kind", "technology"),
    [("sev-snp-azure", 2, "sev-snp"), ("tdx-azure", 4, "tdx"), ("azure-log-cut", 2, "sev-snp")],
)
def test_the_report_in_azure_s_vtpm(
    tpm: Mapping[str, str], tmp_path: Path, tree: str, kind: int, technology: str
) -> None:
    root = tmp_path / "root"
    grow(DATA / f"{tree}.tree", root)
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev" / "tpmrm0").touch()
    report = hcl_report(kind)
    store(tpm, report, tmp_path / "report")
    seen = see(root, "report", **tpm)
    assert (seen["technology"], seen["evidence"], seen["basis"]) == (
        technology,
        "report",
        "the report in the vTPM",
    )
    assert seen["report"] == hashlib.sha256(report).hexdigest()


@pytest.mark.parametrize("signature", [None, b"HCLB"])
def test_a_vtpm_without_a_report_is_no_evidence(
    tpm: Mapping[str, str], tmp_path: Path, signature: bytes | None
) -> None:
    root = tmp_path / "root"
    grow(DATA / "azure-log-cut.tree", root)
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev" / "tpmrm0").touch()
    if signature:
        store(tpm, hcl_report(2, signature), tmp_path / "report")
    seen = see(root, **tpm)
    assert (seen["technology"], seen["evidence"], seen["report"]) == (None, None, None)


def configfs(root: Path, binaries: Path, provider: str, report: bytes | None) -> str:
    """A directory for reports, and a PATH on which mkdir and rmdir do what configfs does:
    attributes come and go with a directory.

    Without a report the read fails, as it does when the host refuses.
    """
    (root / "sys/kernel/config/tsm/report").mkdir(parents=True)
    binaries.mkdir()
    (binaries / "blob").write_bytes(report or b"")
    fill = f'cp {binaries}/blob "$1/outblob"' if report is not None else ":"
    scripts = {
        "mkdir": f'/bin/mkdir "$1" && : >"$1/inblob" && echo {provider} >"$1/provider" && {fill}',
        "rmdir": (
            f'case $1 in *"*"*) exit 1;; esac; cp "$1/inblob" {binaries}/nonce; rm -f "$1"/*;'
            ' /bin/rmdir "$1"'
        ),
    }
    for name, body in scripts.items():
        (binaries / name).write_text(f"#!/bin/sh\n{body}\n")
        (binaries / name).chmod(0o755)
    return f"{binaries}:{ENVIRONMENT['PATH']}"


@pytest.mark.parametrize(
    ("tree", "provider", "technology"),
    [("sev-snp-aws", "sev_guest", "sev-snp"), ("tdx-gcp", "tdx_guest", "tdx")],
)
def test_a_report_of_configfs_is_fetched_and_its_directory_removed(
    tmp_path: Path, tree: str, provider: str, technology: str
) -> None:
    root, report = tmp_path / "root", os.urandom(1184)
    grow(DATA / f"{tree}.tree", root)
    path = configfs(root, tmp_path / "bin", provider, report)
    seen = see(root, "report", PATH=path)
    assert (seen["technology"], seen["evidence"], seen["basis"], seen["unseen"]) == (
        technology,
        "report",
        "a report of configfs-tsm",
        "none",
    )
    assert seen["report"] == hashlib.sha256(report).hexdigest()
    assert list((root / "sys/kernel/config/tsm/report").iterdir()) == []
    first = (tmp_path / "bin" / "nonce").read_bytes()
    see(root, "report", PATH=path)
    assert len(first) == 64
    assert (tmp_path / "bin" / "nonce").read_bytes() != first


@pytest.mark.parametrize("report", [None, b""])
def test_a_report_that_the_host_refuses_leaves_the_device_as_evidence(
    tmp_path: Path, report: bytes | None
) -> None:
    root = tmp_path / "root"
    grow(DATA / "sev-snp-aws.tree", root)
    seen = see(root, PATH=configfs(root, tmp_path / "bin", "sev_guest", report))
    assert (seen["evidence"], seen["unseen"], seen["report"]) == ("device", "none", None)
    assert list((root / "sys/kernel/config/tsm/report").iterdir()) == []


def test_without_root_the_report_is_named_as_not_looked_for(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to become somebody else")
    root = tmp_path / "root"
    grow(DATA / "sev-snp-aws.tree", root)
    path = configfs(root, tmp_path / "bin", "sev_guest", b"report")
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_mode & 0o077 == 0:
            place.chmod(0o755)
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "sh"]
    done = subprocess.run(
        argv,
        input=facts.script().encode(),
        env={**ENVIRONMENT, "ROOT": str(root), "PATH": path},
        capture_output=True,
        check=True,
    )
    seen = {fact.name: fact.value for fact in facts.parse(done.stdout)}
    assert (seen["cvm.evidence"], seen["cvm.unseen"]) == ("device", "report (needs root)")


def test_a_host_that_is_no_guest_is_not_asked_for_a_report(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(DATA / "epyc-host.tree", root)
    path = configfs(root, tmp_path / "bin", "sev_guest", b"report")
    assert see(root, PATH=path)["evidence"] == "none"
    assert not (tmp_path / "bin" / "nonce").exists()


LOGS = [tree for tree in sorted(DATA.glob("*.tree")) if "== /var/log/dmesg" in tree.read_text()]


@pytest.mark.parametrize("tree", LOGS, ids=lambda tree: tree.stem)
def test_a_kernel_log_that_wraps_makes_evidence_unknown_and_never_another(
    tree: Path, tmp_path: Path
) -> None:
    grow(tree, tmp_path)
    log = tmp_path / "var/log/dmesg"
    lines = [
        *log.read_text().splitlines(keepends=True),
        "[ 4711.000001] eth0: renamed from veth1234\n",
    ]
    log.write_text("".join(lines))
    before = fact_set("before", facts_of(ROOT=str(tmp_path)))
    assert before.value("cvm.unseen") is not None
    for gone in range(1, len(lines) + 1):  # a ring buffer loses its oldest line first
        log.write_text("".join(lines[gone:]))
        after = fact_set("after", facts_of(ROOT=str(tmp_path)))
        assert after.value("cvm.technology") in (
            before.value("cvm.technology"),
            None,
        ), f"without the first {gone} lines"
        assert drift(before, after) == ()
        assert drift(after, before) == ()


def test_the_log_of_this_machine_may_wrap_while_a_run_goes_on(tmp_path: Path) -> None:
    lines = logged_here()
    if not any("Linux version " in line for line in lines):  # it has wrapped already
        lines = ["[    0.000000] Linux version 6.1.0\n", *lines]
    (tmp_path / "dmesg").write_text(f"#!/bin/sh\ncat {tmp_path}/log\n")
    (tmp_path / "journalctl").write_text("#!/bin/sh\nexit 1\n")
    for program in ("dmesg", "journalctl"):
        (tmp_path / program).chmod(0o755)
    seen = []
    for when, kept in (("before", lines), ("after", lines[len(lines) // 2 :])):
        (tmp_path / "log").write_text("".join(kept))
        seen.append(fact_set(when, facts_of(PATH=f"{tmp_path}:{ENVIRONMENT['PATH']}")))
    before, after = seen
    assert [finding for finding in drift(before, after) if "cvm." in finding.message] == []
    if before.value("cvm.basis") == "the kernel log, which says nothing of it":
        assert after.value("cvm.technology") is None
        assert str(after.value("cvm.unseen")).startswith("kernel log (not readable or cut)")


def logged_here() -> list[str]:
    """What this machine's kernel has logged."""
    return subprocess.run(
        ["dmesg"], capture_output=True, text=True, errors="replace", check=False
    ).stdout.splitlines(keepends=True)


def facts_of(**environment: str) -> tuple[Fact, ...]:
    done = subprocess.run(
        ["sh"],
        input=facts.cvm_script().encode(),
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        timeout=60,
        check=True,
    )
    return tuple(facts.parse(done.stdout))


def fact_set(when: str, seen: tuple[Fact, ...]) -> FactSet:
    return FactSet(target="a", site="here", when=when, observed_at=0.0, facts=seen)
