"""Networks over the hosts' own, by the very scripts of specs/testbed: VXLAN as flannel makes it,
and WireGuard.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .host import Host

SCRIPTS = Path(__file__).resolve().parents[2] / "specs" / "testbed"


def vxlan(hosts: Sequence[Host]) -> tuple[str, ...]:
    """Join the hosts by VXLAN, MTU 50 less than their links'; their addresses there."""
    for host in hosts:
        _run(host, "vxlan-up.sh", HOSTS=_names(hosts))
    return tuple(f"10.244.{n}.0" for n in range(1, len(hosts) + 1))


def wireguard(hosts: Sequence[Host]) -> tuple[str, ...]:
    """Join the hosts by WireGuard, MTU 80 less than their links'; their addresses there."""
    keys = " ".join(_run(host, "wireguard-key.sh").strip() for host in hosts)
    for host in hosts:
        _run(host, "wireguard-up.sh", HOSTS=_names(hosts), KEYS=keys)
    return tuple(f"10.77.0.{n}" for n in range(1, len(hosts) + 1))


def remove(hosts: Sequence[Host]) -> None:
    """Remove both."""
    for host in hosts:
        _run(host, "vxlan-down.sh")
        _run(host, "wireguard-down.sh")


def _names(hosts: Sequence[Host]) -> str:
    return " ".join(host.name for host in hosts)


def _run(host: Host, script: str, **variables: str) -> str:
    exports = "".join(f"export {name}='{value}'\n" for name, value in variables.items())
    return host.shell(exports + (SCRIPTS / script).read_text())
