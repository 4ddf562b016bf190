"""Windows hosts: what would be run there is rendered as PowerShell, and a run is refused before
anything is made.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import benchspec.specs
from benchspec.engine.model.contract.values import Command, RenderedFile
from benchspec.engine.model.errors import SpecError
from benchspec.engine.model.spec import Role
from benchspec.runners.ssh import render_windows
from tests.engine.execution.bench import environment

SPEC = Path(benchspec.specs.__file__).parent / "azure-disk-encryption.yaml"


def run_cli(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "benchspec.cli", *arguments)
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def test_the_plan_shows_what_windows_would_run(tmp_path: Path) -> None:
    done = run_cli("plan", str(SPEC), "--only", "target=ade", "--render", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    scripts = [
        path.read_bytes().decode() for path in (tmp_path / "out").rglob("client-1-client.ps1")
    ]
    assert len(scripts) == 9
    (p20,) = [script for script in scripts if "'-b8K'" in script and "G:" in script]
    assert "& 'diskspd.exe' '-c1G' '-b8K' '-r' '-w100' '-o64' '-t1' '-W30' '-d90'" in p20
    assert r"'G:\_diskSpd_test\testfile.dat'" in p20
    assert p20.endswith("exit $LASTEXITCODE\r\n")
    assert not list((tmp_path / "out").rglob("*.sh"))


def test_a_run_on_windows_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    done = run_cli("run", str(SPEC), "--yes", folder=tmp_path)
    assert done.returncode == 4
    assert "this version runs nothing on Windows hosts" in done.stderr
    assert list(tmp_path.iterdir()) == []


def rendered(command: Command) -> str:
    found: RenderedFile = render_windows.script(
        "x.ps1", command, "win", r"D:\it's here", (0, 2), "a remark"
    )
    return found.data.decode()


def test_nothing_of_a_spec_leaves_its_quotes() -> None:
    text = rendered(
        Command(
            argv=("x.exe", "$(calc)'"),
            role=Role.CLIENT,
            timeout_s=1,
            env={"A": "b'; calc"},
            secrets={"TOKEN": "t0p"},
        )
    )
    assert "Set-Location -LiteralPath 'D:\\it''s here'" in text
    assert "[Environment]::SetEnvironmentVariable('A', 'b''; calc')" in text
    assert "& 'x.exe' '$(calc)'''" in text
    assert "ProcessorAffinity = 5" in text
    assert "t0p" not in text


def test_arguments_that_powershell_would_mangle_are_refused() -> None:
    with pytest.raises(SpecError, match="cannot hand over"):
        rendered(Command(argv=("x.exe", 'say "hi"'), role=Role.CLIENT, timeout_s=1))
