"""Volumes: the class a spec wants made, what the bound volume really is, and its removal, which is
its provisioner's when its claim is gone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from ....engine.model.contract.values import Demand
from ....engine.model.errors import RunFailed
from ....engine.model.results import Fact
from ....engine.model.units import Dimension, parse_quantity
from ..client.api import Api
from ..failures import Denied, Exists, Refused
from ..names import RUN, Object, Ownership
from ..pods import manifests

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
REMOVAL_S = 60.0
"""So long provisioners may take to remove volumes."""

_PAUSES_S = (0.1, 1.0)


def ensure_class(api: Api, ownership: Ownership, demand: Demand, needed: bool) -> None:
    """Make the storage class that the spec says is to be made, or see that the one it names is
    there.

    Raises:
        RunFailed: there is none of that name, or the one to be made is somebody else's.
    """
    if not needed:
        return
    if demand.storage.get("create") is not True:
        _see_class(api, str(demand.storage["class"]))
        return
    body = manifests.storage_class(ownership, demand)
    name = body["metadata"]["name"]
    try:
        api.create(CLASSES, body)
    except Exists:
        if (
            api.get(f"{CLASSES}/{name}")["metadata"].get("labels", {}).get(RUN)
            != body["metadata"]["labels"][RUN]
        ):
            raise RunFailed(
                f"the storage class {name} exists and is not this run's",
                where=api.where,
                remedy="leave out `create: true` to use it, or choose another name",
            ) from None


def _see_class(api: Api, name: str) -> None:
    try:
        known = [one["metadata"]["name"] for one in api.items(CLASSES)]
    except Denied:
        return  # the claim's events will tell
    if name not in known:
        raise RunFailed(
            f"there is no storage class {name}; there are {', '.join(sorted(known)) or 'none'}",
            where=api.where,
            remedy="correct `storage.class`, or say create: true with a provisioner",
        )


def observe(api: Api, claim_name: str) -> list[Fact]:
    """Class, provisioner, parameters, binding, mode, size and name of the volume that a claim got;
    None for what we may not read.
    """
    claim = api.get(api.namespaced("persistentvolumeclaims", claim_name))
    class_name, volume_name = claim["spec"].get("storageClassName"), claim["spec"].get("volumeName")
    made_by = _read(api, f"{CLASSES}/{class_name}")
    volume = _read(api, f"{VOLUMES}/{volume_name}")
    capacity = claim.get("status", {}).get("capacity", {}).get("storage")
    parameters = made_by.get("parameters")
    spec = volume.get("spec", {})
    driver = (spec.get("csi") or {}).get("driver") or next(
        (kind for kind in ("hostPath", "local", "nfs", "rbd") if kind in spec), None
    )
    values = {
        "storage.class": (class_name, "the bound claim's spec.storageClassName"),
        "storage.provisioner": (made_by.get("provisioner"), "the storage class's provisioner"),
        "storage.parameters": (
            None
            if not made_by
            else ", ".join(f"{key}={value}" for key, value in sorted((parameters or {}).items()))
            or "none",
            "the storage class's parameters",
        ),
        "storage.binding": (
            made_by.get("volumeBindingMode"),
            "the storage class's volumeBindingMode",
        ),
        "storage.mode": (claim["spec"].get("volumeMode"), "the bound claim's spec.volumeMode"),
        "storage.ephemeral": (
            any(one["kind"] == "Pod" for one in claim["metadata"].get("ownerReferences") or []),
            "the bound claim's owner",
        ),
        "storage.size": (_bytes(capacity), "the bound claim's status.capacity"),
        "storage.volume": (volume_name, "the bound claim's spec.volumeName"),
        "storage.driver": (driver, "the bound volume's source"),
    }
    return [
        Fact(name=name, value=value, source=source, unit="B" if name == "storage.size" else None)
        for name, (value, source) in values.items()
    ]


def claimed(api: Api, selector: str) -> dict[str, str]:
    """The volumes that claims of ``selector`` are bound to, with the claims' uids."""
    claims = api.items(api.namespaced("persistentvolumeclaims"), labelSelector=selector)
    return {
        name: one["metadata"]["uid"] for one in claims if (name := one["spec"].get("volumeName"))
    }


def of_run(api: Api, run_id: str) -> list[Object]:
    """The volumes that were made for claims of the run in the namespace, and are to go with them.
    Raises Denied.
    """
    end = f"-{manifests.volume_name(run_id)}"
    found = [(one, one["spec"].get("claimRef") or {}) for one in api.items(VOLUMES)]
    ours = [
        (one, of)
        for one, of in found
        if of.get("namespace") == api.namespace and of["name"].endswith(end)
    ]
    return [one for one, of in ours if _goes_with(one, of["uid"])]


def await_removed(api: Api, claims: Mapping[str, str]) -> list[Object]:
    """Wait until volumes, each given with the uid of its claim, are removed; return those that are
    not.

    One that is to be kept, or that we may not see, is none of them; one whose removal has failed is
    not waited for.
    """
    deadline, pause_s = time.monotonic() + REMOVAL_S, _PAUSES_S[0]
    while True:
        left = [
            found
            for name, uid in claims.items()
            if _goes_with(found := _read(api, f"{VOLUMES}/{name}"), uid)
        ]
        if (
            all(one["status"].get("phase") == "Failed" for one in left)
            or time.monotonic() > deadline
        ):
            return left
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, _PAUSES_S[1])


def _goes_with(volume: Object, claim_uid: str) -> bool:
    spec = volume.get("spec", {})
    return (spec.get("claimRef") or {}).get("uid") == claim_uid and spec.get(
        "persistentVolumeReclaimPolicy"
    ) == "Delete"


def _read(api: Api, path: str) -> Object:
    try:
        return api.get(path)
    except Refused:
        return {}


def _bytes(text: str | None) -> float | None:
    """A size as Kubernetes writes it: digits and a suffix such as Gi or G."""
    if text is None:
        return None
    return parse_quantity(f"{text}B" if not text.isdigit() else f"{text} B", Dimension.BYTES)
