"""Ports of this host: which are free, and which are listened on. Both without disturbing a server
that is to be measured.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import ExitStack
from pathlib import Path

from ...engine.model.errors import RunFailed

LOOPBACK = "127.0.0.1"
_TRIES = 100
_LISTEN = "0A"


def free_ports(count: int) -> tuple[int, ...]:
    """Ports on the loopback address that are free for TCP and UDP alike, all different.

    Raises:
        RunFailed: the host has not got so many.
    """
    with ExitStack() as held:  # all are held until the last is found, so that no two are the same
        return tuple(_free_port(held) for _ in range(count))


def _free_port(held: ExitStack) -> int:
    for _ in range(_TRIES):
        tcp = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        udp = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        try:
            tcp.bind((LOOPBACK, 0))
            port: int = tcp.getsockname()[1]
            udp.bind((LOOPBACK, port))
        except OSError:
            continue
        return port
    raise RunFailed(
        f"no port of {LOOPBACK} is free for both TCP and UDP",
        remedy="end programs that hold ports, or widen net.ipv4.ip_local_port_range",
    )


def listening(host: str, port: int) -> bool:
    """Whether a TCP connection to ``host:port`` would be accepted.

    Read from the kernel's table where ``host`` is an address of this host: a probing connection
    would be the server's first client, and iperf3 closes its listening socket for a moment after
    such a client. A name or a foreign address is tried by connecting.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return _accepts(host, port)
    if not _is_own(address):
        return _accepts(host, port)
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    listeners = _listeners("".join(path.read_text() for path in tables if path.exists()), port)
    return not listeners.isdisjoint(
        {"::", "0.0.0.0" if address.version == 4 else "::", str(address)}
    )


def _is_own(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
            return True
    except OSError:
        return False


def _listeners(table: str, port: int) -> set[str]:
    """Addresses on which ``port`` is listened on, from the text of /proc/net/tcp and tcp6
    (proc_net_tcp in the kernel's documentation).
    """
    rows = (line.split() for line in table.splitlines())
    return {
        _address(row[1].partition(":")[0])
        for row in rows
        if len(row) > 3 and row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port
    }


def _address(text: str) -> str:
    raw = bytes.fromhex(text)
    # the kernel prints 32-bit words in the host's order (little-endian on every machine this runner
    # knows)
    packed = b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
    address = ipaddress.ip_address(packed)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False
