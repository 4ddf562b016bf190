"""A bed of hosts: made, found again, listed, removed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from . import files, network
from .host import Host, Login
from .parts import HOME, BedError, mark, marked, marked_names, missing

INIT = Path(__file__).with_name("init.sh")
DEFAULT_NAME = "bed"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,11}")
_DEADLINE_S = 60.0
_SWITCH = (
    "read -r pid _ </proc/self/stat; echo $pid; exec </dev/null >/dev/null 2>&1; while :; do sleep"
    " 3600 & wait $!; done"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """Hosts on one network. As a context manager it is removed at the end."""

    name: str
    hosts: tuple[Host, ...]
    directory: Path
    switch: int
    subnet: int
    rate: str | None
    mtu: int

    @property
    def ssh_config(self) -> Path:
        """The OpenSSH configuration that knows every host by its name."""
        return self.directory / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        """The host keys."""
        return self.directory / "known_hosts"

    @property
    def identity(self) -> Path:
        """The private key that every user of every host accepts."""
        return self.directory / "id_ed25519"

    def host(self, name: str) -> Host:
        """The host of that name."""
        return next(host for host in self.hosts if host.name == name)

    def site(self, roles: Sequence[str], user: str = Login.PLAIN, **more: Any) -> dict[str, Any]:
        """A spec's site with the bed's hosts in these roles, in their order."""
        hosts = {role: host.site(user) for role, host in zip(roles, self.hosts, strict=False)}
        return {
            "kind": "ssh",
            "ssh_config": str(self.ssh_config),
            "known_hosts": str(self.known_hosts),
            "hosts": hosts,
            **more,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        down(self.name)


def up(
    count: int,
    *,
    name: str = DEFAULT_NAME,
    hidden: int = 0,
    rate: str | None = None,
    mtu: int = 1500,
    disk: str = "4g",
    owner: int | None = None,
) -> Bed:
    """Make a bed of ``count`` hosts named host1, host2, ...

    Args:
        count: how many, up to 1000.
        name: the bed's; beds of different names live side by side.
        hidden: how many of the last hosts only host1 reaches.
        rate: the speed of every host's link in both directions, as ``tc`` writes it ("200mbit");
        unlimited unless given. mtu: of every link. disk: the size of each host's file system
        (memory; taken when written). owner: the PID of a process with which the bed ends: when it
        is gone, the next ``up`` removes the bed.

    Raises:
        BedError: no bed can be made here, or one of that name is there.
    """
    problem = missing()
    if problem:
        raise BedError(problem)
    if not _NAME.fullmatch(name) or not 1 <= count <= 1000 or not 0 <= hidden < count:
        raise BedError(
            f"bed {name!r}: expected a name of at most 12 of a-z, 0-9 and -, and 1 to 1000 hosts of"
            " which fewer are hidden"
        )
    with _lock():
        _remove_orphans()
        if name in names():
            raise BedError(f"bed {name} is there already: python -m tests.hosts down {name}")
        taken = {int(state["subnet"]) for state in _states()}
        plan = network.Plan(
            name=name,
            subnet=network.free_subnet(taken),
            count=count,
            hidden=hidden,
            mtu=mtu,
            rate=rate,
        )
        directory = network.directory(name)
        (directory / "hosts").mkdir(parents=True)
        _save(
            directory,
            {"name": name, "subnet": plan.subnet, "owner": _identity(owner) if owner else None},
        )
    try:
        return _build(plan, directory, disk)
    except BaseException:
        down(name)
        raise


def down(name: str = DEFAULT_NAME) -> None:
    """Remove a bed by its name, whole or half there, and see that nothing is left of it.

    Raises:
        BedError: something is left.
    """
    for pid in marked(name):
        _kill(pid)
    network.remove_link(name)
    deadline = time.monotonic() + _DEADLINE_S
    while marked(name) and time.monotonic() < deadline:
        time.sleep(0.01)
    files.remove(network.directory(name))
    left = [f"process {pid}" for pid in marked(name)]
    left += [f"link bh-{name}"] if network.link_is_there(name) else []
    left += [str(network.directory(name))] if network.directory(name).exists() else []
    if left:
        raise BedError(f"bed {name}: still there: {', '.join(left)}")


def names() -> tuple[str, ...]:
    """The beds of which anything is there: a process, a link or a directory."""
    directories = (
        {path.name for path in HOME.iterdir() if path.is_dir()} if HOME.is_dir() else set()
    )
    return tuple(sorted(directories | marked_names() | network.linked_names()))


def load(name: str = DEFAULT_NAME) -> Bed:
    """A bed that another process made.

    Raises:
        BedError: there is none.
    """
    state = _state(network.directory(name))
    if "hosts" not in state:
        raise BedError(
            f"bed {name}: there is no such bed (there are: {', '.join(names()) or 'none'})"
        )
    directory = network.directory(name)
    hosts = tuple(Host(**{**host, "directory": directory}) for host in state["hosts"])
    return Bed(
        **{
            **{key: state[key] for key in ("name", "switch", "subnet", "rate", "mtu")},
            "hosts": hosts,
            "directory": directory,
        }
    )


def _build(plan: network.Plan, directory: Path, disk: str) -> Bed:
    numbers = range(1, plan.count + 1)
    client = files.write_client(directory)
    etc_hosts = "127.0.0.1 localhost\n::1 localhost\n" + "".join(
        f"{plan.main_address(n)} host{n}\n{plan.main_address6(n)} host{n}\n" for n in numbers
    )
    switch_process = _Process(["sh", "-c", _SWITCH, mark(plan.name)], [], directory / "log")
    switch = int(switch_process.line())
    keys, started = {}, {}
    for n in numbers:
        home = directory / "hosts" / f"host{n}"
        keys[n] = files.write_host(
            home,
            f"host{n}",
            n,
            client,
            etc_hosts,
            network.host_network(plan, n),
            network.host_address(plan, n),
        )
        started[n] = _Process(
            ["sh", str(INIT), mark(plan.name), str(home), disk],
            ["--mount", "--uts", "--ipc", "--propagation=private"],
            home / "log",
        )
    network.make_switch(plan, switch)
    pids = {n: int(process.line()) for n, process in started.items()}
    network.make_links(plan, switch, pids)
    for process in started.values():
        process.go()
    for process in started.values():
        process.line()
    for process in (switch_process, *started.values()):
        process.close()
    hosts = tuple(_host(plan, directory, n, pids[n], keys[n]) for n in numbers)
    addresses = {host.name: (host.address, host.address6) for host in hosts}
    files.write_ssh(
        directory,
        {f"host{n}": key for n, key in keys.items()},
        addresses,
        {host.name: host.jump for host in hosts if host.jump},
    )
    bed = Bed(
        name=plan.name,
        hosts=hosts,
        directory=directory,
        switch=switch,
        subnet=plan.subnet,
        rate=plan.rate,
        mtu=plan.mtu,
    )
    _save(directory, {**_state(directory), **asdict(bed)})
    return bed


def _host(plan: network.Plan, directory: Path, number: int, pid: int, key: files.Key) -> Host:
    jump = "host1" if plan.is_hidden(number) else None
    address, address6 = plan.main_address(number), plan.main_address6(number)
    return Host(
        name=f"host{number}",
        pid=pid,
        address=address,
        address6=address6,
        host_key=key.public,
        directory=directory,
        jump=jump,
    )


class _Process:
    """A program in new namespaces, detached from this process: it lives until the bed is
    removed.
    """

    def __init__(self, program: Sequence[str], namespaces: Sequence[str], log: Path) -> None:
        self._log = log
        argv = [
            "setsid",
            "--fork",
            "unshare",
            "--net",
            "--pid",
            "--fork",
            *namespaces,
            "--",
            *program,
        ]
        with log.open("wb") as errors:
            parent = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd="/"
            )
        parent.wait()
        assert parent.stdin is not None
        assert parent.stdout is not None
        self._stdin: IO[bytes] = parent.stdin
        self._stdout: IO[bytes] = parent.stdout

    def line(self) -> str:
        """The next line it prints.

        Raises:
            BedError: it ended instead, or says nothing for a minute.
        """
        ready, _, _ = select.select([self._stdout], [], [], _DEADLINE_S)
        line = self._stdout.readline() if ready else b""
        if not line:
            raise BedError(
                f"{self._log.parent.name} did not start:"
                f" {self._log.read_text().strip() or 'no message'}"
            )
        return line.decode().strip()

    def go(self) -> None:
        """Let it go on."""
        self._stdin.write(b"\n")
        self._stdin.close()

    def close(self) -> None:
        """Let go of its output."""
        self._stdout.close()


@contextmanager
def _lock() -> Iterator[None]:
    """One process at a time chooses names and subnets."""
    HOME.mkdir(exist_ok=True)
    with (HOME / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _states() -> Iterator[dict[str, Any]]:
    return (
        state for path in HOME.iterdir() if path.is_dir() and "subnet" in (state := _state(path))
    )


def _state(directory: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((directory / "bed.json").read_text())
    except FileNotFoundError:
        return {}
    return state


def _save(directory: Path, state: dict[str, Any]) -> None:
    new = directory / "bed.json.new"
    new.write_text(json.dumps(state, default=str, indent=1))
    new.replace(directory / "bed.json")


def _identity(pid: int) -> list[int] | None:
    """A PID and when it started, since PIDs come again; None when there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return [pid, int(fields[19])]


def _remove_orphans() -> None:
    """Remove the beds whose owner is gone (a test session that was killed)."""
    for state in list(_states()):
        owner = state.get("owner")
        if owner and _identity(owner[0]) != owner:
            down(state["name"])


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
