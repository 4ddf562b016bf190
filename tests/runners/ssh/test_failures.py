"""Every way in which a host cannot be used has an error of its own that names the host and what to
do; the other hosts stay usable.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.errors import BenchspecError, MissingTool, TransportLost
from benchspec.engine.model.spec import Site
from benchspec.runners.registry import get_runner
from benchspec.runners.ssh import failures
from benchspec.runners.ssh.options import site_options
from benchspec.runners.ssh.transport.connection import Connection
from benchspec.runners.ssh.transport.known_hosts import HostKey
from benchspec.runners.ssh.transport.pool import Pool
from tests import hosts
from tests.hosts.host import SUDO_PASSWORD
from tests.runners.ssh.conftest import Connect, options_of, until

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")

LONG_S = 60.0


def refusal(connect: Connect, *arguments: Any, **options: Any) -> failures.HostFailure:
    with pytest.raises(failures.HostFailure) as caught:
        connect(*arguments, **options)
    error = caught.value
    assert isinstance(error, TransportLost)
    assert error.exit_code == 4
    assert str(error).startswith("host client (")
    assert "what to do: " in str(error)
    return error


def test_an_unknown_host(connect: Connect) -> None:
    error = refusal(connect, host="nowhere.invalid")
    assert type(error) is failures.UnknownHost
    assert "'nowhere.invalid' has no address" in error.message


def test_a_refused_port(connect: Connect, bed: hosts.Bed) -> None:
    error = refusal(connect, port=2)
    assert type(error) is failures.PortRefused
    assert f"nothing listens at {bed.host('host2').address}:2" in error.message


def test_a_host_that_is_off(connect: Connect, bed: hosts.Bed) -> None:
    host = bed.host("host3")
    host.drop_link()
    try:
        error = refusal(connect, "host3", site={"connect_timeout": "300 ms"})
    finally:
        host.restore_link()
    assert type(error) in (failures.NoAnswer, failures.Unreachable)
    assert host.address in error.message


def test_a_network_without_a_way_there(connect: Connect) -> None:
    error = refusal(connect, host="fd12:3456:789a::1")
    assert type(error) in (failures.Unreachable, failures.NoAnswer)


def test_a_host_that_hangs_while_connecting(connect: Connect, bed: hosts.Bed) -> None:
    host = bed.host("host3")
    host.freeze_sshd()
    try:
        error = refusal(connect, "host3", site={"connect_timeout": "300 ms"})
    finally:
        host.thaw_sshd()
    assert type(error) is failures.NoAnswer
    assert "accepts connections and did not say who it is within 0.3 s" in error.message


@pytest.fixture
def listener() -> Iterator[tuple[socket.socket, list[bytes]]]:
    """A port of this machine behind which each connection gets the bytes in the list, and is then
    closed.
    """
    said: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    client = server.accept()[0]
                except OSError:
                    return
                with client:
                    client.sendall(b"".join(said))

        threading.Thread(target=answer, daemon=True).start()
        yield server, said
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n" * 120, "NotSsh"),
        (b"SSH-1.5-old\r\n", "NotSsh"),
        (b"", "Unreachable"),
        (b"hello\r\n", "Unreachable"),
    ],
)
def test_something_else_than_sshd(
    connect: Connect,
    listener: tuple[socket.socket, list[bytes]],
    said: bytes,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchspec.runners.ssh.transport.dial._DROP_PAUSE_S", 0.01)
    listener[1].append(said)
    error = refusal(connect, host="127.0.0.1", port=listener[0].getsockname()[1])
    assert type(error).__name__ == kind


def test_a_key_the_host_does_not_accept(connect: Connect, tmp_path: Path) -> None:
    keygen(tmp_path / "other")
    error = refusal(connect, identity_file=str(tmp_path / "other"))
    assert type(error) is failures.NoKeyAccepted
    assert (
        f"accepts no key of ours for the user bench (tried: {tmp_path / 'other'})" in error.message
    )
    assert "ssh-copy-id bench@" in str(error)


def test_a_user_who_is_not_there(connect: Connect) -> None:
    assert type(refusal(connect, user="nobody-of-that-name")) is failures.NoKeyAccepted


TRUNCATED = b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize("content", [None, b"", b"no key at all", TRUNCATED, b"\xff\xfe"])
def test_an_identity_file_that_is_none(
    connect: Connect, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    error = refusal(connect, identity_file=str(path))
    assert type(error) is failures.KeyUnusable
    assert str(path) in error.message
    assert "no key at all" not in error.message


def test_a_host_key_that_nobody_knows(connect: Connect, tmp_path: Path, bed: hosts.Bed) -> None:
    error = refusal(connect, site={"known_hosts": str(tmp_path / "empty")})
    assert type(error) is failures.HostKeyUnknown
    assert fingerprint(bed, "host2") in error.message
    assert "--accept-new-host-keys" in str(error)


def test_a_host_key_that_changed(connect: Connect, tmp_path: Path, bed: hosts.Bed) -> None:
    known = tmp_path / "known_hosts"
    known.write_text(f"{bed.host('host2').address} {bed.host('host3').host_key}\n")
    error = refusal(connect, site={"known_hosts": str(known)})
    assert type(error) is failures.HostKeyChanged
    assert fingerprint(bed, "host2") in error.message
    assert f"{fingerprint(bed, 'host3')} ({known}:1)" in error.message


def test_windows(connect: Connect) -> None:
    error = refusal(connect, shell="powershell")
    assert type(error) is failures.ConfigRefused
    assert "nothing on Windows" in error.message


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/false", "/not/there"])
def test_a_login_shell_that_runs_nothing(connect: Connect, bed: hosts.Bed, shell: str) -> None:
    host = bed.host("host3")
    host.shell(f"sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:{shell},' /etc/passwd")
    try:
        with pytest.raises(
            (failures.WrongShell, failures.NoKeyAccepted)
        ) as caught:  # sshd lets nobody in whose shell is not there
            connect("host3").run("echo hi", timeout_s=LONG_S)
        with pytest.raises((failures.WrongShell, failures.NoKeyAccepted)):
            connect("host3").stream("echo hi").read(LONG_S)
    finally:
        host.shell("sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:/bin/sh,' /etc/passwd")
    assert str(caught.value).startswith("host client (")
    if shell.endswith("nologin"):
        assert "This account is currently not available" in str(caught.value)


def test_a_shell_that_waits_for_input(connect: Connect, bed: hosts.Bed) -> None:
    host = bed.host("host3")
    program = "#!/bin/sh\\necho Press a key; sleep 30\\n"
    host.shell(
        f"mkdir -m 755 /home/bench/bin; printf '{program}' >/home/bench/bin/waits; chmod 755"
        " /home/bench/bin/waits"
    )
    host.shell("sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:/home/bench/bin/waits,' /etc/passwd")
    try:
        with pytest.raises(
            failures.ScriptTimeout,
            match="login shell ran nothing within 1 s; it printed: Press a key",
        ):
            connect("host3").run("echo hi", timeout_s=1)
    finally:
        host.shell(
            "sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:/bin/sh,' /etc/passwd; rm -r /home/bench/bin"
        )


@pytest.mark.parametrize("name", ["bash", "zsh", "fish", "tcsh"])
def test_every_login_shell_that_runs_sh_will_do(
    connect: Connect, bed: hosts.Bed, name: str
) -> None:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed: run tests/setup")
    host = bed.host("host3")
    host.shell(f"sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:{path},' /etc/passwd")
    try:
        answer = connect("host3").run('echo "$1"; cat', ("a'b\nc!d\\",), b"data", timeout_s=LONG_S)
    finally:
        host.shell("sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:/bin/sh,' /etc/passwd")
    assert answer.stdout == b"a'b\nc!d\\\ndata"


def test_an_rc_file_that_prints_is_tolerated_and_told(connect: Connect, bed: hosts.Bed) -> None:
    host = bed.host("host3")
    host.talkative("bench")
    host.shell("sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:/bin/bash,' /etc/passwd")
    try:
        connection = connect("host3")
        stream = connection.stream("echo one")
        assert b"".join(stream) == b"one\n"
        stream.close()
        assert b"Welcome to this host" in connection.noise
        assert connection.run("printf out; printf err >&2", timeout_s=LONG_S).stdout == b"out"
    finally:
        host.shell(
            "sed -i 's,^\\(bench:.*\\):[^:]*$,\\1:/bin/sh,' /etc/passwd; rm -f /home/bench/.profile"
            " /home/bench/.bashrc /home/bench/.ssh/rc"
        )


def test_one_host_that_fails_does_not_lose_the_others(bed: hosts.Bed, pool: Pool) -> None:
    good = {"user": "bench", "identity_file": str(bed.identity)}
    named = {
        "client": {"host": bed.host("host2").address, **good},
        "gone": {"host": bed.host("host2").address, "port": 2, **good},
        "nobody": {"host": "nowhere.invalid", **good},
        "server": {"host": bed.host("host3").address, **good},
        "windows": {"host": "win", "shell": "powershell"},
    }
    options: dict[str, Any] = {
        "known_hosts": str(bed.known_hosts),
        "ssh_config": str(bed.ssh_config),
        "hosts": named,
    }
    site = site_options(Site(name="s", runner="ssh", options=options))
    found = pool.open(site, named)
    assert [type(found[name]).__name__ for name in named] == [
        "Connection",
        "PortRefused",
        "UnknownHost",
        "Connection",
        "ConfigRefused",
    ]
    for name in ("client", "server"):
        connection = found[name]
        assert isinstance(connection, Connection)
        assert connection.run("echo on", timeout_s=LONG_S).stdout == b"on\n"
    assert all(f"host {name} (" in str(found[name]) for name in ("gone", "nobody", "windows"))
    assert all(isinstance(found[name], BenchspecError) for name in ("gone", "nobody", "windows"))


def test_a_run_is_told_of_every_host_that_fails(bed: hosts.Bed) -> None:
    good = {"user": "bench", "identity_file": str(bed.identity)}
    named = {
        "client": {"host": bed.host("host2").address, "port": 2, **good},
        "server": {"host": "nowhere.invalid", **good},
    }
    options: dict[str, Any] = {
        "known_hosts": str(bed.known_hosts),
        "ssh_config": str(bed.ssh_config),
        "hosts": named,
    }
    with pytest.raises(
        failures.PortRefused,
        match=r"\n  also host server \(nowhere\.invalid\): the name .* has no address",
    ):
        get_runner("ssh").connect(Site(name="s", runner="ssh", options=options), "run-1")


@pytest.mark.parametrize("file", ["identity_file", "known_hosts", "ssh_config"])
@pytest.mark.parametrize("what", ["/dev/zero", "pipe", "large", "."])
def test_a_file_that_never_ends_is_not_read(
    connect: Connect, tmp_path: Path, file: str, what: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(1 << 40)
    name = str(tmp_path / what)
    error = refusal(
        connect, **({"identity_file": name} if file == "identity_file" else {"site": {file: name}})
    )
    assert re.search("regular file|larger than 16 MiB|Is a directory", error.message)


def test_sites_that_name_the_same_host_share_its_connection(bed: hosts.Bed, pool: Pool) -> None:
    one, other = options_of(bed, "host3"), options_of(bed, "host3")
    connection = pool.connect(one, "client")
    assert pool.connect(other, "client") is connection
    assert pool.connect(options_of(bed, "host3", "root"), "client") is not connection
    pool.release(connection)
    assert connection.run("echo on", timeout_s=LONG_S).stdout == b"on\n"
    pool.release(connection)
    with pytest.raises(failures.ConnectionBroke):
        connection.run("echo off", timeout_s=LONG_S)


@pytest.mark.parametrize(
    ("user", "become", "password", "expected"),
    [
        ("admin", True, "", b"root\n"),
        ("admin", {"user": "bench"}, "", b"bench\n"),
        ("admin", {"password": "${secret:env:BED}"}, "not asked for", b"root\n"),
        ("keeper", {"password": "${secret:env:BED}"}, SUDO_PASSWORD, b"root\n"),
        (
            "keeper",
            {"method": "su", "user": "keeper", "password": "${secret:env:BED}"},
            SUDO_PASSWORD,
            b"keeper\n",
        ),
        (
            "bench",
            {"method": "su", "user": "keeper", "password": "${secret:env:BED}"},
            SUDO_PASSWORD,
            b"keeper\n",
        ),
        (
            "root",
            {"method": "su", "password": "${secret:env:BED}"},
            "touch /etc/executed",
            b"root\n",
        ),
        ("admin", {"method": "doas"}, "", b"root\n"),
        ("root", None, "", b"root\n"),
    ],
)
def test_becoming_another_user(
    connect: Connect,
    bed: hosts.Bed,
    user: str,
    become: Any,
    password: str,
    expected: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BED", password)
    bed.host("host2").shell("echo permit nopass admin >/etc/doas.conf; chmod 400 /etc/doas.conf")
    connection = connect("host2", user, **({} if become is None else {"become": become}))
    data = os.urandom(100_000)
    bed.host("host2").shell(
        f"echo echo Welcome >{'/root' if user == 'root' else f'/home/{user}'}/.ssh/rc"
    )
    answer = connection.run(
        'id -un; echo "$1" >&2; cat; exit 5', ("it's",), data, timeout_s=LONG_S, privileged=True
    )
    assert (answer.exit_code, answer.stdout, answer.stderr) == (5, expected + data, b"it's\n")
    stream = connection.stream("id -un", privileged=True)
    assert b"".join(stream) == expected
    stream.close()
    assert connection.noise == b"Welcome\n"
    assert bed.host("host2").shell("ls /etc/executed", check=False) == "", (
        "su asks root for no password, and none is executed"
    )
    bed.host("host2").shell("rm /home/*/.ssh/rc /root/.ssh/rc", check=False)


@pytest.mark.parametrize(
    ("user", "become", "kind", "says"),
    [
        (
            "keeper",
            {"password": "${secret:env:BED}"},
            "BecomePasswordWrong",
            "sudo does not accept the password",
        ),
        (
            "keeper",
            {"method": "su", "password": "${secret:env:BED}"},
            "BecomePasswordWrong",
            "su does not accept the password",
        ),
        ("keeper", True, "BecomePasswordNeeded", "sudo asks for a password"),
        ("keeper", {"method": "su"}, "BecomePasswordNeeded", "su always asks"),
        ("bench", None, "BecomeRefused", "gives the host no `become`"),
        (
            "admin",
            {"user": "nobody-of-that-name"},
            "BecomeRefused",
            "sudo does not let the user become nobody-of-that-name",
        ),
        ("keeper", {"method": "doas"}, "BecomeRefused", "doas does not let the user become root"),
        ("admin", {"user": "-x"}, "BecomeRefused", "expected a user's name"),
        (
            "admin",
            {"method": "doas", "password": "${secret:env:BED}"},
            "BecomeRefused",
            "doas reads passwords from a terminal only",
        ),
        (
            "keeper",
            {"password": "${secret:env:NOT_THERE}"},
            "RunFailed",
            "the environment has no NOT_THERE",
        ),
    ],
)
def test_rights_that_are_refused(
    connect: Connect, user: str, become: Any, kind: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BED", "a wrong password")
    with pytest.raises(BenchspecError, match=says) as caught:
        connect("host2", user, **({} if become is None else {"become": become})).run(
            "id", timeout_s=LONG_S, privileged=True
        )
    assert type(caught.value).__name__ == kind
    assert "a wrong password" not in str(caught.value)


def test_a_wrong_password_is_offered_once(
    connect: Connect, bed: hosts.Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the script nor its data are offered as further guesses, which would lock the
    account.
    """
    monkeypatch.setenv("BED", "a wrong password")
    host = bed.host("host2")
    host.shell(
        "printf 'Defaults logfile=/var/tmp/sudo.log\\n' >/etc/sudoers.d/log; chmod 440"
        " /etc/sudoers.d/log"
    )
    try:
        with pytest.raises(failures.BecomePasswordWrong):
            connect("host2", "keeper", become={"password": "${secret:env:BED}"}).run(
                "id", data=b"x\n" * 10, timeout_s=LONG_S, privileged=True
            )
        until(
            lambda: "attempt" in host.shell("cat /var/tmp/sudo.log", check=False),
            "sudo's word of it",
        )
        log = host.shell("cat /var/tmp/sudo.log; rm /var/tmp/sudo.log")
    finally:
        host.shell("rm /etc/sudoers.d/log")
    assert "1 incorrect password attempt ;" in log.replace("\n", " ").replace("    ", " ")


def test_a_program_for_rights_that_is_not_there(connect: Connect, bed: hosts.Bed) -> None:
    host = bed.host("host3")
    host.shell(
        "test ! -e /usr/bin/doas || { touch /tmp/nothing; mount --bind /tmp/nothing"
        " /usr/bin/doas; }"
    )
    try:
        with pytest.raises(
            (MissingTool, failures.BecomeRefused), match=r"host client \(\S+\): doas"
        ):
            connect("host3", become={"method": "doas"}).run("id", timeout_s=LONG_S, privileged=True)
    finally:
        host.shell("umount /usr/bin/doas 2>/dev/null; true")


def fingerprint(bed: hosts.Bed, name: str) -> str:
    key = bed.host(name).host_key.split()
    return HostKey(algorithm=key[0], blob=base64.b64decode(key[1])).fingerprint


def keygen(path: Path, kind: str = "ed25519", passphrase: str = "") -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", path], check=True)
