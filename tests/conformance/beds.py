"""Where the conformance suite runs: one bed per runner, each on a real thing. A new runner plugs in
by adding a factory to BEDS.
"""

from __future__ import annotations

import atexit
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Protocol

import pytest

from benchspec.engine.model.contract.runner import Allocation, Runner, Session
from benchspec.engine.model.contract.values import Completed
from benchspec.engine.model.spec import Site
from benchspec.runners.registry import get_runner
from tests import hosts
from tests.cluster import sharing
from tests.conformance import cluster_bed

CONTROLLER = Path(__file__).with_name("controller.py")

OURS = os.getpid() * 1000
"""Added to how long programs sleep, so that a test of another transport, at the same time on the
same machine, does not find them.
"""


class Run(Protocol):
    """Run a program to its end in the client's role."""

    def __call__(
        self,
        *argv: str,
        env: Mapping[str, str] | None = None,
        fetch: tuple[str, ...] = (),
        cpus: tuple[int, ...] = (),
    ) -> Completed: ...


class Look(Protocol):
    """Run a script on a host, not through the runner under test; return what it prints."""

    def __call__(self, script: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """A site of one runner, and an independent look at the hosts behind it: the client's first, and
    the server's where it has one of its own.

    ``state`` is the run's directory on each host. ``exclusive``: one run at a time uses the hosts.
    ``coarse_s``: how far times may be off. ``kinds``: what the leftovers of a dead controller are.
    ``held`` is given back at the end.
    """

    runner: Runner
    site: Site
    run_id: str
    state: str
    looks: tuple[Look, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    exclusive: bool = False
    coarse_s: float = 0.01
    kinds: frozenset[str] = frozenset({"processes", "directory"})
    held: ExitStack = field(default_factory=ExitStack)
    opened: list[Session] = field(default_factory=list)

    def connect(self, site: Site | None = None, run_id: str | None = None) -> Session:
        """A session of the runner, which is closed at the end of the test at the latest."""
        self.opened.append(self.runner.connect(site or self.site, run_id or self.run_id))
        return self.opened[-1]

    def close(self) -> None:
        """Close all sessions."""
        for session in self.opened:
            session.close()

    def shell(self, script: str) -> str:
        """Run a script on the client's host."""
        return self.looks[0](script)

    def server(self, script: str) -> str:
        """Run a script on the server's host."""
        return self.looks[-1](script)

    def everywhere(self, script: str) -> str:
        """Run a script on every host."""
        return "".join(look(script) for look in self.looks)

    def controller(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        """Another controller, in a process of its own, that can be killed."""
        argv = [
            sys.executable,
            str(CONTROLLER),
            self.site.runner,
            json.dumps(dict(self.site.options)),
            self.run_id,
            verb,
            *arguments,
        ]
        env = {**os.environ, **self.environment}
        return subprocess.Popen(
            argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def marked(self, marker: str) -> Sequence[str]:
        """The processes on the hosts whose environment holds ``marker``, as ``pid command``."""
        lines = self.everywhere(
            "for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -qx"
            f" '{marker}' && ! grep -q '^State:.Z' $p/status && printf '%s %s\\n' ${{p#/proc/}}"
            " \"$(tr '\\0\\n' '  ' <$p/cmdline)\"; done"
        )
        return lines.splitlines()


def look_here(script: str) -> str:
    """Run a script on this host."""
    return subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=30
    ).stdout


def local_bed(directory: Path, run_id: str) -> Bed:
    """This host, with a state directory of the test's own (XDG_STATE_HOME is set by the
    fixture).
    """
    return Bed(
        runner=get_runner("local"),
        site=Site(name="here", runner="local"),
        run_id=run_id,
        state=str(directory / "benchspec" / run_id / "here"),
        looks=(look_here,),
        environment={"XDG_STATE_HOME": str(directory)},
    )


def ssh_bed(directory: Path, run_id: str) -> Bed:
    """Client and server on two hosts with sshds of their own, as a user without rights; work
    directories where they have to be quoted.
    """
    made = shared_hosts()
    uid = made.hosts[0].shell(f"id -u {hosts.Login.PLAIN}").strip()
    options = made.site(("client", "server"), workdir=f"/var/tmp/{directory.name}")
    for host in made.hosts:
        host.shell(f"mkdir -m 1777 {shlex.quote(f'/var/tmp/{directory.name}')}")
    return Bed(
        runner=get_runner("ssh"),
        site=Site(name="here", runner="ssh", options=options),
        run_id=run_id,
        state=f"/var/tmp/benchspec-{uid}/{run_id}/here",
        looks=tuple(partial(host.shell, check=False) for host in made.hosts),
        exclusive=True,
        coarse_s=0.1,
    )


@cache
def shared_hosts() -> hosts.Bed:
    """The hosts that all tests of this process share; they end with it."""
    if (problem := hosts.missing()) is not None:
        pytest.skip(problem)
    made = hosts.up(2, name=f"conf{os.getpid()}", owner=os.getpid())
    atexit.register(hosts.down, made.name)
    return made


def kubernetes_bed(directory: Path, run_id: str) -> Bed:
    """Client and server in pods of a two-node cluster, which a test has to itself."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    held = ExitStack()
    made, options = held.enter_context(cluster_bed.site_options())
    return Bed(
        runner=get_runner("kubernetes"),
        site=Site(name="here", runner="kubernetes", options=options),
        run_id=run_id,
        state="/benchspec/state",
        looks=tuple(cluster_bed.PodLook(made, run_id, role) for role in ("client", "server")),
        exclusive=True,
        coarse_s=0.1,
        kinds=frozenset({"job", "pod", "lease"}),
        held=held,
    )


BEDS: Mapping[str, Callable[[Path, str], Bed]] = {
    "kubernetes": kubernetes_bed,
    "local": local_bed,
    "ssh": ssh_bed,
}

EMPTYING: Mapping[str, Callable[[Allocation], None]] = {"kubernetes": cluster_bed.empty}
"""How an allocation is made as good as new, for runners where another one takes longer than most
tests.
"""
