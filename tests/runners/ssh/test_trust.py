"""Who a host is, who we are, and the ways to it, on real hosts."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.errors import BenchspecError
from benchspec.engine.model.spec import Site
from benchspec.runners.ssh.failures import (
    HostKeyChanged,
    HostKeyUnknown,
    KeyUnusable,
    NoKeyAccepted,
    PortRefused,
    UnknownHost,
)
from benchspec.runners.ssh.options import site_options
from benchspec.runners.ssh.transport import config
from benchspec.runners.ssh.transport.connection import Connection
from benchspec.runners.ssh.transport.known_hosts import HostKey
from benchspec.runners.ssh.transport.pool import Pool
from tests import hosts
from tests.hosts.host import SUDO_PASSWORD
from tests.runners.ssh.conftest import Connect, options_of, until

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")

LONG_S = 60.0


def hostname(connection: Connection) -> str:
    return connection.run("hostname", timeout_s=LONG_S).stdout.decode().strip()


def fingerprint(bed: hosts.Bed, name: str) -> str:
    algorithm, blob = bed.host(name).host_key.split()[:2]
    return HostKey(algorithm=algorithm, blob=base64.b64decode(blob)).fingerprint


@pytest.fixture
def second_key(bed: hosts.Bed) -> Iterator[str]:
    """An RSA key that host3 shows besides its own; its public half."""
    host = bed.host("host3")
    host.shell(
        "ssh-keygen -q -t rsa -b 2048 -N '' -f /etc/ssh/second && echo HostKey /etc/ssh/second"
        " >>/etc/ssh/sshd_config"
    )
    host.stop_sshd()
    host.start_sshd()
    yield host.shell("cat /etc/ssh/second.pub")
    host.shell("sed -i '/second/d' /etc/ssh/sshd_config; rm /etc/ssh/second*")
    host.stop_sshd()
    host.start_sshd()


def test_hashed_known_hosts(connect: Connect, bed: hosts.Bed, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.write_bytes(bed.known_hosts.read_bytes())
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    assert b"host2" not in known.read_bytes()
    connection = connect(site={"known_hosts": str(known)})
    assert hostname(connection) == "host2"
    assert connection.verified is not None
    assert connection.verified.source.startswith(f"{known}:")


def test_host_key_alias(connect: Connect, bed: hosts.Bed, tmp_path: Path) -> None:
    known, ssh_config = tmp_path / "known_hosts", tmp_path / "ssh_config"
    known.write_text(f"the-alias {bed.host('host2').host_key}\n")
    with pytest.raises(HostKeyUnknown):
        connect(site={"known_hosts": str(known)})
    ssh_config.write_text("Host *\n HostKeyAlias The-Alias\n")
    assert (
        hostname(connect(site={"known_hosts": str(known), "ssh_config": str(ssh_config)}))
        == "host2"
    )


def test_a_pinned_fingerprint_needs_no_known_hosts_and_beats_them(
    connect: Connect, bed: hosts.Bed, tmp_path: Path
) -> None:
    empty = {"known_hosts": str(tmp_path / "empty")}
    assert hostname(connect(site=empty, host_key=fingerprint(bed, "host2"))) == "host2"
    assert (
        hostname(
            connect(site=empty, host_key=fingerprint(bed, "host2") + "=", address="x", user="admin")
        )
        == "host2"
    )
    with pytest.raises(HostKeyChanged, match="the spec's host_key"):
        connect(host_key=fingerprint(bed, "host3"))


def test_the_known_one_of_several_keys_is_asked_for(
    connect: Connect, bed: hosts.Bed, second_key: str, tmp_path: Path
) -> None:
    known = tmp_path / "known_hosts"
    known.write_text(f"{bed.host('host3').address} {second_key}")
    connection = connect("host3", site={"known_hosts": str(known)})
    assert connection.verified is not None
    assert connection.verified.key.algorithm == "ssh-rsa"


def test_any_of_several_keys_may_be_pinned(
    connect: Connect, bed: hosts.Bed, second_key: str, tmp_path: Path
) -> None:
    algorithm, blob = second_key.split()[:2]
    pin = HostKey(algorithm=algorithm, blob=base64.b64decode(blob)).fingerprint
    for one in (pin, fingerprint(bed, "host3")):
        assert hostname(connect("host3", host_key=one)) == "host3"
    with pytest.raises(HostKeyChanged) as caught:
        connect("host3", host_key=fingerprint(bed, "host2"))
    assert pin in caught.value.message
    assert fingerprint(bed, "host3") in caught.value.message


def test_a_revoked_key_is_refused_whoever_vouches_for_it(
    connect: Connect, bed: hosts.Bed, tmp_path: Path, pool: Pool
) -> None:
    known = tmp_path / "known_hosts"
    known.write_text(f"* {bed.host('host2').host_key}\n@revoked * {bed.host('host2').host_key}\n")
    pool.trust.keep(tmp_path / "kept", accept_new=True)
    for more in ({}, {"host_key": fingerprint(bed, "host2")}):
        with pytest.raises(HostKeyChanged, match="revoked"):
            connect(site={"known_hosts": str(known)}, **more)


def test_a_new_key_is_accepted_where_that_is_asked_for_kept_and_binding(
    bed: hosts.Bed, tmp_path: Path
) -> None:
    empty, kept = {"known_hosts": str(tmp_path / "empty")}, tmp_path / "kept"
    options, host = options_of(bed, "host3", site=empty), bed.host("host3")
    first = Pool()
    first.trust.keep(kept, accept_new=True)
    verified = first.connect(options, "client").verified
    first.close()
    assert verified is not None
    assert verified.accepted
    assert kept.read_text() == f"{host.address} {host.host_key}\n"
    later = Pool()  # another process that goes on with the run, without being allowed anything
    later.trust.keep(kept, accept_new=False)
    assert hostname(later.connect(options, "client")) == "host3"
    later.close()
    host.shell("mkdir /etc/ssh/keep; cp -p /etc/ssh/ssh_host_* /etc/ssh/keep")
    host.swap_host_key()
    try:
        for allowed in (False, True):
            swapped = Pool()
            swapped.trust.keep(kept, accept_new=allowed)
            with pytest.raises(HostKeyChanged, match="--accept-new-host-keys"):
                swapped.connect(options, "client")
        changed = Pool()
        changed.trust.keep(tmp_path / "other", accept_new=True)
        with pytest.raises(HostKeyChanged):
            changed.connect(options_of(bed, "host3"), "client")
    finally:
        host.shell("cp -p /etc/ssh/keep/* /etc/ssh; rm -r /etc/ssh/keep")
        host.stop_sshd()
        host.start_sshd()


def test_a_key_of_another_kind_than_the_known_one_is_not_new(
    bed: hosts.Bed, connect: Connect, pool: Pool, tmp_path: Path
) -> None:
    known = tmp_path / "known_hosts"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", tmp_path / "k"], check=True
    )
    known.write_text(f"{bed.host('host2').address} {(tmp_path / 'k.pub').read_text()}")
    pool.trust.keep(tmp_path / "kept", accept_new=True)
    with pytest.raises(HostKeyChanged):
        connect(site={"known_hosts": str(known)})


@pytest.mark.parametrize(
    ("kind", "bits"), [("ed25519", ""), ("rsa", "2048"), ("ecdsa", "256"), ("ecdsa", "521")]
)
@pytest.mark.parametrize("passphrase", ["", "a phrase of words"])
def test_keys_of_all_kinds(
    connect: Connect,
    bed: hosts.Bed,
    tmp_path: Path,
    kind: str,
    bits: str,
    passphrase: str,
    monkeypatch: Any,
) -> None:
    key = made_key(bed, tmp_path, kind, bits, passphrase)
    monkeypatch.setenv("PHRASE", passphrase)
    more = {"passphrase": "${secret:env:PHRASE}"} if passphrase else {}
    assert hostname(connect(identity_file=str(key), **more)) == "host2"


def test_a_key_in_the_old_format(
    connect: Connect, bed: hosts.Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHRASE", "a phrase of words")
    key = made_key(bed, tmp_path, "rsa", "2048", "a phrase of words", "-m", "PEM")
    assert b"BEGIN RSA PRIVATE KEY" in key.read_bytes()
    assert hostname(connect(identity_file=str(key), passphrase="${secret:env:PHRASE}")) == "host2"


def test_a_locked_key_without_its_passphrase(
    connect: Connect, bed: hosts.Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = made_key(bed, tmp_path, "ed25519", "", "a phrase of words")
    monkeypatch.setenv("PHRASE", "another phrase")
    with pytest.raises(
        KeyUnusable, match="locked by a passphrase, and there is no terminal"
    ) as caught:
        connect(identity_file=str(key))
    assert "ssh-add" in str(caught.value)
    with pytest.raises(KeyUnusable, match="does not unlock") as caught:
        connect(identity_file=str(key), passphrase="${secret:env:PHRASE}")
    assert "another phrase" not in str(caught.value)
    with pytest.raises(KeyUnusable, match="the environment has no NOT_THERE"):
        connect(identity_file=str(key), passphrase="${secret:env:NOT_THERE}")


def test_a_passphrase_is_asked_for_at_the_terminal_once(
    connect: Connect, bed: hosts.Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, asked = made_key(bed, tmp_path, "ed25519", "", "a phrase of words"), []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "a phrase of words"

    monkeypatch.setattr("sys.stdin", os.fdopen(os.openpty()[1]))
    monkeypatch.setattr("getpass.getpass", answer)
    assert hostname(connect(identity_file=str(key))) == "host2"
    assert hostname(connect("host2", "admin", identity_file=str(key))) == "host2"
    assert asked == [f"Passphrase of {key}: "]


def test_a_certificate_beside_its_key(
    connect: Connect, bed: hosts.Bed, tmp_path: Path, agent: Path
) -> None:
    """The host knows the authority that signed the key, and not the key."""
    host = bed.host("host3")
    for name in ("authority", "mine"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True
        )
    subprocess.run(
        [
            "ssh-keygen",
            "-q",
            "-s",
            tmp_path / "authority",
            "-I",
            "me",
            "-n",
            "bench",
            tmp_path / "mine.pub",
        ],
        check=True,
    )
    (tmp_path / "mine-cert.pub").rename(tmp_path / "aside")
    with pytest.raises(NoKeyAccepted):
        connect("host3", identity_file=str(tmp_path / "mine"))
    (tmp_path / "aside").rename(tmp_path / "mine-cert.pub")
    public = (tmp_path / "authority.pub").read_text().strip()
    host.shell(
        f"echo '{public}' >/etc/ssh/authority; echo TrustedUserCAKeys /etc/ssh/authority"
        " >>/etc/ssh/sshd_config"
    )
    host.stop_sshd()
    host.start_sshd()
    try:
        assert hostname(connect("host3", identity_file=str(tmp_path / "mine"))) == "host3"
        subprocess.run(["ssh-add", "-q", tmp_path / "mine"], check=True)
        pool = Pool()
        assert (
            hostname(
                pool.connect(
                    options_of(bed, "host3", identity_file=str(tmp_path / "mine")), "client"
                )
            )
            == "host3"
        )
        pool.close()
    finally:
        host.shell("sed -i /^TrustedUserCAKeys/d /etc/ssh/sshd_config; rm /etc/ssh/authority")
        host.stop_sshd()
        host.start_sshd()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("PubkeyAuthentication no", "it takes .* only|no key of ours"),
        ("AuthenticationMethods publickey,keyboard-interactive", "it wants .* besides"),
    ],
)
def test_a_host_that_wants_something_else_than_a_key(
    connect: Connect, bed: hosts.Bed, setting: str, says: str
) -> None:
    host = bed.host("host3")
    host.shell(
        f"printf '%s\\nKbdInteractiveAuthentication yes\\n' '{setting}' >>/etc/ssh/sshd_config"
    )
    host.stop_sshd()
    host.start_sshd()
    try:
        with pytest.raises(NoKeyAccepted, match=says):
            connect("host3")
    finally:
        host.shell("sed -i '/^PubkeyAuth/d; /^Authentication/d; /^Kbd/d' /etc/ssh/sshd_config")
        host.stop_sshd()
        host.start_sshd()


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An agent of the test's own, without keys."""
    path = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL) as running:
        while not path.exists():
            assert running.poll() is None
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        yield path
        running.terminate()


def agent_site(bed: hosts.Bed, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "config").write_text("")
    return {"known_hosts": str(bed.known_hosts), "ssh_config": str(tmp_path / "config")}


def test_the_agents_key_among_others(
    bed: hosts.Bed, pool: Pool, agent: Path, tmp_path: Path
) -> None:
    for n in range(3):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / f"k{n}"], check=True
        )
        subprocess.run(["ssh-add", "-q", tmp_path / f"k{n}"], check=True)
    site = {
        **agent_site(bed, tmp_path),
        "hosts": {"client": {"host": bed.host("host2").address, "user": "bench"}},
    }
    options = site_options(Site(name="s", runner="ssh", options=site))
    with pytest.raises(NoKeyAccepted, match="the agent's"):
        pool.connect(options, "client")
    subprocess.run(["ssh-add", "-q", bed.identity], check=True)
    assert hostname(pool.connect(options, "client")) == "host2"


def test_more_keys_than_the_host_listens_to(
    bed: hosts.Bed, pool: Pool, agent: Path, tmp_path: Path
) -> None:
    for n in range(8):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / f"k{n}"], check=True
        )
        subprocess.run(["ssh-add", "-q", tmp_path / f"k{n}"], check=True)
    site = {
        **agent_site(bed, tmp_path),
        "hosts": {"client": {"host": bed.host("host2").address, "user": "bench"}},
    }
    with pytest.raises(NoKeyAccepted, match="MaxAuthTries"):
        pool.connect(site_options(Site(name="s", runner="ssh", options=site)), "client")


def test_a_locked_key_that_the_agent_holds(
    connect: Connect, bed: hosts.Bed, agent: Path, tmp_path: Path
) -> None:
    key = made_key(bed, tmp_path, "ed25519", "", "a phrase of words")
    env = {**os.environ, "SSH_ASKPASS": str(tmp_path / "ask"), "SSH_ASKPASS_REQUIRE": "force"}
    (tmp_path / "ask").write_text("#!/bin/sh\necho a phrase of words\n")
    (tmp_path / "ask").chmod(0o700)
    subprocess.run(["ssh-add", "-q", key], check=True, env=env)
    assert hostname(connect(identity_file=str(key))) == "host2"


def test_an_agent_that_is_gone_is_none(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nowhere"))
    assert hostname(connect()) == "host2"


def test_ipv6(connect: Connect, bed: hosts.Bed) -> None:
    address = bed.host("host2").address6
    assert hostname(connect(host=address)) == "host2"
    with pytest.raises(PortRefused) as caught:
        connect(host=address, port=2)
    assert f"nothing listens at [{address}]:2" in caught.value.message


def test_a_name_of_ssh_config(connect: Connect) -> None:
    assert hostname(connect(host="host3")) == "host3"


@pytest.mark.parametrize("jump", ["host1", "gateway", "bench@{address}:22"])
def test_a_host_behind_another(bed: hosts.Bed, pool: Pool, jump: str) -> None:
    good = {"user": "bench", "identity_file": str(bed.identity)}
    far, near = bed.host("host4"), bed.host("host1")
    named = {
        "client": {"host": far.address, "jump": jump.format(address=near.address), **good},
        "server": {
            "host": far.address,
            "jump": jump.format(address=near.address),
            **good,
            "user": "root",
        },
        "gateway": {"host": near.address, **good},
    }
    site: dict[str, Any] = {
        "known_hosts": str(bed.known_hosts),
        "ssh_config": str(bed.ssh_config),
        "hosts": named,
    }
    found = pool.open(
        site_options(Site(name="s", runner="ssh", options=site)), ["client", "server"]
    )
    assert {name: hostname(one) for name, one in found.items() if isinstance(one, Connection)} == {
        "client": "host4",
        "server": "host4",
    }
    assert near.shell("ss -H -t state established sport = :22 | wc -l").strip() == "1", (
        "one connection to the jump host for both"
    )
    near.cut_connections()
    connection = found["client"]
    assert isinstance(connection, Connection)
    assert connection.run("hostname", timeout_s=LONG_S, repeatable=True).stdout == b"host4\n"


def test_a_way_through_a_host_that_cannot_be_used(bed: hosts.Bed, pool: Pool) -> None:
    good = {"user": "bench", "identity_file": str(bed.identity)}
    near = bed.host("host1")

    def refusal(**client: Any) -> BenchspecError:
        far = {"host": bed.host("host4").address, **good, **client}
        named = {
            "client": far,
            "gone": {"host": "nowhere.invalid", **good},
            "near": {"host": near.address, **good},
        }
        site: dict[str, Any] = {
            "known_hosts": str(bed.known_hosts),
            "ssh_config": str(bed.ssh_config),
            "hosts": named,
        }
        found = pool.open(site_options(Site(name="s", runner="ssh", options=site)), ["client"])[
            "client"
        ]
        assert isinstance(found, BenchspecError)
        return found

    assert (type(refusal(jump="gone")), refusal(jump="gone").where) == (
        UnknownHost,
        "host gone (nowhere.invalid)",
    )
    closed = refusal(jump="near", port=2)
    assert type(closed) is PortRefused
    assert f"from the jump host near ({near.address})" in closed.message
    near.shell("echo AllowTcpForwarding no >>/etc/ssh/sshd_config")
    near.stop_sshd()
    near.start_sshd()
    try:
        assert "forwards no connections" in refusal(jump="near").message
    finally:
        near.shell("sed -i /^AllowTcpForwarding/d /etc/ssh/sshd_config")
        near.stop_sshd()
        near.start_sshd()


def test_the_users_own_proxycommand(
    bed: hosts.Bed, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".ssh").mkdir()
    command = f"ssh -F {bed.ssh_config} -W %h:%p host1"
    (tmp_path / ".ssh" / "config").write_text(
        f"Host far\n HostName {bed.host('host4').address}\n ProxyCommand {command}\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    config._cached.cache_clear()
    site: dict[str, Any] = {
        "known_hosts": str(bed.known_hosts),
        "hosts": {"client": {"host": "far", "user": "bench", "identity_file": str(bed.identity)}},
    }
    connection = pool.connect(site_options(Site(name="s", runner="ssh", options=site)), "client")
    assert hostname(connection) == "host4"
    pool.release(connection)
    config._cached.cache_clear()


def test_secrets_are_nowhere_to_be_seen(
    connect: Connect, bed: hosts.Bed, tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    """Neither in the arguments or environments of any process on the host, nor in what paramiko
    logs at its most talkative.
    """
    password, phrase = SUDO_PASSWORD, "canary-of-a-phrase"
    monkeypatch.setenv("BED", password)
    monkeypatch.setenv("PHRASE", phrase)
    key = made_key(bed, tmp_path, "ed25519", "", phrase)
    with caplog.at_level("DEBUG"):
        more = {
            "identity_file": str(key),
            "passphrase": "${secret:env:PHRASE}",
            "become": {"password": "${secret:env:BED}"},
        }
        stream = connect("host2", "keeper", **more).stream(
            "read -r x; echo on; sleep 1234", privileged=True
        )
        stream.write(b"canary-of-data\n")
        assert stream.read(LONG_S) == b"on\n"
        until(lambda: "sleep 1234" in bed.host("host2").processes(), "the program")
        seen = bed.host("host2").shell(
            "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'; kill $(pgrep -fx"
            " 'sleep 1234')"
        )
        stream.close()
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert "sleep\n1234" in seen
    assert "Authentication (publickey) successful" in logged
    for secret in (password, phrase, "canary-of-data"):
        assert secret not in seen
        assert secret not in logged


def made_key(
    bed: hosts.Bed, directory: Path, kind: str, bits: str, passphrase: str, *more: str
) -> Path:
    """A fresh key that bench, admin and keeper of host2 accept from now on."""
    path = directory / f"key-{kind}"
    size = ["-b", bits] if bits else []
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, *size, "-N", passphrase, "-f", path, *more], check=True
    )
    public = path.with_name(path.name + ".pub").read_text().strip()
    for user in ("bench", "admin", "keeper"):
        bed.host("host2").shell(f"echo '{public}' >>/home/{user}/.ssh/authorized_keys")
    return path
