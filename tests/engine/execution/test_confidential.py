"""Claims about confidential VMs in whole runs, on a machine whose /proc/cpuinfo is another's (in a
mount namespace of its own).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.execution.bench import environment, spec_document, write_spec

HOST = (
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654 96-Core"
    " Processor\nflags\t\t: fpu sev sev_es sev_snp\n"
)
GUEST = (
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu"
    " hypervisor tdx_guest\n"
)


def run(
    path: Path, cpuinfo: str, cvm: Any, *options: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    """A run of one small program on that machine, and its page."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare to show another machine's files")
    document = spec_document(path / "counter")
    document["targets"] = {"a": {"runner": "local", "cvm": cvm}}
    document["method"] = {"sessions": 1, "trials": 1, "warmups": 0}
    document.pop("compare", None)
    (path / "cpuinfo").write_text(cpuinfo)
    spec, out = write_spec(path / "spec.yaml", document), path / "run"
    script = 'mount --bind "$1" /proc/cpuinfo && shift && exec "$@"'
    program = [
        sys.executable,
        "-m",
        "benchspec.cli",
        "run",
        str(spec),
        "--yes",
        f"--out={out}",
        *options,
    ]
    argv = ["unshare", "--mount", "sh", "-c", script, "sh", str(path / "cpuinfo"), *program]
    done = subprocess.run(
        argv, text=True, capture_output=True, env=environment(), check=False, timeout=300
    )
    page = out / "report" / "page.md"
    return done, page.read_text() if page.exists() else ""


def test_a_confidential_vm_that_is_none_is_drift(tmp_path: Path) -> None:
    done, page = run(tmp_path, HOST, True)
    assert done.returncode == 5, done.stderr
    assert "cvm.expected: declared True, observed 'none'" in done.stderr
    assert "--allow-drift" in done.stderr
    assert page == ""


def test_allowed_drift_stands_on_the_page(tmp_path: Path) -> None:
    done, page = run(tmp_path, HOST, True, "--allow-drift")
    assert done.returncode == 0, done.stderr
    assert "| `cvm.expected` | yes | none | **contradicted** |" in page
    assert "claimed to be confidential; nothing of it was seen." in page


@pytest.mark.parametrize(
    ("cvm", "code"),
    [
        ({"expected": True, "technology": "tdx", "evidence": "kernel"}, 0),
        ({"expected": True, "technology": "sev-snp"}, 5),
        (False, 5),
    ],
)
def test_what_the_kernel_says_of_a_guest(tmp_path: Path, cvm: Any, code: int) -> None:
    done, page = run(tmp_path, GUEST, cvm)
    assert done.returncode == code, done.stderr
    if code == 0:
        assert (
            "memory is encrypted by TDX, as far as the guest sees. The kernel says so (the CPU flag"
            " tdx_guest)" in page
        )
        assert "The kernel repeats what the host told it." in page


def test_evidence_that_could_not_be_looked_for_contradicts_nothing(tmp_path: Path) -> None:
    if Path("/sys/kernel/config/tsm/report").exists() or Path("/dev/tpmrm0").exists():
        pytest.skip("this machine has ways to a report")
    done, page = run(tmp_path, GUEST, {"expected": True, "evidence": "report"})
    assert done.returncode == 0, done.stderr
    assert "| `cvm.evidence` | report | kernel | unknown |" in page
    assert "since it could not be looked for: " in page
