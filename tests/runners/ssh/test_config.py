"""How hosts are reached: the spec's options over those of ssh_config; `ssh -G` is the judge of what
OpenSSH would do.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.model.spec import Json, Site
from benchspec.runners.ssh.failures import ConfigRefused
from benchspec.runners.ssh.options import Become, BecomeMethod, site_options
from benchspec.runners.ssh.transport import config
from benchspec.runners.ssh.transport.config import Route

Ask = Callable[..., Route]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test's own, and no system-wide configuration."""
    (tmp_path / ".ssh").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "etc" / "ssh_config")
    config._cached.cache_clear()
    return tmp_path


@pytest.fixture
def ask(home: Path) -> Ask:
    """The route to the host ``client`` of a site, with this ~/.ssh/config."""

    def route(text: str = "", host: Mapping[str, Json] | None = None, **site: Json) -> Route:
        (home / ".ssh" / "config").write_text(text)
        config._cached.cache_clear()
        options: dict[str, Any] = {"hosts": {"client": {"host": "bench", **(host or {})}}, **site}
        return config.route(
            site_options(Site(name="here", runner="ssh", options=options)), "client"
        )

    return route


def test_paramiko_has_no_means_to_execute_a_match() -> None:
    code = (
        "import benchspec.runners.ssh, paramiko.config, sys; print(paramiko.config.invoke, 'invoke'"
        " in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "None False\n"
    )


def test_options_are_typed() -> None:
    become = {"method": "su", "user": "bench", "password": "${secret:env:P}"}
    hosts: dict[str, Json] = {
        "client": {"host": "a", "port": 2222, "become": become},
        "server": {"host": "b", "become": True, "address": "c"},
    }
    options = site_options(
        Site(
            name="here",
            runner="ssh",
            options={"hosts": hosts, "keepalive": "2 min", "connect_timeout": "500 ms"},
        )
    )
    assert (options.keepalive_s, options.connect_timeout_s) == (120.0, 0.5)
    assert options.hosts["client"].become == Become(
        method=BecomeMethod.SU, user="bench", password="${secret:env:P}"
    )
    assert options.hosts["client"].port == 2222
    assert (options.hosts["server"].become, options.hosts["server"].address) == (Become(), "c")


def test_without_any_configuration(ask: Ask, home: Path) -> None:
    route = ask(host={"user": "me"})
    assert (route.hostname, route.port, route.user, route.key_name) == ("bench", 22, "me", "bench")
    assert route.known_hosts[0] == home / ".ssh" / "known_hosts"
    assert (route.identity_files, route.jump, route.proxy_command, route.only_files) == (
        (),
        None,
        None,
        False,
    )


def test_ssh_config_is_honoured_as_ssh_does(ask: Ask, home: Path) -> None:
    text = """
    Host bench
        HostName = 10.0.0.4
        Port 2222
        User carol
        IdentityFile ~/.ssh/one
        IdentityFile "~/.ssh/two"
        HostKeyAlias Bench-Key
        UserKnownHostsFile ~/kh1 ~/kh2
        ConnectTimeout 1m30s
        IdentitiesOnly yes
    Host *
        User dave
        Port 99
    """
    route = ask(text)
    said = subprocess.run(
        ["ssh", "-G", "-F", home / ".ssh" / "config", "bench"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    judge = dict(line.split(" ", 1) for line in said.splitlines())
    assert (
        (route.hostname, str(route.port), route.user)
        == (judge["hostname"], judge["port"], judge["user"])
        == ("10.0.0.4", "2222", "carol")
    )
    assert route.identity_files == (home / ".ssh" / "one", home / ".ssh" / "two")
    assert route.known_hosts[:2] == (home / "kh1", home / "kh2")
    assert (route.key_name, route.connect_timeout_s, route.only_files) == ("bench-key", 90.0, True)


def test_the_spec_has_the_last_word(ask: Ask, home: Path) -> None:
    text = (
        "Host bench\n HostName 10.0.0.4\n Port 2222\n User carol\n IdentityFile one\n ProxyJump"
        " gw\n UserKnownHostsFile a\n ConnectTimeout 9\n"
    )
    host = {
        "port": 22,
        "user": "erin",
        "identity_file": "/k",
        "jump": "frank@other:23",
        "host_key": "SHA256:x",
    }
    route = ask(text, host, known_hosts="/kh", connect_timeout="3 s")
    assert (route.hostname, route.port, route.user, route.identity_files) == (
        "10.0.0.4",
        22,
        "erin",
        (Path("/k"),),
    )
    assert (route.known_hosts, route.host_key, route.connect_timeout_s, route.only_files) == (
        (Path("/kh"),),
        "SHA256:x",
        3.0,
        True,
    )
    assert route.jump is not None
    assert (route.jump.hostname, route.jump.port, route.jump.user, route.jump.jump) == (
        "other",
        23,
        "frank",
        None,
    )


@pytest.mark.parametrize(
    ("alias", "port", "name"),
    [("", 22, "bench"), ("", 2222, "[bench]:2222"), (" HostKeyAlias Other\n", 2222, "other")],
)
def test_the_name_by_which_a_key_is_known(ask: Ask, alias: str, port: int, name: str) -> None:
    assert ask(f"Host bench\n{alias} Port {port}\n").key_name == name


def test_a_chain_of_jump_hosts(ask: Ask) -> None:
    text = (
        "Host bench\n ProxyJump ann@a:2201,b,[fd00::1]:23\nHost b\n HostName bb\n ProxyJump"
        " never\nHost a\n ProxyJump outer\n"
    )
    hops, route = [], ask(text).jump
    while route is not None:
        hops.append((route.hostname, route.port))
        route = route.jump
    assert hops == [("fd00::1", 23), ("bb", 22), ("a", 2201), ("outer", 22)]


def test_jump_names_a_host_of_the_site_with_all_its_options(ask: Ask) -> None:
    gateway: dict[str, Json] = {
        "host": "10.9.9.9",
        "user": "gina",
        "port": 2022,
        "host_key": "SHA256:y",
    }
    hosts: dict[str, Json] = {"client": {"host": "bench", "jump": "gateway"}, "gateway": gateway}
    jump = ask(hosts=hosts).jump
    assert jump is not None
    assert (jump.name, jump.hostname, jump.user, jump.port, jump.host_key) == (
        "gateway (10.9.9.9:2022)",
        "10.9.9.9",
        "gina",
        2022,
        "SHA256:y",
    )


def test_proxyjump_none_and_proxycommand_none_mean_neither(ask: Ask) -> None:
    assert ask("Host bench\n ProxyJump none\nHost *\n ProxyJump gw\n").jump is None
    assert (
        ask("Host bench\n ProxyCommand none\nHost *\n ProxyCommand false\n").proxy_command is None
    )


@pytest.mark.parametrize(
    "text", ["Host *\n ProxyJump gw\n", "Host bench\n ProxyJump a\nHost a\n ProxyJump bench\n"]
)
def test_jumps_in_a_circle_are_refused(ask: Ask, text: str) -> None:
    with pytest.raises(ConfigRefused, match="in a circle"):
        ask(text)


def test_the_users_own_proxycommand_is_taken(ask: Ask) -> None:
    assert ask("Host bench\n ProxyCommand nc %h %p\n").proxy_command == "nc bench 22"


def test_a_specs_proxycommand_is_refused(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text(
        "Host bench\n ProxyCommand touch /tmp/x; nc %h %p\nHost other\n HostName o\n"
    )
    with pytest.raises(ConfigRefused, match="has a ProxyCommand for it") as caught:
        ask(ssh_config=str(tmp_path / "theirs"))
    assert "ProxyJump" in str(caught.value)
    hosts: dict[str, Json] = {"client": {"host": "other"}}
    assert ask(ssh_config=str(tmp_path / "theirs"), hosts=hosts).hostname == "o"


def test_match_exec_never_executes_and_never_matches(ask: Ask, tmp_path: Path) -> None:
    text = (
        f'Match exec "touch {tmp_path}/executed"\n User mallory\nMatch !exec "false" host bench\n'
        " User trudy\nMatch host bench\n User carol\n"
    )
    assert ask(text).user == "carol"
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "match",
    [
        "Match all",
        "Match host bench",
        "Match originalhost bench,other",
        "Match !host other",
        "match final host bench",
    ],
)
def test_matches_of_names_do(ask: Ask, match: str) -> None:
    assert ask(f"{match}\n User carol\n").user == "carol"


def test_inclusions_of_the_users_own(ask: Ask, home: Path) -> None:
    (home / ".ssh" / "conf.d").mkdir()
    (home / ".ssh" / "conf.d" / "a").write_text("Host bench\n User carol\n")
    (home / ".ssh" / "conf.d" / "b").write_text("Host other\n User olaf\n")
    route = ask("Include conf.d/* missing/*\nPort 2222\nHost bench\n User late\n")
    assert (route.user, route.port) == ("carol", 2222)


def test_a_circle_of_inclusions_is_refused(ask: Ask, home: Path) -> None:
    (home / ".ssh" / "loop").write_text("Include loop\n")
    with pytest.raises(ConfigRefused, match="deep"):
        ask("Include loop\n")


def test_a_specs_configuration_includes_nothing(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("Include /etc/passwd\n")
    with pytest.raises(ConfigRefused, match=r"only ~/\.ssh/config may"):
        ask(ssh_config=str(tmp_path / "theirs"))


def test_files_named_in_a_specs_configuration_lie_beside_it(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("UserKnownHostsFile known\nIdentityFile key\n")
    route = ask(ssh_config=str(tmp_path / "theirs"))
    assert (route.known_hosts[0], route.identity_files) == (tmp_path / "known", (tmp_path / "key",))


@pytest.mark.parametrize(
    "host", ["-oProxyCommand=x", "a;b", "$(id)", "a b", "`id`", "a|b", "", "a'b", "a\nb"]
)
def test_hosts_that_are_none_are_refused_before_anything_is_looked_up(ask: Ask, host: str) -> None:
    with pytest.raises(ConfigRefused, match="expected a host name"):
        ask('Host *\n ProxyCommand sh -c "nc %h %p"\n', {"host": host})


@pytest.mark.parametrize("user", ["-l", "a;b", "$(id)", "a b", "%h", "a`b"])
def test_users_that_are_none_are_refused(ask: Ask, user: str) -> None:
    with pytest.raises(ConfigRefused, match="user"):
        ask(host={"user": user})


@pytest.mark.parametrize(
    "host", ["fd00::4", "::1", "fe80::1%eth0", "10.0.0.4", "bench-1.example.org", "_srv"]
)
def test_addresses_and_names_of_all_kinds(ask: Ask, host: str) -> None:
    assert ask(host={"host": host}).hostname == host


@pytest.mark.parametrize(
    "text",
    [
        "Host bench\n Port many\n",
        "Host bench\n Port 0\n",
        "Host bench\n Port 70000\n",
        'Host "bench\n',
        "lonely\n",
    ],
)
def test_a_configuration_that_cannot_be_used_says_so(ask: Ask, text: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        ask(text)
    assert str(caught.value).startswith("host client (")


def test_a_configuration_that_is_not_there(ask: Ask, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match=r"nowhere cannot be read: No such file"):
        ask(ssh_config=str(tmp_path / "nowhere"))


def test_names_are_never_asked_of_dns_while_reading(ask: Ask) -> None:
    text = "CanonicalizeHostname yes\nHost bench\n User carol\n"
    assert ask(text).user == "carol"


def test_windows_hosts_are_refused_honestly(ask: Ask) -> None:
    with pytest.raises(ConfigRefused, match="powershell"):
        ask(host={"shell": "powershell"})


def test_routes_that_may_share_a_connection_are_alike(ask: Ask) -> None:
    one = ask(host={"host": "x", "user": "u"})
    assert one.endpoint == ask(host={"host": "x", "user": "u"}).endpoint
    assert one.endpoint != ask(host={"host": "x", "user": "v"}).endpoint
    assert one.endpoint != ask(host={"host": "x", "user": "u", "jump": "y"}).endpoint
