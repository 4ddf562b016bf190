from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from benchspec.engine.errors import RunFailed
from benchspec.runners.local import process
from benchspec.runners.local.process import Process

LINE = "4711 (a) (b) S 1 4700 4699 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 0 0\n"


def alive(pid: int) -> Process:
    found = process.look_up(pid)
    assert found is not None
    return found


def test_a_name_with_brackets_and_spaces_does_not_confuse() -> None:
    assert process.parse_stat(LINE) == Process(pid=4711, start=123456, group=4700, session=4699, state="S")


@pytest.mark.parametrize("text", ["", "4711", "4711 (x", "4711 (x) S 1 2", "x (y) " + "1 " * 30, LINE[: LINE.index("20 0 1")]])
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
    assert process.wait_for(Process(pid=os.getpid(), start=1, group=0, session=0, state="S"), 10)  # our pid, somebody else's start


def test_processes_are_found_by_the_mark_in_their_environment() -> None:
    child = subprocess.Popen(["sleep", "30"], env={"BENCHSPEC_RUN": "marked", "OTHER": "x"})
    other = subprocess.Popen(["sleep", "30"], env={"BENCHSPEC_RUN": "marked-too"})
    try:
        deadline = time.monotonic() + 5
        while not process.marked({"BENCHSPEC_RUN": "marked"}) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [p.pid for p in process.marked({"BENCHSPEC_RUN": "marked"})] == [child.pid]
        assert process.marked({"BENCHSPEC_RUN": "marked", "OTHER": "y"}) == []
        assert process.environment(2**22 + 1) == frozenset()
    finally:
        for one in (child, other):
            one.kill()
            one.wait()


def test_a_family_without_its_leader_is_known_by_the_mark_alone() -> None:
    child = subprocess.Popen(["sleep", "30"], start_new_session=True)
    leader = alive(child.pid)
    gone = Process(pid=leader.pid, start=leader.start - 5, group=leader.pid, session=leader.pid, state="S")
    try:
        assert [p.pid for p in process.family(leader, {"X": "nobody"})] == [child.pid]
        assert process.family(gone, {"X": "nobody"}) == []
        assert process.family(gone, {"X": "nobody"}, just_reaped=True) == []
        assert process.family(None, {"X": "nobody"}) == []
    finally:
        child.kill()
        child.wait()


def test_who_does_not_heed_sigterm_gets_sigkill() -> None:
    child = subprocess.Popen(["sh", "-c", "trap '' TERM; echo; sleep 30 & wait; sleep 30"], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    child.stdout.readline()
    leader = alive(child.pid)
    assert process.end(lambda: process.family(leader, {"X": "nobody"}), grace_s=0.2) == signal.SIGKILL
    assert child.wait() == -signal.SIGKILL
    assert process.end(lambda: process.family(leader, {"X": "nobody"}), grace_s=0.2) == 0


def test_who_outlives_sigkill_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # no process can be made to outlive SIGKILL at will: one that is found although it never gets the signal stands in for it
    monkeypatch.setattr(process, "_KILLED_WITHIN_S", 0.1)
    monkeypatch.setattr(process, "_tell", lambda number, processes: None)
    with pytest.raises(RunFailed, match=f"processes {os.getpid()} do not end"):
        process.end(lambda: [alive(os.getpid())], grace_s=0.1)
