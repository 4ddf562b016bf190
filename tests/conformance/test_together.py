"""Where roles are, what they reach of each other, and that programs can begin at one instant."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from benchspec.engine.model.contract.runner import Allocation, DataSink, Session
from benchspec.engine.model.contract.values import Command, Endpoint, Server
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.results import Fact
from benchspec.engine.model.spec import Role

BOTH = (Role.CLIENT, Role.SERVER)


def test_every_role_is_on_a_node_that_says_which_machine_it_is(allocation: Allocation) -> None:
    nodes = allocation.nodes()
    assert set(nodes) == set(BOTH)
    assert all(node.name and node.identity for node in nodes.values())
    assert allocation.nodes() == nodes, "asked again, nobody moved"


def test_facts_are_of_the_nodes_that_roles_are_on(session: Session, allocation: Allocation) -> None:
    facts = session.facts()
    for node in allocation.nodes().values():
        own = facts.get(node.name, facts.get("", ()))
        assert {fact.value for fact in own if fact.name == "machine.id"} <= {node.identity}
    assert all(isinstance(fact, Fact) for seen in facts.values() for fact in seen)


def test_what_an_allocation_shows_is_about_its_roles(allocation: Allocation) -> None:
    seen = allocation.observe(allocation.surroundings())
    assert set(seen) <= set(BOTH)
    assert all(fact.source for facts in seen.values() for fact in facts)


def test_a_server_is_reached_from_the_client_s_node_and_nobody_else_is(
    allocation: Allocation,
) -> None:
    endpoint = allocation.surroundings().endpoints[Role.SERVER]
    with pytest.raises(RunFailed) as caught:
        allocation.reach(Role.CLIENT, endpoint, 0.5)
    assert str(endpoint.port) in str(caught.value)
    code = (
        f"import socket; s = socket.create_server(('', {endpoint.port}))\nwhile True:"
        " s.accept()[0].close()"
    )
    command = Command(argv=("python3", "-c", code), role=Role.SERVER, timeout_s=60)
    allocation.serve(Server(command=command, endpoint=endpoint, ready_timeout_s=30), "listener")
    allocation.reach(Role.CLIENT, endpoint, 30)
    with pytest.raises(RunFailed):
        allocation.reach(Role.CLIENT, Endpoint(host=endpoint.host, port=endpoint.port + 1), 0.5)


def test_programs_begin_at_the_instant_they_are_told(allocation: Allocation) -> None:
    common = time.time() + 2.0
    jobs = [
        allocation.start(
            Command(argv=("sleep", "0.5"), role=role, timeout_s=30),
            f"held-{role}",
            not_before=common,
        )
        for role in BOTH
    ]
    for job in jobs:
        job.wait(60)
    for job in jobs:
        completed = job.collect()
        assert completed.exit_code == 0
        assert completed.started_at >= common - 0.1, (
            "not before, as exactly as the clock of its node is known"
        )
        assert 0.4 < completed.duration_s < 0.5 + 10, "the time it waited does not count"


def test_a_program_that_is_cancelled_before_its_instant_never_begins(
    allocation: Allocation,
) -> None:
    job = allocation.start(
        Command(argv=("sh", "-c", "touch began; sleep 30"), role=Role.CLIENT, timeout_s=60),
        "never",
        not_before=time.time() + 30,
    )
    job.cancel()
    with pytest.raises(RunFailed):
        allocation.get(Role.CLIENT, "began")


def test_an_instant_that_is_past_is_no_reason_to_wait(allocation: Allocation) -> None:
    job = allocation.start(
        Command(argv=("true",), role=Role.CLIENT, timeout_s=30), "late", not_before=time.time() - 5
    )
    job.wait(30)
    assert job.collect().exit_code == 0


def test_a_data_sink_keeps_what_it_is_given(
    session: Session, allocation: Allocation, tmp_path: Path
) -> None:
    if not isinstance(session, DataSink):
        return
    files = {"a": tmp_path / "a", "deep/er/it's b": tmp_path / "b", "empty": tmp_path / "c"}
    for number, path in enumerate(files.values()):
        path.write_bytes(bytes(range(256)) * 1000 * number)
    where = session.deposit(Role.CLIENT, files)
    assert session.deposit(Role.CLIENT, files) == where, "a second time it is the same place"
    script = 'cd "$1" && find . -type f -exec sha256sum {} +; rm -r "$1"'
    job = allocation.start(
        Command(argv=("sh", "-c", script, "sh", where), role=Role.CLIENT, timeout_s=60), "look"
    )
    job.wait(60)
    lines = job.collect().stdout.decode().splitlines()
    sums = {
        name.removeprefix("./"): digest for digest, name in (line.split("  ", 1) for line in lines)
    }
    assert sums == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
    }
