"""A target of the document as the model has it: sites, sections, limits, lifecycles, and all its
claims by fact name.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.spec import (
    Cloud,
    Component,
    Cvm,
    Json,
    Layer,
    Limit,
    NodeGroup,
    Price,
    Role,
    Site,
    Target,
)
from ..model.text.json_access import any_quantity, items, mapping, quantity, text, whole
from ..model.units import Dimension
from ..planning.matrix import label
from .build_steps import build_lifecycle

NODE_FACTS = {
    "machine": "machine.type",
    "cpu": "cpu.model",
    "cores": "cpu.count",
    "memory": "memory.total",
    "os": "os.name",
    "kernel": "kernel.release",
    "image": "node.image",
    "nic": "net.nic",
    "link": "net.link",
    "count": "nodes.count",
}
"""The claims that the keys of a node group make."""

SECTION_FACTS = {
    "cloud": ("provider", "region", "zone"),
    "cvm": ("expected", "technology", "evidence"),
    "kubernetes": ("distribution", "version", "node_image", "proxy_mode"),
    "cni": ("name", "version", "mode", "mtu", "encryption", "network_policy"),
    "mesh": ("name", "version", "mode", "encryption", "protocol"),
    "storage": (
        "class",
        "provisioner",
        "disk",
        "size",
        "encryption",
        "cache",
        "filesystem",
        "binding",
        "mode",
        "ephemeral",
    ),
}
"""Sections whose keys are claims called SECTION.KEY."""

MTU_FACT = "net.mtu"
"""What ``cni.mtu`` claims besides."""

ANY_ROLE = "any"
"""The key of ``cpus`` and ``sites`` that stands for every role not named."""

_QUANTITIES = {"memory": Dimension.BYTES, "link": Dimension.BIT_RATE, "size": Dimension.BYTES}


def build_target(name: str, found: Mapping[str, Json], sites: Mapping[str, Json]) -> Target:
    """The target ``name``; ``sites`` is the section of the spec."""
    cloud, price = mapping(found.get("cloud")), mapping(found.get("price"))
    return Target(
        name=name,
        title=_title(name, found),
        sites=_sites(name, found, sites),
        claims=claims(found),
        document=found,
        environment=_text(found, "environment"),
        cloud=Cloud(
            provider=text(cloud["provider"]),
            region=_text(cloud, "region"),
            zone=_text(cloud, "zone"),
        )
        if cloud
        else None,
        cvm=_cvm(found.get("cvm")),
        topology=tuple(
            _group(group, mapping(nodes)) for group, nodes in mapping(found.get("topology")).items()
        ),
        storage=mapping(found.get("storage")),
        limits=tuple(_limit(mapping(limit)) for limit in items(found.get("limits"))),
        price=_price(price) if price else None,
        components=tuple(
            _component(mapping(component)) for component in items(found.get("components"))
        ),
        lifecycle=build_lifecycle(mapping(found.get("lifecycle"))),
        cpus=build_cpus(found.get("cpus")),
    )


def _text(found: Mapping[str, Json], key: str) -> str | None:
    return text(found.get(key)) or None


def _title(name: str, found: Mapping[str, Json]) -> str:
    """What pages call the target: one mesh in two environments must not read as one."""
    title, environment = text(found.get("title")) or name, text(found.get("environment"))
    return f"{title} ({environment})" if environment else title


def _sites(name: str, found: Mapping[str, Json], sites: Mapping[str, Json]) -> dict[str, Site]:
    """Role to site; with an inline runner every role is on a site that is called like the
    target.
    """
    if "runner" in found:
        inline = _site(name, found["runner"])
        return {role.value: inline for role in Role}
    made = {
        site: _site(site, sites[site]) for site in map(text, mapping(found.get("sites")).values())
    }
    return {role: made[text(site)] for role, site in mapping(found.get("sites")).items()}


def _site(name: str, runner: Json) -> Site:
    if isinstance(runner, str):
        return Site(name=name, runner=runner)
    options = mapping(runner)
    return Site(
        name=name,
        runner=text(options["kind"]),
        options={key: value for key, value in options.items() if key != "kind"},
    )


def _cvm(value: Json) -> Cvm | None:
    if isinstance(value, bool):
        return Cvm(expected=value)
    found = mapping(value)
    return (
        Cvm(
            expected=found["expected"] is True,
            technology=_text(found, "technology"),
            evidence=_text(found, "evidence"),
        )
        if found
        else None
    )


def _group(name: str, found: Mapping[str, Json]) -> NodeGroup:
    return NodeGroup(
        name=name,
        count=whole(found.get("count")),
        roles=tuple(map(text, items(found.get("roles")))),
        machine=_text(found, "machine"),
        cpu=_text(found, "cpu"),
        cores=whole(found.get("cores")),
        memory_bytes=quantity(found.get("memory"), Dimension.BYTES),
        os=_text(found, "os"),
        kernel=_text(found, "kernel"),
        image=_text(found, "image"),
        nic=_text(found, "nic"),
        link_bit_per_s=quantity(found.get("link"), Dimension.BIT_RATE),
    )


def _limit(found: Mapping[str, Json]) -> Limit:
    sustained, dimension = any_quantity(found["sustained"]) or (0.0, Dimension.RATE)
    burst = any_quantity(found.get("burst"))
    return Limit(
        metric=text(found["metric"]),
        sustained=sustained,
        burst=burst[0] if burst else sustained,
        unit=dimension.value,
        layer=Layer(text(found.get("layer")) or Layer.WIRE),
        applies_to=_text(found, "applies_to"),
        source=text(found["source"]),
        as_of=text(found["as_of"]),
        where=tuple((axis, label(value)) for axis, value in mapping(found.get("where")).items()),
    )


def _price(found: Mapping[str, Json]) -> Price:
    per_hour = found["per_hour"]
    return Price(
        per_hour=float(per_hour) if isinstance(per_hour, int | float) else 0.0,
        currency=text(found["currency"]),
        source=text(found["source"]),
        as_of=text(found["as_of"]),
    )


def _component(found: Mapping[str, Json]) -> Component:
    return Component(
        name=text(found["name"]),
        version=_text(found, "version"),
        lifecycle=build_lifecycle(mapping(found.get("lifecycle"))),
    )


def build_cpus(value: Json) -> dict[str, tuple[int, ...]]:
    """CPU numbers by role; a plain list is dealt to any role."""
    by_role = (
        mapping(value)
        if isinstance(value, Mapping)
        else {ANY_ROLE: value}
        if value is not None
        else {}
    )
    return {
        role: tuple(number for number in items(numbers) if isinstance(number, int))
        for role, numbers in by_role.items()
    }


def is_control_plane(name: str, roles: tuple[str, ...]) -> bool:
    """Whether a node group only runs the cluster: by its only role, or by its name where it has
    none.
    """
    return roles == (Role.CONTROL_PLANE.value,) if roles else name == Role.CONTROL_PLANE.value


def claims(target: Mapping[str, Json]) -> dict[str, Json]:
    """Every fact that the sections of a target claim, and its ``facts``; sizes in B, links in
    bit/s.

    Facts of nodes are those of the groups that measure; with several such groups their names begin
    with ``GROUP/``.
    """
    found: dict[str, Json] = {}
    for section, keys in SECTION_FACTS.items():
        holder = mapping(_claimed_section(section, target.get(section)))
        found |= {
            f"{section}.{key}": _in_base_unit(key, holder[key]) for key in keys if key in holder
        }
    if "cni.mtu" in found:
        found[MTU_FACT] = found["cni.mtu"]
    return (
        found | _node_claims(mapping(target.get("topology"))) | dict(mapping(target.get("facts")))
    )


def _claimed_section(section: str, value: Json) -> Json:
    return {"expected": value} if section == "cvm" and isinstance(value, bool) else value


def _node_claims(topology: Mapping[str, Json]) -> dict[str, Json]:
    groups = {name: mapping(group) for name, group in topology.items()}
    measuring = {
        name: group
        for name, group in groups.items()
        if not is_control_plane(name, tuple(map(text, items(group.get("roles")))))
    }
    found: dict[str, Json] = {}
    for name, group in measuring.items():
        prefix = f"{name}/" if len(measuring) > 1 else ""
        found |= {
            f"{prefix}{fact}": _in_base_unit(key, group[key])
            for key, fact in NODE_FACTS.items()
            if key in group
        }
    return found


def _in_base_unit(key: str, value: Json) -> Json:
    """A quantity as a number of its base unit, whole where it is whole; anything else as it is."""
    number = quantity(value, _QUANTITIES[key]) if key in _QUANTITIES else None
    if number is None:
        return value
    return int(number) if number.is_integer() else number
