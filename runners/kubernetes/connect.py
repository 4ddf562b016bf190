"""Reaching a cluster: the namespace, the lock, and the session."""

from __future__ import annotations

from ...engine.model.spec import Site
from .client.api import Api
from .names import Ownership
from .options import read_options
from .resources import namespace
from .resources.lease import Lease
from .resources.role_objects import Place
from .session import KubernetesSession


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
    namespace.ensure(api, options, run_id)
    lease = Lease(api, options, ownership)
    lease.take()
    return KubernetesSession(Place(api=api, options=options, ownership=ownership), lease)
