"""The facts of a path, seen over real links: namespaces joined by a router or by a bridge."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.facts import catalogue as facts
from benchspec.engine.facts.catalogue import Scope, fact_kinds
from benchspec.engine.facts.commands.path import PATH_COMMANDS
from benchspec.engine.model.spec import Json, Role
from tests.engine.facts.test_fact_catalogue import SHELLS, schema

NAMES = [kind.name for kind in fact_kinds().values() if kind.scope is Scope.PATH]


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, timeout=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """Three namespaces: a and b, each joined with the middle."""

    a: str
    middle: str
    b: str

    def join(self, end: str, mtu: int) -> None:
        """A link of that MTU from an end, where it is called eth0, to the middle, where it has the
        end's name.
        """
        place = getattr(self, end)
        ip(
            f"-n {place} link add eth0 mtu {mtu} type veth peer name {end} netns {self.middle} mtu"
            f" {mtu}"
        )
        ip(f"-n {place} link set eth0 up")
        ip(f"-n {self.middle} link set dev {end} up")

    def route(self) -> None:
        """Make the middle a router between 10.9.1.0/24 (a) and 10.9.2.0/24 (b), with IPv6 beside
        it.
        """
        for end, number in (("a", 1), ("b", 2)):
            place, far = getattr(self, end), 3 - number
            for family, mask in (("10.9.{}.", 24), ("fd09:{}::", 64)):
                net = family.format(number)
                ip(
                    f"-n {self.middle} address add {net}1/{mask} dev"
                    f" {end}{' nodad' if ':' in net else ''}"
                )
                ip(f"-n {place} address add {net}2/{mask} dev eth0{' nodad' if ':' in net else ''}")
                target = family.format(far) + ("0/24" if mask == 24 else "/64")
                ip(f"-n {place} route add {target} via {net}1")
        self.run(
            self.middle, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"
        )

    def switch(self) -> None:
        """Make the middle a switch, with a and b in 10.9.1.0/24."""
        ip(f"-n {self.middle} link add switch mtu 9000 type bridge")
        ip(f"-n {self.middle} link set switch up")
        for end, number in (("a", 1), ("b", 2)):
            ip(f"-n {self.middle} link set dev {end} master switch")
            ip(f"-n {getattr(self, end)} address add 10.9.1.{number}/24 dev eth0")

    def run(self, place: str, *argv: str, script: str = "") -> bytes:
        done = subprocess.run(
            ["ip", "netns", "exec", place, *argv],
            input=script.encode(),
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == b""
        return done.stdout

    def see(self, peer: str, shell: tuple[str, ...] = ("sh",)) -> dict[str, Json]:
        """What a sees of its path to ``peer``."""
        return {
            fact.name: fact.value
            for fact in facts.parse_path(self.run(self.a, *shell, script=facts.path_script(peer)))
        }


@pytest.fixture
def bed() -> Iterator[Bed]:
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("ping"):
        pytest.skip("needs root, ip and ping to make links of its own")
    made = Bed(**{name: f"bspath{os.getpid()}{name}" for name in ("a", "middle", "b")})
    names = (made.a, made.middle, made.b)
    try:
        for name in names:
            ip(f"netns add {name}")
            ip(f"-n {name} link set lo up")
            made.run(name, "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
        yield made
    finally:
        for name in names:
            subprocess.run(
                ["ip", "netns", "delete", name], check=False, capture_output=True, timeout=30
            )


@pytest.mark.parametrize("peer", ["10.9.2.2", "fd09:2::2"])
def test_a_router_names_the_smaller_mtu_behind_it(bed: Bed, peer: str) -> None:
    bed.join("a", 1500)
    bed.join("b", 1396)
    bed.route()
    seen = bed.see(peer)
    assert (seen["path.interface"], seen["path.kind"], seen["path.link_mtu"], seen["path.mtu"]) == (
        "eth0",
        "virtual",
        1500,
        1396,
    )
    assert seen["path.routed"] is True


@pytest.mark.parametrize("shell", SHELLS)
def test_a_path_as_wide_as_the_interface_needs_no_search(bed: Bed, shell: str) -> None:
    bed.join("a", 1450)
    bed.join("b", 1500)
    bed.route()
    seen = bed.see("10.9.2.2", ("busybox", "sh") if shell == "busybox" else (shell,))
    assert seen["path.link_mtu"] == 1450
    assert seen["path.mtu"] == 1450 or (
        shell == "busybox" and seen["path.mtu"] is None
    )  # it may prefer its own ping to that of the system
    jsonschema.validate(seen, schema())


def test_large_packets_that_vanish_silently_are_told_by_halving(bed: Bed) -> None:
    bed.join("a", 1500)
    bed.join("b", 1423)
    bed.switch()
    seen = bed.see("10.9.1.2")
    assert (seen["path.link_mtu"], seen["path.mtu"], seen["path.routed"]) == (1500, 1423, False)


def test_where_nobody_answers_pings_the_mtu_is_unknown_and_the_rest_is_not(bed: Bed) -> None:
    bed.join("a", 1500)
    bed.join("b", 1500)
    bed.route()
    bed.run(bed.b, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1")
    seen = bed.see("10.9.2.2")
    assert (seen["path.interface"], seen["path.link_mtu"], seen["path.mtu"]) == ("eth0", 1500, None)


def test_a_peer_on_the_same_machine_is_reached_by_loopback(bed: Bed) -> None:
    bed.join("a", 1500)
    bed.join("b", 1500)
    bed.route()
    seen = bed.see("10.9.1.2")
    assert (seen["path.interface"], seen["path.kind"], seen["path.mtu"]) == (
        "lo",
        "loopback",
        65535,
    )


@pytest.mark.parametrize("peer", ["host.invalid", "-V", "$(touch made)", "'; touch made; '", ""])
def test_a_peer_that_is_no_address_is_unknown_and_never_executed(peer: str, tmp_path: str) -> None:
    done = subprocess.run(
        ["sh"],
        input=facts.path_script(peer).encode(),
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        check=True,
    )
    assert (done.stderr, os.listdir(tmp_path)) == (b"", [])
    assert {fact.value for fact in facts.parse_path(done.stdout)} == {None}


def test_every_path_fact_has_its_command_and_its_description() -> None:
    assert sorted(NAMES) == sorted(PATH_COMMANDS)
    assert all("\n" not in command for command in PATH_COMMANDS.values())


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_any_bytes_are_parsed(output: bytes) -> None:
    seen = {fact.name: fact.value for fact in facts.parse_path(output)}
    assert list(seen) == NAMES
    jsonschema.Draft202012Validator(schema()).validate(seen)


def test_the_clock_has_an_offset_with_its_bound_or_none() -> None:
    offset, bound = facts.clock_facts(0.25, 0.001)
    assert [(offset.name, offset.value, offset.unit), (bound.name, bound.value, bound.unit)] == [
        ("clock.offset", 0.25, "s"),
        ("clock.offset_bound", 0.001, "s"),
    ]
    assert [fact.value for fact in facts.clock_facts(None, None)] == [None, None]


def test_a_role_s_far_end_is_where_its_traffic_goes() -> None:
    both = {Role.CLIENT, Role.SERVER, Role.MONITOR}
    ends = {role: facts.far_end(role, both) for role in Role}
    assert (ends[Role.CLIENT], ends[Role.SERVER], ends[Role.MONITOR], ends[Role.DATA_SINK]) == (
        Role.SERVER,
        Role.CLIENT,
        None,
        None,
    )
    assert all(facts.far_end(role, {role, peer}) != role for role, peer in product(Role, Role))
