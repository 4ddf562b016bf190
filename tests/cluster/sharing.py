"""A cluster that tests share: the first test process starts it, each test has it to itself, the
last process to end stops it.

Workers of pytest-xdist have one each, since most of such a test is waiting; processes without
workers share one.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TextIO

from . import binaries, cluster
from .cluster import Cluster
from .layout import state_root

NAME = "-".join(filter(None, ("shared", os.environ.get("PYTEST_XDIST_WORKER"))))
_PROGRAMS = (
    "containerd",
    "runc",
    "nft",
    "conntrack",
    "ip",
    "nsenter",
    "unshare",
    "openssl",
    "fio",
    "iperf3",
    "gcc",
)


def missing() -> str | None:
    """What keeps a cluster from being started here, or None."""
    if os.geteuid() != 0:
        return "a cluster of namespaces needs root"
    if absent := [
        name
        for name in _PROGRAMS
        if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None
    ]:
        return f"a cluster needs {', '.join(absent)}: run tests/setup"
    if not binaries.ready() and shutil.which("go") is None:
        return "a cluster needs Go, or ready programs in BENCHSPEC_CLUSTER_BIN"
    return None


@cache
def shared() -> Cluster:
    """The cluster of these tests, started if nobody did; it ends with the last process that asked
    for it.
    """
    users = _open("users")
    with _locked("starting"):
        fcntl.flock(users, fcntl.LOCK_SH)
        made = cluster.make(NAME)
    atexit.register(_leave, users)
    os.environ["PATH"] += (
        # lifecycle steps of tests use kubectl, which a machine need not have
        f"{os.pathsep}{made.tools}"
    )
    return made


def _leave(users: TextIO) -> None:
    with _locked("starting"):
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if (made := cluster.find(NAME)) is not None:
            made.stop()


@contextlib.contextmanager
def alone() -> Iterator[Cluster]:
    """The shared cluster, and nobody else on it for as long as the block lasts."""
    made = shared()
    with _locked("using"):
        yield made


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    with _open(name) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _open(name: str) -> TextIO:
    state_root().mkdir(parents=True, exist_ok=True)
    return Path(state_root(), f"{NAME}-{name}.lock").open("w")
