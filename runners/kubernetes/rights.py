"""The rights the runner needs, and no more: what ``benchspec rbac`` prints, what the doctor asks
for and what the tests run with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RULES: Sequence[Mapping[str, Any]] = (
    {
        "apiGroups": ["batch"],
        "resources": ["jobs"],
        "verbs": ["create", "delete", "get", "list", "patch", "watch"],
    },
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {
        "apiGroups": [""],
        "resources": ["persistentvolumeclaims"],
        "verbs": ["create", "delete", "get", "list", "patch", "watch"],
    },
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["create", "delete", "get", "list", "watch"],
    },
    {
        "apiGroups": [""],
        "resources": ["services"],
        "verbs": ["create", "delete", "get", "list", "watch"],
    },
    {
        "apiGroups": ["networking.k8s.io"],
        "resources": ["ingresses"],
        "verbs": ["create", "delete", "get", "list", "watch"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
    },
)
"""In the namespace. Without ``list`` of events an error says less, without ``get`` of the namespace
the encryption of a mesh is unknown; nothing else is optional.
"""

CLUSTER_RULES: Sequence[Mapping[str, Any]] = (
    {"apiGroups": [""], "resources": ["nodes", "persistentvolumes"], "verbs": ["get", "list"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": ["get", "list"]},
    {"apiGroups": ["networking.k8s.io"], "resources": ["ingressclasses"], "verbs": ["list"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["csidrivers"], "verbs": ["list"]},
    {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["list"]},
    {
        "apiGroups": ["apps"],
        "resources": ["deployments"],
        "verbs": ["get"],
        "resourceNames": ["consul-connect-injector", "istiod", "kuma-control-plane"],
    },
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["get"],
        "resourceNames": [
            "antrea-config",
            "canal-config",
            "cilium-config",
            "kube-flannel-cfg",
            "kube-proxy",
            "kube-proxy-config",
            "linkerd-config",
        ],
    },
    {"apiGroups": ["cilium.io"], "resources": ["ciliumnodes"], "verbs": ["list"]},
    {
        "apiGroups": ["crd.projectcalico.org", "projectcalico.org"],
        "resources": ["ippools"],
        "verbs": ["list"],
    },
    {
        "apiGroups": ["crd.projectcalico.org", "projectcalico.org"],
        "resources": ["felixconfigurations"],
        "verbs": ["get"],
        "resourceNames": ["default"],
    },
    {"apiGroups": ["security.istio.io"], "resources": ["peerauthentications"], "verbs": ["list"]},
    {
        "apiGroups": ["kuma.io"],
        "resources": ["meshes"],
        "verbs": ["get"],
        "resourceNames": ["default"],
    },
    {"apiGroups": ["consul.hashicorp.com"], "resources": ["proxydefaults"], "verbs": ["list"]},
)
"""Of the whole cluster, reading only: facts of nodes, volumes, network and mesh that are unknown
without. None of it shows a Secret.
"""

CLASS_RULES: Sequence[Mapping[str, Any]] = (
    {
        "apiGroups": ["storage.k8s.io"],
        "resources": ["storageclasses"],
        "verbs": ["create", "delete"],
    },
)
"""Needed where a spec says ``storage: {create: true}``."""

KUBELET_RULES: Sequence[Mapping[str, Any]] = (
    {"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"]},
)
"""Needed to see what containers use that cannot tell themselves. A wide right: who has it may
execute anything in any pod, by way of kubelets.
"""


def manifests(
    namespace: str, name: str, *, facts: bool, classes: bool, kubelet: bool = False
) -> list[dict[str, Any]]:
    """ServiceAccount, Role and RoleBinding; ``facts``, ``classes`` and ``kubelet`` add a
    ClusterRole and its binding.
    """
    metadata = {"name": name, "namespace": namespace}
    subjects = [{"kind": "ServiceAccount", **metadata}]
    rbac = "rbac.authorization.k8s.io"
    made: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": _plain(RULES)},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "subjects": subjects,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        },
    ]
    wide = [
        *(CLUSTER_RULES if facts else ()),
        *(CLASS_RULES if classes else ()),
        *(KUBELET_RULES if kubelet else ()),
    ]
    if wide:
        cluster_name = {"name": f"{name}-{namespace}"}
        made += [
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRole",
                "metadata": cluster_name,
                "rules": _plain(wide),
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": cluster_name,
                "subjects": subjects,
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", **cluster_name},
            },
        ]
    return made


def _plain(rules: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: list(value) for key, value in rule.items()} for rule in rules]


def needed(rules: Sequence[Mapping[str, Any]] = RULES) -> list[tuple[str, str, str, str]]:
    """Every (verb, group, resource, name) of ``rules``; the name is empty where the right is to all
    of them.
    """
    return [
        (verb, group, resource, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]
