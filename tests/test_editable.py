"""CONTRIBUTING's set-up, made in a copy of the checkout: what it installs writes pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.engine.execution.bench import execute, make_run, spec_document

ROOT = Path(__file__).resolve().parents[1]
_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".tox", ".*_cache", "build", "dist", "*.egg-info", "__pycache__"
)
_OTHER_PYTHON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_SET_UP = re.compile(r"^(?:python3 -m venv|\.venv/bin/pip install -e) .*$", re.M)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, set up as CONTRIBUTING says; only the dependencies come from the
    tests' own environment.
    """
    copy = tmp_path_factory.mktemp("contributor") / "checkout"
    shutil.copytree(ROOT, copy, ignore=_NOT_COPIED, symlinks=True)
    make, install = _SET_UP.findall((copy / "CONTRIBUTING.md").read_text())
    call(make, copy)
    call(f"{install} --no-deps", copy)
    (packages,) = copy.glob(".venv/lib/python3*/site-packages")
    # The editable install's own .pth file starts with "__editable__" and is read before this one:
    # the copy's benchspec is found first.
    (packages / "tests-environment.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return copy


def call(command: str, folder: Path, *arguments: str) -> str:
    env = {name: value for name, value in os.environ.items() if name not in _OTHER_PYTHON}
    done = subprocess.run(
        ["sh", "-c", f'{command} "$@"', "sh", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_set_up_links_the_checkout(checkout: Path) -> None:
    found = Path(
        call(
            ".venv/bin/python -c 'import benchspec.reports; print(benchspec.reports.__path__[0])'",
            checkout,
        ).strip()
    )
    assert found.is_relative_to(checkout / "build")
    assert (
        found / "templates" / "page.md.j2"
    ).resolve() == checkout / "reports" / "templates" / "page.md.j2"


def test_the_editable_install_writes_the_pages_of_a_run(checkout: Path, tmp_path: Path) -> None:
    run = make_run(
        tmp_path,
        spec_document(tmp_path / "counter", method={"sessions": 2, "trials": 1, "warmups": 0}),
    ).path
    execute(run)
    for name, kind in (("page.md", "markdown"), ("page.html", "html")):
        call(".venv/bin/benchspec report", checkout, str(run), "--format", kind)
        assert "Counted" in (run / "report" / name).read_text()
