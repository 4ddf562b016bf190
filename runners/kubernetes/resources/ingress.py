"""The way in through an ingress: its class, the object that asks for it, the address that a
controller gives it, and that requests arrive behind it.

Whoever runs the class answers on port 80 of that address and passes requests on to the Service. The
server listens on port 80 too, since programs are told one port. Format:
https://kubernetes.io/docs/concepts/services-networking/ingress/.
"""

from __future__ import annotations

import time

from ....engine.model.errors import RunFailed
from ...agent.scripts import here
from ..client.api import Api
from ..failures import Denied
from ..names import Object, Ownership
from ..pods import pod as pods
from ..pods.container import Container
from ..pods.manifests import Part

GROUP = "networking.k8s.io/v1"
CLASSES = f"/apis/{GROUP}/ingressclasses"
ADDRESS_S = 120.0
"""So long a controller may take to give an address: clouds make a load balancer."""

ROUTE_S = 300.0
"""So long a controller may take to pass requests on, once the server is there: clouds see first
whether it is healthy.
"""

_REQUESTS = 20
"""Asked in a row: controllers of several replicas do not all know the way at once, and health
checks are fewer.
"""

_NOWHERE = ("502", "503", "504")
"""What proxies answer that have no server behind them, or none yet."""

_DEFAULT = "ingressclass.kubernetes.io/is-default-class"
_RECEIVED = "cat /proc/net/snmp 2>/dev/null; exit 0"
"""Prints the kernel's counts of what the pod has received (proc_net_snmp): per protocol a line of
names and one of numbers.
"""


def see_class(api: Api, name: str | None) -> None:
    """See that somebody runs the class, or that there is a default one where none is named. Raises
    RunFailed.
    """
    try:
        known = {
            one["metadata"]["name"]: one["metadata"].get("annotations") or {}
            for one in api.items(CLASSES)
        }
    except Denied:
        return  # the missing address will tell
    told = ", ".join(sorted(known)) or "none"
    remedy = "install an ingress controller, and name its class as the runner's `ingress_class`"
    if name is not None and name not in known:
        raise RunFailed(
            f"there is no ingress class {name}; there are {told}", where=api.where, remedy=remedy
        )
    if name is None and not any(
        annotations.get(_DEFAULT) == "true" for annotations in known.values()
    ):
        raise RunFailed(
            f"no ingress class is named and none is the cluster's default; there are {told}",
            where=api.where,
            remedy=remedy,
        )


def manifest(
    ownership: Ownership, allocation_id: str, part: Part, class_name: str | None, owner: Object
) -> Object:
    """Every request to the address goes to the role's Service, whatever host it names."""
    backend = {"service": {"name": part.service, "port": {"number": part.port}}}
    return {
        "apiVersion": GROUP,
        "kind": "Ingress",
        "metadata": {
            "name": part.ingress,
            "labels": ownership.labels(allocation_id, part.role),
            "ownerReferences": [owner],
        },
        "spec": {
            **({"ingressClassName": class_name} if class_name else {}),
            "rules": [
                {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
            ],
        },
    }


def await_address(api: Api, name: str) -> str:
    """The IP address or host name at which the ingress is reached. Raises RunFailed when no
    controller gives one.
    """
    deadline, path = time.monotonic() + ADDRESS_S, api.namespaced("ingresses", name, GROUP)
    while True:
        found = api.get(path)
        for one in (found.get("status", {}).get("loadBalancer") or {}).get("ingress") or []:
            if address := one.get("ip") or one.get("hostname"):
                return str(address)
        if time.monotonic() > deadline:
            class_name, told = (
                found["spec"].get("ingressClassName") or "the default",
                pods.events(api, "Ingress", name),
            )
            message = (
                f"the ingress {name} of class {class_name} has no address after {ADDRESS_S:g} s"
                + (f": {told}" if told else "")
            )
            raise RunFailed(
                message,
                where=api.where,
                remedy="see whether a controller of that class runs, and says where it is reached",
            )
        time.sleep(0.5)


def await_route(client: Container, server: Container, host: str, port: int) -> None:
    """Wait until requests of ``client`` to the address arrive at ``server``. Raises RunFailed with
    what was seen instead.

    Controllers answer by themselves until they know the way, and may pass requests on to another
    Ingress of the class: what counts is what the kernel of the server's pod receives: segments, to
    which other traffic to the pod adds. A client without curl, bash and nc is not waited for.
    """
    deadline = time.monotonic() + ROUTE_S
    while (problem := _problem(client, server, host, port)) is not None:
        if time.monotonic() > deadline:
            remedy = (
                "see whether the controller knows the ingress, and whether another one of its class"
                " takes every host and path"
            )
            raise RunFailed(
                f"the ingress at {host} port {port} {problem} after {ROUTE_S:g} s",
                where=f"pod {client.pod}",
                remedy=remedy,
            )
        time.sleep(0.5)


def _problem(client: Container, server: Container, host: str, port: int) -> str | None:
    """Why requests do not arrive; None: they do, or nobody can tell. A server that asks itself
    receives answers, too: then the answers must do.
    """
    before = _received(server)
    asked = client.ask(here(__file__, "request"), (host, str(port), str(_REQUESTS)))
    said = asked.decode("utf-8", "replace").split()
    after = _received(server)
    arrived = None if client is server or before is None or after is None else after - before
    if said == ["toolless"]:
        return None
    if len(said) < _REQUESTS:
        return "answers no HTTP request"
    refused = [
        status for status in said if status in _NOWHERE or (status == "404" and arrived is None)
    ]
    if refused:
        return f"answers {refused[0]}"
    if arrived is not None and arrived < _REQUESTS:
        return f"answers {said[-1]}, but requests do not arrive at the server's pod"
    return None


def _received(server: Container) -> int | None:
    """How many TCP segments the pod has received; None: its kernel does not say."""
    lines = [
        line.split()
        for line in server.ask(_RECEIVED).decode("utf-8", "replace").splitlines()
        if line.startswith("Tcp:")
    ]
    return int(dict(zip(*lines, strict=False))["InSegs"]) if len(lines) == 2 else None
