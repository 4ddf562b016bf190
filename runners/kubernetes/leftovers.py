"""What a run left on a cluster, listed by label over every kind of object benchspec makes, and
removed after a second look at the label.
"""

from __future__ import annotations

import contextlib

from ...engine.model.contract.values import Leftover
from ...engine.model.errors import RunFailed, UsageError
from ...engine.model.spec import Site
from .client.api import Api
from .failures import Denied, Exists, NotThere
from .names import MANAGED_BY, RUN, SITE, Object, Ownership, label_value
from .options import read_options
from .pods.pod import REMOVAL_S
from .resources import ingress, namespace, volumes
from .resources.lease import COORDINATION
from .resources.role_objects import BATCH
from .steps import objects

KINDS = {
    "config map": (objects.OWNERS, ""),
    "job": ("jobs", BATCH),
    "pod": ("pods", ""),
    "service": ("services", ""),
    "ingress": ("ingresses", ingress.GROUP),
    "volume claim": ("persistentvolumeclaims", ""),
    "lease": ("leases", COORDINATION),
}
"""Kind of a leftover to its resource and group, owners of objects first; ``volume``, ``storage
class`` and ``namespace`` are not of the namespace.
"""

_OPTIONAL = ("ingress", "volume", "storage class")
"""Kinds whose rights a Role need not give."""


def find(site: Site, run_id: str) -> list[Leftover]:
    """Everything of ``run_id`` on the site."""
    api, ownership = _reach(site, run_id)
    left: list[Leftover] = []
    for kind in (*KINDS, "volume", "storage class"):
        try:
            found = (
                volumes.of_run(api, run_id)
                if kind == "volume"
                else api.items(_path(api, kind), labelSelector=_selector(ownership, kind))
            )
        except Denied:
            if kind not in _OPTIONAL:
                raise
            continue  # who may not list them has made none, or cannot tell
        left += [Leftover(kind=kind, name=one["metadata"]["name"]) for one in found]
    if namespace.find(api, run_id) is not None:
        left.append(Leftover(kind="namespace", name=api.namespace))
    return left


def remove(site: Site, leftover: Leftover) -> None:
    """Remove one object and wait until it is gone; harmless when it is.

    Raises:
        UsageError: it is nothing that benchspec made on this site.
        RunFailed: it stays.
    """
    api, _ = _reach(site, "")
    if leftover.kind not in (*KINDS, "volume", "storage class", "namespace"):
        raise UsageError(
            f"found leftover {leftover.kind} {leftover.name!r}, expected one of those this runner"
            " lists"
        )
    path = _path(api, leftover.kind, leftover.name)
    try:
        found = api.get(path)
    except NotThere:
        return
    if leftover.kind == "volume":
        _see_removed(api, found)
        return
    labels = found["metadata"].get("labels", {})
    if leftover.kind == "namespace" and leftover.name != api.namespace:
        raise UsageError(f"found namespace {leftover.name}, expected the site's, {api.namespace}")
    ours = all(labels.get(key) == value for key, value in MANAGED_BY.items()) and RUN in labels
    if not ours or labels.get(SITE, label_value(site.name)) != label_value(site.name):
        raise UsageError(
            f"found {leftover.kind} {leftover.name}, expected one that benchspec made for a run on"
            " this site"
        )
    if leftover.kind == "namespace":
        namespace.remove(api, found)
        return
    if (
        leftover.kind == "lease"
    ):  # another run may take it between the look and the removal; then it is no leftover any more
        with contextlib.suppress(NotThere, Exists):
            api.delete_unchanged(path, found)
        return
    if leftover.kind == "config map":
        objects.remove_owner(api, leftover.name)
    else:
        api.delete(path, grace_s=1 if leftover.kind == "pod" else None)
    if not api.await_gone(path, REMOVAL_S):
        raise RunFailed(
            f"{leftover.kind} {leftover.name} does not go away",
            where=api.where,
            remedy="see whether its node is Ready",
        )


def _see_removed(api: Api, volume: Object) -> None:
    """Its provisioner removes it, now that its claim is gone; we only wait. Raises RunFailed."""
    name = volume["metadata"]["name"]
    for one in volumes.await_removed(
        api, {name: volume["spec"].get("claimRef", {}).get("uid", "")}
    ):
        told = ", ".join(filter(None, (one["status"].get("phase"), one["status"].get("message"))))
        raise RunFailed(
            f"volume {name} was not removed by its provisioner: {told}",
            where=api.where,
            remedy=(
                f"see what it says of it: `kubectl describe persistentvolume {name}`, and its log"
            ),
        )


def _reach(site: Site, run_id: str) -> tuple[Api, Ownership]:
    options = read_options(site)
    return Api(options, f"site {site.name}"), Ownership(
        run_id=run_id, site=site.name, extra=options.labels
    )


def _path(api: Api, kind: str, name: str = "") -> str:
    if kind == "namespace":
        return f"{namespace.NAMESPACES}/{name}"
    if kind in ("volume", "storage class"):
        return f"{volumes.VOLUMES if kind == 'volume' else volumes.CLASSES}/{name}".rstrip("/")
    resource, group = KINDS[kind]
    return api.namespaced(resource, name, group)


def _selector(ownership: Ownership, kind: str) -> str:
    """A lease belongs to the run, whichever of its sites took it."""
    if kind != "lease":
        return ownership.selector()
    return ",".join(
        [
            *(f"{key}={value}" for key, value in MANAGED_BY.items()),
            f"{RUN}={label_value(ownership.run_id)}",
        ]
    )
