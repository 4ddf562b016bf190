"""Claims about a target that contradict each other or the world: machines, CVMs, networks, storage,
CPUs, facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...model.diagnostics import At, Path, Problem, alternatives, did_you_mean, quote
from ...model.spec import Json
from ...model.text.json_access import items, mapping, text, whole
from ..build_target import MTU_FACT, NODE_FACTS, SECTION_FACTS
from .view import View

MACHINE_TYPES = {
    "azure": re.compile(r"(?:Standard|Basic)_[A-Z]+\d+[a-z0-9-]*(?:_[A-Za-z0-9]+)*", re.ASCII),
    "gcp": re.compile(
        r"(?:[acefghmntxz]\d[a-z]?|f1|g1|ct\d[a-z]+)-[a-z0-9-]+|custom-\d+-\d+", re.ASCII
    ),
    "aws": re.compile(
        r"(?:[a-z]{1,3}\d+[a-z]*(?:-[a-z0-9]+)?|mac\d.*|u-\w+)\.[a-z0-9-]+", re.ASCII
    ),
}
"""How the machine types of a provider are spelt, from the providers' own lists of types."""

PROVIDERS = (
    "azure",
    "gcp",
    "aws",
    "equinix",
    "hetzner",
    "openstack",
    "vmware",
    "ovh",
    "oracle",
    "ibm",
    "digitalocean",
    "alibaba",
    "stackit",
    "on-premises",
)
_AZURE_CONFIDENTIAL = re.compile(r"Standard_[DE]C\d+(?P<features>[a-z]*)_v\d+", re.ASCII)
_GCP_AMD = re.compile(r"(?:n2d|c2d|c3d|c4d|t2d)-", re.ASCII)
_GCP_CONFIDENTIAL = re.compile(r"(?:n2d|c2d|c3d|c4d|c3|a3)-", re.ASCII)
_AWS_AMD = re.compile(r"[a-z]+\d+a[a-z]*\.", re.ASCII)
_TDX, _SEV = ("tdx",), ("sev", "sev-es", "sev-snp")


def _machines(view: View) -> Iterator[tuple[str, Path, str, str]]:
    """Every claimed machine type: target, path, provider, type."""
    for name, target in view.targets.items():
        provider = text(mapping(target.get("cloud")).get("provider"))
        for group, node in mapping(target.get("topology")).items():
            yield (
                name,
                ("targets", name, "topology", group, "machine"),
                provider,
                text(mapping(node).get("machine")),
            )
    for workload, found in view.workloads.items():
        for name, override in mapping(found.get("overrides")).items():
            provider = text(mapping(mapping(view.targets.get(name)).get("cloud")).get("provider"))
            yield (
                name,
                ("workloads", workload, "overrides", name, "machine"),
                provider,
                text(mapping(override).get("machine")),
            )


def machine_types(view: View) -> Iterator[Problem]:
    """BS230: a machine type is one the provider has."""
    for _, path, provider, machine in _machines(view):
        spelling = MACHINE_TYPES.get(provider)
        if machine and spelling and not spelling.fullmatch(machine):
            owners = [name for name, pattern in MACHINE_TYPES.items() if pattern.fullmatch(machine)]
            hint = f"it has the form of a type of {alternatives(owners)}" if owners else ""
            yield Problem(
                code="BS230",
                path=path,
                found=quote(machine),
                expected=f"a machine type of {provider}",
                hint=hint,
            )


def providers(view: View) -> Iterator[Problem]:
    """BS239: a provider that is nearly a known one."""
    for name, target in view.targets.items():
        provider = mapping(target.get("cloud")).get("provider")
        hint = (
            did_you_mean(provider, PROVIDERS)
            if isinstance(provider, str) and provider not in PROVIDERS
            else ""
        )
        if hint:
            path = ("targets", name, "cloud", "provider")
            yield Problem(
                code="BS239", path=path, found=quote(provider), expected="a provider", hint=hint
            )


def possible_technologies(provider: str, machine: str) -> tuple[str, ...] | None:
    """The CVM technologies a machine type can have; empty if it never is a CVM, None where nothing
    is known.
    """
    if provider == "azure" and machine.startswith("Standard_"):
        match = _AZURE_CONFIDENTIAL.fullmatch(machine)
        if match is None:
            return None if machine.startswith(("Standard_DC", "Standard_EC", "Standard_NC")) else ()
        return (
            ("sev-snp",) if "a" in match["features"] else _TDX if "e" in match["features"] else None
        )
    if provider == "gcp" and MACHINE_TYPES["gcp"].fullmatch(machine):
        return (
            _SEV
            if _GCP_AMD.match(machine) and not machine.startswith("t2d")
            else _TDX
            if _GCP_CONFIDENTIAL.match(machine)
            else ()
        )
    if provider == "aws" and MACHINE_TYPES["aws"].fullmatch(machine):
        return ("sev-snp",) if _AWS_AMD.match(machine) else ()
    return None


def confidential_machines(view: View) -> Iterator[Problem]:
    """BS231, BS232: the CVM claim is one the machine type can have."""
    for name, path, provider, machine in _machines(view):
        claim = mapping(view.targets.get(name)).get("cvm")
        expected = mapping(claim).get("expected") if isinstance(claim, Mapping) else claim
        technology = text(mapping(claim).get("technology"))
        possible = possible_technologies(provider, machine)
        if not machine or possible is None or not isinstance(expected, bool):
            continue
        if expected and not possible:
            yield Problem(
                code="BS232",
                path=path,
                found=f"{quote(machine)}, which is never a confidential VM",
                expected="a confidential machine type, as cvm claims",
            )
        elif not expected and provider == "azure" and possible:
            yield Problem(
                code="BS232",
                path=path,
                found=f"{quote(machine)}, which is always a confidential VM",
                expected="another machine type, or cvm: true",
            )
        elif expected and technology and technology not in possible:
            found = f"{quote(technology)} on {quote(machine)}"
            yield Problem(
                code="BS231",
                path=("targets", name, "cvm", "technology"),
                found=found,
                expected=alternatives(possible),
            )


def networks(view: View) -> Iterator[Problem]:
    """BS233, BS234, BS235: what the CNI section says fits together."""
    for name, target in view.targets.items():
        cni, path = mapping(target.get("cni")), ("targets", name, "cni")
        if text(cni.get("encryption")) not in ("", "none") and "name" not in cni:
            yield Problem(
                code="BS233",
                path=(*path, "encryption"),
                found=quote(cni["encryption"]),
                expected="cni.name beside it",
                at=At.KEY,
            )
        policy = text(cni.get("network_policy"))
        components = [
            text(mapping(component).get("name")) for component in items(target.get("components"))
        ]
        if policy not in ("", "none", text(cni.get("name")), *components):
            expected = "the CNI's name, a component's, or none"
            yield Problem(
                code="BS234",
                path=(*path, "network_policy"),
                found=f"the engine {quote(policy)}",
                expected=expected,
            )
        yield from _mtu(cni, (*path, "mtu"))


OVERHEADS = {"vxlan": 50, "geneve": 50, "ipip": 20, "wireguard": 60}
"""Bytes an encapsulation adds to a packet over IPv4: outer Ethernet or IP, UDP and its own
header.
"""

LINK_MTUS = (1500, 9001, 65535)
"""Common link MTUs; the next one above the inner MTU is taken for the link's."""


def _mtu(cni: Mapping[str, Json], path: Path) -> Iterator[Problem]:
    mtu, overhead = whole(cni.get("mtu")), OVERHEADS.get(text(cni.get("mode")))
    if mtu is None or overhead is None:
        return
    link = next((size for size in LINK_MTUS if mtu <= size), mtu)
    if mtu > link - overhead:
        found, expected = (
            f"an MTU of {mtu} inside {cni['mode']}",
            f"at most {link - overhead}, as links have an MTU of {link}",
        )
        yield Problem(
            code="BS235",
            path=path,
            found=found,
            expected=expected,
            hint="claim the MTU inside pods, not the link's",
        )


def storage(view: View) -> Iterator[Problem]:
    """BS236: storage classes exist only where Kubernetes is."""
    for name, target in view.targets.items():
        for key in ("class", "provisioner", "parameters", "binding", "create", "mode", "ephemeral"):
            if key in mapping(target.get("storage")) and view.without_kubernetes(name):
                found = (
                    f"storage.{key} on a"
                    f" {alternatives(sorted(view.kinds(name)), 'runner of kind ')} runner"
                )
                yield Problem(
                    code="BS236",
                    path=("targets", name, "storage", key),
                    found=found,
                    expected="a kubernetes runner",
                    hint="use path",
                    at=At.KEY,
                )


def windows(view: View) -> Iterator[Problem]:
    """BS237: a Windows target needs the ssh runner with PowerShell."""
    for name, target in view.targets.items():
        for group, node in mapping(target.get("topology")).items():
            system = text(mapping(node).get("os"))
            shells = {
                text(mapping(host).get("shell"))
                for options in view.site_options(name)
                for host in mapping(options.get("hosts")).values()
            }
            if "windows" in system.lower() and "powershell" not in shells:
                path = ("targets", name, "topology", group, "os")
                yield Problem(
                    code="BS237",
                    path=path,
                    found=quote(system),
                    expected="an ssh runner whose hosts have shell: powershell",
                )


def cpus(view: View) -> Iterator[Problem]:
    """BS240, BS241: pinned CPUs exist, and roles on one machine have CPUs of their own."""
    for name, target in view.targets.items():
        yield from _cpus(
            view,
            name,
            target.get("cpus"),
            ("targets", name, "cpus"),
            shared=view.on_one_machine(name),
        )
    for workload, found in view.workloads.items():
        for name in view.targets_of(workload):
            shared = view.on_one_machine(name) or found.get("placement") == "same-node"
            yield from _cpus(
                view, name, found.get("cpus"), ("workloads", workload, "cpus"), shared=shared
            )
            override = mapping(mapping(found.get("overrides")).get(name))
            yield from _cpus(
                view,
                name,
                override.get("cpus"),
                ("workloads", workload, "overrides", name, "cpus"),
                shared=shared,
            )


def _cpus(view: View, target: str, value: Json, path: Path, *, shared: bool) -> Iterator[Problem]:
    cores = [whole(group.get("cores")) for group in view.groups(target).values()]
    most = max((count for count in cores if count is not None), default=None)
    by_role = mapping(value) if isinstance(value, Mapping) else {"": value}
    for role, numbers in by_role.items():
        for index, number in enumerate(items(numbers)):
            cpu = whole(number)
            if most is not None and cpu is not None and cpu >= most and None not in cores:
                place = (*path, role, index) if role else (*path, index)
                yield Problem(
                    code="BS240",
                    path=place,
                    found=f"CPU {cpu}",
                    expected=f"at most {most - 1}: {quote(target)} claims {most} cores",
                )
    if shared:
        yield from _overlap(
            {
                role: {n for n in items(numbers) if isinstance(n, int)}
                for role, numbers in by_role.items()
            },
            path,
        )


def _overlap(by_role: Mapping[str, set[int]], path: Path) -> Iterator[Problem]:
    before: dict[int, str] = {}
    for role, numbers in by_role.items():
        twice = sorted(number for number in numbers if number in before)
        if twice:
            found = f"CPU {twice[0]} for {role} and {before[twice[0]]} on one machine"
            yield Problem(
                code="BS241",
                path=(*path, role),
                found=found,
                expected="CPUs of its own for each role",
                at=At.KEY,
            )
        before |= {number: role for number in numbers if number not in before}


def observed_facts() -> frozenset[str]:
    """The names of the facts that can be observed."""
    from ...facts.catalogue import fact_kinds  # read only where a spec names facts

    return frozenset(fact_kinds())


def claimable_facts() -> frozenset[str]:
    """Every fact name that a section of a target claims."""
    sections = {f"{section}.{key}" for section, keys in SECTION_FACTS.items() for key in keys}
    return frozenset((*sections, *NODE_FACTS.values(), MTU_FACT))


def facts(view: View) -> Iterator[Problem]:
    """BS242, BS310: further claims have names that are observed, and say nothing a section says
    already.
    """
    for name, target in view.targets.items():
        claimed = _section_facts(view, name)
        for fact, value in mapping(target.get("facts")).items():
            path = ("targets", name, "facts", fact)
            if fact in claimed and claimed[fact] != value:
                found = (
                    f"{quote(value)} for {fact}, which a section claims as {quote(claimed[fact])}"
                )
                yield Problem(
                    code="BS242",
                    path=path,
                    found=found,
                    expected="one claim about each fact",
                    at=At.KEY,
                )
            yield from _unknown_fact("BS310", fact, path)


def must_match(view: View) -> Iterator[Problem]:
    """BS216: facts that must match are facts."""
    claimed = {fact for target in view.targets.values() for fact in mapping(target.get("facts"))}
    for index, fact in enumerate(items(view.compare.get("must_match"))):
        if isinstance(fact, str) and fact not in claimed:
            yield from _unknown_fact("BS216", fact, ("compare", "must_match", index))


def _unknown_fact(code: str, fact: str, path: Path) -> Iterator[Problem]:
    known = observed_facts() | claimable_facts()
    if fact.rpartition("/")[2] not in known and not fact.startswith("x-"):
        at = At.KEY if code == "BS310" else At.VALUE
        yield Problem(
            code=code,
            path=path,
            found=f"the unknown fact {quote(fact)}",
            expected="the name of a fact",
            hint=did_you_mean(fact, sorted(known)),
            at=at,
        )


def _section_facts(view: View, name: str) -> dict[str, Json]:
    target = view.targets[name]
    claimed = {
        f"{section}.{key}": mapping(target.get(section))[key]
        for section, keys in SECTION_FACTS.items()
        for key in keys
        if key in mapping(target.get(section))
    }
    if "mtu" in mapping(target.get("cni")):
        claimed[MTU_FACT] = mapping(target["cni"])["mtu"]
    groups = view.groups(name)
    for group in groups.values() if len(groups) == 1 else ():
        claimed |= {fact: group[key] for key, fact in NODE_FACTS.items() if key in group}
    return claimed


CHECKS = (
    machine_types,
    providers,
    confidential_machines,
    networks,
    storage,
    windows,
    cpus,
    facts,
    must_match,
)
"""The rules of this module."""
