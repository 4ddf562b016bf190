"""The command: ``python -m tests.hosts up 4``, ``list``, ``status``, ``shell``, ``down``."""

from __future__ import annotations

import argparse
import os
import sys
import time

from . import tunnels
from .bed import DEFAULT_NAME, Bed, down, load, names, up
from .parts import BedError, marked


def main() -> int:
    """Do what the arguments say; the exit code."""
    arguments = _parser().parse_args()
    try:
        return int(arguments.do(arguments) or 0)
    except BedError as error:
        print(f"tests.hosts: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hosts",
        description="Hosts with sshd in network namespaces of this machine, for tests.",
    )
    verbs = parser.add_subparsers(required=True)
    make = verbs.add_parser("up", help="make a bed")
    make.add_argument("count", type=int, help="how many hosts")
    make.add_argument("--name", default=DEFAULT_NAME)
    make.add_argument(
        "--hidden",
        type=int,
        default=0,
        metavar="N",
        help="how many of the last hosts only host1 reaches",
    )
    make.add_argument(
        "--rate",
        default="50mbit",
        help=(
            "speed of every link in both directions, such as 1gbit, or unlimited (default:"
            " %(default)s)"
        ),
    )
    make.add_argument("--mtu", type=int, default=1500)
    make.add_argument(
        "--vxlan",
        action="store_true",
        help="join the hosts that are not hidden by VXLAN: 10.244.N.0",
    )
    make.add_argument("--wireguard", action="store_true", help="join them by WireGuard: 10.77.0.N")
    make.add_argument("--disk", default="4g", help="size of each host's file system, in memory")
    make.set_defaults(do=_up)
    for verb, function, text in (
        ("status", _status, "show a bed"),
        ("down", _down, "remove a bed"),
    ):
        one = verbs.add_parser(verb, help=text)
        one.add_argument("name", nargs="?", default=DEFAULT_NAME)
        one.set_defaults(do=function)
    one.add_argument("--all", action="store_true", help="remove every bed")
    verbs.add_parser("list", help="list the beds").set_defaults(do=_list)
    shell = verbs.add_parser(
        "shell", help="run a shell or a command in a host, as root and without SSH"
    )
    shell.add_argument("host", help="such as host2")
    shell.add_argument("command", nargs=argparse.REMAINDER)
    shell.add_argument("--name", default=DEFAULT_NAME)
    shell.set_defaults(do=_shell)
    return parser


def _up(arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    options = {key: getattr(arguments, key) for key in ("name", "hidden", "rate", "mtu", "disk")}
    options["rate"] = None if arguments.rate == "unlimited" else arguments.rate
    bed = up(arguments.count, **options)
    joined = [host for host in bed.hosts if host.jump is None]
    for name, join in (("vxlan", tunnels.vxlan), ("wireguard", tunnels.wireguard)):
        if getattr(arguments, name):
            print(f"{name}: {', '.join(join(joined))}")
    _show(bed)
    print(f"up in {time.monotonic() - started:.1f} s; try: ssh -F {bed.ssh_config} host1")


def _status(arguments: argparse.Namespace) -> None:
    _show(load(arguments.name))


def _show(bed: Bed) -> None:
    print(f"bed {bed.name}: {bed.ssh_config}, link {bed.rate or 'unlimited'}, MTU {bed.mtu}")
    for host in bed.hosts:
        print(
            f"{host.name}\t{host.address}\t{host.address6}\tpid {host.pid}"
            + (f"\tbehind {host.jump}" if host.jump else "")
        )


def _list(_: argparse.Namespace) -> None:
    for name in names():
        print(f"{name}\t{len(marked(name))} processes hold it")


def _down(arguments: argparse.Namespace) -> None:
    for name in names() if arguments.all else [arguments.name]:
        down(name)


def _shell(arguments: argparse.Namespace) -> None:
    host = load(arguments.name).host(arguments.host)
    os.execvp(
        "nsenter", ["nsenter", "-t", str(host.pid), "-a", *(arguments.command or ["/bin/sh"])]
    )


if __name__ == "__main__":
    sys.exit(main())
