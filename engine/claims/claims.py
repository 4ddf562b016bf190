"""Declared against observed: every claim of a target held against the facts of its nodes, and the
facts of one moment against another's.

Three answers: match, mismatch, and unknown when the fact could not be observed. A mismatch is
claimed only where the two can be compared without doubt.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..facts.catalogue import find_kind, is_published
from ..language.build_target import MTU_FACT
from ..language.claim_nodes import NOT_PLACED, Placed, nodes_of_claim
from ..model.results import ClaimCheck, ClaimState, Fact, FactSet, Finding, FindingLevel
from ..model.spec import Json, Target

Comparison = Callable[[Json, Json], bool | None]
"""Declared and observed value to match, mismatch, or None: cannot be said."""

MEMORY_RESERVED = 0.12
"""Firmware and kernel keep part of a machine's memory to themselves: MemTotal lies up to this share
below what a provider documents.
"""

_ROUNDING = 0.01
_SEPARATORS = re.compile(r"\((?:r|tm|c)\)|[\s,;/()@]+", re.IGNORECASE)
_PROVIDERS = {
    "amazon": "aws",
    "ec2": "aws",
    "amazon web services": "aws",
    "google": "gcp",
    "gce": "gcp",
    "google cloud": "gcp",
    "microsoft": "azure",
}
_CPU_VENDORS = frozenset({"amd", "intel", "ampere", "arm"})
_CLOUD_MODEL = re.compile(r"\b(\d{4})v\b")  # Azure's documents say 7763v, its machines 7763
_EVIDENCE = ("none", "kernel", "device", "report")

PATH_MTU = ("path.mtu", "path.link_mtu")
"""What packets took on the way that was measured; else what is set on the interface towards the
peer.
"""

FACTS_OF_CLAIM: Mapping[str, tuple[str, ...]] = {
    "cni.mtu": PATH_MTU,
    "cvm.expected": ("cvm.technology",),
    "net.link": ("path.speed", "net.speed"),
    "node.image": ("cloud.image",),
    "storage.encryption": ("disk.encryption",),
    "storage.filesystem": ("disk.filesystem",),
}
"""Facts that show what is claimed under another name. A fact of the claim's own name is
preferred.
"""


def check_claims(
    target: Target, sets: Sequence[FactSet], placed: Placed = NOT_PLACED
) -> tuple[ClaimCheck, ...]:
    """Hold every claim of ``target`` against what was observed of it, on each of its sites, in the
    order of the claims.

    Nodes that show the same share one row. A later set of facts about a node stands before an
    earlier one. The MTU of a CNI is one claim, though limits know it as ``net.mtu``, too.
    """
    sites = [
        _Site(name, [facts for facts in sets if facts.site == name])
        for name in dict.fromkeys(facts.site for facts in sets)
    ]
    claims = [
        claim for claim in target.claims if claim != MTU_FACT or not is_said_of_the_cni(target)
    ]
    return tuple(
        check for claim in claims for site in sites for check in _check(target, claim, site, placed)
    )


def is_said_of_the_cni(target: Target) -> bool:
    """Whether the claim about ``net.mtu`` is that of ``cni.mtu`` under another name: of the network
    between pods, not of the default route.
    """
    return "cni.mtu" in target.claims and target.claims.get(MTU_FACT) == target.claims["cni.mtu"]


class _Site:
    """What was observed on one site: facts by node and name; those of ``""`` are the whole site's,
    or its only node's.
    """

    def __init__(self, name: str, sets: Sequence[FactSet]) -> None:
        self.name = name
        self._facts: dict[str, dict[str, Fact]] = {}
        for facts in sets:
            self._facts.setdefault(facts.node, {}).update({fact.name: fact for fact in facts.facts})
        self.nodes = tuple(filter(None, self._facts)) or ("",)

    def find(self, node: str, names: Sequence[str]) -> tuple[Fact | None, str]:
        """The first of the facts that is known on ``node``, or of the whole site, and where it was
        seen; else one that was looked for.
        """
        looked = [
            (fact, of)
            for name in names
            for of in (node, "")
            if (fact := self._facts.get(of, {}).get(name)) is not None
        ]
        return next(
            (found for found in looked if found[0].value is not None),
            looked[0] if looked else (None, node),
        )


def _check(target: Target, claim: str, site: _Site, placed: Placed) -> Iterator[ClaimCheck]:
    nodes = nodes_of_claim(target, claim, site.name, site.nodes, placed)
    names = _facts_of(target, claim.rpartition("/")[2])
    if nodes and _is_of_volume(
        target, names[0]
    ):  # those where a volume was bound; all of them while none was
        nodes = tuple(node for node in nodes if site.find(node, names)[0] is not None) or nodes
    rows: list[tuple[ClaimCheck, dict[str, None]]] = (
        [(_compare(target, claim, None, site.name), {})] if nodes == () else []
    )
    for node in nodes or ():
        fact, seen_on = site.find(node, names)
        check = _compare(target, claim, fact, site.name)
        if (
            check.state is ClaimState.MISMATCH
            and fact is not None
            and fact.name == "cvm.evidence"
            and _not_looked_for(check, site, node)
        ):
            check = dataclasses.replace(check, state=ClaimState.UNKNOWN)
        alike = next((others for other, others in rows if other == check), None)
        if alike is None:
            rows.append((check, alike := {}))
        alike[seen_on] = None
    for check, where in rows:
        yield dataclasses.replace(check, nodes=tuple(filter(None, where)))


def _not_looked_for(check: ClaimCheck, site: _Site, node: str) -> bool:
    """Whether the evidence that is asked for is named among what could not be looked at, so that
    its absence contradicts nothing.
    """
    unseen, _ = site.find(node, ("cvm.unseen",))
    return unseen is not None and f"{check.declared} " in f"{unseen.value} "


def _compare(target: Target, claim: str, fact: Fact | None, site: str) -> ClaimCheck:
    declared = target.claims[claim]
    return ClaimCheck(
        target=target.name,
        fact=claim,
        declared=declared,
        observed=None if fact is None else fact.value,
        state=_judge(claim.rpartition("/")[2], declared, fact),
        source=None if fact is None else fact.source,
        site=site,
    )


def _facts_of(target: Target, name: str) -> tuple[str, ...]:
    """The facts that can show what is claimed under ``name``, the best first."""
    if _is_of_volume(target, name):
        return (name,)  # not the disk of the work directories
    return (name, *FACTS_OF_CLAIM.get(name, ()))


def _is_of_volume(target: Target, claim: str) -> bool:
    """Whether the claim is about a volume that the spec says where to find or of which class to
    make.
    """
    return claim.startswith("storage.") and bool(
        target.storage.get("path") or target.storage.get("class")
    )


def unseen_cvm(checks: Sequence[ClaimCheck], sets: Sequence[FactSet]) -> Iterator[Finding]:
    """F106 for every target that is claimed to be confidential where nothing could be seen either
    way: unknown is no confirmation.
    """
    for check in checks:
        if (
            check.fact == "cvm.expected"
            and check.declared is True
            and check.state is ClaimState.UNKNOWN
        ):
            where = f" on {', '.join(check.nodes)}" if check.nodes else ""
            here = [
                facts
                for facts in sets
                if (facts.target, facts.site) == (check.target, check.site)
                and facts.node in (check.nodes or (facts.node,))
            ]
            unseen = dict.fromkeys(
                str(facts.value("cvm.unseen"))
                for facts in here
                if facts.value("cvm.unseen") is not None
            )
            reason = f"; not looked at: {', '.join(unseen)}" if unseen else ""
            message = f"cvm.expected: declared True, could not be observed{where}{reason}"
            yield Finding(
                code="F106", level=FindingLevel.WARNING, message=message, target=check.target
            )


def drift(before: FactSet, after: FactSet) -> tuple[Finding, ...]:
    """What changed on a site between two moments of a run: F102 for each fact, F103 for a restart,
    F104 for another machine.

    Facts that move by themselves, and those unknown at one of the moments, are left out, and so is
    what hangs on how much could be looked at: a kernel log that wrapped is no change of the
    machine.
    """
    return tuple(_drift(before, after))


def words_match(declared: str, observed: str) -> bool:
    """Whether every declared word is one of the observed ones, or a version that one of them
    refines: ``AMD EPYC 7763`` in ``AMD EPYC 7763 64-Core Processor``, ``Ubuntu 22.04`` in ``Ubuntu
    22.04.2 LTS``.
    """
    seen = _words(observed)
    return all(any(version_matches(word, other) for other in seen) for word in _words(declared))


def version_matches(declared: str, observed: str) -> bool:
    """Whether ``observed`` is ``declared`` or a finer version of it: 1.12 matches 1.12.3 and
    v1.12-rc1, not 1.120.
    """
    short, long = (
        declared.strip().lower().removeprefix("v"),
        observed.strip().lower().removeprefix("v"),
    )
    return long == short or (
        bool(short) and long.startswith(short) and not long[len(short)].isalnum()
    )


def memory_matches(declared: Json, observed: Json) -> bool | None:
    """Whether the memory the kernel sees (B) fits what is documented (B): at most 12 % less, at
    most 1 % more.
    """
    if not _is_number(declared) or not _is_number(observed):
        return None
    return (
        _number(declared) * (1 - MEMORY_RESERVED)
        <= _number(observed)
        <= _number(declared) * (1 + _ROUNDING)
    )


def _drift(before: FactSet, after: FactSet) -> Iterator[Finding]:
    for fact in before.facts:
        later = after.value(fact.name)
        if fact.value is None or later is None or fact.value == later or _moves(fact.name):
            continue
        if _hangs_on_the_look(fact.name, before, after):
            continue
        code, level, what = _CHANGES.get(fact.name, ("F102", FindingLevel.WARNING, "changed"))
        # a finding is on the page: the two values of a fact that may not be published are not in it
        was, now = (
            (f" {fact.value!r} ({before.when})", f" {later!r} ({after.when})")
            if is_published(fact.name)
            else (f" what it was ({before.when})", f" something else ({after.when})")
        )
        message = f"{fact.name} {what} on {_where(after)} from{was} to{now}"
        yield Finding(code=code, level=level, message=message, target=after.target)


def _hangs_on_the_look(name: str, before: FactSet, after: FactSet) -> bool:
    """Whether a fact says what could not be looked at, or how strong the evidence was that was
    found where not the same could be looked at.
    """
    return name.endswith(".unseen") or (
        name in ("cvm.evidence", "cvm.basis")
        and before.value("cvm.unseen") != after.value("cvm.unseen")
    )


def _moves(name: str) -> bool:
    kind = find_kind(name)
    return kind is not None and kind.moves


def _where(facts: FactSet) -> str:
    return f"{facts.site} {facts.node}" if facts.node else facts.site


_CHANGES: Mapping[str, tuple[str, FindingLevel, str]] = {
    "boot.id": ("F103", FindingLevel.ERROR, "says that the host was restarted: it changed"),
    "machine.id": ("F104", FindingLevel.ERROR, "says that this is another machine: it changed"),
}


def _judge(name: str, declared: Json, fact: Fact | None) -> ClaimState:
    if fact is None or fact.value is None or declared is None:
        return ClaimState.UNKNOWN
    matches = _COMPARISONS.get(name, _same)(declared, fact.value)
    if matches is None:
        return ClaimState.UNKNOWN
    return ClaimState.MATCH if matches else ClaimState.MISMATCH


def _same(declared: Json, observed: Json) -> bool | None:
    if isinstance(declared, bool) or isinstance(observed, bool):
        return (
            declared is observed
            if isinstance(declared, bool) and isinstance(observed, bool)
            else None
        )
    if _is_number(declared) and _is_number(observed):
        return _number(declared) == _number(observed)
    return str(declared).strip().lower() == str(observed).strip().lower()


def _about(declared: Json, observed: Json) -> bool | None:
    if not _is_number(declared) or not _is_number(observed):
        return None
    return abs(_number(observed) - _number(declared)) <= _ROUNDING * abs(_number(declared))


def _provider(declared: Json, observed: Json) -> bool:
    declared, observed = (str(value).strip().lower() for value in (declared, observed))
    return _PROVIDERS.get(declared, declared) == _PROVIDERS.get(observed, observed)


def _technology(declared: Json, observed: Json) -> bool | None:
    """A bare true or false says only whether memory is encrypted."""
    return (
        (observed != "none") is declared
        if isinstance(declared, bool)
        else _same(declared, observed)
    )


def _evidence(declared: Json, observed: Json) -> bool | None:
    """At least as strong as declared."""
    if declared not in _EVIDENCE or observed not in _EVIDENCE:
        return None
    return _EVIDENCE.index(str(observed)) >= _EVIDENCE.index(str(declared))


_IN_THE_GUEST = {"luks": "dm-crypt", "csi": "dm-crypt", "ade": "dm-crypt"}
_BELOW_THE_GUEST = ("sse", "sse-cmk")


def _encryption(declared: Json, observed: Json) -> bool | None:
    """What the storage service encrypts shows nowhere in the guest."""
    if declared in _BELOW_THE_GUEST:
        return None
    if declared == "other":
        return observed != "none" or None
    return _same(_IN_THE_GUEST.get(str(declared), declared), observed)


_BASIC_PLUGINS = frozenset({"bridge", "ptp", "ipvlan", "macvlan", "host-device"})


def _network(declared: Json, observed: Json) -> bool | None:
    """Plug-ins that others are made of contradict none of those."""
    return True if _same(declared, observed) else None if observed in _BASIC_PLUGINS else False


_TUNNELS = frozenset({"vxlan", "geneve", "ipip", "wireguard", "overlay"})
_ROUTED = frozenset({"native", "host-gw", "bridge"})


def _way_out(declared: Json, observed: Json) -> bool | None:
    """How packets leave a node: a word for a kind of way (overlay, native) fits every way of that
    kind.
    """
    both = {str(declared), str(observed)}
    if len(both) == 1 or (
        both & {"overlay", "native"} and any(both <= kind for kind in (_TUNNELS, _ROUTED))
    ):
        return True
    return None if both & {"ebpf", "other"} else False


def _network_encryption(declared: Json, observed: Json) -> bool | None:
    """What only says that it is another way of encrypting contradicts none and nothing else."""
    if "other" in (declared, observed) and "none" not in (declared, observed):
        return True if declared == observed else None
    return _same(declared, observed)


_FORMS = frozenset({"sidecar", "ambient"})


def _mesh_mode(declared: Json, observed: Json) -> bool | None:
    """Names of multi-cluster set-ups and forms of proxies are different things."""
    if declared == "multi-zone":
        return observed in ("zone", "global")
    return (
        True
        if _same(declared, observed)
        else False
        if {str(declared), str(observed)} <= _FORMS
        else None
    )


def _by_words(declared: Json, observed: Json) -> bool:
    return words_match(str(declared), str(observed))


def _cpu_model(declared: Json, observed: Json) -> bool | None:
    """A contradiction takes another model number or vendor: names such as Milan or Ice Lake stand
    in documents, not in the CPU.
    """
    one, other = (_CLOUD_MODEL.sub(r"\1", str(value).lower()) for value in (declared, observed))
    if words_match(one, other):
        return True
    missing = [word for word in _words(one) if not words_match(word, other)]
    return (
        False
        if any(word in _CPU_VENDORS or any(c.isdigit() for c in word) for word in missing)
        else None
    )


def _by_version(declared: Json, observed: Json) -> bool:
    return version_matches(str(declared), str(observed))


def _words(text: str) -> list[str]:
    return [
        word
        for word in _SEPARATORS.split(text.lower())
        if word and word not in ("cpu", "processor")
    ]


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Json) -> float:
    return float(str(value))


_COMPARISONS: Mapping[str, Comparison] = {
    "cloud.provider": _provider,
    "cpu.model": _cpu_model,
    "memory.total": memory_matches,
    "memory.swap": _about,
    "net.link": _about,
    "net.speed": _about,
    "os.name": _by_words,
    "os.version": _by_version,
    "kernel.release": _by_version,
    "kubernetes.version": _by_version,
    "cni.name": _network,
    "cni.version": _by_version,
    "cni.mode": _way_out,
    "cni.encryption": _network_encryption,
    "mesh.version": _by_version,
    "mesh.mode": _mesh_mode,
    "storage.encryption": _encryption,
    "storage.size": _about,
    "disk.size": _about,
    "cvm.expected": _technology,
    "cvm.evidence": _evidence,
}
