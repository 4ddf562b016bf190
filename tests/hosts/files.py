"""The files of a bed: keys, the client's ssh_config and known_hosts, and what each host has of its
own in /etc, /home and /root.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization as codec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from .host import SUDO_PASSWORD, Login
from .parts import call

USERS = {Login.PLAIN: 1501, Login.SUDO: 1502, Login.PASSWORD: 1503}

SSHD_CONFIG = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PidFile /run/sshd.pid
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
PrintMotd no
UseDNS no
AcceptEnv LANG LC_*
Subsystem sftp /usr/lib/openssh/sftp-server
"""

SUDOERS = f"{Login.SUDO} ALL=(ALL:ALL) NOPASSWD: ALL\n{Login.PASSWORD} ALL=(ALL:ALL) ALL\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An ed25519 key pair in OpenSSH's formats."""

    private: bytes
    public: str

    @staticmethod
    def new() -> Key:
        """A fresh one: 0.1 ms instead of a call of ssh-keygen."""
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(
            codec.Encoding.PEM, codec.PrivateFormat.OpenSSH, codec.NoEncryption()
        )
        return Key(
            private=private,
            public=key.public_key()
            .public_bytes(codec.Encoding.OpenSSH, codec.PublicFormat.OpenSSH)
            .decode(),
        )


def write_client(directory: Path) -> Key:
    """The client's key in a bed's directory."""
    key = Key.new()
    _write(directory / "id_ed25519", key.private.decode(), 0o600)
    _write(directory / "id_ed25519.pub", f"{key.public} bed\n")
    return key


def write_host(
    files: Path, name: str, number: int, client: Key, etc_hosts: str, network: str, address: str
) -> Key:
    """What a host has of its own; its key."""
    etc, key = files / "etc", Key.new()
    (files / "mnt").mkdir(parents=True)
    for directory, mode in (
        (etc, 0o755),
        (etc / "ssh", 0o755),
        (etc / "sudoers.d", 0o750),
        (files / "home", 0o755),
        (files / "root", 0o700),
    ):
        directory.mkdir(mode=mode)
    _write(etc / "hostname", f"{name}\n")
    _write(etc / "hosts", etc_hosts)
    _write(etc / "machine-id", f"{uuid.uuid4().hex}\n", 0o444)
    _write(etc / "boot-id", f"{uuid.uuid4()}\n", 0o444)
    _write(etc / "bed-number", f"{number}\n")
    _write(etc / "bed-network", network)
    _write(etc / "bed-address", address)
    _write(etc / "ssh" / "sshd_config", SSHD_CONFIG)
    _write(etc / "ssh" / "ssh_host_ed25519_key", key.private.decode(), 0o600)
    _write(etc / "ssh" / "ssh_host_ed25519_key.pub", f"{key.public} root@{name}\n")
    _write(etc / "sudoers.d" / "bed", SUDOERS, 0o440)
    _write_users(etc)
    for user, number_ in {Login.ROOT: 0, **USERS}.items():
        _write_keys(
            files / "root" if user is Login.ROOT else files / "home" / user, number_, client
        )
    return key


def write_ssh(
    directory: Path,
    keys: Mapping[str, Key],
    addresses: Mapping[str, Sequence[str]],
    jumps: Mapping[str, str],
) -> None:
    """The bed's ssh_config and known_hosts."""
    known = [f"{','.join([name, *addresses[name]])} {key.public}\n" for name, key in keys.items()]
    _write(directory / "known_hosts", "".join(known))
    blocks = []
    for name in keys:
        jump = f"  ProxyJump {jumps[name]}\n" if name in jumps else ""
        blocks.append(f"Host {name}\n  HostName {addresses[name][0]}\n{jump}")
    common = (
        f"Host *\n  User {Login.PLAIN}\n  IdentityFile {directory}/id_ed25519\n  IdentitiesOnly"
        f" yes\n  UserKnownHostsFile {directory}/known_hosts\n"
    )
    _write(directory / "ssh_config", "".join(blocks) + common)


def _write_users(etc: Path) -> None:
    """The controller's users with /bin/sh for root, and the bed's."""
    passwd = [
        line
        for line in Path("/etc/passwd").read_text().splitlines()
        if int(line.split(":")[2]) < 1000 or "nobody" in line
    ]
    group = Path("/etc/group").read_text().splitlines()
    shadow = [f"{line.split(':')[0]}:*:19000:0:99999:7:::" for line in passwd]
    passwd = [
        "root:x:0:0:root:/root:/bin/sh" if line.startswith("root:") else line for line in passwd
    ]
    hashed = _password_hash()
    for user, number in USERS.items():
        passwd.append(f"{user}:x:{number}:{number}::/home/{user}:/bin/sh")
        group.append(f"{user}:x:{number}:")
        shadow.append(f"{user}:{hashed if user is Login.PASSWORD else '*'}:19000:0:99999:7:::")
    _write(etc / "passwd", "\n".join(passwd) + "\n")
    _write(etc / "group", "\n".join(group) + "\n")
    _write(etc / "shadow", "\n".join(shadow) + "\n", 0o640)


@cache  # it is slow on purpose
def _password_hash() -> str:
    return call(["openssl", "passwd", "-6", "-stdin"], SUDO_PASSWORD).strip()


def _write_keys(home: Path, owner: int, client: Key) -> None:
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    _write(home / ".ssh" / "authorized_keys", f"{client.public}\n", 0o600)
    for path in (home, home / ".ssh", home / ".ssh" / "authorized_keys"):
        os.chown(path, owner, owner)
    home.chmod(0o700)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.write_text(text)
    path.chmod(mode)


def remove(directory: Path) -> None:
    """Remove a bed's directory."""
    shutil.rmtree(directory, ignore_errors=True)
