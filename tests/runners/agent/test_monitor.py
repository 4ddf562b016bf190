"""The monitor's script by itself, in a shell of this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchspec.engine.store import usage
from benchspec.runners.agent.monitor import parse
from benchspec.runners.agent.scripts import own
from tests.runners.ssh.conftest import until


def test_what_becomes_too_much_goes_to_a_file_without_a_name_and_is_handed_over_whole(
    tmp_path: Path,
) -> None:
    argv = ["/bin/sh", "-c", own("monitor"), "sh", "0.02", str(tmp_path), "4000"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as monitor:
        until(lambda: kept_in_file(monitor.pid) > 20_000, "a full file")
        assert list(tmp_path.iterdir()) == []
        said, _ = monitor.communicate(b"\n", timeout=60)
    assert said.startswith(b"began\n")
    samples = parse(said.decode("ascii"), ())
    assert len(samples) == said.count(b"\ncpu ") >= 3
    assert [one.elapsed_s for one in samples] == sorted(one.elapsed_s for one in samples)
    assert all({"host.cpu.user", "memory.used", "load.1m"} <= set(one.values) for one in samples)


def test_a_monitor_whose_file_was_cut_short_hands_nothing_over_rather_than_a_part(
    tmp_path: Path,
) -> None:
    argv = [
        "prlimit",
        "--fsize=10000",
        "/bin/sh",
        "-c",
        own("monitor"),
        "sh",
        "0.02",
        str(tmp_path),
        "4000",
    ]
    pipe = subprocess.PIPE
    # SIGXFSZ stays ignored, so that a write beyond the limit fails as one on a full disk does
    with subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, stderr=pipe, restore_signals=False
    ) as monitor:
        assert monitor.stderr is not None
        assert monitor.stderr.readline() != b"", "the shell says that it could not write"
        said, _ = monitor.communicate(b"\n", timeout=60)
    assert said.startswith(b"began\n")
    assert parse(said.decode("ascii"), ()) == ()
    assert usage.summarise(()) == {}


def kept_in_file(pid: int) -> int:
    """How much lies in the file that a monitor has open."""
    try:
        return os.stat(f"/proc/{pid}/fd/4").st_size
    except FileNotFoundError:
        return 0
