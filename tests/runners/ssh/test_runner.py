"""What the SSH runner promises beyond the conformance suite: clocks, common starts, secrets,
rights, shells, copies, and what it says of a plan.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.contract.runner import (
    Allocation,
    DataSink,
    Divisible,
    KeepsHostKeys,
    Session,
    StepRunner,
)
from benchspec.engine.model.contract.values import Command, Commands, Demand, Leftover, Server
from benchspec.engine.model.errors import Locked, RunFailed, UsageError
from benchspec.engine.model.spec import (
    Experiment,
    Placement,
    Role,
    RolePlace,
    Site,
    Step,
    TrafficPath,
)
from benchspec.engine.store.usage import summarise
from benchspec.runners.registry import get_runner
from tests import hosts
from tests.hosts.host import SUDO_PASSWORD

RUNNER = get_runner("ssh")
PLACES = (RolePlace(role=Role.CLIENT, site="site"), RolePlace(role=Role.SERVER, site="site"))
CANARY = "canary-5d1e77"

Enter = Callable[[Site, str], Session]


def site(
    bed: hosts.Bed,
    user: str = hosts.Login.PLAIN,
    names: tuple[str, str] = ("host2", "host3"),
    host: dict[str, Any] | None = None,
) -> Site:
    made = bed.site((), user)
    made["hosts"] = {
        role: bed.host(name).site(user, **(host or {}))
        for role, name in zip(("client", "server"), names, strict=True)
    }
    return Site(name="site", runner="ssh", options=made)


@pytest.fixture
def untouched(bed: hosts.Bed) -> Iterator[None]:
    """Sees that a test leaves nothing on its hosts."""
    used = [bed.host("host2"), bed.host("host3")]
    before = [host.traces() for host in used]
    yield
    deadline = time.monotonic() + 30
    while any(
        left := [
            sorted(t for t in host.traces() - seen if "sudo_as_admin" not in t)
            for host, seen in zip(used, before, strict=True)
        ]
    ):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.fixture
def enter() -> Iterator[Enter]:
    """Opens sessions, and sees that nothing of their runs outlives the test, however it ends."""
    opened: list[tuple[Site, str, Session]] = []

    def enter(where: Site, run_id: str) -> Session:
        opened.append((where, run_id, RUNNER.connect(where, run_id)))
        return opened[-1][2]

    yield enter
    for where, run_id, session in opened:
        session.close()
        for leftover in RUNNER.leftovers(where, run_id):
            RUNNER.remove(where, leftover)


def sh(script: str, role: Role = Role.CLIENT, **more: Any) -> Command:
    return Command(argv=("sh", "-c", script), role=role, timeout_s=60, **more)


def value(facts: Any, name: str) -> Any:
    return next(fact.value for fact in facts if fact.name == name)


def test_a_shifted_clock_is_told_within_its_bound_and_clients_begin_together(
    bed: hosts.Bed, enter: Enter
) -> None:
    shift = 0.25
    bed.host("host3").shift_clock(shift)
    try:
        session = enter(site(bed), "run-clock")
        facts = session.facts()
        for name, expected in (("host2", 0.0), ("host3", shift)):
            seen = facts[bed.host(name).address]
            offset, bound = value(seen, "clock.offset"), value(seen, "clock.offset_bound")
            assert abs(offset - expected) <= bound, name
            assert bound < 0.1, "on one machine, however busy, a way there and back takes less"
        allocation = session.allocate(PLACES, "together")
        assert any(began_together(allocation, attempt) for attempt in range(5)), (
            "a busy machine may be late, but not always"
        )
        allocation.release()
        session.close()
    finally:
        bed.host("host3").shift_clock(0)


def began_together(allocation: Allocation, attempt: int) -> bool:
    """Whether programs on two hosts began within 100 ms of each other, and so it is told. The hosts
    of a bed have one kernel: its clock judges.
    """
    common = time.time() + 1.0
    commands = [sh("read u _ </proc/uptime; echo $u", role) for role in (Role.CLIENT, Role.SERVER)]
    jobs = [
        allocation.start(one, f"together-{attempt}-{one.role}", not_before=common)
        for one in commands
    ]
    for job in jobs:
        job.wait(30)
    first, second = (job.collect() for job in jobs)
    assert min(first.started_at, second.started_at) > common - 0.1, (
        "none before the instant, by the controller's clock"
    )
    told, real = first.started_at - second.started_at, float(first.stdout) - float(second.stdout)
    return abs(real) < 0.1 and abs(told - real) < 0.1


def test_a_secret_stands_in_no_argument_and_no_file(
    bed: hosts.Bed, untouched: None, enter: Enter
) -> None:
    session = enter(site(bed), "run-secret")
    allocation = session.allocate(PLACES, "secret")
    script = 'echo "${#TOKEN}"; echo all >ready; while [ -e ready ]; do sleep 0.02; done'
    job = allocation.start(sh(script, secrets={"TOKEN": CANARY}), "secret-1")
    workdir = allocation.surroundings().workdirs[Role.CLIENT]
    host = bed.host("host2")
    deadline = time.monotonic() + 30
    while "ready" not in host.shell(f"ls {workdir}") and time.monotonic() < deadline:
        time.sleep(0.02)
    # not in the searching shell's own arguments
    needle = f"$(printf %s {CANARY[:6]}; printf %s {CANARY[6:]})"
    holders = host.shell(f'grep -l -a -e "{needle}" /proc/[0-9]*/environ | wc -l', check=False)
    assert int(holders) >= 2, (
        "the wrapper's and the program's environment hold it, so that the search can find it"
    )
    assert host.shell(f'grep -l -a -e "{needle}" /proc/[0-9]*/cmdline', check=False) == ""
    assert (
        host.shell(
            f'grep -r -l -a -e "{needle}" /var/tmp /tmp /home /root /run /dev/shm 2>/dev/null',
            check=False,
        )
        == ""
    )
    host.shell(f"rm {workdir}/ready")
    job.wait(30)
    assert job.collect().stdout == f"{len(CANARY)}\n".encode()
    allocation.release()
    session.close()


@pytest.mark.parametrize(
    ("user", "become"),
    [
        (hosts.Login.SUDO, True),
        (hosts.Login.PASSWORD, {"method": "sudo", "password": "${secret:env:BECOME_PASSWORD}"}),
    ],
    ids=["sudo", "sudo-with-password"],
)
def test_with_become_everything_is_root_s_and_goes_again(
    bed: hosts.Bed,
    untouched: None,
    monkeypatch: pytest.MonkeyPatch,
    enter: Enter,
    user: hosts.Login,
    become: Any,
) -> None:
    monkeypatch.setenv("BECOME_PASSWORD", SUDO_PASSWORD)
    where = site(bed, user, host={"become": become})
    session = enter(where, "run-root")
    allocation = session.allocate(PLACES, "root")
    sampler = allocation.sample(Role.CLIENT, 0.1)
    job = allocation.start(
        sh(
            "id -u; ip link add probe0 type veth peer name probe1 && ip link del probe0 && echo"
            " made"
        ),
        "root-1",
    )
    job.wait(30)
    assert job.collect().stdout == b"0\nmade\n"
    assert len(sampler.stop()) >= 2
    endpoints = allocation.surroundings().endpoints
    assert endpoints[Role.SERVER].host == bed.host("host3").address, (
        "sudo hides how the host was reached, and it is found out all the same"
    )
    with pytest.raises(Locked):
        RUNNER.connect(site(bed), "run-of-a-user")
    allocation.release()
    session.close()
    assert list(RUNNER.leftovers(where, "run-root")) == []


def test_sites_of_one_run_may_be_different_users_of_one_host(
    bed: hosts.Bed, untouched: None, enter: Enter
) -> None:
    plain, root = (
        site(bed),
        dataclasses.replace(site(bed, hosts.Login.SUDO, host={"become": True}), name="as-root"),
    )
    first, second = enter(plain, "run-users"), enter(root, "run-users")
    for session, expected in ((first, b"1501"), (second, b"0")):
        allocation = session.allocate([RolePlace(role=Role.CLIENT, site="any")], "users")
        job = allocation.start(sh("id -u"), "users-1")
        job.wait(30)
        assert job.collect().stdout.strip() == expected
        allocation.release()
    with pytest.raises(Locked, match="run-users"):
        RUNNER.connect(plain, "run-of-another")
    first.close()
    with pytest.raises(Locked, match="run-users"):
        RUNNER.connect(plain, "run-of-another")
    second.close()


def test_a_host_behind_another_is_reached_through_it_and_addressed_by_its_own(
    bed: hosts.Bed, enter: Enter
) -> None:
    made = site(bed)
    options = {
        **made.options,
        "hosts": {"client": bed.host("host1").site(), "server": bed.host("host4").site()},
    }
    session = enter(dataclasses.replace(made, options=options), "run-behind")
    allocation = session.allocate(PLACES, "behind")
    around = allocation.surroundings()
    endpoint = around.endpoints[Role.SERVER]
    assert endpoint.host == bed.host("host4").address
    serving = Command(
        argv=("iperf3", "-s", "-p", str(endpoint.port)), role=Role.SERVER, timeout_s=60
    )
    allocation.serve(Server(command=serving, endpoint=endpoint), "behind-server")
    allocation.reach(Role.CLIENT, endpoint, 10)
    measuring = ("iperf3", "-c", endpoint.host, "-p", str(endpoint.port), "-t", "1")
    job = allocation.start(Command(argv=measuring, role=Role.CLIENT, timeout_s=60), "behind-1")
    job.wait(60)
    assert job.collect().exit_code == 0
    allocation.release()


def test_a_host_whose_sh_is_busybox_and_that_has_no_setsid(bed: hosts.Bed, enter: Enter) -> None:
    if shutil.which("busybox") is None:
        pytest.skip("busybox is not installed: run tests/setup")
    host = bed.host("host2")
    host.shell(
        "mkdir /root/keep && cp -a /usr/bin/sh /usr/bin/setsid /root/keep && ln -sf busybox"
        " /usr/bin/sh && rm /usr/bin/setsid"
    )
    try:
        session = enter(site(bed), "run-busybox")
        allocation = session.allocate(PLACES, "busybox")
        assert host.shell("readlink /usr/bin/sh").strip() == "busybox"
        sampler = allocation.sample(Role.CLIENT, 0.2)
        job = allocation.start(
            sh("echo hi; sleep 0.5; exit 42", env={"ODD": "a'b\n$c"}),
            "busybox-1",
            not_before=time.time() + 0.3,
        )
        job.wait(30)
        completed = job.collect()
        assert (completed.exit_code, completed.stdout) == (42, b"hi\n")
        assert 0.45 <= completed.duration_s < 30
        assert len(sampler.stop()) >= 3
        family = allocation.start(
            sh(
                "sleep 401 & setsid sleep 402 2>/dev/null & sh -c 'trap \"\" TERM; sleep 403; :' &"
                " wait"
            ),
            "busybox-2",
        )
        deadline = time.monotonic() + 30
        while (
            not host.shell("pgrep -x -f 'sleep 403'", check=False) and time.monotonic() < deadline
        ):
            time.sleep(0.02)
        family.cancel()
        assert host.shell("pgrep -f '^sleep 40[123]$'", check=False) == ""
        assert family.collect().exit_code in (143, 137)
        endpoint = allocation.surroundings().endpoints[Role.CLIENT]
        serving = Command(
            argv=("iperf3", "-s", "-p", str(endpoint.port)), role=Role.CLIENT, timeout_s=60
        )
        allocation.serve(Server(command=serving, endpoint=endpoint), "busybox-3")
        allocation.release()
        session.close()
        assert list(RUNNER.leftovers(site(bed), "run-busybox")) == []
    finally:
        host.shell(
            "busybox rm /usr/bin/sh && busybox cp -a /root/keep/* /usr/bin && rm -r /root/keep"
        )


@pytest.mark.parametrize(("name", "number"), [("INT", 2), ("QUIT", 3)])
def test_a_program_can_be_interrupted(bed: hosts.Bed, enter: Enter, name: str, number: int) -> None:
    session = enter(site(bed), "run-signals")
    allocation = session.allocate(PLACES, "signals")
    job = allocation.start(sh(f"kill -{name} $$; echo ignored"), "signals-1")
    job.wait(30)
    completed = job.collect()
    assert (completed.exit_code, completed.stdout) == (128 + number, b"")
    allocation.release()


def test_login_files_that_print_change_nothing(bed: hosts.Bed, enter: Enter) -> None:
    host = bed.host("host2")
    host.shell(f"cp -a /home/{hosts.Login.PLAIN} /root/keep-home")
    host.talkative()
    try:
        session = enter(site(bed), "run-loud")
        allocation = session.allocate(PLACES, "loud")
        job = allocation.start(sh("echo hi; echo err >&2"), "loud-1")
        job.wait(30)
        completed = job.collect()
        assert (completed.stdout, completed.stderr) == (b"hi\n", b"err\n")
        allocation.release()
        session.close()
    finally:
        host.shell(
            f"rm -rf /home/{hosts.Login.PLAIN} && mv /root/keep-home /home/{hosts.Login.PLAIN}"
        )


def test_a_monitor_lost_with_its_connection_costs_its_samples_alone(
    bed: hosts.Bed, enter: Enter
) -> None:
    session = enter(site(bed), "run-monitor")
    allocation = session.allocate(PLACES, "monitor")
    lost, kept = allocation.sample(Role.CLIENT, 0.1), allocation.sample(Role.SERVER, 0.1)
    time.sleep(0.5)
    bed.host("host2").cut_connections()
    assert list(lost.stop()) == []
    assert summarise(kept.stop())["memory.used"] > 0
    again = allocation.sample(Role.CLIENT, 0.1)
    time.sleep(0.3)
    assert len(again.stop()) >= 2
    allocation.release()
    session.close()
    deadline = time.monotonic() + 30
    while "sed -n" in "".join(bed.host("host2").processes()) and time.monotonic() < deadline:
        time.sleep(0.1)


def test_paths_and_machines_are_seen(bed: hosts.Bed, enter: Enter) -> None:
    session = enter(site(bed), "run-paths")
    allocation = session.allocate(PLACES, "paths")
    around = allocation.surroundings()
    seen = allocation.observe(around)
    assert value(seen[Role.CLIENT], "path.mtu") == value(seen[Role.SERVER], "path.mtu") == 1500
    nodes = allocation.nodes()
    assert {role: node.name for role, node in nodes.items()} == {
        Role.CLIENT: bed.host("host2").address,
        Role.SERVER: bed.host("host3").address,
    }
    assert nodes[Role.CLIENT].identity not in (None, nodes[Role.SERVER].identity)
    facts = session.facts()
    assert {name: value(all_, "machine.id") for name, all_ in facts.items()} == {
        node.name: node.identity for node in nodes.values()
    }
    with pytest.raises(
        RunFailed,
        match=(
            f"client on {bed.host('host2').address} cannot connect to"
            f" {around.endpoints[Role.SERVER].host} port"
        ),
    ):
        allocation.reach(Role.CLIENT, around.endpoints[Role.SERVER], 0.3)
    allocation.release()
    session.close()


def test_two_names_of_one_machine_show_one_identity(bed: hosts.Bed, enter: Enter) -> None:
    made = site(bed)
    options = dict(made.options)
    options["hosts"] = {
        "client": bed.host("host2").site(),
        "server": bed.host("host2").site(host=bed.host("host2").address6),
    }
    session = enter(dataclasses.replace(made, options=options), "run-twice")
    allocation = session.allocate(PLACES, "twice", Demand(path=TrafficPath.LOOPBACK))
    nodes = allocation.nodes()
    assert nodes[Role.CLIENT].identity == nodes[Role.SERVER].identity
    assert nodes[Role.CLIENT].name != nodes[Role.SERVER].name
    around = allocation.surroundings()
    assert {endpoint.host for endpoint in around.endpoints.values()} == {"127.0.0.1"}
    allocation.release()
    session.close()


def test_results_are_copied_and_verified(bed: hosts.Bed, tmp_path: Path, enter: Enter) -> None:
    made = site(bed)
    options = {
        **made.options,
        "hosts": {"client": bed.host("host2").site(), "data-sink": bed.host("host3").site()},
    }
    session = enter(dataclasses.replace(made, options=options), "run-sink")
    assert isinstance(session, DataSink)
    contents = {
        "journal.ndjson": b"{}\n" * 1000,
        "raw/000001/0-stdout": bytes(range(256)) * 100,
        "raw/000001/empty": b"",
        "a b/it's": b"odd",
    }
    files = {}
    for number, (name, data) in enumerate(contents.items()):
        (tmp_path / str(number)).write_bytes(data)
        files[name] = tmp_path / str(number)
    directory = session.deposit(Role.DATA_SINK, files)
    session.close()
    host = bed.host("host3")
    for leftover in RUNNER.leftovers(dataclasses.replace(made, options=options), "run-sink"):
        RUNNER.remove(dataclasses.replace(made, options=options), leftover)
    sums = {
        line[66:]: line[:64]
        for line in host.shell(
            f"cd {directory} && find . -type f -exec sha256sum {{}} +"
        ).splitlines()
    }
    assert sums == {
        f"./{name}": hashlib.sha256(data).hexdigest() for name, data in contents.items()
    }
    host.shell(f"rm -r {directory}; rmdir {directory.rpartition('/')[0]}")


def test_clean_up_refuses_what_is_not_its_own(bed: hosts.Bed) -> None:
    where = site(bed)
    address = bed.host("host2").address
    for kind, name in (
        ("directory", f"/etc on {address}"),
        ("directory", f"/var/tmp/benchspec-0/x/site/../.. on {address}"),
        ("directory", "/var/tmp/benchspec-0/x/site on elsewhere"),
        ("processes", f"../x on {address}"),
        ("pod", f"x on {address}"),
    ):
        with pytest.raises(UsageError):
            RUNNER.remove(where, Leftover(kind=kind, name=name))


def experiment(placement: Placement = Placement.ANY, path: TrafficPath | None = None) -> Experiment:
    return Experiment(
        id="0" * 64,
        target="t",
        workload="w",
        title="w",
        point=(),
        tool="iperf3",
        parameters={},
        roles=PLACES,
        placement=placement,
        path=path,
    )


def plain(**hosts_: dict[str, Any]) -> Site:
    return Site(name="site", runner="ssh", options={"kind": "ssh", "hosts": hosts_})


def test_what_cannot_be_is_told_before_anything_is_reached() -> None:
    one, other = {"host": "a.example.org"}, {"host": "b.example.org"}
    asked = RUNNER.unsupported
    assert list(asked(experiment(), plain(client=one, server=other))) == []
    assert list(asked(experiment(Placement.ACROSS_NODES), plain(client=one, server=other))) == []
    for wrong, where, said in (
        (experiment(path=TrafficPath.POD_TO_POD), plain(client=one, server=other), "neither pods"),
        (experiment(), plain(client=one, gateway=other), "role server has no host"),
        (experiment(), plain(client=one, server={**other, "shell": "powershell"}), "powershell"),
        (experiment(), plain(client=one, server={**other, "workdir": "data"}), "absolute"),
        (experiment(), plain(client=one, server={**other, "workdir": "/mnt/a\nb"}), "on one line"),
        (
            experiment(Placement.ACROSS_NODES),
            plain(client=one, server=one),
            "all roles are on a.example.org",
        ),
        (
            experiment(Placement.SAME_NODE),
            plain(client=one, server=other),
            "a.example.org, b.example.org",
        ),
        (experiment(path=TrafficPath.LOOPBACK), plain(client=one, server=other), "loopback"),
    ):
        problems = asked(wrong, where)
        assert [said in problem.message and bool(problem.remedy) for problem in problems] == [
            True
        ], said


def test_steps_and_parts() -> None:
    assert isinstance(RUNNER, StepRunner)
    assert isinstance(RUNNER, Divisible)
    assert isinstance(RUNNER, KeepsHostKeys)
    where = plain(
        client={"host": "a", "jump": "server"},
        server={"host": "b", "jump": "gate"},
        monitor={"host": "b"},
        gate={"host": "g"},
    )
    assert RUNNER.step_hosts(where) == {Role.CLIENT: "a", Role.SERVER: "b", Role.MONITOR: "b"}
    first, second = RUNNER.parts(where)
    assert RUNNER.step_hosts(first) == {Role.CLIENT: "a"}
    assert RUNNER.step_hosts(second) == {Role.SERVER: "b", Role.MONITOR: "b"}
    assert first.options["hosts"] == {
        "client": {"host": "a", "jump": "way-server"},
        "gate": {"host": "g"},
        "way-client": {"host": "a", "jump": "way-server"},
        "way-server": {"host": "b", "jump": "gate"},
        "way-monitor": {"host": "b"},
    }
    chart = Step(name="mesh", action="chart", arguments={})
    assert "no cluster" in RUNNER.unsupported_step(chart, where)[0].message
    assert (
        list(
            RUNNER.unsupported_step(
                Step(name="up", action="run", arguments={"argv": ["true"]}, on="client"), where
            )
        )
        == []
    )


def test_render_shows_what_would_run_where() -> None:
    where = plain(
        client={"host": "a"}, server={"host": "b", "address": "192.168.1.2", "workdir": "/mnt/data"}
    )
    around = RUNNER.placeholders(experiment(), where)
    assert around.endpoints[Role.SERVER].host == "192.168.1.2"
    assert around.workdirs[Role.SERVER].startswith("/mnt/data/")
    commands = Commands(
        clients=(
            Command(
                argv=("iperf3", "-c", around.endpoints[Role.SERVER].host),
                role=Role.CLIENT,
                timeout_s=9,
                secrets={"TOKEN": CANARY},
                cpus=(0, 1),
            ),
        ),
        servers=(
            Server(
                command=Command(argv=("iperf3", "-s"), role=Role.SERVER, timeout_s=9),
                endpoint=around.endpoints[Role.SERVER],
            ),
        ),
    )
    rendered = {
        file.name: file.data.decode() for file in RUNNER.render(experiment(), where, commands)
    }
    assert set(rendered) == {"server-1-server.sh", "client-1-client.sh"}
    assert "on host b" in rendered["server-1-server.sh"]
    assert "taskset -c 0-1 iperf3 -c 192.168.1.2" in rendered["client-1-client.sh"]
    assert CANARY not in "".join(rendered.values())
