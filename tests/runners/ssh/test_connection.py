"""Scripts, streams and reaching out over one connection to a real host."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from benchspec.engine.model.errors import RunFailed
from benchspec.runners.ssh.failures import (
    ConnectionBroke,
    HostKeyChanged,
    HostSilent,
    NotReached,
    PortRefused,
    ScriptKilled,
    ScriptTimeout,
    SessionsRefused,
)
from benchspec.runners.ssh.transport.connection import Connection
from benchspec.runners.ssh.transport.reconnecting import STREAMS
from tests import hosts
from tests.runners.ssh.conftest import Connect, until

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")

LONG_S = 60.0


def text(connection: Connection, script: str, *arguments: str, privileged: bool = False) -> str:
    return (
        connection.run(script, arguments, timeout_s=LONG_S, privileged=privileged, repeatable=True)
        .stdout.decode()
        .strip()
    )


def test_a_script_has_arguments_data_streams_and_an_exit_code(connect: Connect) -> None:
    script = 'printf "%s|" "$@"; cat; echo err >&2; id -un >&2; exit 42'
    answer = connect().run(script, ("a b", "it's", "x\ny"), b"\0\xffdata", timeout_s=LONG_S)
    assert (answer.exit_code, answer.stdout, answer.stderr) == (
        42,
        b"a b|it's|x\ny|\0\xffdata",
        b"err\nbench\n",
    )


def test_many_bytes_in_both_directions_at_once(connect: Connect) -> None:
    data = os.urandom(12 * 1024 * 1024)
    answer = connect().run(
        "f=$(mktemp); cat >$f; cat $f >&2 & cat $f; wait; rm $f", data=data, timeout_s=LONG_S
    )
    assert answer.stdout == data
    assert answer.stderr == data


def test_more_on_one_stream_than_the_window_holds(connect: Connect) -> None:
    answer = connect().run("head -c 20000000 /dev/zero >&2; echo out", timeout_s=LONG_S)
    assert (len(answer.stderr), answer.stdout) == (20_000_000, b"out\n")


def test_data_that_nobody_reads_hold_nothing_up(connect: Connect) -> None:
    assert connect().run("echo done", data=bytes(8_000_000), timeout_s=LONG_S).stdout == b"done\n"


def test_the_script_is_in_no_argument_on_the_host(connect: Connect, bed: hosts.Bed) -> None:
    connection, host = connect(), bed.host("host2")
    script = (
        "read -r x; touch /var/tmp/here; until [ -e /var/tmp/go ]; do sleep 0.1; done; rm"
        " /var/tmp/go /var/tmp/here; : canary-of-scripts"
    )
    with ThreadPoolExecutor() as workers:
        done = workers.submit(
            connection.run, script, ("canary-of-arguments",), b"canary-of-data\n", timeout_s=LONG_S
        )
        until(lambda: "here" in host.shell("ls /var/tmp"), "the script")
        seen = " ".join(host.processes())
        host.shell("touch /var/tmp/go")
        assert done.result().exit_code == 0
    assert "/bin/sh -c" in seen
    assert "canary" not in seen


def test_one_connection_serves_many_threads(connect: Connect, bed: hosts.Bed) -> None:
    connection = connect()
    with ThreadPoolExecutor(40) as workers:
        answers = list(
            workers.map(lambda n: text(connection, "sleep 0.05; echo $1", str(n)), range(120))
        )
    assert answers == [str(n) for n in range(120)]
    assert bed.host("host2").shell("ss -H -t state established sport = :22 | wc -l").strip() == "1"


def test_as_many_streams_as_wanted_beside_scripts(connect: Connect) -> None:
    connection = connect()
    streams = [
        connection.stream('echo "$1"; cat >/dev/null', (str(n),)) for n in range(3 * STREAMS)
    ]
    assert [stream.read(LONG_S) for stream in streams] == [b"%d\n" % n for n in range(3 * STREAMS)]
    assert text(connection, "echo beside") == "beside"
    for stream in streams:
        stream.close()


def test_what_is_written_to_a_stream_at_once_arrives_after_its_script(connect: Connect) -> None:
    connection = connect()

    def echo(number: int) -> bytes:
        stream = connection.stream('read -r line; echo "$line"')
        stream.write(
            b"%d\n" % number
        )  # sshd has opened no window yet, so that this waits as the script does
        said = b"".join(stream)
        stream.close()
        return said

    with ThreadPoolExecutor(3) as workers:
        assert list(workers.map(echo, range(40))) == [b"%d\n" % number for number in range(40)]


def test_an_sshd_that_allows_fewer_sessions(connect: Connect, bed: hosts.Bed) -> None:
    host = bed.host("host3")
    host.shell("echo MaxSessions 2 >>/etc/ssh/sshd_config")
    host.stop_sshd()
    host.start_sshd()
    try:
        connection = connect("host3")
        with ThreadPoolExecutor(8) as workers:
            assert list(
                workers.map(lambda n: text(connection, "sleep 0.1; echo $1", str(n)), range(8))
            ) == [str(n) for n in range(8)]
        streams = [connection.stream("echo on; cat") for _ in range(5)]
        assert [stream.read(LONG_S) for stream in streams] == [b"on\n"] * 5
        assert text(connection, "echo beside") == "beside"
        for stream in streams:
            stream.close()
        host.shell("sed -i 's/^MaxSessions.*/MaxSessions 0/' /etc/ssh/sshd_config")
        host.stop_sshd()
        host.start_sshd()
        host.cut_connections()
        with pytest.raises(
            SessionsRefused, match=r"host client \(\S+\): .*no further session"
        ) as caught:
            text(connection, "echo never")
        assert "MaxSessions" in str(caught.value)
    finally:
        host.shell("sed -i /^MaxSessions/d /etc/ssh/sshd_config")
        host.stop_sshd()
        host.start_sshd()


def test_a_stream_is_read_as_it_comes_and_written_to(connect: Connect) -> None:
    stream = connect().stream("while read -r word; do echo got $word; done; echo bye; exit 3")
    for word in (b"one", b"two"):
        stream.write(word + b"\n")
        assert stream.read(LONG_S) == b"got " + word + b"\n"
    assert stream.read(0.05) == b""
    stream.close()
    assert stream.read(1) is None


def test_a_stream_ends_with_its_exit_code(connect: Connect) -> None:
    stream = connect().stream("echo 1; echo careful >&2; sleep 0.1; echo 2; exit 3")
    assert b"".join(stream) == b"1\n2\n"
    assert (stream.exit_code(), stream.stderr) == (3, b"careful\n")
    stream.close()


def test_closing_a_stream_hangs_up_on_its_program(connect: Connect, bed: hosts.Bed) -> None:
    stream = connect().stream(
        "echo on; while read -r x; do :; done; sleep 0.1; echo over >/var/tmp/over"
    )
    assert stream.read(LONG_S) == b"on\n"
    stream.close()
    stream.close()
    until(lambda: "over" in bed.host("host2").shell("ls /var/tmp"), "the end of the input")
    bed.host("host2").shell("rm /var/tmp/over")


def test_a_script_that_takes_too_long(connect: Connect) -> None:
    connection = connect()
    with pytest.raises(
        ScriptTimeout, match=r"host client \(\S+\): a script did not end within 0\.5 s"
    ):
        connection.run("sleep 30", timeout_s=0.5)
    assert text(connection, "echo on") == "on"


def test_a_script_whose_shell_is_killed(connect: Connect) -> None:
    with pytest.raises(ScriptKilled, match=r"host client \(\S+\): a signal ended"):
        connect().run("kill -9 $$", timeout_s=LONG_S)


def test_a_connection_cut_under_a_script(connect: Connect, bed: hosts.Bed) -> None:
    """What must not be done twice is not; what may be is, over a new connection."""
    connection, host = connect(), bed.host("host2")

    def started(name: str) -> bool:
        return name in host.shell("ls /var/tmp")

    script = "echo x >>/var/tmp/$1; sleep 1; echo end"
    for repeatable, count in ((False, "1"), (True, "2")):
        with ThreadPoolExecutor() as workers:
            name = f"cut{repeatable}"
            done = workers.submit(
                connection.run, script, (name,), timeout_s=LONG_S, repeatable=repeatable
            )
            until(partial(started, name), "the script")
            assert host.cut_connections() == 1
            if repeatable:
                assert done.result().stdout == b"end\n"
            else:
                with pytest.raises(
                    ConnectionBroke, match=r"host client \(\S+\): the connection broke"
                ):
                    done.result()
        assert host.shell(f"wc -l </var/tmp/{name}; rm /var/tmp/{name}").strip() == count


def test_a_connection_cut_under_a_stream(connect: Connect, bed: hosts.Bed) -> None:
    connection = connect()
    stream = connection.stream("echo on; sleep 1000")
    assert stream.read(LONG_S) == b"on\n"
    bed.host("host2").cut_connections()
    with pytest.raises(ConnectionBroke, match="host client"):
        stream.read(LONG_S)
    stream.close()
    assert text(connection, "echo again") == "again"


def test_an_idle_connection_that_was_cut_is_made_again(connect: Connect, bed: hosts.Bed) -> None:
    connection = connect()
    assert text(connection, "echo 1") == "1"
    bed.host("host2").cut_connections()
    assert connection.run("echo 2", timeout_s=LONG_S).stdout == b"2\n"


def test_an_sshd_that_is_killed_and_comes_back(connect: Connect, bed: hosts.Bed) -> None:
    connection, host = connect(), bed.host("host2")
    assert text(connection, "echo 1") == "1"
    host.stop_sshd()
    host.cut_connections()
    later = threading.Timer(1.0, host.start_sshd)
    later.start()
    try:
        assert connection.run("echo 2", timeout_s=LONG_S).stdout == b"2\n"
    finally:
        later.join()


def test_an_sshd_that_does_not_come_back(
    connect: Connect, bed: hosts.Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchspec.runners.ssh.transport.reconnecting.RECONNECT_S", 1.0)
    connection, host = connect(), bed.host("host2")
    host.stop_sshd()
    host.cut_connections()
    try:
        with pytest.raises(PortRefused, match=r"host client \(\S+\): nothing listens at"):
            text(connection, "echo never")
    finally:
        host.start_sshd()
    assert text(connection, "echo again") == "again"


def test_a_host_whose_key_is_swapped_between_two_scripts(connect: Connect, bed: hosts.Bed) -> None:
    connection, host = connect("host3"), bed.host("host3")
    assert text(connection, "echo 1") == "1"
    keep = "/etc/ssh/keep"
    host.shell(f"mkdir {keep}; cp -p /etc/ssh/ssh_host_* {keep}")
    host.swap_host_key()
    host.cut_connections()
    try:
        started = time.monotonic()
        with pytest.raises(
            HostKeyChanged, match=r"host client \(\S+\): it shows the key ssh-ed25519 SHA256:"
        ):
            text(connection, "echo never")
        assert time.monotonic() - started < 30, "what does not go away is not tried again"
    finally:
        host.shell(f"cp -p {keep}/* /etc/ssh; rm -r {keep}")
        host.stop_sshd()
        host.start_sshd()


@pytest.mark.parametrize("freeze", ["freeze_sshd", "drop_link"])
def test_a_host_that_answers_and_then_hangs(
    connect: Connect, bed: hosts.Bed, freeze: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchspec.runners.ssh.transport.reconnecting.RECONNECT_S", 1.0)
    host = bed.host("host3")
    connection = connect("host3", site={"keepalive": "500 ms", "connect_timeout": "500 ms"})
    stream = connection.stream("echo on; sleep 1000")
    assert stream.read(LONG_S) == b"on\n"
    getattr(host, freeze)()
    try:
        with pytest.raises((HostSilent, ConnectionBroke), match="host client"):
            stream.read(LONG_S)
        stream.close()
        with pytest.raises(RunFailed, match=r"host client \(\S+\): .* within 0\.5 s"):
            text(connection, "echo never")
    finally:
        host.thaw_sshd() if freeze == "freeze_sshd" else host.restore_link()
    monkeypatch.setattr("benchspec.runners.ssh.transport.reconnecting.RECONNECT_S", 60.0)
    assert text(connection, "echo again") == "again"


def test_silence_is_no_failure(connect: Connect) -> None:
    """A program that says nothing for many keep-alive intervals, on a host that answers."""
    connection = connect(site={"keepalive": "100 ms"})
    stream = connection.stream("sleep 2; echo 1")
    assert connection.run("sleep 2; echo 2", timeout_s=LONG_S).stdout == b"2\n"
    assert stream.read(LONG_S) == b"1\n"
    stream.close()


def test_reaching_another_host(connect: Connect, bed: hosts.Bed) -> None:
    connection, other = connect(), bed.host("host3")
    for address in (other.address, other.address6, "host3"):
        connection.reach(address, 22, 10)
    with pytest.raises(
        NotReached,
        match=rf"host client \(\S+\): cannot reach {other.address}:1: the connection was refused",
    ):
        connection.reach(other.address, 1, 10)
    with pytest.raises(NotReached, match=r"cannot reach \[.*\]:1"):
        connection.reach(other.address6, 1, 10)
    with pytest.raises(NotReached, match=r"cannot reach nowhere\.invalid:22"):
        connection.reach("nowhere.invalid", 22, 10)


def test_reaching_another_host_where_sshd_forwards_nothing(
    connect: Connect, bed: hosts.Bed
) -> None:
    host, other = bed.host("host2"), bed.host("host3")
    host.shell("echo AllowTcpForwarding no >>/etc/ssh/sshd_config")
    host.stop_sshd()
    host.start_sshd()
    try:
        connection = connect()
        connection.reach(other.address, 22, 10)
        with pytest.raises(
            NotReached, match=rf"host client \(\S+\): cannot reach {other.address}:1: "
        ):
            connection.reach(other.address, 1, 10)
    finally:
        host.shell("sed -i /^AllowTcpForwarding/d /etc/ssh/sshd_config")
        host.stop_sshd()
        host.start_sshd()


def test_a_place_that_never_answers_is_not_reached(connect: Connect, bed: hosts.Bed) -> None:
    other = bed.host("host3")
    other.drop_link()
    try:
        with pytest.raises(NotReached, match=r"no answer within 0\.3 s"):
            connect().reach(other.address, 22, 0.3)
    finally:
        other.restore_link()


def test_a_closed_connection_leaves_nothing(connect: Connect, bed: hosts.Bed) -> None:
    connection = connect("host3", user="root")
    assert text(connection, "echo on") == "on"
    connection.close()
    connection.close()
    until(
        lambda: not any("sshd: root" in args for args in bed.host("host3").processes()),
        "the end of sshd's processes",
    )
