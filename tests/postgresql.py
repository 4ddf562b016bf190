"""A PostgreSQL server of its own, from Debian's package, for tests of the index."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

USER = "nobody"
"""Who the server runs as: PostgreSQL refuses to be run by root."""


def programs() -> Path:
    """The folder of the newest PostgreSQL. Skips the test when there is none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found:
        pytest.skip("needs PostgreSQL: run tests/setup")
    return Path(found[-1]).parent


@contextmanager
def server() -> Generator[str, None, None]:
    """Start one, and give the address of an empty database of it."""
    folder = Path(tempfile.mkdtemp(prefix="bs-pg-"))
    is_root = os.access("/", os.W_OK)
    user = pwd.getpwnam(USER) if is_root else pwd.getpwuid(os.stat(folder).st_uid)
    shutil.chown(folder, user.pw_uid, user.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, bin_ = folder / "data", programs()
    own: dict[str, Any] = (
        {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if is_root else {}
    )
    subprocess.run(
        [bin_ / "initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-sync"],
        check=True,
        capture_output=True,
        cwd=folder,
        **own,
    )
    started = subprocess.Popen(
        [bin_ / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        **own,
    )
    try:
        ready: list[str | Path] = [bin_ / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
        deadline = time.monotonic() + 60
        while subprocess.run(ready, check=False).returncode:
            assert started.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server did not get ready"
            time.sleep(0.1)
        yield f"postgresql+psycopg://bench@127.0.0.1:{port}/postgres"
    finally:
        started.terminate()
        started.wait()
        shutil.rmtree(folder, ignore_errors=True)
