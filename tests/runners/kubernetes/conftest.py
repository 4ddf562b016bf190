from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import Allocation, Session
from benchspec.engine.model.contract.values import NO_DEMAND, Command, Demand
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.kubernetes import RUNNER
from tests.cluster import sharing
from tests.cluster.cluster import Cluster

OPTIONS: dict[str, Any] = {
    "kind": "kubernetes",
    "image": "localhost/tools:1",
    "cpu": "250m",
    "memory": "128 MiB",
}
BOTH = (Role.CLIENT, Role.SERVER)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """The shared cluster, for this module alone."""
    if (problem := sharing.missing()) is not None:
        pytest.skip(problem)
    with sharing.alone() as made:
        yield made


@pytest.fixture
def site(cluster: Cluster) -> Site:
    return Site(
        name="here", runner="kubernetes", options={**OPTIONS, "kubeconfig": str(cluster.kubeconfig)}
    )


@pytest.fixture
def run_id(request: pytest.FixtureRequest) -> str:
    return f"run-{abs(hash(request.node.nodeid)) % 10**8}"


@pytest.fixture
def connect(site: Site, run_id: str) -> Iterator[Callable[..., Session]]:
    """Sessions on the cluster with some options changed; at the end they are closed and nothing may
    be left.
    """
    opened: list[Session] = []

    def open_session(**options: Any) -> Session:
        opened.append(
            RUNNER.connect(dataclasses.replace(site, options={**site.options, **options}), run_id)
        )
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()
    for leftover in RUNNER.leftovers(site, run_id):
        RUNNER.remove(site, leftover)
    assert list(RUNNER.leftovers(site, run_id)) == []


def allocate(session: Session, *roles: Role, demand: Demand = NO_DEMAND) -> Allocation:
    return session.allocate([RolePlace(role=role, site="here") for role in roles], "a-1", demand)


def sh(script: str, role: Role = Role.CLIENT, timeout_s: float = 120) -> Command:
    return Command(argv=("sh", "-c", script), role=role, timeout_s=timeout_s)
