"""What share of a full link arrives as payload: headers, encapsulation, framing. Checked against
measured links by tests.

Sizes in B. Ethernet: 14 header, and on the wire also 4 FCS, 8 preamble, 12 gap (IEEE 802.3); IPv4
20 (RFC 791); IPv6 40, and 8 more in fragments (RFC 8200); TCP 20 and 12 for timestamps, which Linux
sends by default (RFC 9293, RFC 7323); UDP 8 (RFC 768); VXLAN 50 = inner Ethernet 14, VXLAN 8, UDP
8, IPv4 20 (RFC 7348); Geneve the same without options (RFC 8926); WireGuard 60 = header 16, tag 16,
UDP 8, IPv4 20 (wireguard.com/papers/wireguard.pdf); IP in IP 20 (RFC 2003).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.spec import Layer

FRAMING = {Layer.WIRE: 38, Layer.L2: 14}
IP = {"ipv4": 20, "ipv6": 40}
IP_OF_FRAGMENTS = {"ipv4": 20, "ipv6": 40 + 8}
TRANSPORT = {"tcp": 20 + 12, "udp": 8}
ENCAPSULATION = {"vxlan": 50, "geneve": 50, "wireguard": 60, "ipip": 20}
DEFAULT_MTU = 1500


def link_efficiency(
    layer: Layer,
    mtu: float,
    protocol: str = "tcp",
    encapsulations: Sequence[str] = (),
    datagram: float | None = None,
    family: str = "ipv4",
) -> float:
    """Payload per byte that ``layer`` counts when packets of ``mtu`` (as the sender sees it) fill
    the link.

    ``encapsulations`` are names of :data:`ENCAPSULATION`, added up (VXLAN inside WireGuard);
    ``datagram`` is the payload of a UDP datagram in B (default: one that fills the packet; a larger
    one is sent in fragments of ``mtu``). ``family`` is that of the payload's packets; tunnels are
    taken to go over IPv4. Goodput limits have efficiency 1.
    """
    if layer is Layer.GOODPUT:
        return 1.0
    around = FRAMING[layer] + sum(ENCAPSULATION[name] for name in encapsulations)
    if protocol == "udp" and datagram is not None:
        return _datagram_efficiency(datagram, mtu, around, family)
    return (mtu - IP[family] - TRANSPORT[protocol]) / (mtu + around)


def _datagram_efficiency(datagram: float, mtu: float, around: float, family: str) -> float:
    """One datagram with its UDP header, cut into IP packets; all but the last carry a multiple of 8
    B (RFC 791, RFC 8200).
    """
    inside = datagram + TRANSPORT["udp"]
    if inside <= mtu - IP[family]:
        return datagram / (inside + IP[family] + around)
    header = IP_OF_FRAGMENTS[family]
    packets = -(-inside // ((mtu - header) // 8 * 8))
    return datagram / (inside + packets * (header + around))
