"""One host of a bed: what it is called, how it is reached, and how it is broken."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from .parts import BedError

SUDO_PASSWORD = "open sesame"
"""The password of the user who needs one for sudo."""


_FILES = (
    "find /home /root /tmp /var/tmp /run /mnt /srv /dev ! -path '/dev/pts/*' ! -path '/run/sudo*' !"
    " -path /run/sshd.pid"
)
"""All files that do not come from the machine; sudo keeps notes of its own."""


class Login(StrEnum):
    """The users of every host, all with the same key and /bin/sh."""

    ROOT = "root"
    PLAIN = "bench"
    """No sudo."""
    SUDO = "admin"
    """sudo without a password."""
    PASSWORD = "keeper"
    """sudo with SUDO_PASSWORD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host that runs. ``pid`` is its first process as the controller sees it; ``jump`` the host
    that alone reaches it.
    """

    name: str
    pid: int
    address: str
    address6: str
    host_key: str
    directory: Path
    jump: str | None = None

    def site(self, user: str = Login.PLAIN, **more: Any) -> dict[str, Any]:
        """This host as a spec's ``hosts`` has it."""
        jump = {"jump": self.jump} if self.jump else {}
        return {
            "host": self.address,
            "user": str(user),
            "identity_file": str(self.directory / "id_ed25519"),
            **jump,
            **more,
        }

    def shell(self, script: str, check: bool = True, user: str | None = None) -> str:
        """Run a script as root (or ``user``) in the host without SSH: an independent look, or a
        fault. Its output.

        Raises:
            BedError: it failed, unless ``check`` is off.
        """
        inside = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        argv = ["nsenter", "-t", str(self.pid), "-a", *inside, "/bin/sh", "-c", script]
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LC_ALL": "C",
        }
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        if check and done.returncode != 0:
            raise BedError(
                f"{self.name}: {script!r}: exit code {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def processes(self) -> tuple[str, ...]:
        """The command lines of all processes of the host but its own: its first process and that
        one's sleep, the listening sshd, this look.
        """
        lines = self.shell("ps -e -o pid=,ppid=,args=").splitlines()
        rows = [line.split(None, 2) for line in lines]
        return tuple(args for pid, ppid, args in rows if pid != "1" and not _own(ppid, args))

    def traces(self) -> frozenset[str]:
        """Everything that a program could leave behind on the host, to be compared with what was
        there before.

        Processes, files wherever somebody may write, file locks (not those of other hosts' open
        files, which show everywhere), links and mounts.
        """
        found = [f"process {args}" for args in self.processes()]
        for what, script in (
            ("file", _FILES),
            ("lock", "grep -v ' -1 ' /proc/locks || :"),
            ("link", "ip -br -o link | cut -d' ' -f1"),
            ("mount", "cut -d' ' -f2 /proc/mounts"),
        ):
            found += [f"{what} {line}" for line in self.shell(script).splitlines()]
        return frozenset(found)

    def stop_sshd(self) -> None:
        """Kill the listening sshd; connections that are there stay."""
        self.shell("kill -9 $(cat /run/sshd.pid); rm -f /run/sshd.pid")

    def start_sshd(self) -> None:
        """Start sshd (again, with the configuration and key of now) and wait until it listens."""
        self.shell(
            "mkdir -p /run/sshd && /usr/sbin/sshd && until [ -s /run/sshd.pid ]; do sleep 0.01;"
            " done"
        )

    def cut_connections(self) -> int:
        """Abort every SSH connection of the host, as if by the network (`ss -K`): both sides get a
        reset. How many.
        """
        return len(self.shell("ss -H -K -t state established sport = :22").splitlines())

    def freeze_sshd(self) -> None:
        """Stop all of sshd: the host answers TCP connections and then says nothing. Connections
        that are there hang.
        """
        self.shell("kill -STOP $(pgrep -x sshd)")

    def thaw_sshd(self) -> None:
        """Let sshd go on."""
        self.shell("kill -CONT $(pgrep -x sshd)")

    def drop_link(self) -> None:
        """Take the link down: no answer, no reset."""
        self.shell("ip link set eth0 down")

    def restore_link(self) -> None:
        """Take the link up again (its IPv6 addresses and routes are lost with it)."""
        self.shell("ip link set eth0 up && sh /etc/bed-address")

    def limit_link(self, rate: str) -> None:
        """Limit what the host sends to a rate of ``tc``, such as "200mbit"."""
        self.shell(f"tc qdisc replace dev eth0 root tbf {shaping(rate)}")

    def swap_host_key(self) -> None:
        """Give the host another key and restart sshd: what a man in the middle, or a host that was
        set up anew, looks like.
        """
        self.shell(
            "rm /etc/ssh/ssh_host_ed25519_key*; ssh-keygen -q -t ed25519 -N '' -f"
            " /etc/ssh/ssh_host_ed25519_key"
        )
        self.stop_sshd()
        self.start_sshd()

    def small_disk(self, directory: str, size: str = "64k", mode: str = "1777") -> None:
        """Mount a small file system of its own over ``directory``, for it to be filled."""
        self.shell(f"mount -t tmpfs -o size={size},mode={mode} small {directory}")

    def fill_disk(self, directory: str) -> None:
        """Fill the file system under ``directory`` to the last byte."""
        self.shell(f"cat /dev/zero >{directory}/.fill 2>/dev/null; test -s {directory}/.fill")

    def read_only(self, directory: str) -> None:
        """Make a directory read-only, for root too."""
        self.shell(f"mount --bind {directory} {directory} && mount -o remount,bind,ro {directory}")

    def unmount(self, directory: str) -> None:
        """Undo small_disk or read_only."""
        self.shell(f"umount -l {directory}")

    def talkative(self, login: str = Login.PLAIN, text: str = "Welcome to this host") -> None:
        """Let the login files of a user print: /bin/sh reads .profile, bash over SSH .bashrc; sshrc
        is read for every session.
        """
        home = "/root" if login == Login.ROOT else f"/home/{login}"
        self.shell(
            f"for f in .profile .bashrc; do echo 'echo {text}' >>{home}/$f; done; mkdir -p"
            f" {home}/.ssh; echo 'echo {text}' >{home}/.ssh/rc"
        )

    def shift_clock(self, seconds: float) -> None:
        """Shift the wall clock of everything that SSH sessions start, under sudo too, with
        libfaketime; 0 undoes it. Restarts sshd.

        Not by /etc/ld.so.preload: sshd's own sandbox ends a process that loads the library.
        """
        variables = (
            f"LD_PRELOAD=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1) FAKETIME={seconds:+.6f}"
            " FAKETIME_DONT_FAKE_MONOTONIC=1"
        )
        self.shell("sed -i /^SetEnv/d /etc/ssh/sshd_config; rm -f /etc/sudoers.d/clock")
        if seconds:
            self.shell(
                f"echo SetEnv {variables} >>/etc/ssh/sshd_config; printf '%s\\n' {variables}"
                " >/etc/sudo-environment"
            )
            self.shell(
                "echo Defaults env_file=/etc/sudo-environment >/etc/sudoers.d/clock; chmod 440"
                " /etc/sudoers.d/clock"
            )
        self.stop_sshd()
        self.start_sshd()


def shaping(rate: str) -> str:
    """The arguments of `tc ... tbf`: a burst that covers 5 ms (a timer may be late), a queue of 20
    ms.
    """
    factors = {"gbit": 1e9, "mbit": 1e6, "kbit": 1e3}
    unit = next((unit for unit in factors if rate.endswith(unit)), None)
    if unit is None:
        raise BedError(f"rate {rate!r}: expected a number and kbit, mbit or gbit, such as 200mbit")
    bits = float(rate.removesuffix(unit)) * factors[unit]
    return f"rate {rate} burst {max(int(bits / 8 * 0.005), 16_000)} latency 20ms"


def _own(parent: str, args: str) -> bool:
    # a sleep that is only forked yet has the name of the first process
    firsts = args.startswith(("sleep 3600", "sshd: /usr/sbin/sshd")) or " benchspec-bed=" in args
    return parent == "0" or (parent == "1" and firsts) or args.startswith("ps -e -o pid=,ppid=")
