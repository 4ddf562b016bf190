"""Real hosts, each with its own sshd, and connections to them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchspec.engine.model.spec import Site
from benchspec.runners.ssh.options import SiteOptions, site_options
from benchspec.runners.ssh.transport.connection import Connection
from benchspec.runners.ssh.transport.pool import Pool
from tests import hosts

Connect = Callable[..., Connection]


@pytest.fixture(scope="session")
def bed() -> Iterator[hosts.Bed]:
    """Four hosts; host4 is reached through host1 alone. Whoever breaks one mends it."""
    problem = hosts.missing()
    if problem:
        pytest.skip(problem)
    with hosts.up(4, name=f"ssh{os.getpid()}", hidden=1, owner=os.getpid()) as made:
        yield made


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


def options_of(
    bed: hosts.Bed,
    name: str = "host2",
    /,
    user: str = "bench",
    *,
    site: dict[str, Any] | None = None,
    **host: Any,
) -> SiteOptions:
    """A site with one host in the role of client, and what is said of it."""
    made = {
        "kind": "ssh",
        "known_hosts": str(bed.known_hosts),
        "ssh_config": str(bed.ssh_config),
        **(site or {}),
    }
    made["hosts"] = {"client": {**bed.host(name).site(user), **host}}
    return site_options(
        Site(
            name="site",
            runner="ssh",
            options={key: value for key, value in made.items() if value is not None},
        )
    )


@pytest.fixture
def connect(bed: hosts.Bed, pool: Pool) -> Connect:
    """Connect to a host of the bed as a user, with options of the site and of the host."""

    def connect(
        name: str = "host2",
        /,
        user: str = "bench",
        *,
        site: dict[str, Any] | None = None,
        **host: Any,
    ) -> Connection:
        return pool.connect(options_of(bed, name, user, site=site, **host), "client")

    return connect


def until(happened: Callable[[], object], what: str = "it", seconds: float = 60) -> None:
    """Wait for something that must come, however slow the machine is."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.02)
