"""``benchspec new`` on a terminal, as a person types."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import benchspec


def typed(folder: Path, answers: str, *options: str) -> str:
    """What the terminal shows when ``answers`` are typed."""
    own, theirs = pty.openpty()
    argv = [sys.executable, "-m", "benchspec", "new", *options]
    with subprocess.Popen(argv, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(own, answers.encode())
        shown = b""
        while True:
            try:
                if not (more := os.read(own, 65536)):
                    break
            except OSError:  # Linux: nobody has the other end any more
                break
            shown += more
    os.close(own)
    assert process.returncode == 0, shown.decode()
    return shown.decode()


def test_six_answers_make_a_spec_that_can_be_planned(tmp_path: Path) -> None:
    shown = typed(
        tmp_path,
        "Two greps\nhere\none\ngrep, ripgrep\n\ngrep -c a b; rg -c a b\n\n",
        "-o",
        "s.yaml",
    )
    assert "expected two or more names" in shown  # asked again
    assert "separated by ;" in shown
    assert "now: benchspec validate s.yaml" in shown
    text = (tmp_path / "s.yaml").read_text()
    assert 'run: ["grep", "-c", "a", "b"]' in text
    assert 'ripgrep: {with: {run: ["rg", "-c", "a", "b"]}}' in text
    assert len(benchspec.plan(tmp_path / "s.yaml").plan.experiments) == 2


def test_what_options_say_is_not_asked(tmp_path: Path) -> None:
    shown = typed(tmp_path, "\n\n", "--title=T", "--where=ssh", "--tool=iperf3", "--targets=a, b")
    assert shown.count("[") == 2
    assert "host: a-client" in (tmp_path / "benchmark.yaml").read_text().replace('"', "")
