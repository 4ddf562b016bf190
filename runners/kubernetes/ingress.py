"""The way in through an ingress: its class, the object that asks for it, and the address that a controller gives it.

Whoever runs the class answers on port 80 of that address and passes requests on to the Service. The server listens on port 80 too, since programs are
told one port. Format: https://kubernetes.io/docs/concepts/services-networking/ingress/.
"""

from __future__ import annotations

import time

from ...engine.errors import RunFailed
from . import pods
from .api import Api
from .failures import Denied
from .manifests import Part
from .names import Object, Ownership

GROUP = "networking.k8s.io/v1"
CLASSES = f"/apis/{GROUP}/ingressclasses"
ADDRESS_S = 120.0
"""So long a controller may take to give an address: clouds make a load balancer."""

_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


def see_class(api: Api, name: str | None) -> None:
    """See that somebody runs the class, or that there is a default one where none is named. Raises RunFailed."""
    try:
        known = {one["metadata"]["name"]: one["metadata"].get("annotations") or {} for one in api.items(CLASSES)}
    except Denied:
        return  # the missing address will tell
    told = ", ".join(sorted(known)) or "none"
    remedy = "install an ingress controller, and name its class as the runner's `ingress_class`"
    if name is not None and name not in known:
        raise RunFailed(f"there is no ingress class {name}; there are {told}", where=api.where, remedy=remedy)
    if name is None and not any(annotations.get(_DEFAULT) == "true" for annotations in known.values()):
        raise RunFailed(f"no ingress class is named and none is the cluster's default; there are {told}", where=api.where, remedy=remedy)


def manifest(ownership: Ownership, allocation_id: str, part: Part, class_name: str | None, owner: Object) -> Object:
    """Every request to the address goes to the role's Service, whatever host it names."""
    backend = {"service": {"name": part.service, "port": {"number": part.port}}}
    return {
        "apiVersion": GROUP,
        "kind": "Ingress",
        "metadata": {"name": part.ingress, "labels": ownership.labels(allocation_id, part.role), "ownerReferences": [owner]},
        "spec": {
            **({"ingressClassName": class_name} if class_name else {}),
            "rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        },
    }


def await_address(api: Api, name: str) -> str:
    """The IP address or host name at which the ingress is reached. Raises RunFailed when no controller gives one."""
    deadline, path = time.monotonic() + ADDRESS_S, api.namespaced("ingresses", name, GROUP)
    while True:
        found = api.get(path)
        for one in (found.get("status", {}).get("loadBalancer") or {}).get("ingress") or []:
            if address := one.get("ip") or one.get("hostname"):
                return str(address)
        if time.monotonic() > deadline:
            class_name, told = found["spec"].get("ingressClassName") or "the default", pods.events(api, "Ingress", name)
            message = f"the ingress {name} of class {class_name} has no address after {ADDRESS_S:g} s" + (f": {told}" if told else "")
            raise RunFailed(message, where=api.where, remedy="see whether a controller of that class runs, and says where it is reached")
        time.sleep(0.5)
