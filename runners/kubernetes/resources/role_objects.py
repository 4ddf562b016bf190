"""What one role of an allocation gets on a cluster: a Job with its pod, a volume and a Service
where it needs them; made, found out, removed.
"""

from __future__ import annotations

import ipaddress
import math
import secrets
import shlex
import time
from dataclasses import dataclass, field

from ....engine.model.contract.values import Demand
from ....engine.model.errors import RunFailed
from ....engine.model.spec import TrafficPath
from ...agent.clock import Clock, Reading, Stamp
from ..client.api import Api
from ..failures import Denied, Exists, NotThere
from ..names import GROUP, Object, Ownership
from ..options import Options
from ..pods import manifests
from ..pods import pod as pods
from ..pods.container import Container
from ..pods.manifests import Part
from . import ingress, volumes

BATCH = "batch/v1"
_ROUNDS = 3
_NOW = """now=$(date +%s.%N)
case $now in
  *N) now=$(adjtimex 2>/dev/null | awk '
    $1 == "status:" { nano = int($2 / 8192) % 2 }
    $1 == "time.tv_sec:" { s = $2 }
    $1 == "time.tv_usec:" { f = $2 }
    END { printf "%d.%09d", s, nano ? f : f * 1000 }') ;;
esac
echo "$now"
"""
"""The clock with its fraction, also where `date` knows seconds only, as Debian's busybox does: the
kernel tells it (status 0x2000: in ns), https://man7.org/linux/man-pages/man2/adjtimex.2.html.
"""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where things are made and for whom."""

    api: Api
    options: Options
    ownership: Ownership
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    """The session's."""
    digests: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What each image that was seen on this cluster is: its digest, and the node it was seen on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one role got. ``offset_s``: by how much its node's clock is ahead of the controller's,
    known to ``bound_s``; ``boot_s``: when that node was started, by the controller's.
    """

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
    boot_s: float

    def uptime(self, moment: float | None) -> int:
        """The node's uptime (1/100 s) at ``moment`` (Unix s by the controller's clock); 0 for
        none.
        """
        return 0 if moment is None else math.ceil((moment - self.boot_s) * 100)


def make(place: Place, allocation_id: str, part: Part, demand: Demand) -> Object | None:
    """Create what a role needs, or find it; return its Service."""
    api, ownership = place.api, place.ownership
    claims = api.namespaced("persistentvolumeclaims")
    claimed = part.volume and not part.ephemeral
    # first: the scheduler gives up on a pod whose claim is not there yet, and comes back to it late
    if claimed:
        _create(api, claims, manifests.claim(ownership, allocation_id, part, demand))
    made = _create(
        api,
        api.namespaced("jobs", group=BATCH),
        manifests.job(place.options, ownership, allocation_id, part, demand),
    )
    owner = manifests.owner({"apiVersion": BATCH, "kind": "Job", **made})
    if claimed:
        api.patch(f"{claims}/{part.claim}", {"metadata": {"ownerReferences": [owner]}})
    if not part.service:
        return None
    service = _create(
        api,
        api.namespaced("services"),
        manifests.service(ownership, allocation_id, part, demand, owner),
    )
    if part.ingress:
        wanted = ingress.manifest(
            ownership, allocation_id, part, place.options.ingress_class, owner
        )
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
            pods.await_gone(
                api, path, f"{GROUP}/allocation={body['metadata']['labels'][f'{GROUP}/allocation']}"
            )
    raise RunFailed(
        f"{body['kind']} {body['metadata']['name']} comes and goes",
        where=api.where,
        remedy="see who else removes what benchspec makes",
    )


def _sidecars(status: Object) -> str | None:
    found = [
        one for one in status.get("initContainerStatuses") or [] if one["name"] != manifests.BRINGER
    ]
    return (
        "; ".join(f"{one['name']} {one['image']} {one.get('imageID', '')}".strip() for one in found)
        or None
    )


def to_share(
    place: Place,
    part: Part,
    pod: Object,
    service: Object | None,
    demand: Demand,
    cpus: tuple[int, ...],
) -> Share:
    """What a role got with its running pod and its Service. Raises PodLost, RunFailed."""
    container = Container.of(place.api, pod)
    status = pod["status"]
    address = status["podIP"]
    host = address
    if part.ingress:
        host = ingress.await_address(place.api, part.ingress)
    elif service is not None:
        host = (
            status["hostIP"]
            if demand.path is TrafficPath.NODE_PORT
            else service["spec"]["clusterIP"]
        )
    clock, path = _greet(container, part)
    offset_s, bound_s = _offset(clock)
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
        boot_s=clock.boot.value_s,
    )


def _greet(container: Container, part: Part) -> tuple[Clock, str]:
    """The node's clock against ours, and the image's PATH."""
    directories = shlex.join((manifests.JOBS, part.workdir))
    paths = [_PATH]

    def ask() -> Reading:
        asked_at = time.time()
        said = container.ask(
            f'{_NOW}read -r u _ </proc/uptime; echo ${{u%.*}}${{u#*.}}; echo "$PATH"; mkdir -p'
            f" {directories}"
        )
        heard_at = time.time()
        wall, uptime, path, *_ = [*said.decode("utf-8", "replace").split("\n"), "", "", ""]
        paths.append(path or _PATH)
        stamp = Stamp.parse(wall, uptime) or Stamp(wall_s=None, uptime_s=0.0)
        return Reading(asked_at=asked_at, heard_at=heard_at, stamp=stamp)

    clock = Clock.measure(ask, questions=2)
    return clock, paths[-1]


def _offset(clock: Clock) -> tuple[float, float]:
    """By how much the node's clock is ahead, 0 where both agree within what can be measured; and
    that.
    """
    if clock.offset is None:
        return 0.0, math.inf
    offset_s, bound_s = clock.offset.value_s, clock.offset.bound_s
    return (offset_s if abs(offset_s) > bound_s else 0.0), bound_s


def _hex(address: str) -> tuple[str, ...]:
    """An address as /proc/net/tcp has it: 32-bit words in the order of a little-endian machine."""
    packed = ipaddress.ip_address(address).packed
    return ("".join(packed[i : i + 4][::-1].hex().upper() for i in range(0, len(packed), 4)),)


def remove(place: Place, selector: str) -> None:
    """Remove Jobs, pods, Services, Ingresses and volume claims of ``selector``, and see by listing
    each kind that they are gone.

    Provisioners remove the volumes then, and may erase them for a while on the very disk that is
    measured next: that is waited for. One that stays is no error; leftovers.py finds it.
    """
    api = place.api
    bound = volumes.claimed(api, selector)
    paths = [
        api.namespaced("jobs", group=BATCH),
        api.namespaced("services"),
        api.namespaced("persistentvolumeclaims"),
        api.namespaced("pods"),
    ]
    if _may_list(api, ingresses := api.namespaced("ingresses", group=ingress.GROUP)):
        paths.insert(0, ingresses)
    for path in paths:
        for found in api.items(path, labelSelector=selector):
            api.delete(
                f"{path}/{found['metadata']['name']}", grace_s=1 if path is paths[-1] else None
            )
    for path in reversed(paths):
        pods.await_gone(api, path, selector)
    volumes.await_removed(api, bound)


def _may_list(api: Api, path: str) -> bool:
    """Who may not list Ingresses, by a Role that was printed before there were any, has made
    none.
    """
    try:
        api.items(path, limit=1)
    except Denied:
        return False
    return True
