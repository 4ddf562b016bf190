"""A rendered command does in a shell what the runner would do, and holds no secret."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.spec import Role
from benchspec.engine.planning.shell_script import to_script

SHOW = "import os, sys; print(sys.argv[1:], os.getcwd(), sorted(os.environ.items()))"


def test_the_script_hands_over_arguments_and_nothing_but_its_environment(tmp_path: Path) -> None:
    workdir = tmp_path / "it's here"
    workdir.mkdir()
    argument = "a 'b' $HOME `id` \\ *\n;"
    command = Command(
        argv=(sys.executable, "-I", "-S", "-c", SHOW, argument),
        role=Role.SERVER,
        timeout_s=1.0,
        env={"X": "two words; $PATH"},
        secrets={"TOKEN": "never-written"},
    )
    script = to_script("s.sh", command, "on lab", str(workdir), home="/nowhere")
    assert script.name == "s.sh"
    assert b"never-written" not in script.data
    done = subprocess.run(
        ["sh"],
        input=script.data,
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "TOKEN": "from outside", "OTHER": "1"},
    )
    environment = {
        "HOME": "/nowhere",
        "LC_ALL": "C",
        "PATH": "/usr/bin:/bin",
        "TOKEN": "from outside",
        "X": "two words; $PATH",
    }
    shown = f"{[argument]} {workdir} {sorted(environment.items())}\n"
    assert done.stdout.decode() == shown


def test_remarks_name_secrets_and_fetched_files_and_pinning_comes_before_the_program() -> None:
    command = Command(
        argv=("fio",),
        role=Role.CLIENT,
        timeout_s=1.0,
        secrets={"B": "x", "A": "y"},
        fetch=("o ut",),
    )
    text = to_script("s.sh", command, "why", None, pinned=("taskset", "-c", "0")).data.decode()
    lines = text.splitlines()
    assert lines[:2] == ["#!/bin/sh", "# why"]
    assert lines[2].endswith(" A, B")
    assert lines[3] == "# fetched afterwards: 'o ut'"
    assert lines[-1].strip() == "taskset -c 0 fio"
    assert not any(line.startswith("cd ") for line in lines)
