"""A namespace that a spec wants to have made goes with the run, and never with what others have put
into it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Site
from benchspec.runners.kubernetes import RUNNER
from benchspec.runners.kubernetes.client.api import Api
from benchspec.runners.kubernetes.options import read_options
from benchspec.runners.kubernetes.resources import namespace
from tests.cluster.cluster import Cluster

NAME = "made-for-a-run"


def namespaces(cluster: Cluster) -> list[str]:
    return cluster.kubectl(
        "get", "namespaces", "--output=jsonpath={.items[*].metadata.name}"
    ).split()


def test_a_namespace_is_made_for_the_run_and_removed_with_it(
    connect: Callable[..., Session], cluster: Cluster
) -> None:
    session = connect(namespace=NAME, create_namespace=True)
    assert NAME in namespaces(cluster)
    session.close()
    assert NAME not in namespaces(cluster)
    session.close()


def test_a_namespace_that_was_there_stays(
    connect: Callable[..., Session], cluster: Cluster
) -> None:
    cluster.kubectl("create", "namespace", NAME)
    connect(namespace=NAME, create_namespace=True).close()
    assert NAME in namespaces(cluster)
    cluster.kubectl("delete", "namespace", NAME)


def test_a_namespace_with_something_of_others_stays_and_is_told(
    connect: Callable[..., Session], cluster: Cluster, site: Site, run_id: str
) -> None:
    session = connect(namespace=NAME, create_namespace=True)
    cluster.kubectl("create", "secret", "generic", "theirs", f"--namespace={NAME}")
    session.close()
    there = Site(
        name="here",
        runner="kubernetes",
        options={**site.options, "namespace": NAME, "create_namespace": True},
    )
    (left,) = RUNNER.leftovers(there, run_id)
    assert (left.kind, left.name) == ("namespace", NAME)
    with pytest.raises(RunFailed, match=f"namespace {NAME} is not empty: secrets/theirs"):
        RUNNER.remove(there, left)
    cluster.kubectl("delete", "secret", "theirs", f"--namespace={NAME}")
    RUNNER.remove(there, left)
    assert NAME not in namespaces(cluster)


def test_a_namespace_that_is_about_to_go_is_waited_for_and_made_anew(
    connect: Callable[..., Session], cluster: Cluster
) -> None:
    cluster.kubectl("create", "namespace", NAME)
    cluster.kubectl("delete", "namespace", NAME, "--wait=false")
    connect(namespace=NAME, create_namespace=True).close()
    assert NAME not in namespaces(cluster)


def test_only_the_namespace_that_was_found_is_removed_as_it_was_found(
    cluster: Cluster, site: Site, run_id: str
) -> None:
    """One that somebody else made under its name meanwhile has another uid; one that somebody took
    over was changed.
    """
    options = read_options(
        Site(
            name="here",
            runner="kubernetes",
            options={**site.options, "namespace": NAME, "create_namespace": True},
        )
    )
    api = Api(options, "here")
    namespace.ensure(api, options, run_id)
    found = namespace.find(api, run_id)
    assert found is not None
    namespace.remove(
        api, {**found, "metadata": {**found["metadata"], "uid": "of-one-before"}}
    )  # that one is gone
    assert NAME in namespaces(cluster)
    cluster.kubectl("label", "namespace", NAME, "owner=them")
    with pytest.raises(RunFailed, match=f"namespace {NAME} was changed"):
        namespace.remove(api, found)
    assert NAME in namespaces(cluster)
    cluster.kubectl("delete", "namespace", NAME, "--wait=false")
    namespace.remove(api, found)  # already on its way
    assert NAME not in namespaces(cluster)
