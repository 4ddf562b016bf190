"""What the objects of a step's manifest may do on a cluster, found without asking the cluster.

Field names: https://kubernetes.io/docs/reference/kubernetes-api/. What is not understood is asked
for as a whole: a list of dangers that misses one must not look like a clean bill.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import yaml

from ..model.spec import Json
from .model import Capability, Kind, capability

MOST_BYTES = 1 << 20
_FLAGS = ("privileged", "hostNetwork", "hostPID", "hostIPC", "allowPrivilegeEscalation")
_MOUNTS = {
    "hostPath": "a path of the node",
    "secretName": "a Secret",
    "secretKeyRef": "a Secret",
    "secretRef": "a Secret",
}
_GRANTS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_OF_CLUSTER = (
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "APIService",
    "StorageClass",
    "PriorityClass",
    "Namespace",
)


def rights_of(data: bytes, where: str) -> Iterator[Capability]:
    """The rights, Secrets and images in the manifest ``data``."""
    if len(data) > MOST_BYTES:
        yield capability(Kind.UNKNOWN, "a manifest too large to be looked through", where, data)
        return
    try:
        documents = list(yaml.safe_load_all(data))
        found = [one for document in documents for one in _of_object(document, where)]
    except (yaml.YAMLError, ValueError, RecursionError):
        yield capability(Kind.UNKNOWN, "a manifest that cannot be read", where, data)
        return
    yield from found


def _of_object(document: Json, where: str) -> Iterator[Capability]:
    if not isinstance(document, Mapping):
        return
    kind = str(document.get("kind"))
    if kind == "List":
        items = document.get("items")
        for item in items if isinstance(items, list) else ():
            yield from _of_object(item, where)
        return
    if kind in _GRANTS:
        yield capability(Kind.RIGHTS, f"{kind}: {_brief(document)}", where)
    elif kind in _OF_CLUSTER:
        yield capability(Kind.RIGHTS, f"{kind} of the whole cluster: {_name(document)}", where)
    elif kind == "Secret":
        yield capability(Kind.SECRETS, f"a Secret is made: {_name(document)}", where)
    yield from _within(document, f"{kind} {_name(document)}", where)


def _within(value: Json, whose: str, where: str) -> Iterator[Capability]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in _FLAGS and item is True:
                yield capability(Kind.RIGHTS, f"{whose}: {key}", where)
            elif key in _MOUNTS and item:
                kind = Kind.RIGHTS if key == "hostPath" else Kind.SECRETS
                yield capability(kind, f"{whose}: {_MOUNTS[key]}: {_brief(item)}", where)
            elif key == "add" and isinstance(item, list):
                yield capability(Kind.RIGHTS, f"{whose}: capabilities {_brief(item)}", where)
            elif key == "image" and isinstance(item, str):
                yield capability(Kind.IMAGES, item, where)
            yield from _within(item, whose, where)
    elif isinstance(value, list):
        for item in value:
            yield from _within(item, whose, where)


def _name(document: Mapping[str, Json]) -> str:
    about = document.get("metadata")
    return str(about.get("name")) if isinstance(about, Mapping) else ""


def _brief(value: object) -> str:
    shown = json.dumps(value, default=str)
    return shown if len(shown) <= 200 else f"{shown[:197]}..."
