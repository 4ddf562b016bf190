"""What a program gets and gives: arguments, environment, output, exit codes, files, CPUs."""

from __future__ import annotations

import os
import time

import pytest

from benchspec.engine.model.contract.runner import Allocation
from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.errors import MissingTool, RunFailed
from benchspec.engine.model.spec import Role
from tests.conformance.beds import Bed, Run

HOSTILE = (
    "",
    " ",
    "  two  ",
    "a b",
    "$HOME",
    "${PATH}",
    "$(id)",
    "`id`",
    "'",
    '"',
    "'\"'",
    "\\",
    "\\n",
    "a\nb",
    "\n",
    "\t",
    "*",
    "?",
    "[a-z]",
    "~",
    "~root",
    "!",
    "!!",
    "#",
    "# no comment",
    ";",
    "; exit 3",
    "&",
    "&& id",
    "|",
    "|| id",
    ">",
    "> /tmp/x",
    "<",
    "2>&1",
    "(",
    ")",
    "{a,b}",
    "-",
    "--",
    "-n",
    "-e",
    "--help",
    "a=b",
    "PATH=x",
    "%s",
    "%n",
    "\x01\x1b[31m",
    "ü",
    "日本語",
    "\u202e",
    "\udcff\udcfe",
    "'; rm -rf / #",
    "$'\\x41'",
    "a\\",
    "x" * 100_000,
)

BYTES = bytes(range(256))
TEN_MIB = 10 * 2**20


def test_every_argument_arrives_as_it_was_given(run: Run) -> None:
    # the last command keeps the shell from replacing itself by cat
    seen = run("sh", "-c", "cat /proc/$$/cmdline; :", *HOSTILE).stdout.split(b"\0")[3:-1]
    assert [os.fsdecode(argument) for argument in seen] == list(HOSTILE)


@pytest.mark.parametrize("name", ["exit", "export", "eval", ":", "set"])
def test_a_builtin_of_the_shell_is_no_program(run: Run, name: str) -> None:
    with pytest.raises(MissingTool):
        run(name, "5")


def test_echo_is_the_program_not_the_builtin(run: Run) -> None:
    assert run("echo", "--version").stdout != b"--version\n"


def test_output_and_errors_stay_apart(run: Run) -> None:
    completed = run("sh", "-c", "echo out; echo err >&2; echo out again")
    assert (completed.stdout, completed.stderr) == (b"out\nout again\n", b"err\n")


@pytest.mark.parametrize("code", [0, 1, 2, 42, 125, 126, 127, 200, 255])
def test_an_exit_code_is_a_value(run: Run, code: int) -> None:
    assert run("sh", "-c", f"exit {code}").exit_code == code


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("HUP", 1)])
def test_death_by_a_signal_is_128_and_its_number_with_nothing_added_to_stderr(
    run: Run, name: str, number: int
) -> None:
    completed = run("sh", "-c", f"echo last words >&2; kill -{name} $$")
    assert (completed.exit_code, completed.stderr) == (128 + number, b"last words\n")


def test_bytes_that_are_no_text_arrive_unchanged(run: Run, allocation: Allocation) -> None:
    allocation.put(Role.CLIENT, "bytes", BYTES)
    completed = run("sh", "-c", "cat bytes; cat bytes >&2", fetch=("bytes",))
    assert (completed.stdout, completed.stderr, completed.files["bytes"]) == (BYTES, BYTES, BYTES)


@pytest.mark.parametrize("redirection", ["", ">&2"])
def test_ten_mebibytes_on_either_stream(run: Run, redirection: str) -> None:
    completed = run("sh", "-c", f"head -c {TEN_MIB} /dev/zero {redirection}")
    assert (len(completed.stdout), len(completed.stderr)) == (
        (0, TEN_MIB) if redirection else (TEN_MIB, 0)
    )


def test_a_missing_tool_is_told_before_anything_is_created(
    allocation: Allocation, bed: Bed
) -> None:
    before = bed.shell(f'find "{bed.state}"')
    with pytest.raises(MissingTool, match="no-such-program"):
        allocation.start(
            Command(argv=("no-such-program",), role=Role.CLIENT, timeout_s=1), "missing"
        )
    assert bed.shell(f'find "{bed.state}"') == before != ""


def test_a_missing_tool_is_looked_up_in_the_command_s_own_path(
    allocation: Allocation, run: Run
) -> None:
    allocation.put(Role.CLIENT, "bin/tool", b"#!/bin/sh\necho mine\n")
    run("chmod", "+x", "bin/tool")
    path = f"{allocation.surroundings().workdirs[Role.CLIENT]}/bin:/usr/bin:/bin"
    assert run("tool", env={"PATH": path}).stdout == b"mine\n"
    with pytest.raises(MissingTool):
        run("tool")


def test_the_environment_is_minimal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRAY", "of the controller")
    lines = run("env", env={"ADDED": "a b\nc"}).stdout.decode()
    names = {line.partition("=")[0] for line in lines.splitlines() if "=" in line}
    assert names - {name for name in names if name.startswith("BENCHSPEC_")} == {
        "PATH",
        "HOME",
        "LC_ALL",
        "PWD",
        "ADDED",
    }
    assert "ADDED=a b\nc\n" in lines
    assert "LC_ALL=C\n" in lines


def test_standard_input_is_empty(run: Run) -> None:
    assert run("cat").stdout == b""


def test_files_are_placed_and_fetched(run: Run, allocation: Allocation) -> None:
    allocation.put(Role.CLIENT, "in put.txt", b"placed")
    allocation.put(Role.CLIENT, "deep/er/file", b"deeper")
    completed = run(
        "sh",
        "-c",
        "cat 'in put.txt' deep/er/file; echo made >out",
        fetch=("out", "deep/er/file", "absent"),
    )
    assert completed.stdout == b"placeddeeper"
    assert completed.files == {"out": b"made\n", "deep/er/file": b"deeper"}
    assert allocation.get(Role.CLIENT, "out") == b"made\n"


@pytest.mark.parametrize(
    "name", ["../escape", "/etc/benchspec-escape", "a/../../escape", "", ".", "link/x"]
)
def test_a_file_name_cannot_lead_out_of_the_work_directory(
    allocation: Allocation, run: Run, name: str
) -> None:
    run("ln", "-s", "/tmp", "link")
    with pytest.raises(RunFailed):
        allocation.put(Role.CLIENT, name, b"x")
    with pytest.raises(RunFailed):
        allocation.get(Role.CLIENT, name)


def test_reading_a_file_that_is_not_there(allocation: Allocation) -> None:
    with pytest.raises(RunFailed, match="nothing"):
        allocation.get(Role.CLIENT, "nothing")


def test_roles_have_private_work_directories(allocation: Allocation, run: Run, bed: Bed) -> None:
    workdirs = allocation.surroundings().workdirs
    assert workdirs[Role.CLIENT] != workdirs[Role.SERVER]
    assert run("pwd").stdout.decode().strip() == workdirs[Role.CLIENT]
    assert (
        bed.shell(f'stat -c %a "{workdirs[Role.CLIENT]}" "{bed.state}" "{bed.state}/jobs"').split()
        == ["700"] * 3
    )


def test_a_program_sees_itself_pinned(run: Run, bed: Bed) -> None:
    last = int(bed.shell("cat /sys/devices/system/cpu/online").strip().rpartition("-")[2])
    for cpu in {0, last}:
        seen = run("grep", "Cpus_allowed_list", "/proc/self/status", cpus=(cpu,)).stdout
        assert seen.split() == [b"Cpus_allowed_list:", str(cpu).encode()]


def test_the_role_s_cpus_hold_where_the_command_names_none(pinned: Allocation) -> None:
    job = pinned.start(
        Command(
            argv=("grep", "Cpus_allowed_list", "/proc/self/status"), role=Role.CLIENT, timeout_s=60
        ),
        "pinned-1",
    )
    job.wait(60)
    assert job.collect().stdout.split()[1] == b"0"


def test_when_it_ran_and_for_how_long(run: Run, bed: Bed) -> None:
    before, began = time.time(), time.monotonic()
    completed = run("sleep", "0.3")
    assert 0.29 <= completed.duration_s < time.monotonic() - began
    assert before - bed.coarse_s <= completed.started_at <= time.time()
