"""Which service mesh a cluster has, its version, its form and whether it insists on mutual TLS:
read from the mesh's own objects.

A setting that lets plain connections in beside encrypted ones (Istio's and Kuma's PERMISSIVE,
Linkerd's all-unauthenticated) says nothing about the connections that are measured: then
``mesh.encryption`` is unknown, and ``mesh.mtls`` has the mesh's own word. So it is where nothing
says that pods of our namespace are in the mesh at all. Sources:
https://istio.io/latest/docs/reference/config/security/peer_authentication/,
https://linkerd.io/2/reference/authorization-policy/,
https://kuma.io/docs/latest/policies/mutual-tls/,
https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/,
https://linkerd.io/2/features/proxy-injection/,
https://kuma.io/docs/latest/production/dp-config/dpp-on-kubernetes/,
https://developer.hashicorp.com/consul/docs/reference/config-entry/proxy-defaults.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..client.api_reads import Look, at, parsed
from ..names import Object
from .networks import Found, image_version

_GROUPS = {
    "networking.istio.io": "istio",
    "linkerd.io": "linkerd",
    "kuma.io": "kuma",
    "networkservicemesh.io": "nsm",
    "consul.hashicorp.com": "consul",
}
_PLANES = {
    "istio": ("istio-system", "istiod"),
    "kuma": ("kuma-system", "kuma-control-plane"),
    "consul": ("consul", "consul-connect-injector"),
}
"""Namespace and Deployment of the control plane, as each installs itself."""

MESH_FACTS = ("mesh.name", "mesh.version", "mesh.mode", "mesh.mtls", "mesh.encryption")
_ISTIO_ROOT = "istio-system"
_JOINED: Mapping[str, tuple[tuple[str, str, str | None], ...]] = {
    "istio": (
        ("labels", "istio-injection", "enabled"),
        ("labels", "istio.io/rev", None),
        ("labels", "istio.io/dataplane-mode", "ambient"),
    ),
    "linkerd": (("annotations", "linkerd.io/inject", "enabled"),),
    "kuma": (("labels", "kuma.io/sidecar-injection", "enabled"),),
}
"""What puts all pods of a namespace into the mesh: one of these, with the value or with any."""


def read_mesh(
    look: Look, groups: Collection[str], daemons: Mapping[str, Object] | None, namespace: str
) -> Found:
    """The facts of the mesh; ``namespace`` is where we measure."""
    name = next((name for group, name in _GROUPS.items() if group in groups), None)
    found: Found = dict.fromkeys(MESH_FACTS, (None, "API groups of the cluster")) | {
        "mesh.name": (name, "API groups of the cluster")
    }
    if name is None:
        return found
    plane = _control_plane(look, name, found)
    match name:
        case "istio":
            _istio(look, found, daemons, namespace)
        case "linkerd":
            _linkerd(look, found)
        case "kuma":
            _kuma(look, found, plane)
        case "consul":
            _consul(look, found)
        case "nsm":
            _nsm(found, daemons)
    if found["mesh.encryption"][0] == "mtls" and not _joined(look, name, namespace):
        found["mesh.encryption"] = (None, found["mesh.encryption"][1])
    return found


def _joined(look: Look, mesh: str, namespace: str) -> bool:
    """Whether the pods of ``namespace`` are in the mesh; what cannot be seen is told."""
    before = len(look.unseen)
    metadata = at(look.one(f"/api/v1/namespaces/{namespace}"), "metadata") or {}
    for kind, key, value in _JOINED.get(mesh, ()):
        if (said := (metadata.get(kind) or {}).get(key)) is not None and value in (None, said):
            return True
    if len(look.unseen) == before:
        look.tell(
            "mesh.encryption",
            f"nothing on namespace {namespace} says that its pods are in the mesh",
        )
    return False


def _control_plane(look: Look, name: str, found: Found) -> Object | None:
    if name not in _PLANES:
        return None
    namespace, deployment = _PLANES[name]
    source = f"image of Deployment {namespace}/{deployment}"
    plane = look.one(f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}")
    images = (
        []
        if plane is None
        else [str(one["image"]) for one in plane["spec"]["template"]["spec"]["containers"]]
    )
    found["mesh.version"] = (next(filter(None, map(image_version, images)), None), source)
    if plane is None and not any(deployment in told for told in look.unseen):
        look.tell("mesh.version", f"no Deployment {namespace}/{deployment}")
    return plane


def _istio(look: Look, found: Found, daemons: Mapping[str, Object] | None, namespace: str) -> None:
    """The PeerAuthentication of our namespace, else of the root namespace, else the default:
    PERMISSIVE. Those for single workloads count, too.
    """
    if daemons is not None:
        found["mesh.mode"] = (
            "ambient" if "ztunnel" in daemons else "sidecar",
            "whether there is a DaemonSet ztunnel",
        )
    own = look.every(f"/apis/security.istio.io/v1/namespaces/{namespace}/peerauthentications")
    root = look.every(f"/apis/security.istio.io/v1/namespaces/{_ISTIO_ROOT}/peerauthentications")
    if own is None or root is None:
        return
    modes = {str(at(one, "spec.mtls.mode") or "UNSET") for one in own if at(one, "spec.selector")}
    modes |= {
        str(mode)
        for one in own
        for port in (at(one, "spec.portLevelMtls") or {}).values()
        if (mode := port.get("mode"))
    }
    whole = [
        (one, where)
        for where, some in ((namespace, own), (_ISTIO_ROOT, root))
        for one in some
        if not at(one, "spec.selector")
    ]
    named = next(
        (
            (str(mode), f"PeerAuthentication {where}/{one['metadata']['name']} spec.mtls.mode")
            for one, where in whole
            if (mode := at(one, "spec.mtls.mode")) not in (None, "UNSET")
        ),
        ("PERMISSIVE", "no PeerAuthentication: the default"),
    )
    _mtls(look, found, named[0], named[1], {"STRICT": "mtls", "DISABLE": "none"})
    if modes - {named[0], "UNSET"}:
        look.tell(
            "mesh.encryption",
            f"PeerAuthentications of single workloads or ports in {namespace} differ:"
            f" {', '.join(sorted(modes))}",
        )
        found["mesh.encryption"] = (None, named[1])


def _linkerd(look: Look, found: Found) -> None:
    """Pods of the mesh always use mutual TLS between themselves; whether others are let in says the
    policy.
    """
    values = parsed(look.config_map("linkerd", "linkerd-config").get("values", ""))
    where = "ConfigMap linkerd/linkerd-config values"
    if (version := at(values, "linkerdVersion")) is not None:
        found["mesh.version"] = (str(version).removeprefix("stable-"), f"{where} linkerdVersion")
    found["mesh.mode"] = ("sidecar", "Linkerd has no other")
    policy = at(values, "proxy.defaultInboundPolicy")
    if policy is not None:
        _mtls(
            look,
            found,
            str(policy),
            f"{where} proxy.defaultInboundPolicy",
            {"all-authenticated": "mtls", "cluster-authenticated": "mtls"},
        )


def _kuma(look: Look, found: Found, plane: Object | None) -> None:
    """Mesh default: mutual TLS is off without an enabled backend."""
    env = (
        []
        if plane is None
        else [
            one
            for c in plane["spec"]["template"]["spec"]["containers"]
            for one in c.get("env") or []
        ]
    )
    found["mesh.mode"] = (
        next((one.get("value") for one in env if one["name"] == "KUMA_MODE"), None),
        "Deployment kuma-control-plane env KUMA_MODE",
    )
    before = len(look.unseen)
    mesh = look.one("/apis/kuma.io/v1alpha1/meshes/default")
    if mesh is None:
        if len(look.unseen) == before:
            look.tell("mesh.mtls", "no Mesh default")
        return
    enabled = at(mesh, "spec.mtls.enabledBackend")
    backends = at(mesh, "spec.mtls.backends") or []
    mode = (
        next(
            (str(one.get("mode") or "STRICT") for one in backends if one.get("name") == enabled),
            "STRICT",
        )
        if enabled
        else "none"
    )
    _mtls(look, found, mode, "Mesh default spec.mtls", {"STRICT": "mtls", "none": "none"})


def _consul(look: Look, found: Found) -> None:
    """ProxyDefaults global: strict unless it says otherwise."""
    before = len(look.unseen)
    defaults = look.every("/apis/consul.hashicorp.com/v1alpha1/proxydefaults")
    if defaults is None or len(look.unseen) > before:
        return
    mode = next(
        (str(said) for one in defaults if (said := at(one, "spec.mutualTLSMode"))), "strict"
    )
    _mtls(
        look,
        found,
        mode,
        "ProxyDefaults spec.mutualTLSMode (strict unless set)",
        {"strict": "mtls"},
    )


def _nsm(found: Found, daemons: Mapping[str, Object] | None) -> None:
    manager = (daemons or {}).get("nsmgr")
    if manager is not None:
        images = [str(one["image"]) for one in manager["spec"]["template"]["spec"]["containers"]]
        found["mesh.version"] = (
            next(filter(None, map(image_version, images)), None),
            "image of DaemonSet nsmgr",
        )


def _mtls(look: Look, found: Found, said: str, source: str, clear: Mapping[str, str]) -> None:
    found["mesh.mtls"] = (said, source)
    found["mesh.encryption"] = (clear.get(said), source)
    if said not in clear:
        look.tell(
            "mesh.encryption", f"{source}: {said} lets both plain and encrypted connections in"
        )
