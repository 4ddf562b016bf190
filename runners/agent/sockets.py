"""Listening sockets as the kernel's tables show them: a probing connection would be the server's
first client, and iperf3 closes its socket for a moment after such a one (proc_net_tcp in the
kernel's documentation).
"""

from __future__ import annotations

import ipaddress


def hex_port(port: int) -> str:
    """A port as the tables show it."""
    return f"{port:04X}"


def hex_addresses(host: str) -> str:
    """What the tables may show for a listener that ``host`` reaches: its own address and the
    wildcards; "any" for a name.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return "any"
    everywhere = [_words(ipaddress.ip_address("::"))]
    if isinstance(address, ipaddress.IPv4Address):
        everywhere += [
            _words(ipaddress.ip_address("0.0.0.0")),
            _words(ipaddress.ip_address(f"::ffff:{address}")),
        ]
    return " ".join((*everywhere, _words(address)))


def _words(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    # the kernel prints 32-bit words in the host's order (little-endian on every machine this runner
    # knows)
    packed = address.packed
    return b"".join(packed[i : i + 4][::-1] for i in range(0, len(packed), 4)).hex().upper()
