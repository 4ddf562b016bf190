"""Ports and addresses are written as this kernel's own tables have them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from benchspec.runners.agent.sockets import hex_addresses, hex_port


@pytest.mark.parametrize(
    ("family", "bound", "asked"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0", "127.0.0.1"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET6, "::1", "::1%lo"),
        (socket.AF_INET6, "::", "::1"),
        (socket.AF_INET6, "::", "127.0.0.1"),
        (socket.AF_INET6, "::ffff:127.0.0.1", "127.0.0.1"),
    ],
)
def test_a_listener_stands_in_the_table_under_one_of_the_names(
    family: socket.AddressFamily, bound: str, asked: str
) -> None:
    with socket.socket(family) as listener:
        if family is socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            listener.bind((bound, 0))
        except OSError as error:
            pytest.skip(f"this machine has no {bound}: {error}")
        listener.listen()
        port = hex_port(listener.getsockname()[1])
        table = Path("/proc/net/tcp6" if family is socket.AF_INET6 else "/proc/net/tcp")
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
        (local,) = [row[1] for row in rows if row[1].endswith(f":{port}") and row[3] == "0A"]
        assert local.partition(":")[0] in hex_addresses(asked).split()


def test_a_listener_elsewhere_is_not_under_these_names() -> None:
    elsewhere = hex_addresses("127.0.0.2").split()[-1]
    assert elsewhere not in hex_addresses("127.0.0.1").split()
    assert hex_addresses("0.0.0.0").split()[-1] not in hex_addresses("::1").split()


def test_a_name_may_be_any_address_and_a_port_has_four_digits() -> None:
    assert hex_addresses("server.example") == "any"
    assert hex_port(80) == "0050"
