"""The namespace of a site: seen to be there, or made for the run and removed with it, unless
somebody has put something into it by then.
"""

from __future__ import annotations

import contextlib

from ....engine.model.errors import RunFailed
from ..client.api import Api
from ..failures import Denied, Exists, NotThere
from ..names import GROUP, MANAGED_BY, RUN, Object, label_value
from ..options import Options
from ..pods.pod import REMOVAL_S
from .lease import COORDINATION

NAMESPACES = "/api/v1/namespaces"
_ALWAYS_THERE = "kube-root-ca.crt"
_LOOKED_FOR = (
    ("pods", ""),
    ("persistentvolumeclaims", ""),
    ("services", ""),
    ("configmaps", ""),
    ("leases", COORDINATION),
    ("secrets", ""),
    ("deployments", "apps/v1"),
    ("statefulsets", "apps/v1"),
    ("daemonsets", "apps/v1"),
    ("jobs", "batch/v1"),
    ("cronjobs", "batch/v1"),
    ("ingresses", "networking.k8s.io/v1"),
)
_MADE_BY_THE_CLUSTER = frozenset({"kubernetes.io/service-account-token", "kubernetes.io/dockercfg"})
"""Types of Secrets that a namespace gets by itself, in older clusters and in OpenShift."""


def ensure(api: Api, options: Options, run_id: str) -> None:
    """Make the namespace where the site says so, else see that it is there. Raises RunFailed."""
    if options.create_namespace:
        labels = {
            **MANAGED_BY,
            RUN: label_value(run_id),
            "pod-security.kubernetes.io/warn": "restricted",
        }
        annotations = {f"{GROUP}/ttl": f"{options.ttl_s:g}"}
        metadata = {"name": options.namespace, "labels": labels, "annotations": annotations}
        wanted: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        try:
            api.create(NAMESPACES, wanted)
        except Exists:
            # one that is about to go, of a run before or of this one before it was interrupted,
            # cannot be used
            if _is_going(api):
                _await_gone(api)
                with contextlib.suppress(Exists):
                    api.create(NAMESPACES, wanted)
        return
    try:
        api.get(f"{NAMESPACES}/{options.namespace}")
    except Denied:
        pass  # who may not look at namespaces may well work in one: the lease tells
    except NotThere as error:
        raise RunFailed(
            f"there is no namespace {options.namespace}",
            where=api.where,
            remedy=(
                f"make it (`kubectl create namespace {options.namespace}`), or say"
                " create_namespace: true"
            ),
        ) from error


def find(api: Api, run_id: str) -> Object | None:
    """The namespace, if this run made it and it is there."""
    with contextlib.suppress(NotThere, Denied):
        found = api.get(f"{NAMESPACES}/{api.namespace}")
        wanted = {**MANAGED_BY, RUN: label_value(run_id)}
        if wanted.items() <= found["metadata"].get("labels", {}).items():
            return found
    return None


def contents(api: Api) -> list[str]:
    """What is in the namespace of the kinds that people and runs put into one. Raises RunFailed:
    who may not see that cannot call it empty.
    """
    found = [
        (kind, one)
        for kind, group in _LOOKED_FOR
        for one in api.items(api.namespaced(kind, group=group))
    ]
    others = [
        (kind, one)
        for kind, one in found
        if one["metadata"]["name"] != _ALWAYS_THERE and one.get("type") not in _MADE_BY_THE_CLUSTER
    ]
    return [f"{kind}/{one['metadata']['name']}" for kind, one in others]


def remove(api: Api, found: Object) -> None:
    """Remove the namespace that was ``found`` and wait until it is gone; never one that somebody
    has made anew under its name.

    Raises:
        RunFailed: something is in it, it was changed since it was found, or it stays.
    """
    if held := contents(api):
        raise RunFailed(
            f"namespace {api.namespace} is not empty: {', '.join(held[:5])}",
            where=api.where,
            remedy="remove it by hand, or what is in it",
        )
    uid = found["metadata"]["uid"]
    try:
        api.delete_unchanged(f"{NAMESPACES}/{api.namespace}", found)
    except NotThere:
        return
    except Exists as error:
        if not _is_going(api, uid):
            raise RunFailed(
                f"namespace {api.namespace} was changed while it was to be removed",
                where=api.where,
                remedy="see who else uses it, and try again: benchspec clean",
            ) from error
    _await_gone(api, uid)


def _is_going(api: Api, uid: str | None = None) -> bool:
    """Whether it, or the one with that ``uid``, is being removed, or just has been."""
    try:
        metadata = api.get(f"{NAMESPACES}/{api.namespace}")["metadata"]
        return "deletionTimestamp" in metadata or uid not in (None, metadata["uid"])
    except NotThere:
        return True
    except Denied:
        return False


def _await_gone(api: Api, uid: str | None = None) -> None:
    if not api.await_gone(f"{NAMESPACES}/{api.namespace}", REMOVAL_S, uid):
        raise RunFailed(
            f"namespace {api.namespace} does not go away",
            where=api.where,
            remedy="see its status: something in it has a finalizer",
        )
