"""What a site's options say, once its schema has checked them
(schemas/runners/kubernetes.schema.json), with the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ...engine.model.contract.values import DEFAULT_TTL_S
from ...engine.model.errors import UnitError, UsageError
from ...engine.model.spec import Json, Role, Site
from ...engine.model.units import Dimension, parse_quantity

GUARANTEED, BEST_EFFORT = "guaranteed", "best-effort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """A container beside a role, such as a mesh's proxy: it is up, and its ``port`` accepts
    connections, before the role starts.

    ``mounts``: folders, with what is seen there: ``configmap/NAME`` or ``secret/NAME``. Memory in
    B.
    """

    name: str
    image: str
    command: tuple[str, ...]
    port: int | None
    mounts: Mapping[str, str]
    cpu: str
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOptions:
    """What a role's pod gets. ``image``: empty where the site names none. ``cpu`` as Kubernetes
    writes it, memory in B.
    """

    image: str
    node: str | None
    node_selector: Mapping[str, str]
    host_network: bool
    cpu: str
    memory_bytes: int
    sidecars: tuple[Sidecar, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A site's options. ``ttl_s``: after this the cluster itself removes what was left.

    ``watch``: the labels of further pods that belong to the target, which are watched while it is
    measured. ``privileged``: of the pods that look at nodes where ``privileged_probe`` allows it,
    never of those that measure.
    """

    context: str | None
    kubeconfig: str | None
    namespace: str
    create_namespace: bool = False
    service_account: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    tolerations: tuple[Mapping[str, Json], ...] = ()
    qos: str = GUARANTEED
    priority_class: str | None = None
    runtime_class: str | None = None
    ingress_class: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    watch: Mapping[str, str] = field(default_factory=dict)
    ttl_s: float = DEFAULT_TTL_S
    pin_required: bool = False
    privileged_probe: bool = False
    privileged: bool = False
    common: RoleOptions
    roles: Mapping[Role, RoleOptions] = field(default_factory=dict)

    def role(self, role: Role) -> RoleOptions:
        """What a role's pod gets."""
        return self.roles.get(role, self.common)


def read_options(site: Site) -> Options:
    """The options of ``site``. Raises UsageError for a size that is none."""
    given = {key: value for key, value in site.options.items() if not key.startswith("x-")}
    selector = _texts(given.get("node_selector"))
    common = _role(
        {},
        given,
        selector,
        RoleOptions(
            image="",
            node=None,
            node_selector={},
            host_network=False,
            cpu="1",
            memory_bytes=2**30,
        ),
        site,
    )
    roles = {
        Role(name): _role(_mapping(own), _mapping(own), selector, common, site)
        for name, own in _mapping(given.get("roles")).items()
    }
    kubeconfig = _text(given.get("kubeconfig"))
    return Options(
        context=_text(given.get("context")),
        kubeconfig=str(Path(kubeconfig).expanduser()) if kubeconfig else None,
        namespace=_text(given.get("namespace")) or "default",
        create_namespace=given.get("create_namespace") is True,
        service_account=_text(given.get("service_account")),
        image_pull_secrets=tuple(cast("list[str]", given.get("image_pull_secrets") or [])),
        tolerations=tuple(cast("list[Mapping[str, Json]]", given.get("tolerations") or [])),
        qos=_text(given.get("qos")) or GUARANTEED,
        priority_class=_text(given.get("priority_class")),
        runtime_class=_text(given.get("runtime_class")),
        ingress_class=_text(given.get("ingress_class")),
        labels=_texts(given.get("labels")),
        annotations=_texts(given.get("annotations")),
        watch=_texts(given.get("watch")),
        ttl_s=_quantity(given["ttl"], Dimension.TIME, site) if "ttl" in given else DEFAULT_TTL_S,
        pin_required=given.get("pin") == "required",
        privileged_probe=_mapping(given.get("probe")).get("privileged") is True,
        common=common,
        roles=roles,
    )


def _role(
    own: Mapping[str, Json],
    given: Mapping[str, Json],
    selector: Mapping[str, str],
    default: RoleOptions,
    site: Site,
) -> RoleOptions:
    return RoleOptions(
        image=_text(given.get("image")) or default.image,
        node=_text(own.get("node")),
        node_selector={**selector, **_texts(own.get("node_selector"))},
        host_network=bool(given.get("host_network", default.host_network)),
        cpu=str(given.get("cpu", default.cpu)),
        memory_bytes=round(_quantity(given["memory"], Dimension.BYTES, site))
        if "memory" in given
        else default.memory_bytes,
        sidecars=tuple(
            _sidecar(_mapping(one), default, site)
            for one in cast("list[Json]", own.get("sidecars") or [])
        ),
    )


def _sidecar(given: Mapping[str, Json], default: RoleOptions, site: Site) -> Sidecar:
    return Sidecar(
        name=str(given["name"]),
        image=str(given["image"]),
        command=tuple(map(str, cast("list[str]", given.get("command") or []))),
        port=cast("int | None", given.get("port")),
        mounts=_texts(given.get("mounts")),
        cpu=str(given.get("cpu", default.cpu)),
        memory_bytes=round(_quantity(given["memory"], Dimension.BYTES, site))
        if "memory" in given
        else default.memory_bytes,
    )


def _quantity(value: Json, dimension: Dimension, site: Site) -> float:
    try:
        return parse_quantity(str(value), dimension)
    except UnitError as error:
        raise UsageError(str(error), where=f"site {site.name}") from error


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Json) -> dict[str, str]:
    return {key: str(text) for key, text in _mapping(value).items()}
