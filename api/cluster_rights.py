"""The rights that a cluster must give, as a manifest."""

from __future__ import annotations

import yaml

from ..runners.kubernetes.rights import manifests


def rbac(
    *,
    namespace: str = "bench",
    name: str = "benchspec",
    facts: bool = True,
    storage_classes: bool = False,
    kubelet_stats: bool = False,
) -> str:
    """The manifest (YAML) of a ServiceAccount ``name`` with exactly the rights that the Kubernetes
    runner needs in ``namespace``.

    ``facts``: with the ClusterRole that only reads; without it what it shows is unknown.
    ``storage_classes`` and ``kubelet_stats`` add what those need.
    """
    made = manifests(namespace, name, facts=facts, classes=storage_classes, kubelet=kubelet_stats)
    return str(yaml.safe_dump_all(made, sort_keys=False, explicit_start=True))
