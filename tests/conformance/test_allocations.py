"""Servers, monitors, facts, tools; and that nothing is left behind and nothing secret is
written.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from pathlib import Path

import pytest

from benchspec.engine.model.contract.runner import Allocation, Session
from benchspec.engine.model.contract.values import Command, Endpoint, Server, Tool
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Role, RolePlace
from benchspec.engine.store.usage import parse_stat, summarise
from tests.conformance.beds import OURS, Bed

LISTENER = """
import socket, sys, time
time.sleep(float(sys.argv[2]))
s = socket.create_server((sys.argv[3], int(sys.argv[1])))
while True:
    c, _ = s.accept()
    c.sendall(b"hello"); c.close()
"""
CANARY = "canary-0f3a9c"


def server(allocation: Allocation, *argv: str, ready_timeout_s: float = 60.0) -> Server:
    endpoint = allocation.surroundings().endpoints[Role.SERVER]
    filled = tuple(
        argument.replace("PORT", str(endpoint.port)).replace("ADDRESS", endpoint.host)
        for argument in argv
    )
    return Server(
        command=Command(argv=filled, role=Role.SERVER, timeout_s=60),
        endpoint=endpoint,
        ready_timeout_s=ready_timeout_s,
    )


def greeting(endpoint: Endpoint) -> bytes:
    with socket.create_connection((endpoint.host, endpoint.port), timeout=5) as connection:
        return connection.recv(100)


@pytest.mark.usefixtures("fresh")
def test_a_server_is_ready_when_serve_returns_and_gone_after_release(
    bed: Bed, session: Session
) -> None:
    allocation = session.allocate(
        [RolePlace(role=Role.CLIENT, site="here"), RolePlace(role=Role.SERVER, site="here")],
        "serving",
    )
    started = server(allocation, "python3", "-c", LISTENER, "PORT", "0.3", "ADDRESS")
    job = allocation.serve(started, "server-1")
    assert greeting(started.endpoint) == b"hello"
    assert allocation.serve(started, "server-1").job_id == job.job_id
    programs = [line.split()[1] for line in bed.marked("BENCHSPEC_JOB=server-1")]
    assert len([name for name in programs if name.endswith("python3")]) == 1, programs
    allocation.release()
    assert bed.marked("BENCHSPEC_JOB=server-1") == []
    with pytest.raises(OSError, match=r"refused|timed out|route|unreachable"):
        greeting(started.endpoint)


def test_a_server_that_fails_is_told_with_its_own_words(allocation: Allocation) -> None:
    with pytest.raises(RunFailed, match="exit code 9") as caught:
        allocation.serve(
            server(allocation, "sh", "-c", "echo no such database >&2; exit 9"), "broken"
        )
    assert "no such database" in str(caught.value)


def test_a_server_that_never_listens_is_ended(bed: Bed, allocation: Allocation) -> None:
    with pytest.raises(RunFailed, match="within 2 s") as caught:
        allocation.serve(
            server(allocation, "sh", "-c", "echo still loading >&2; sleep 300", ready_timeout_s=2),
            "deaf",
        )
    assert "still loading" in str(caught.value)
    assert bed.marked("BENCHSPEC_JOB=deaf") == []


def test_a_port_that_is_taken_is_told_before_the_start(bed: Bed, allocation: Allocation) -> None:
    endpoint = allocation.surroundings().endpoints[Role.SERVER]
    bed.server(
        f"python3 -c '{LISTENER}' {endpoint.port} 0 {endpoint.host} >/dev/null 2>&1 & echo $!"
        f" >/tmp/{bed.run_id}-taken"
    )
    try:
        deadline = time.monotonic() + 60
        while (
            not bed.server(f"ss -Hltn 'sport = :{endpoint.port}'") and time.monotonic() < deadline
        ):
            time.sleep(0.02)
        with pytest.raises(RunFailed, match="listens"):
            allocation.serve(server(allocation, "sleep", "60"), "late")
        assert bed.marked("BENCHSPEC_JOB=late") == []
    finally:
        bed.server(f"kill $(cat /tmp/{bed.run_id}-taken); rm /tmp/{bed.run_id}-taken")


def test_ports_are_free_and_different(bed: Bed, allocation: Allocation) -> None:
    endpoints = allocation.surroundings().endpoints
    assert len({(endpoint.host, endpoint.port) for endpoint in endpoints.values()}) == len(
        endpoints
    )
    for role, look in ((Role.CLIENT, bed.shell), (Role.SERVER, bed.server)):
        for kind in ("STREAM", "DGRAM"):
            where = f"({endpoints[role].host!r}, {endpoints[role].port})"
            assert (
                look(
                    'python3 -c "import socket;'
                    f' socket.socket(type=socket.SOCK_{kind}).bind({where}); print(1)"'
                )
                == "1\n"
            )


@pytest.mark.usefixtures("fresh")
def test_release_leaves_nothing(bed: Bed, session: Session) -> None:
    before = bed.everywhere(f'find "{bed.state}"')
    allocation = session.allocate(
        [RolePlace(role=Role.CLIENT, site="here"), RolePlace(role=Role.SERVER, site="here")],
        "released",
    )
    allocation.put(Role.CLIENT, "file", b"x" * 1000)
    allocation.serve(
        server(allocation, "python3", "-c", LISTENER, "PORT", "0", "ADDRESS"), "released-server"
    )
    allocation.start(
        Command(argv=("sh", "-c", "setsid sleep 307 & sleep 307"), role=Role.CLIENT, timeout_s=60),
        "released-client",
    )
    ended = allocation.start(
        Command(argv=("true",), role=Role.CLIENT, timeout_s=60), "released-ended"
    )
    ended.wait(60)
    allocation.release()
    assert bed.marked("BENCHSPEC_ALLOCATION=released") == []
    assert bed.everywhere(f'find "{bed.state}"') == before
    allocation.release()
    session.close()
    session.close()
    assert bed.everywhere(f'ls "{bed.state}" 2>&1').count("No such file") == len(bed.looks)
    assert list(bed.runner.leftovers(bed.site, bed.run_id)) == []


@pytest.mark.usefixtures("fresh")
def test_release_by_a_later_controller(bed: Bed, session: Session) -> None:
    roles = [RolePlace(role=Role.CLIENT, site="here"), RolePlace(role=Role.SERVER, site="here")]
    first = session.allocate(roles, "inherited")
    first.start(Command(argv=("sleep", "308"), role=Role.CLIENT, timeout_s=60), "inherited-1")
    second = bed.connect().allocate(roles, "inherited")
    assert second.surroundings() == first.surroundings()
    second.release()
    assert bed.marked("BENCHSPEC_ALLOCATION=inherited") == []
    assert "inherited" not in bed.everywhere(f'find "{bed.state}"')


@pytest.mark.usefixtures("fresh")
def test_leftovers_of_a_dead_controller_are_found_and_removed_and_nothing_else(bed: Bed) -> None:
    other = bed.connect(run_id="run-of-a-neighbour")
    theirs = other.allocate([RolePlace(role=Role.CLIENT, site="here")], "theirs")
    theirs.put(Role.CLIENT, "file", b"theirs")
    if bed.exclusive:  # then a neighbour can have left something, but not run
        other.close()
    else:
        theirs.start(Command(argv=("sleep", "309"), role=Role.CLIENT, timeout_s=60), "theirs-1")
    session = bed.connect()
    allocation = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "left")
    allocation.start(
        Command(
            argv=("sh", "-c", f"setsid sleep {OURS + 310} & env -i sleep {OURS + 311}"),
            role=Role.CLIENT,
            timeout_s=60,
        ),
        "left-1",
    )
    deadline = time.monotonic() + 60
    while (
        len(bed.shell(f"pgrep -x -f 'sleep ({OURS + 310}|{OURS + 311})'").split()) < 2
        and time.monotonic() < deadline
    ):
        time.sleep(0.02)
    leftovers = bed.runner.leftovers(bed.site, bed.run_id)
    assert {leftover.kind for leftover in leftovers} == bed.kinds
    for _ in range(2):
        for leftover in leftovers:
            bed.runner.remove(bed.site, leftover)
    assert list(bed.runner.leftovers(bed.site, bed.run_id)) == []
    assert bed.shell(f"pgrep -x -f 'sleep ({OURS + 310}|{OURS + 311})'") == ""
    session.close()
    assert len(bed.marked("BENCHSPEC_JOB=theirs-1")) == (0 if bed.exclusive else 2)
    again = bed.connect(run_id="run-of-a-neighbour")
    inherited = again.allocate([RolePlace(role=Role.CLIENT, site="here")], "theirs")
    assert inherited.get(Role.CLIENT, "file") == b"theirs"
    inherited.release()
    again.close()
    other.close()
    assert list(bed.runner.leftovers(bed.site, "run-of-a-neighbour")) == []


def test_a_secret_reaches_the_program_and_nothing_else(bed: Bed, allocation: Allocation) -> None:
    script = 'echo "${#TOKEN}"; echo all >ready; while [ -e ready ]; do sleep 0.02; done'
    job = allocation.start(
        Command(
            argv=("sh", "-c", script), role=Role.CLIENT, timeout_s=120, secrets={"TOKEN": CANARY}
        ),
        "secret",
    )
    deadline = time.monotonic() + 60
    workdir = Path(allocation.surroundings().workdirs[Role.CLIENT])
    while bed.shell(f'ls "{workdir}"').split() != ["ready"] and time.monotonic() < deadline:
        time.sleep(0.02)
    # not in the searching shell's own arguments
    needle = f"$(printf %s {CANARY[:6]}; printf %s {CANARY[6:]})"
    assert (
        bed.shell(
            f'grep -l -a -e "{needle}" /proc/[0-9]*/cmdline; grep -r -l -a -e "{needle}"'
            f' "{bed.state}"'
        )
        == ""
    )
    bed.shell(f'rm "{workdir}/ready"')
    job.wait(60)
    assert job.collect().stdout == f"{len(CANARY)}\n".encode()


def test_a_secret_among_the_arguments_is_refused(bed: Bed, allocation: Allocation) -> None:
    with pytest.raises(RunFailed, match="secret"):
        allocation.start(
            Command(
                argv=("echo", f"--token={CANARY}"),
                role=Role.CLIENT,
                timeout_s=120,
                secrets={"TOKEN": CANARY},
            ),
            "careless",
        )
    assert CANARY not in bed.shell(f'grep -r -a canary "{bed.state}"')


def test_a_monitor_sees_what_a_busy_program_does(allocation: Allocation) -> None:
    sampler = allocation.sample(Role.CLIENT, 0.1)
    busy = Command(
        argv=("python3", "-c", "import time\nwhile time.process_time() < 0.5: pass"),
        role=Role.CLIENT,
        timeout_s=120,
    )
    job = allocation.start(busy, "busy")
    job.wait(120)
    samples = sampler.stop()
    assert sampler.stop() == samples
    assert len(samples) >= 3, "at the start, at the end, and in between"
    # the program used half a second, whatever else went on; a hypervisor may have taken part of it
    used = (
        samples[-1].values[f"cpu.{state}"] - samples[0].values[f"cpu.{state}"]
        for state in ("user", "nice", "system", "steal")
    )
    assert sum(used) / os.sysconf("SC_CLK_TCK") > 0.25
    usage = summarise(samples)
    assert usage["cpu.user"] > 0
    assert 0 <= usage["cpu.steal"] <= 1
    assert usage["memory.used"] > 2**20
    assert usage["load.1m"] >= 0


def test_a_monitor_of_a_pinned_role_looks_at_its_cpus(bed: Bed, pinned: Allocation) -> None:
    # what each CPU has done since boot tells them apart, however busy they are: the monitor's
    # counts lie between two looks at the same one
    before = parse_stat(bed.shell("cat /proc/stat"))
    samples = pinned.sample(Role.CLIENT, 10).stop()
    after = parse_stat(bed.shell("cat /proc/stat"))
    for state in ("user", "nice", "system", "softirq"):
        seen = [before[0][state], *(one.values[f"cpu.{state}"] for one in samples), after[0][state]]
        assert len(seen) >= 4
        assert seen == sorted(seen)


def test_facts_are_observed_with_their_sources(session: Session) -> None:
    by_node = session.facts()
    facts = {fact.name: fact for fact in next(iter(by_node.values()))}
    assert len(facts) >= 40
    assert facts["kernel.release"].value == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert all(fact.source for fact in facts.values())


def test_tools_are_found_with_their_versions(session: Session) -> None:
    here = Tool(executable="fio", package="fio", version_argv=("fio", "--version"))
    gone = Tool(
        executable="no-such-program",
        package="nothing",
        version_argv=("no-such-program", "--version"),
    )
    silent = Tool(executable="true", package="coreutils", version_argv=("true",))
    found, missing, versionless = session.find_tools(Role.CLIENT, [here, gone, silent])
    assert (missing.path, missing.version) == (None, None)
    assert (versionless.path, versionless.version) == (versionless.path, None)
    if found.path is None:
        pytest.skip("fio is not installed")
    assert found.version is not None
    assert found.version.startswith("3.")


def test_a_role_that_was_not_allocated(allocation: Allocation) -> None:
    with pytest.raises(RunFailed, match="monitor"):
        allocation.put(Role.MONITOR, "x", b"")


@pytest.mark.usefixtures("fresh")
def test_sites_of_one_run_do_not_see_each_other(bed: Bed, session: Session) -> None:
    beside = bed.connect(dataclasses.replace(bed.site, name="beside"))
    here = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "shared-id")
    there = beside.allocate([RolePlace(role=Role.SERVER, site="beside")], "shared-id")
    assert set(here.surroundings().workdirs) == {Role.CLIENT}
    assert set(there.surroundings().workdirs) == {Role.SERVER}
    job = there.start(Command(argv=("sleep", "312"), role=Role.SERVER, timeout_s=60), "there-1")
    assert session.attach("there-1") is None
    here.release()
    session.close()
    for leftover in bed.runner.leftovers(bed.site, bed.run_id):
        bed.runner.remove(bed.site, leftover)
    words = [line.split() for line in bed.marked("BENCHSPEC_JOB=there-1")]
    assert (
        len([1 for _, name, *_, last in words if name.endswith("sleep") and last == "312"]) == 1
    ), words
    job.cancel()
    there.release()
    beside.close()


@pytest.mark.usefixtures("fresh")
def test_a_session_goes_on_after_the_clean_up_of_what_was_before(
    bed: Bed, session: Session
) -> None:
    for leftover in bed.runner.leftovers(bed.site, bed.run_id):
        bed.runner.remove(bed.site, leftover)
    allocation = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "afterwards")
    job = allocation.start(Command(argv=("true",), role=Role.CLIENT, timeout_s=60), "afterwards-1")
    job.wait(60)
    assert job.collect().exit_code == 0
    allocation.release()
