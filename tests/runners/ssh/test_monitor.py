"""The monitor's script by itself, in a shell of this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchspec.runners.ssh.monitor import MONITOR_SCRIPT, parse
from tests.runners.ssh.conftest import until


def test_what_becomes_too_much_goes_to_a_file_without_a_name_and_is_handed_over_whole(tmp_path: Path) -> None:
    argv = ["/bin/sh", "-c", MONITOR_SCRIPT, "sh", "0.02", str(tmp_path), "4000"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as monitor:
        until(lambda: kept_in_file(monitor.pid) > 20_000, "a full file")
        assert list(tmp_path.iterdir()) == []
        said, _ = monitor.communicate(b"\n", timeout=60)
    assert said.startswith(b"began\n")
    samples = parse(said.decode("ascii"), ())
    assert len(samples) == said.count(b"\ncpu ") >= 3
    assert [one.elapsed_s for one in samples] == sorted(one.elapsed_s for one in samples)
    assert all({"host.cpu.user", "memory.used", "load.1m"} <= set(one.values) for one in samples)


def kept_in_file(pid: int) -> int:
    """How much lies in the file that a monitor has open."""
    try:
        return os.stat(f"/proc/{pid}/fd/4").st_size
    except FileNotFoundError:
        return 0
