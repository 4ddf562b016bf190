from __future__ import annotations

import socket

import pytest

from benchspec.engine.model.errors import RunFailed
from benchspec.runners.local import ports

TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   1: 0000000000000000FFFF00000100007F:0051 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   2: 00000000000000000000000001000000:0052 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0
"""


@pytest.mark.parametrize(
    ("port", "addresses"),
    [
        (8080, {"127.0.0.1"}),
        (22, {"0.0.0.0"}),
        (8081, set()),
        (80, {"::"}),
        (81, {"127.0.0.1"}),
        (82, {"::1"}),
        (99, set()),
    ],
)
def test_the_kernel_s_table_of_listeners(port: int, addresses: set[str]) -> None:
    assert ports._listeners(TABLE, port) == addresses


@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_a_listener_is_seen_without_being_disturbed(bound: str) -> None:
    with socket.create_server((bound, 0)) as server:
        port = server.getsockname()[1]
        assert ports.listening("127.0.0.1", port)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not ports.listening("127.0.0.1", port)


def test_names_and_foreign_addresses_are_tried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert ports.listening("localhost", port)
        assert not ports.listening("127.0.0.2", port)
    assert not ports.listening("localhost", port)
    assert not ports.listening("192.0.2.1", 9)  # TEST-NET-1: nobody's address


def test_a_host_without_ports_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("address already in use")

    monkeypatch.setattr(ports, "_TRIES", 2)
    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(RunFailed, match="no port"):
        ports.free_ports(1)
