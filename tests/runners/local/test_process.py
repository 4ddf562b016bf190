from __future__ import annotations

import os
import subprocess
import time

import pytest

from benchspec.runners.local import process
from benchspec.runners.local.process import Process

LINE = "4711 (a) (b) S 1 4700 4699 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 0 0\n"


def alive(pid: int) -> Process:
    found = process.look_up(pid)
    assert found is not None
    return found


def test_a_name_with_brackets_and_spaces_does_not_confuse() -> None:
    assert process.parse_stat(LINE) == Process(
        pid=4711, start=123456, group=4700, session=4699, state="S", parent=1
    )


@pytest.mark.parametrize(
    "text",
    ["", "4711", "4711 (x", "4711 (x) S 1 2", "x (y) " + "1 " * 30, LINE[: LINE.index("20 0 1")]],
)
def test_a_line_that_was_cut_short_is_no_process(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        process.parse_stat(text)


def test_pid_and_start_time_make_a_process() -> None:
    me = alive(os.getpid())
    assert me.is_same(process.look_up(os.getpid()))
    assert not me.is_same(None)
    assert not me.is_same(Process(pid=me.pid, start=me.start - 1, group=0, session=0, state="S"))
    assert process.look_up(2**22 + 1) is None


def test_waiting_ends_with_the_process_or_the_deadline() -> None:
    child = subprocess.Popen(["sleep", "0.2"])
    who = alive(child.pid)
    assert not process.wait_for(who, 0.02)
    began = time.monotonic()
    assert process.wait_for(who, 10)
    assert time.monotonic() - began < 5
    assert alive(child.pid).dead  # a zombie counts as ended
    child.wait()
    assert process.wait_for(who, 10)
    assert process.wait_for(
        Process(pid=os.getpid(), start=1, group=0, session=0, state="S"), 10
    )  # our pid, somebody else's start
