"""The bed of SSH hosts itself: apart from each other, broken on purpose, gone at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import hosts
from tests.hosts import tunnels

MISSING = hosts.missing("ssh", "sudo", "iperf3", "wireguard-go", "wg", "ping")
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

NAME = f"bed{os.getpid()}"


@pytest.fixture(scope="module")
def bed() -> Iterator[hosts.Bed]:
    with hosts.up(3, name=NAME, hidden=1, rate="400mbit", owner=os.getpid()) as made:
        yield made


def ssh(
    bed: hosts.Bed, host: str, command: str, user: str = "bench", stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    argv = ["ssh", "-F", str(bed.ssh_config), "-o", "ConnectTimeout=20", f"{user}@{host}", command]
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=120, check=False, input=stdin
    )


def test_hosts_share_programs_and_nothing_else(bed: hosts.Bed, tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    seen = ssh(
        bed,
        "host1",
        f"ls {tmp_path}; hostname; cat /etc/machine-id; touch /var/tmp/mine; ps -e -o args=; which"
        " iperf3",
    )
    assert seen.stdout.splitlines()[0] == "host1"
    assert "iperf3" in seen.stdout
    assert sys.executable not in seen.stdout
    assert ssh(bed, "host2", "ls /var/tmp /tmp").stdout.split() == ["/tmp:", "/var/tmp:"]
    assert ssh(bed, "host2", "cat /etc/machine-id").stdout not in seen.stdout


def test_users(bed: hosts.Bed) -> None:
    assert ssh(bed, "host1", "sudo -n id -u", "bench").returncode != 0
    assert ssh(bed, "host1", "sudo -n id -u", "admin").stdout == "0\n"
    assert ssh(bed, "host1", "sudo -n id -u", "keeper").returncode != 0
    assert ssh(bed, "host1", "sudo -S id -u", "keeper", "open sesame\n").stdout == "0\n"
    assert ssh(bed, "host1", "id -u", "root").stdout == "0\n"


def test_the_hidden_host_is_reached_through_the_first_alone(bed: hosts.Bed) -> None:
    assert ssh(bed, "host3", "hostname").stdout == "host3\n"
    direct = [
        "ssh",
        "-F",
        str(bed.ssh_config),
        "-J",
        "none",
        "-o",
        "ConnectTimeout=1",
        "host3",
        "hostname",
    ]
    assert subprocess.run(direct, capture_output=True, check=False, timeout=60).returncode == 255


def test_tunnels(bed: hosts.Bed) -> None:
    pair = bed.hosts[:2]
    before = [host.traces() for host in pair]
    for join, mtu in ((tunnels.vxlan, 1450), (tunnels.wireguard, 1420)):
        _, other = join(pair)
        fits, too_long = (
            f"ping -c 1 -W 20 -M do -s {size - 28} {other}" for size in (mtu, mtu + 1)
        )
        assert "1 received" in pair[0].shell(fits)
        assert f"mtu={mtu}" in pair[0].shell(f"{too_long} 2>&1", check=False)
    tunnels.remove(pair)
    assert [host.traces() for host in pair] == before


def test_faults(bed: hosts.Bed) -> None:
    host = bed.host("host2")
    running = subprocess.Popen(
        ["ssh", "-F", str(bed.ssh_config), host.name, "sleep 1000"], stderr=subprocess.DEVNULL
    )
    _until(lambda: "sleep 1000" in host.processes())
    assert host.cut_connections() == 1
    assert running.wait(60) == 255
    host.shell("pkill -u bench sleep")
    _until(lambda: host.processes() == ())

    host.stop_sshd()
    assert "refused" in ssh(bed, host.name, "true").stderr
    host.start_sshd()
    host.shift_clock(1000)
    assert float(ssh(bed, host.name, "date +%s").stdout) > time.time() + 500
    assert float(ssh(bed, host.name, "sudo date +%s", "admin").stdout) > time.time() + 500
    host.shift_clock(0)
    assert float(ssh(bed, host.name, "date +%s").stdout) < time.time() + 500
    host.small_disk("/var/tmp")
    host.fill_disk("/var/tmp")
    assert ssh(bed, host.name, "echo text >/var/tmp/more").returncode != 0
    host.unmount("/var/tmp")
    host.read_only("/home/bench")
    assert "Read-only" in ssh(bed, host.name, "touch file").stderr
    host.unmount("/home/bench")
    host.drop_link()
    host.restore_link()
    assert ssh(bed, host.name, "echo back").stdout == "back\n"
    host.swap_host_key()
    assert "verification failed" in ssh(bed, host.name, "true").stderr


def test_nothing_is_left_when_the_maker_is_killed() -> None:
    name = f"k{os.getpid()}"
    code = (
        f"from tests import hosts; import os; hosts.up(2, name={name!r}, owner=os.getpid());"
        " print('up', flush=True); os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).resolve().parents[1]
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False
        ).stdout
        == "up\n"
    )
    assert hosts.load(name).hosts[0].processes() == ()
    with hosts.up(1, name=f"l{os.getpid()}"):
        assert name not in hosts.names()
    assert name not in hosts.names()


def test_the_command() -> None:
    name = f"c{os.getpid()}"

    def command(*words: str) -> str:
        argv = [sys.executable, "-m", "tests.hosts", *words]
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            cwd=Path(__file__).resolve().parents[1],
            check=True,
        ).stdout

    try:
        assert "link 50mbit, MTU 1400" in command("up", "1", "--name", name, "--mtu", "1400")
        assert hosts.load(name).hosts[0].address in command("status", name)
        assert name in command("list")
        assert command("shell", "--name", name, "host1", "hostname") == "host1\n"
    finally:
        command("down", name)
    assert name not in command("list")


def _until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
