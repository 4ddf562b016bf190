"""What one role of an allocation gets on a cluster: a Job with its pod, a volume and a Service where it needs them; made, found out, removed."""

from __future__ import annotations

import ipaddress
import time
from dataclasses import dataclass

from ...engine.errors import RunFailed
from ...engine.ports import Demand
from ...engine.spec import TrafficPath
from . import ingress, manifests, pods, volumes
from .api import Api
from .container import Container
from .failures import Denied, Exists, NotThere
from .manifests import Part
from .names import GROUP, Object, Ownership
from .options import Options

BATCH = "batch/v1"
_ROUNDS = 3
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where things are made and for whom."""

    api: Api
    options: Options
    ownership: Ownership


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one role got. ``offset_s``: by how much its node's clock is ahead of the controller's, known to ``bound_s``."""

    part: Part
    container: Container
    node: str
    host: str
    digest: str | None
    sidecars: str | None
    address: str
    addresses: tuple[str, ...]
    cpus: tuple[int, ...]
    path: str
    offset_s: float
    bound_s: float


def make(place: Place, allocation_id: str, part: Part, demand: Demand) -> Object | None:
    """Create what a role needs, or find it; return its Service."""
    api, ownership = place.api, place.ownership
    claims = api.namespaced("persistentvolumeclaims")
    claimed = part.volume and not part.ephemeral
    if claimed:  # first: the scheduler gives up on a pod whose claim is not there yet, and comes back to it late
        _create(api, claims, manifests.claim(ownership, allocation_id, part, demand))
    made = _create(api, api.namespaced("jobs", group=BATCH), manifests.job(place.options, ownership, allocation_id, part, demand))
    owner = manifests.owner({"apiVersion": BATCH, "kind": "Job", **made})
    if claimed:
        api.patch(f"{claims}/{part.claim}", {"metadata": {"ownerReferences": [owner]}})
    if not part.service:
        return None
    service = _create(api, api.namespaced("services"), manifests.service(ownership, allocation_id, part, demand, owner))
    if part.ingress:
        wanted = ingress.manifest(ownership, allocation_id, part, place.options.ingress_class, owner)
        _create(api, api.namespaced("ingresses", group=ingress.GROUP), wanted)
    return service


def _create(api: Api, path: str, body: Object) -> Object:
    """Create an object; one of that name is ours from before, unless it is on its way out."""
    for _ in range(_ROUNDS):
        try:
            return api.create(path, body)
        except Exists:
            try:
                found = api.get(f"{path}/{body['metadata']['name']}")
            except NotThere:
                continue
            if not found["metadata"].get("deletionTimestamp"):
                return found
            pods.await_gone(api, path, f"{GROUP}/allocation={body['metadata']['labels'][f'{GROUP}/allocation']}")
    raise RunFailed(f"{body['kind']} {body['metadata']['name']} comes and goes", where=api.where, remedy="see who else removes what benchspec makes")


def _sidecars(status: Object) -> str | None:
    found = status.get("initContainerStatuses") or []
    return "; ".join(f"{one['name']} {one['image']} {one.get('imageID', '')}".strip() for one in found) or None


def to_share(place: Place, part: Part, pod: Object, service: Object | None, demand: Demand, cpus: tuple[int, ...]) -> Share:
    """What a role got with its running pod and its Service. Raises PodLost, RunFailed."""
    container = Container(api=place.api, pod=pod["metadata"]["name"])
    status = pod["status"]
    address = status["podIP"]
    host = address
    if part.ingress:
        host = ingress.await_address(place.api, part.ingress)
    elif service is not None:
        host = status["hostIP"] if demand.path is TrafficPath.NODE_PORT else service["spec"]["clusterIP"]
    offset_s, bound_s, path = _greet(container, part)
    return Share(
        part=part,
        container=container,
        node=pod["spec"]["nodeName"],
        host=host,
        digest=status["containerStatuses"][0].get("imageID") or None,
        sidecars=_sidecars(status),
        address=address,
        addresses=_hex(address),
        cpus=cpus,
        path=path,
        offset_s=offset_s,
        bound_s=bound_s,
    )


def _greet(container: Container, part: Part) -> tuple[float, float, str]:
    """The node's clock against ours (0 where they agree within what can be measured), and the image's PATH."""
    best = (0.0, float("inf"))
    path = _PATH
    for _ in range(2):
        before = time.time()
        said = container.ask(f'date +%s.%N; mkdir -p {manifests.JOBS} {part.workdir}; echo "$PATH"').decode("utf-8", "replace").split("\n")
        after = time.time()
        bound_s = (after - before) / 2
        if bound_s < best[1] and said[0].replace(".", "", 1).isdigit():
            best = (float(said[0]) - (before + after) / 2, bound_s)
        path = said[1] or _PATH
    offset_s, bound_s = best
    return (offset_s if abs(offset_s) > bound_s else 0.0), bound_s, path


def _hex(address: str) -> tuple[str, ...]:
    """An address as /proc/net/tcp has it: 32-bit words in the order of a little-endian machine."""
    packed = ipaddress.ip_address(address).packed
    return ("".join(packed[i : i + 4][::-1].hex().upper() for i in range(0, len(packed), 4)),)


def remove(place: Place, selector: str) -> None:
    """Remove Jobs, pods, Services, Ingresses and volume claims of ``selector``, and see by listing each kind that they are gone.

    Provisioners remove the volumes then, and may erase them for a while on the very disk that is measured next: that is waited for. One that stays is
    no error; leftovers.py finds it.
    """
    api = place.api
    bound = volumes.claimed(api, selector)
    paths = [api.namespaced("jobs", group=BATCH), api.namespaced("services"), api.namespaced("persistentvolumeclaims"), api.namespaced("pods")]
    if _may_list(api, ingresses := api.namespaced("ingresses", group=ingress.GROUP)):
        paths.insert(0, ingresses)
    for path in paths:
        for found in api.items(path, labelSelector=selector):
            api.delete(f"{path}/{found['metadata']['name']}", grace_s=1 if path is paths[-1] else None)
    for path in reversed(paths):
        pods.await_gone(api, path, selector)
    volumes.await_removed(api, bound)


def _may_list(api: Api, path: str) -> bool:
    """Who may not list Ingresses, by a Role that was printed before there were any, has made none."""
    try:
        api.items(path, limit=1)
    except Denied:
        return False
    return True
