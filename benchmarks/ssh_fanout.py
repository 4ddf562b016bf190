"""The same one script on many hosts at once: benchspec's SSH connections beside bare paramiko in
threads and `ansible -m raw`.

    python -m benchmarks.ssh_fanout [--hosts 64] [--rounds 11]      # whole programs in turn; needs
    root and tests/setup
    python -m benchmarks.ssh_fanout --scale 8,32,64,256 --rounds 5  # what a further host costs the
    client

The hosts are a bed of tests/hosts: network namespaces of this machine, each with its sshd, so that
servers and clients share its CPUs. Every program starts anew, connects to every host with the same
key, checks the host's key, runs the script once and checks that as many hosts answered. Goals: at
most 1.3 times bare paramiko, at most a quarter of ansible.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .timing import Cost, find, in_turn, machine, print_costs, use_bytecode

BED = "fanout"
SCRIPT = "cat /etc/machine-id && uname -r"
Addresses = Sequence[str]
Held = tuple[list[str], Callable[[], list[str]]]


def through_benchspec(bed: Path, addresses: Addresses) -> Held:
    """What the hosts said, and a way to ask again over the same connections."""
    from benchspec.engine.model.spec import Site
    from benchspec.runners.ssh.options import site_options
    from benchspec.runners.ssh.transport.connection import Connection
    from benchspec.runners.ssh.transport.pool import Pool

    hosts = {
        f"h{i}": {"host": address, "user": "bench", "identity_file": str(bed / "id_ed25519")}
        for i, address in enumerate(addresses)
    }
    site = site_options(
        Site(
            name="bed",
            runner="ssh",
            options={"kind": "ssh", "known_hosts": str(bed / "known_hosts"), "hosts": hosts},
        )
    )
    opened = Pool().open(site, hosts)

    def ask(name: str) -> str:
        connection = opened[name]
        assert isinstance(connection, Connection), connection
        return connection.run(SCRIPT, timeout_s=60).stdout.decode()

    def ask_all() -> list[str]:
        with ThreadPoolExecutor(len(hosts)) as workers:
            return list(workers.map(ask, hosts))

    return ask_all(), ask_all


def through_paramiko(bed: Path, addresses: Addresses) -> Held:
    """The same as a script that one would write: a thread per host."""
    import paramiko

    key = paramiko.Ed25519Key.from_private_key_file(str(bed / "id_ed25519"))
    known = paramiko.HostKeys(str(bed / "known_hosts"))
    keys = {
        address: next(iter((known.lookup(address) or {}).values())) for address in addresses
    }  # its own lookup takes longer the more hosts it knows
    clients: dict[str, paramiko.SSHClient] = {}

    def ask(address: str) -> str:
        if address not in clients:
            client = paramiko.SSHClient()
            client.get_host_keys().add(address, keys[address].get_name(), keys[address])
            client.connect(
                address, username="bench", pkey=key, allow_agent=False, look_for_keys=False
            )
            clients[address] = client
        _, stdout, _ = clients[address].exec_command(SCRIPT)
        return stdout.read().decode()

    def ask_all() -> list[str]:
        with ThreadPoolExecutor(len(addresses)) as workers:
            return list(workers.map(ask, addresses))

    return ask_all(), ask_all


def through_sessions(bed: Path, addresses: Addresses) -> Held:
    """What a run does with its hosts before it measures, and after: locks, clocks, directories, a
    search for a tool, and everything removed.
    """
    from benchspec.engine.model.contract.values import Tool
    from benchspec.engine.model.spec import Role, Site
    from benchspec.runners.registry import get_runner

    runner, roles = get_runner("ssh"), list(Role)
    groups = [addresses[i : i + len(roles)] for i in range(0, len(addresses), len(roles))]

    def ask(number: int) -> list[str]:
        hosts = {
            role.value: {"host": address, "user": "bench", "identity_file": str(bed / "id_ed25519")}
            for role, address in zip(roles, groups[number], strict=False)
        }
        site = Site(
            name=f"site{number}",
            runner="ssh",
            options={"kind": "ssh", "known_hosts": str(bed / "known_hosts"), "hosts": hosts},
        )
        session = runner.connect(site, "fanout")
        tool = Tool(executable="cat", package="coreutils", version_argv=())
        found = [
            f"{address} {session.find_tools(Role(role), (tool,))[0].path}"
            for role, address in zip(hosts, groups[number], strict=True)
        ]
        session.close()
        return found

    def ask_all() -> list[str]:
        with ThreadPoolExecutor(len(groups)) as workers:
            return [
                answer for answers in workers.map(ask, range(len(groups))) for answer in answers
            ]

    return ask_all(), ask_all


CLIENTS = {
    "benchspec": through_benchspec,
    "paramiko": through_paramiko,
    "sessions": through_sessions,
}


def be_client(name: str, bed: Path, count: int) -> None:
    """Be one of the programs that are measured; print what it cost as JSON."""
    addresses = json.loads((bed / "addresses.json").read_text())[:count]
    began = time.perf_counter()
    answers, again = CLIENTS[name](bed, addresses)
    cold_s = time.perf_counter() - began
    cold_cpu_s = _cpu_s()
    began = time.perf_counter()
    repeated = again()
    warm_s, warm_cpu_s = time.perf_counter() - began, _cpu_s() - cold_cpu_s
    if len(set(answers)) != count or set(repeated) != set(answers):
        raise SystemExit(f"{name}: {len(set(answers))} of {count} hosts answered")
    resident = next(
        int(line.split()[1])
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    print(
        json.dumps(
            {
                "cold_s": cold_s,
                "cpu_s": cold_cpu_s,
                "warm_s": warm_s,
                "warm_cpu_s": warm_cpu_s,
                "resident_kib": resident,
            }
        ),
        flush=True,
    )
    os._exit(0)  # closing is not measured: all of the programs just end


def be_single_client(name: str, bed: Path, count: int) -> None:
    """The same without the second time."""
    answers, _ = CLIENTS[name](bed, json.loads((bed / "addresses.json").read_text())[:count])
    if len(set(answers)) != count:
        raise SystemExit(f"{name}: {len(set(answers))} of {count} hosts answered")
    os._exit(0)


def compare(bed: Path, count: int, rounds: int) -> None:
    """Whole programs in turn, and a table of medians of paired ratios."""
    commands: dict[str, Sequence[str]] = {
        "bare paramiko, a thread per host": _client("paramiko", bed, count, "--once"),
        "benchspec": _client("benchspec", bed, count, "--once"),
        "benchspec, as a run does: locks, clocks, directories": _client(
            "sessions", bed, count, "--once"
        ),
    }
    ansible = find("ansible")
    if ansible:
        commands["ansible -m raw"] = [
            ansible,
            "all",
            "-i",
            str(bed / "inventory"),
            "-m",
            "raw",
            "-a",
            SCRIPT,
            "-f",
            str(count),
        ]
    else:
        print(
            "ansible is not installed: pip install -r benchmarks/requirements.txt", file=sys.stderr
        )
    costs = in_turn(commands, rounds)
    print(f"{machine()}; {count} hosts, medians of {rounds} rounds in turn\n")
    print_costs(costs, yardstick="bare paramiko, a thread per host", goals={"benchspec": "<= 1.3"})
    if ansible:
        print_ratio(costs["benchspec"], costs["ansible -m raw"])


def print_ratio(ours: Sequence[Cost], theirs: Sequence[Cost]) -> None:
    """benchspec's part of what ansible takes."""
    ratios = [a.wall_s / b.wall_s for a, b in zip(ours, theirs, strict=True)]
    print(
        f"benchspec / ansible (wall): {statistics.median(ratios):.3f}, {min(ratios):.3f} to"
        f" {max(ratios):.3f}; goal <= 0.25\n"
    )


def scale(bed: Path, counts: Sequence[int], rounds: int) -> None:
    """What a connection to a further host costs the client: CPU time and memory, by the difference
    to the fewest hosts.
    """
    print(f"{machine()}; medians of {rounds} rounds in turn\n")
    print(
        "| client | hosts | cold s | warm s | CPU ms per further host, cold | warm | resident MiB |"
        " KiB per further host |"
    )
    print("|---|---|---|---|---|---|---|---|")
    seen: dict[tuple[str, int], list[dict[str, float]]] = {
        (name, count): [] for name in ("benchspec", "paramiko") for count in counts
    }
    for _ in range(rounds):
        for (name, count), figures in seen.items():
            done = subprocess.run(
                _client(name, bed, count), capture_output=True, check=False, text=True
            )
            if done.returncode:
                raise SystemExit(done.stderr)
            figures.append(json.loads(done.stdout))
    for (name, count), figures in seen.items():
        now, least = _medians(figures), _medians(seen[name, counts[0]])
        further = count - counts[0]
        slopes = (("cpu_s", 1e3, ".1f"), ("warm_cpu_s", 1e3, ".1f"), ("resident_kib", 1, ".0f"))
        cold, warm, memory = (
            f"{unit * (now[key] - least[key]) / further:{shape}}" if further else ""
            for key, unit, shape in slopes
        )
        mebibytes = now["resident_kib"] / 1024
        print(
            f"| {name} | {count} | {now['cold_s']:.2f} | {now['warm_s']:.2f} | {cold} | {warm} |"
            f" {mebibytes:.0f} | {memory} |"
        )


def _medians(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(each[key] for each in figures) for key in figures[0]}


def _client(name: str, bed: Path, count: int, *more: str) -> Sequence[str]:
    return [
        sys.executable,
        "-m",
        "benchmarks.ssh_fanout",
        "--client",
        name,
        "--bed",
        str(bed),
        "--hosts",
        str(count),
        *more,
    ]


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Make the hosts, measure, remove them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--scale", metavar="N,N,...")
    for internal in ("--client", "--bed"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        return (be_single_client if given.once else be_client)(
            given.client, Path(given.bed), given.hosts
        )
    use_bytecode()
    from tests import hosts

    counts = [int(count) for count in given.scale.split(",")] if given.scale else [given.hosts]
    with hosts.up(max(counts), name=BED, owner=os.getpid()) as bed:
        (bed.directory / "addresses.json").write_text(
            json.dumps([host.address for host in bed.hosts])
        )
        (bed.directory / "inventory").write_text(
            "".join(f"{host.name} ansible_host={host.address}\n" for host in bed.hosts)
        )
        # ansible keeps a master connection for a minute unless told otherwise: the others start
        # cold too
        os.environ["ANSIBLE_SSH_ARGS"] = f"-F {bed.ssh_config} -o ControlMaster=no"
        os.environ["ANSIBLE_HOST_KEY_CHECKING"] = "True"
        if given.scale:
            scale(bed.directory, counts, given.rounds)
        else:
            compare(bed.directory, given.hosts, given.rounds)


if __name__ == "__main__":
    main()
