"""The objects of an allocation as JSON. Pure: what ``plan --render`` prints is what is created.

A role is a Job of one pod that is never restarted: a pod that ends takes its measurement with it
and must not come back as another. The Job's deadline and its time to live make the cluster itself
remove what a dead controller left; everything else belongs to the Job and goes with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....engine.model.contract.values import Demand
from ....engine.model.spec import Placement, Role, TrafficPath
from ....engine.model.units import Dimension, parse_quantity
from ..names import ALLOCATION, MANAGED_BY, RUN, Object, Ownership, digest, label_value, object_name
from ..options import BEST_EFFORT, GUARANTEED, Options, RoleOptions, Sidecar

CONTAINER = "role"
STATE = "/benchspec/state"
JOBS = f"{STATE}/jobs"
WORK = f"{STATE}/work"
VOLUME = "/volume"
DEVICE = "/dev/benchspec-volume"
"""Where a volume in block mode is seen."""
RAW = "Block"
DEFAULT_VOLUME_BYTES = 2**30
MEMORY = "/benchspec-memory"
BROUGHT = "/benchspec/bin"
"""Where a pod of an image that is not the tool image finds what the agent needs."""
BRINGER = "benchspec-tools"
"""The init container that brings it."""
NODE = "/benchspec-node"
"""Where a privileged pod sees its node's files."""
USER = 1000
DISK_GROUP = 6
"""``disk`` wherever Linux comes from Debian, Red Hat, SUSE, Alpine or Flatcar: raw devices belong
to root and to it, and pods are not root.
"""
NODE_PORTS = range(30000, 32768)
"""Those that clusters give unless somebody has set others."""
_PORTS = range(20000, 30000)
_HOST = "kubernetes.io/hostname"
_SERVICES = frozenset(
    {TrafficPath.POD_TO_SERVICE, TrafficPath.HOST_TO_SERVICE, TrafficPath.INGRESS}
)
_HTTP_PORT = 80
"""On which an ingress answers; the server behind it listens on the same."""
_HOST_CLIENTS = frozenset({TrafficPath.HOST_TO_HOST, TrafficPath.HOST_TO_SERVICE})
_HOST_SERVERS = frozenset({TrafficPath.HOST_TO_HOST, TrafficPath.POD_TO_HOST})
CLIENTS = frozenset({Role.CLIENT, Role.LOAD_GENERATOR})

# Process 1 of a role: it makes the private directories and reaps what ended programs leave behind.
# Programs are started beside it by exec, and say on its standard output, the pod's log, that they
# have ended: a controller that follows the log needs no polling and no stream that must not break.
INIT = """umask 077
mkdir -p {directories} || exit 1
trap 'exit 0' TERM INT
echo ready
while :; do sleep 3600 & wait $!; done
"""

# The tool image has what a foreign image may lack, in one folder, linked statically. Its busybox is
# the shell and all small programs; programs of the image itself come first.
KEPT = "/usr/local/lib/benchspec"
"""Where the tool image keeps it."""
BRING = f"""mkdir -p {BROUGHT} && cd {BROUGHT} || exit 1
[ -x {KEPT}/busybox ] || {{
  echo "the tool image has no {KEPT}/busybox: build it anew with benchspec images build" >&2
  exit 1
}}
cp {KEPT}/* . || exit 1
for name in $(./busybox --list); do [ -e "$name" ] || ln -s busybox "$name" || exit 1; done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One role of an allocation: its pod's Job, its port, and whether it has a volume, a Service
    and an Ingress before that.

    ``bringer`` is the tool image where ``image`` is another one, which may have no shell.
    ``volume`` is what the volume is called in the pod. An ``ephemeral`` one is claimed by the pod
    itself and goes with it; a ``raw`` one is a block device.
    """

    role: Role
    name: str
    port: int
    image: str
    options: RoleOptions
    host_network: bool
    volume: str | None
    service: str | None
    ingress: str | None = None
    ephemeral: bool = False
    raw: bool = False
    bringer: str | None = None

    @property
    def shell(self) -> str:
        """The shell of its container: the image's own, or the one that was brought."""
        return f"{BROUGHT}/sh" if self.bringer else "sh"

    @property
    def workdir(self) -> str:
        """The role's work directory: on the volume where it has one with a file system."""
        return f"{VOLUME}/benchspec" if self.volume and not self.raw else f"{WORK}/{self.role}"

    @property
    def claim(self) -> str:
        """The name of the volume's claim where we make it."""
        return f"{self.name}-{self.volume}"

    def claim_of(self, pod: str) -> str:
        """The name of the volume's claim; that of an ephemeral one follows from its pod's."""
        return ephemeral_claim(pod, f"{self.volume}") if self.ephemeral else self.claim


def ephemeral_claim(pod: str, volume: str) -> str:
    """What the cluster calls the claim that it makes for a pod's own volume."""
    return f"{pod}-{volume}"


def volume_name(run_id: str) -> str:
    """What a run's volumes are called in their pods. The names of their claims end with it, and a
    volume whose claim is gone still names that.
    """
    return f"v-{digest(run_id)}"


def parts(
    options: Options,
    ownership: Ownership,
    allocation_id: str,
    roles: Sequence[Role],
    demand: Demand,
) -> Mapping[Role, Part]:
    """What each role gets."""
    return {role: _part(options, ownership, allocation_id, role, demand) for role in roles}


def _part(
    options: Options, ownership: Ownership, allocation_id: str, role: Role, demand: Demand
) -> Part:
    own = options.role(role)
    name = object_name(role, ownership.run_id, ownership.site, allocation_id)
    on_host = own.host_network or demand.path in (
        _HOST_CLIENTS if role in CLIENTS else _HOST_SERVERS
    )
    served = role not in CLIENTS and (
        demand.path in _SERVICES or demand.path is TrafficPath.NODE_PORT
    )
    given = NODE_PORTS if demand.path is TrafficPath.NODE_PORT and served else _PORTS
    free = [
        p
        for p in given[: len(given) - demand.ports + 1]
        if not any(0 <= fixed - p < demand.ports for fixed in demand.fixed_ports)
    ]
    volume = (
        volume_name(ownership.run_id)
        if role in demand.volumes and demand.storage.get("class")
        else None
    )
    behind = served and demand.path is TrafficPath.INGRESS
    image = demand.image or own.image
    return Part(
        role=role,
        name=name,
        port=_HTTP_PORT if behind else free[int(name[-10:], 16) % len(free)],
        image=image,
        bringer=options.common.image if image != options.common.image else None,
        options=own,
        host_network=on_host,
        volume=volume,
        service=f"{name}-s" if served else None,
        ingress=f"{name}-i" if behind else None,
        ephemeral=volume is not None and demand.storage.get("ephemeral") is True,
        raw=volume is not None and demand.storage.get("mode") == RAW,
    )


def job(
    options: Options, ownership: Ownership, allocation_id: str, part: Part, demand: Demand
) -> Object:
    """The Job of one role."""
    labels = ownership.labels(allocation_id, part.role)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": part.name,
            "labels": labels,
            "annotations": {RUN: ownership.run_id, ALLOCATION: allocation_id},
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": round(options.ttl_s),
            "ttlSecondsAfterFinished": round(options.ttl_s),
            "template": {
                "metadata": {"labels": labels, "annotations": dict(options.annotations)},
                "spec": _pod(options, ownership, allocation_id, part, demand),
            },
        },
    }


def _pod(
    options: Options, ownership: Ownership, allocation_id: str, part: Part, demand: Demand
) -> Object:
    own = part.options
    spec: Object = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,  # dozens of variables about other Services
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": CONTAINER,
                "image": part.image,
                "command": [
                    part.shell,
                    "-c",
                    extend_path(part.shell)
                    + INIT.format(directories=shlex.join([JOBS, part.workdir])),
                ],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
                "resources": resources(options.qos, own),
                "volumeMounts": [
                    {"name": "state", "mountPath": "/benchspec"},
                    {"name": "memory", "mountPath": MEMORY},
                    *(
                        [{"name": part.volume, "mountPath": VOLUME}]
                        if part.volume and not part.raw
                        else []
                    ),
                ],
            }
        ],
        "volumes": [
            {"name": "state", "emptyDir": {}},
            {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
            *([_volume(ownership, allocation_id, part, demand)] if part.volume else []),
        ],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [_others(ownership)]
            }
        },
        # a node that is cut off is the trial's problem, not a reason to delete its pod while the
        # trial may go on
        "tolerations": [
            *(
                {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute"}
                for state in ("not-ready", "unreachable")
            ),
            *map(dict, options.tolerations),
        ],
    }
    if part.bringer:
        spec["initContainers"] = [_bringer(options.qos, part.bringer, own)]
    if own.sidecars:
        spec.setdefault("initContainers", []).extend(
            _sidecar(options.qos, one) for one in own.sidecars
        )
        spec["volumes"] += [
            _mounted(one, number, source)
            for one in own.sidecars
            for number, source in enumerate(one.mounts.values())
        ]
    if part.raw:
        spec["containers"][0]["volumeDevices"] = [{"name": part.volume, "devicePath": DEVICE}]
        spec["securityContext"]["supplementalGroups"] = [DISK_GROUP]
    elif part.volume:
        spec["securityContext"]["fsGroup"] = USER  # volumes belong to root
    if part.host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    else:
        spec["securityContext"]["sysctls"] = [
            {
                "name": "net.ipv4.ping_group_range",
                "value": "0 2147483647",
            },  # the path's MTU is asked with ping
            *(
                [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]
                if part.ingress
                else []
            ),
        ]
    if demand.placement is Placement.SAME_NODE:
        together = [
            {
                "labelSelector": {"matchLabels": {ALLOCATION: label_value(allocation_id)}},
                "topologyKey": _HOST,
            }
        ]
        spec["affinity"]["podAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": together
        }
    if demand.placement is Placement.ACROSS_NODES:
        spec["topologySpreadConstraints"] = [_apart(allocation_id)]
    if options.privileged:
        _open(spec)
    if own.node:
        required = {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": _HOST, "operator": "In", "values": [own.node]}]}
            ]
        }
        spec["affinity"]["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": required
        }
    optional: Object = {
        "nodeSelector": dict(own.node_selector),
        "serviceAccountName": options.service_account,
        "priorityClassName": options.priority_class,
        "runtimeClassName": options.runtime_class,
        "imagePullSecrets": [{"name": name} for name in options.image_pull_secrets],
    }
    return spec | {key: value for key, value in optional.items() if value}


def _open(spec: Object) -> None:
    """Let a pod see its node as the node's root does.

    The node's files are mounted read-only, and what is mounted among them too where the cluster can
    (Kubernetes 1.31 with containerd 2.0 and later): against mistakes of ours, since a privileged
    pod may do all that the node's root may.
    """
    spec |= {
        "hostNetwork": True,
        "hostPID": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "securityContext": {},
    }
    container = spec["containers"][0]
    container["securityContext"] = {"privileged": True, "runAsUser": 0}
    container["volumeMounts"].append(
        {"name": "node", "mountPath": NODE, "readOnly": True, "recursiveReadOnly": "IfPossible"}
    )
    spec["volumes"].append({"name": "node", "hostPath": {"path": "/"}})


def extend_path(shell: str) -> str:
    """Words before a script for ``shell``: where one was brought, so were its programs."""
    if shell == "sh":
        return ""
    usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return f"PATH=${{PATH:-{usual}}}:{BROUGHT} BENCHSPEC_SH={shell}; export PATH BENCHSPEC_SH\n"


def _bringer(qos: str, image: str, own: RoleOptions) -> Object:
    """What the measured container's image may lack comes before it starts, from the tool image."""
    return {
        "name": BRINGER,
        "image": image,
        "command": ["sh", "-c", BRING],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": resources(qos, own),
        "volumeMounts": [{"name": "state", "mountPath": "/benchspec"}],
    }


def _sidecar(qos: str, own: Sidecar) -> Object:
    """An init container that goes on: it ends after the role, and the role starts when it has
    (Kubernetes 1.29 and later).
    """
    made: Object = {
        "name": own.name,
        "image": own.image,
        "restartPolicy": "Always",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": resources(qos, own),
        "volumeMounts": [
            {"name": f"{own.name}-{n}", "mountPath": folder, "readOnly": True}
            for n, folder in enumerate(own.mounts)
        ],
    }
    if own.command:
        made["command"] = list(own.command)
    if own.port:
        made["startupProbe"] = {
            "tcpSocket": {"port": own.port},
            "periodSeconds": 1,
            "failureThreshold": 120,
        }
    return made


def _mounted(own: Sidecar, number: int, source: str) -> Object:
    name, (kind, _, of) = f"{own.name}-{number}", source.partition("/")
    return (
        {"name": name, "secret": {"secretName": of}}
        if kind == "secret"
        else {"name": name, "configMap": {"name": of}}
    )


def _others(ownership: Ownership) -> Object:
    """No node is shared with another run, in whatever namespace."""
    others = [
        *({"key": key, "operator": "In", "values": [value]} for key, value in MANAGED_BY.items()),
        {"key": RUN, "operator": "NotIn", "values": [label_value(ownership.run_id)]},
    ]
    return {
        "labelSelector": {"matchExpressions": others},
        "namespaceSelector": {},
        "topologyKey": _HOST,
    }


def _apart(allocation_id: str) -> Object:
    """No two roles on one node: where there are fewer nodes than ``minDomains`` the emptiest counts
    as empty, so that none may get a second pod.

    Not a second anti-affinity: of a pod with two of them schedulers since Kubernetes 1.32 do not
    notice that the pods that kept it off are gone, and try it again after five minutes only
    (https://github.com/kubernetes/kubernetes/pull/139161).
    """
    return {
        "labelSelector": {"matchLabels": {ALLOCATION: label_value(allocation_id)}},
        "topologyKey": _HOST,
        "maxSkew": 1,
        "minDomains": len(Role),
        "whenUnsatisfiable": "DoNotSchedule",
    }


def resources(qos: str, own: RoleOptions | Sidecar) -> Object:
    """Guaranteed: limits equal to requests, so that neither neighbours nor luck decide what a pod
    gets.
    """
    if qos == BEST_EFFORT:
        return {}
    asked = {"cpu": own.cpu, "memory": str(own.memory_bytes)}
    return {"requests": asked, "limits": asked} if qos == GUARANTEED else {"requests": asked}


def service(
    ownership: Ownership, allocation_id: str, part: Part, demand: Demand, owner: Object
) -> Object:
    """The Service before one role. The port is the same everywhere, since programs are told one
    port to listen on and to connect to.
    """
    open_ = demand.path is TrafficPath.NODE_PORT
    ports = [
        {
            "name": f"{p.lower()}-{port}",
            "protocol": p,
            "port": port,
            "targetPort": port,
            **({"nodePort": port} if open_ else {}),
        }
        for port in (*range(part.port, part.port + demand.ports), *demand.fixed_ports)
        for p in (("TCP",) if part.ingress else ("TCP", "UDP"))
    ]
    labels = ownership.labels(allocation_id, part.role)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": part.service, "labels": labels, "ownerReferences": [owner]},
        "spec": {"type": "NodePort" if open_ else "ClusterIP", "selector": labels, "ports": ports},
    }


def claim(ownership: Ownership, allocation_id: str, part: Part, demand: Demand) -> Object:
    """The volume of one role; it will belong to the role's Job."""
    metadata = {"name": part.claim, "labels": ownership.labels(allocation_id, part.role)}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": _claimed(demand),
    }


def _volume(ownership: Ownership, allocation_id: str, part: Part, demand: Demand) -> Object:
    """The volume in the pod: that of its claim, or one that the cluster claims for the pod alone
    and removes with it.
    """
    if not part.ephemeral:
        return {"name": part.volume, "persistentVolumeClaim": {"claimName": part.claim}}
    template = {
        "metadata": {"labels": ownership.labels(allocation_id, part.role)},
        "spec": _claimed(demand),
    }
    return {"name": part.volume, "ephemeral": {"volumeClaimTemplate": template}}


def _claimed(demand: Demand) -> Object:
    storage, size = demand.storage, demand.storage.get("size")
    size_bytes = round(parse_quantity(str(size), Dimension.BYTES)) if size else DEFAULT_VOLUME_BYTES
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": str(storage["class"]),
        "volumeMode": str(storage.get("mode", "Filesystem")),
        "resources": {"requests": {"storage": str(size_bytes)}},
    }


def storage_class(ownership: Ownership, demand: Demand) -> Object:
    """The class that the spec wants to have made."""
    storage = demand.storage
    parameters = storage.get("parameters")
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": str(storage["class"]), "labels": ownership.labels()},
        "provisioner": str(storage.get("provisioner", "")),
        "parameters": {key: str(value) for key, value in parameters.items()}
        if isinstance(parameters, Mapping)
        else {},
        "volumeBindingMode": str(storage.get("binding", "WaitForFirstConsumer")),
        "reclaimPolicy": "Delete",
    }


def owner(found: Object) -> Object:
    """The reference that makes an object go with ``found``."""
    metadata = found["metadata"]
    return {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": False,
        "blockOwnerDeletion": False,
    }
