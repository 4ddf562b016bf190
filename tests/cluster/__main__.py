"""The test bed by hand: ``python -m tests.cluster up``, then ``export KUBECONFIG=$(python -m
tests.cluster kubeconfig)``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from . import binaries, cluster


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster",
        description="Real Kubernetes clusters on this machine, for tests.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, told in (
        ("up", "start a cluster"),
        ("down", "stop it and remove it"),
        ("status", "its processes"),
        ("kubeconfig", "print the path of the administrator's kubeconfig"),
        ("kubectl", "run kubectl in it"),
        ("node", "run a program on a node"),
        ("fault", "let something go wrong"),
        ("build", "make programs and images"),
    ):
        added = verbs.add_parser(verb, help=told)
        if verb != "build":
            added.add_argument("--name", default="bench", help="the cluster's name (bench)")
        if verb == "up":
            added.add_argument("--nodes", type=int, default=2)
            added.add_argument(
                "--overlay",
                choices=["routes", "vxlan"],
                default="routes",
                help="how pods reach other nodes",
            )
            added.add_argument(
                "--pod-mtu", type=int, default=0, help="in B (1500, over VXLAN 1450)"
            )
            added.add_argument("--proxy-mode", choices=["nftables", "iptables"], default="nftables")
        if verb == "fault":
            kinds = "; ".join(f"{kind}: {told}" for kind, told in cluster.FAULTS.items())
            added.add_argument("kind", choices=list(cluster.FAULTS), metavar="KIND", help=kinds)
            added.add_argument("--node", type=int, default=0, help="the node's number, from 1")
            added.add_argument("--what", default="", help="the daemon, or NAMESPACE/POD")
        if verb == "node":
            added.add_argument("number", type=int)
        if verb in ("kubectl", "node"):
            added.add_argument("argv", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main() -> int:
    """Run one verb; the exit code."""
    told = _arguments()
    if told.verb == "build":
        print(binaries.directory())
        return 0
    if told.verb == "up":
        began = time.monotonic()
        mtu = told.pod_mtu or (1450 if told.overlay == "vxlan" else 1500)
        made = cluster.make(
            told.name,
            nodes=told.nodes,
            overlay=told.overlay,
            pod_mtu=mtu,
            proxy_mode=told.proxy_mode,
        )
        print(
            f"cluster {told.name} is up after {time.monotonic() - began:.1f} s\nexport"
            f" KUBECONFIG={made.kubeconfig} PATH={made.tools}:$PATH"
        )
        return 0
    found = cluster.find(told.name)
    if found is None:
        print(f"there is no cluster {told.name}", file=sys.stderr)
        return 0 if told.verb == "down" else 1
    try:
        return _carry_out(found, told)
    except (
        RuntimeError,
        TimeoutError,
        ValueError,
        KeyError,
        subprocess.CalledProcessError,
    ) as error:
        print(f"{told.verb}: {error}", file=sys.stderr)
        return 1


def _carry_out(found: cluster.Cluster, told: argparse.Namespace) -> int:
    match told.verb:
        case "down":
            found.stop()
        case "status":
            for name, pid in found.status().items():
                print(name, pid or "ended")
        case "kubeconfig":
            print(found.kubeconfig)
        case "kubectl":
            print(found.kubectl(*told.argv), end="")
        case "node":
            print(found.nodes[told.number].run(*told.argv), end="")
        case "fault":
            found.fault(told.kind, told.node, told.what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
