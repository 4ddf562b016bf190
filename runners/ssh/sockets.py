"""Who listens on a host, read from the kernel's tables: a probing connection would be the server's first client, and iperf3 closes its socket for a
moment after such a one. Format: proc_net_tcp in the kernel's documentation.
"""

from __future__ import annotations

import ipaddress

from .family import FAMILY_SCRIPT

LISTENS_SCRIPT = r"""
# does somebody listen on port $1 (4 hexadecimal digits) at one of the addresses $2 (as the tables show them, or "any")?
listens() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$1" -v wanted=" $2 " '
        $4 == "0A" && split($2, part, ":") == 2 && part[2] == port && (wanted == " any " || index(wanted, " " part[1] " ")) { found = 1 }
        END { exit !found }'
}
"""

# $1 port, $2 addresses, $3 how long to wait (1/100 s), $4 jobs, $5 job of the server. Says: listening, deaf, or ended
AWAIT_SCRIPT = (
    FAMILY_SCRIPT
    + LISTENS_SCRIPT
    + r"""
uptime_now
late=$((now + $3))
until listens "$1" "$2"; do
    [ ! -s "$4/$5/rc" ] || { echo ended; exit 0; }
    uptime_now
    [ "$now" -lt "$late" ] || { echo deaf; exit 0; }
    nap 0.02
done
echo listening
"""
)


def hex_port(port: int) -> str:
    """A port as the tables show it."""
    return f"{port:04X}"


def hex_addresses(host: str) -> str:
    """What the tables may show for a listener that ``host`` reaches: its own address and the wildcards; "any" for a name."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return "any"
    everywhere = [_words(ipaddress.ip_address("::"))]
    if isinstance(address, ipaddress.IPv4Address):
        everywhere += [_words(ipaddress.ip_address("0.0.0.0")), _words(ipaddress.ip_address(f"::ffff:{address}"))]
    return " ".join((*everywhere, _words(address)))


def _words(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    # the kernel prints 32-bit words in the host's order (little-endian on every machine this runner knows)
    packed = address.packed
    return b"".join(packed[i : i + 4][::-1] for i in range(0, len(packed), 4)).hex().upper()
