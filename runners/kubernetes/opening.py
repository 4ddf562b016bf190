"""Reaching a cluster: the namespace, the lock, and the session."""

from __future__ import annotations

import contextlib

from ...engine.errors import RunFailed
from ...engine.spec import Site
from .api import Api
from .failures import Denied, Exists, NotThere
from .lease import Lease
from .names import GROUP, MANAGED_BY, RUN, Ownership, label_value
from .options import Options, read_options
from .session import KubernetesSession
from .shares import Place

NAMESPACES = "/api/v1/namespaces"


def connect(site: Site, run_id: str) -> KubernetesSession:
    """Reach the cluster and take the site's nodes for this run.

    Raises:
        RunFailed: there is no such context or namespace, or a right is missing.
        Unreachable: the API server does not answer.
        Locked: another run uses the nodes.
    """
    options = read_options(site)
    api = Api(options, f"site {site.name}")
    ownership = Ownership(run_id=run_id, site=site.name, extra=options.labels)
    _ensure_namespace(api, options, run_id)
    lease = Lease(api, options, ownership)
    lease.take()
    return KubernetesSession(Place(api=api, options=options, ownership=ownership), lease)


def _ensure_namespace(api: Api, options: Options, run_id: str) -> None:
    path = f"{NAMESPACES}/{options.namespace}"
    if options.create_namespace:
        labels = {**MANAGED_BY, RUN: label_value(run_id), "pod-security.kubernetes.io/warn": "restricted"}
        annotations = {f"{GROUP}/ttl": f"{options.ttl_s:g}"}
        metadata = {"name": options.namespace, "labels": labels, "annotations": annotations}
        with contextlib.suppress(Exists):
            api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        return
    try:
        api.get(path)
    except Denied:
        pass  # who may not look at namespaces may well work in one: the lease tells
    except NotThere as error:
        raise RunFailed(f"there is no namespace {options.namespace}", where=api.where,
                        remedy=f"make it (`kubectl create namespace {options.namespace}`), or say create_namespace: true") from error  # fmt: skip
